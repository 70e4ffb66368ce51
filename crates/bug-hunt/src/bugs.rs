//! The twelve bugs for readers to find, from easy to hard.

/// A bug for the reader to find.
pub struct Bug {
    /// The run of `reference/dumps` whose batches and parameters the bug is shown with.
    pub run: &'static str,
    /// The wrong line.
    pub line: &'static str,
    /// The lesson that is shown to a reader who has found the bug.
    pub lesson: &'static str,
}

/// All bugs.
pub const BUGS: [Bug; 12] = [
    Bug {
        run: "softmax",
        line: "z2 = a1 @ w2.T",
        lesson: "The bias is missing. Each column of z2 is off by the same number in all rows.",
    },
    Bug {
        run: "softmax",
        line: "w2_next = w2 + lr * dw2",
        lesson: "The step goes uphill. All gradients are right, so only the update is left.",
    },
    Bug {
        run: "softmax",
        line: "dz2 = p - y",
        lesson: "The mean over the batch is missing: every gradient is 8 times too large, as if the \
                 learning rate were.",
    },
    Bug {
        run: "softmax",
        line: "db1 = sum(da1, 0)",
        lesson: "The bias is summed from the gradient before ReLU's mask. Such names differ by one \
                 letter.",
    },
    Bug {
        run: "large-logits",
        line: "p = exp(z2) / sum(exp(z2), 1)",
        lesson: "Without subtracting the maximum, exp overflows to infinity, and infinity divided by \
                 infinity is NaN. On ordinary logits this line is right.",
    },
    Bug {
        run: "kink",
        line: "dz1 = where(z1 >= 0, da1, 0)",
        lesson: "ReLU's slope at 0 is 0, as in PyTorch. Only a network with a z of exactly 0 shows \
                 the difference.",
    },
    Bug {
        run: "batch-67",
        line: "dz2 = (p - y) / 8",
        lesson: "The size of the batch became a constant. Every test with a batch of 8 passes.",
    },
    Bug {
        run: "softmax",
        line: "dz1 = where(z1 > 0, da1, 0.01 * da1)",
        lesson: "The gradient of a leaky ReLU with the forward pass of a plain one.",
    },
    Bug {
        run: "softmax",
        line: "dw1 = dz1.T @ x + 0.01 * w1",
        lesson: "Weight decay that was not asked for: the error is proportional to w1.",
    },
    Bug {
        run: "softmax",
        line: "da1 = dz2 @ (w2 - lr * dw2)",
        lesson: "w2 was updated before the gradient was passed on. The error is a tenth of the \
                 gradient's, and training hardly notices.",
    },
    Bug {
        run: "softmax-steps",
        line: "dw2 = before(dw2) + dz2.T @ a1",
        lesson: "The gradient is added to that of the step before, as in PyTorch without zero_grad. \
                 The first step is right.",
    },
    Bug {
        run: "softmax-steps",
        line: "dz2 = (p - before(y)) / B",
        lesson: "The labels are those of the step before: a copy that came too late. In the first \
                 step the buffer holds zeros.",
    },
];
