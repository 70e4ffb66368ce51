//! More faults in level 2's CUDA C: a dozen that were planted when the readings for the others were
//! written; five of them had none.

use tensor::TensorName::{Da, Db, Dw, Dz, Loss, P, WNext, Z};

use crate::cuda_c::cu;
use crate::faults::Fault;

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    vec![
        cu(
            "matmul_a_b",
            "half of the units are added",
            "the last 5 of the 10 units are left out",
            Da(1),
            &[("l < k;", "l < k / 2;")],
        ),
        cu(
            "matmul_at_b",
            "each unit takes the next one's gradient",
            "row 0 is what row 1 should be",
            Dw(2),
            &[("a[l * m + i]", "a[l * m + (i + 1) % m]")],
        ),
        cu(
            "matmul_a_bt",
            "every 16 terms the sum begins again",
            "only the last 4 of the 196 inputs",
            Z(1),
            &[("sum += a[i", "sum = (l % 16 == 0 ? 0.0f : sum) + a[i")],
        ),
        cu(
            "add_bias",
            "every other bias, twice round",
            "b1 is read",
            Z(1),
            &[("b[j]", "b[2 * j % n]")],
        ),
        cu(
            "relu_backward",
            "z passes where da should not",
            "z1",
            Dz(1),
            &[("da[i] : 0.0f", "da[i] : z[i]")],
        ),
        Fault {
            on: "bce-steps",
            ..cu(
                "sigmoid",
                "a straight line in place of sigmoid",
                "0.25",
                P,
                &[("1.0f / (1.0f + expf(-z[i]))", "0.5f + 0.25f * z[i]")],
            )
        },
        cu(
            "softmax",
            "the largest class gets all",
            "1 for the largest",
            P,
            &[("= expf(row[j] - largest) / sum", "= row[j] == largest ? 1.0f : 0.0f")],
        ),
        Fault {
            on: "squared-error-steps",
            ..cu(
                "squared_error",
                "the first class is left out",
                "the first of the 10 classes",
                Loss,
                &[("size_t c = 0;", "size_t c = 1;")],
            )
        },
        cu(
            "output_gradient",
            "neighbouring classes of y are exchanged",
            "y is read with neighbours exchanged",
            Dz(2),
            &[("- y[i])", "- y[i ^ 1])")],
        ),
        cu(
            "update",
            "the first half is updated",
            "in rows 8 to 15 of 16",
            WNext(1),
            &[("i >= elements)", "i >= elements / 2)")],
        ),
        cu(
            "train_step",
            "every bias gets the first unit's gradient",
            "column 0 of dz2 is read for every column",
            Db(2),
            &[("db[j] = dz_l[j]", "db[j] = dz_l[0]")],
        ),
        cu(
            "update_weights",
            "divided by the batch once more",
            "1/8",
            WNext(1),
            &[("learning_rate * sum", "learning_rate * sum / (float)batch")],
        ),
    ]
}
