//! Faults that were planted when all readings of their time were written. Seven of them were read right
//! then; what is solved for and searched for since was made with them in sight.

use tensor::TensorName::{A, Da, Db, Dw, Dz, Loss, P, WNext, Z};

use crate::cuda_c::cu;
use crate::faults::Fault;

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    vec![
        cu(
            "matmul_a_bt",
            "every fourth term, four times",
            "counts 4 times",
            Z(1),
            &[("sum += a[i", "if (l % 4 == 0) sum += 4.0f * a[i")],
        ),
        cu(
            "matmul_a_b",
            "the weights' columns are those of the next unit",
            "w2 is read one",
            Da(1),
            &[("b[l * n + j]", "b[l * n + (j + 1) % n]")],
        ),
        cu(
            "matmul_at_b",
            "the last sample's activations for all",
            "row 7 of a1, the last, is read for every row",
            Dw(2),
            &[("b[l * n + j]", "b[(k - 1) * n + j]")],
        ),
        cu(
            "add_bias",
            "the bias is added in every other row",
            "b1 is not added, in one row in 2",
            Z(1),
            &[("+= b[j]", "+= i % 2 ? 0.0f : b[j]")],
        ),
        cu(
            "relu",
            "below zero the square passes",
            "z1², where z1 is below 0",
            A(1),
            &[("? 0.0f : z[i]", "? z[i] * z[i] : z[i]")],
        ),
        cu(
            "softmax",
            "the sum has its first term twice",
            "the first of the 10 classes",
            P,
            &[("float sum = 0.0f;", "float sum = expf(row[0] - largest);")],
        ),
        Fault {
            on: "bce-steps",
            ..cu(
                "bce",
                "y of the class before",
                "y",
                Loss,
                &[("y[i * classes + c]", "y[i * classes + (c > 0 ? c - 1 : 0)]")],
            )
        },
        cu(
            "cross_entropy",
            "samples with an odd number are weighted twice",
            "one in 2 of the 8 samples is added twice",
            Loss,
            &[("losses[i] = sum", "losses[i] = i % 2 ? 2.0f * sum : sum")],
        ),
        cu(
            "output_gradient",
            "1 - p in place of p",
            "-1.000000 times p",
            Dz(2),
            &[("(p[i] - y[i])", "(1.0f - p[i] - y[i])")],
        ),
        cu(
            "sum_batch",
            "samples from the fifth on are subtracted",
            "4",
            Loss,
            &[("sum += dz", "sum += (i < 4 ? 1.0f : -1.0f) * dz")],
        ),
        cu(
            "relu_backward",
            "the gradient is let through by the magnitude of z",
            "magnitude",
            Dz(1),
            &[("z[i] > 0.0f", "fabsf(z[i]) > 0.2f")],
        ),
        cu(
            "update",
            "the step is as long as the learning rate squared",
            "1/10 of what it should be",
            WNext(1),
            &[("learning_rate * dw", "learning_rate * learning_rate * dw")],
        ),
        cu(
            "train_step",
            "the first layer's biases take the gradient of its activations",
            "the square of dz1",
            Db(1),
            &[("db[j] = dz_l[j]", "db[j] = l > 1 ? dz_l[j] : dz_l[j] * dz_l[j]")],
        ),
        cu(
            "update_weights",
            "every weight is a little smaller",
            "weight decay by 9.99",
            WNext(1),
            &[(
                "parameters[j] -= learning_rate * sum",
                "parameters[j] = 0.999f * parameters[j] - learning_rate * sum",
            )],
        ),
    ]
}
