//! Faults in level 2's CUDA C, which the built-in compiler turns into PTX.

use tensor::TensorName;
use tensor::TensorName::{A, Dw, Dz, Loss, P, WNext, Z};

use crate::faults::{Fault, Planted};

type Texts = &'static [(&'static str, &'static str)];

/// A fault that shows in the first step of the three with softmax.
pub(crate) const fn cu(
    kernel: &'static str,
    what: &'static str,
    says: &'static str,
    tensor: TensorName,
    texts: Texts,
) -> Fault {
    let planted = Planted::CudaC(kernel, texts);
    Fault { what, says, planted, on: "softmax-steps", step: 0, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    let mut all = forward();
    all.extend(backward());
    all.extend(per_sample());
    all
}

fn forward() -> Vec<Fault> {
    vec![
        cu(
            "matmul_a_bt",
            "the sum stops one term early",
            "the last of the 196 inputs is left out",
            Z(1),
            &[("l < k;", "l + 1 < k;")],
        ),
        cu(
            "matmul_a_bt",
            "eight terms at a time, and nobody adds the rest",
            "the last 4 of the 196 inputs are left out",
            Z(1),
            &[
                ("l < k; ++l)", "l + 8 <= k; l += 8)\n        for (size_t u = l; u < l + 8; ++u)"),
                ("sum += a[i * k + l] * b[j * k + l]", "sum += a[i * k + u] * b[j * k + u]"),
            ],
        ),
        cu(
            "matmul_a_bt",
            "w is read as if it were [in, out]",
            "column-major",
            Z(1),
            &[("b[j * k + l]", "b[l * n + j]")],
        ),
        cu(
            "matmul_a_bt",
            "w is cut to bfloat16",
            "w1 is cut to bfloat16",
            Z(1),
            &[("* b[j * k + l]", "* __uint_as_float(__float_as_uint(b[j * k + l]) & 0xffff0000u)")],
        ),
        Fault {
            step: 1,
            ..cu(
                "matmul_a_bt",
                "the product is added to what the buffer held",
                "z1 of the step before",
                Z(1),
                &[("c[i * n + j] = sum", "c[i * n + j] += sum")],
            )
        },
        cu(
            "add_bias",
            "the bias of the sample's number",
            "b1 is indexed by the sample",
            Z(1),
            &[("b[j]", "b[i]")],
        ),
        cu("add_bias", "z is the bias alone", "it is b1 alone", Z(1), &[("+= b[j]", "= b[j]")]),
        cu(
            "add_bias",
            "the last unit gets no bias",
            "b1 is not added, in column 15 alone",
            Z(1),
            &[("j >= n)", "j >= n - 1)")],
        ),
        cu(
            "relu",
            "what is below 0.2 becomes 0, too",
            "it is 0 where z is up to 0.1",
            A(1),
            &[("z[i] < 0.0f", "z[i] < 0.2f")],
        ),
        cu(
            "relu",
            "nothing above 0.5 comes out",
            "above 0.500000",
            A(1),
            &[("? 0.0f : z[i]", "? 0.0f : fminf(z[i], 0.5f)")],
        ),
        cu(
            "softmax",
            "every row is divided by the sum of the first",
            "of the first row",
            P,
            &[("row = z + i * classes", "row = z"), ("expf(row[j]", "expf(z[i * classes + j]")],
        ),
        cu(
            "softmax",
            "the logits are halved",
            "softmax of 0.5000",
            P,
            &[
                ("sum += expf(row[c] - largest)", "sum += expf(0.5f * (row[c] - largest))"),
                ("= expf(row[j] - largest)", "= expf(0.5f * (row[j] - largest))"),
            ],
        ),
        cu(
            "softmax",
            "a hundredth is added to the sum below",
            "0.01 is added",
            P,
            &[("/ sum;", "/ (sum + 0.01f);")],
        ),
        cu(
            "cross_entropy",
            "the largest logit is not added back",
            "max z",
            Loss,
            &[("largest + logf", "logf")],
        ),
        Fault {
            on: "bce-steps",
            ..cu(
                "bce",
                "the logarithm's 1 is missing",
                "1 +",
                Loss,
                &[("log1pf(expf(-fabsf(logit)))", "logf(expf(-fabsf(logit)))")],
            )
        },
    ]
}

fn backward() -> Vec<Fault> {
    vec![
        cu(
            "output_gradient",
            "the mean over classes, too",
            "1/10 of what it should be",
            Dz(2),
            &[("(float)batch", "(float)(batch * classes)")],
        ),
        cu(
            "output_gradient",
            "labels are smoothed by a tenth",
            "0.9000",
            Dz(2),
            &[("- y[i])", "- (0.9f * y[i] + 0.01f))")],
        ),
        Fault {
            step: 1,
            ..cu(
                "matmul_at_b",
                "gradients pile up from step to step",
                "dw2 of the step before",
                Dw(2),
                &[("c[i * n + j] = sum", "c[i * n + j] += sum")],
            )
        },
        cu(
            "matmul_at_b",
            "each sample's gradient meets the next one's activations",
            "one row too",
            Dw(2),
            &[("b[l * n + j]", "b[(l + 1 < k ? l + 1 : 0) * n + j]")],
        ),
        Fault {
            step: 1,
            ..cu(
                "sum_batch",
                "sums over the batch pile up from step to step",
                "loss of the step before",
                Loss,
                &[("db[j] = sum", "db[j] += sum")],
            )
        },
        cu(
            "sum_batch",
            "the first sample counts twice",
            "the first of the 8 samples is added twice",
            Loss,
            &[("float sum = 0.0f", "float sum = dz[j]")],
        ),
        cu(
            "relu_backward",
            "the mask of the element before",
            "the mask is that one element too early",
            Dz(1),
            &[("z[i] > 0.0f", "z[i > 0 ? i - 1 : 0] > 0.0f")],
        ),
        cu(
            "relu_backward",
            "gradients are clipped at 0.005",
            "0.005",
            Dz(1),
            &[("? da[i]", "? fmaxf(-0.005f, fminf(da[i], 0.005f))")],
        ),
        cu(
            "update",
            "a step of the gradient's sign",
            "the sign of dw1",
            WNext(1),
            &[("learning_rate * dw[i]", "learning_rate * copysignf(1.0f, dw[i])")],
        ),
        cu(
            "update",
            "the last lane of each warp does nothing",
            "one element in 32",
            WNext(1),
            &[("if (i >= elements)", "if (i >= elements || i % 32 == 31)")],
        ),
    ]
}

/// In the kernels of the variant in which a thread trains a sample.
fn per_sample() -> Vec<Fault> {
    vec![
        cu(
            "train_step",
            "every layer's gradient is made with x",
            "x is read in place of a1",
            Dw(2),
            &[("a_prev = l > 1 ? a + batch * before + sample * m : x;", "a_prev = x;")],
        ),
        cu(
            "train_step",
            "the hidden layer's biases are added to z2 as well",
            "b1",
            Z(2),
            &[(
                "z_l[j] = sum + b[j];",
                "z_l[j] = sum + b[j] + (l > 1 ? parameters[sizes[1] * sizes[0] + j] : 0.0f);",
            )],
        ),
        cu(
            "update_weights",
            "the first sample is left out",
            "the first of the 8 samples is left out",
            WNext(1),
            &[("for (size_t i = 0;", "for (size_t i = 1;")],
        ),
    ]
}
