//! A blind test: faults that were chosen and written down without a look at the code of tensor-diff, or at
//! what it says of them, when its readings were done. With each went a sentence, what a perfect reading
//! would have to say. Where the reading means the same, the words of it that say so stand here now;
//! where it doesn't, the sentence still does. No reading was written for any of them.
//!
//! This file has those of the forward pass, and `blind_more` those of the backward pass and of the update.

use level3_cublas::Rules;
use level3_cublas::column_major::{Matmul, Operand, column_major};
use level4_ptx::Rung;
use tensor::TensorName;
use tensor::TensorName::{A, B, Loss, P, X, Z};

use crate::faults::{Fault, Planted};
use crate::network::product;

pub(crate) const CE: &str = "softmax-steps";
pub(crate) const BCE: &str = "bce-steps";
pub(crate) const SE: &str = "squared-error-steps";

/// A fault that shows in the first step.
pub(crate) const fn at(
    (on, tensor): (&'static str, TensorName),
    what: &'static str,
    says: &'static str,
    planted: Planted,
) -> Fault {
    Fault { what, says, planted, on, step: 0, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    let mut all = z();
    all.extend(a());
    all.extend(p());
    all.extend(loss());
    all.extend(crate::blind_more::faults());
    all
}

fn z() -> Vec<Fault> {
    vec![
        at(
            (CE, Z(1)),
            "the guard has the sizes of rows and columns exchanged",
            "b1 alone: the product is not added, in columns 8 to 15",
            Planted::CudaC("matmul_a_bt", &[("i >= m || j >= n", "i >= n || j >= m")]),
        ),
        at(
            (SE, Z(1)),
            "the sum is kept in bfloat16",
            "z1 is made with a running sum that is cut to bfloat16 after each of the 196 terms",
            Planted::CudaC(
                "matmul_a_bt",
                &[(
                    "sum += a[i * k + l] * b[j * k + l];",
                    "sum = __uint_as_float(__float_as_uint(sum + a[i * k + l] * b[j * k + l]) & \
                     0xffff0000u);",
                )],
            ),
        ),
        at(
            (BCE, Z(1)),
            "the pixels are divided by 255 once more",
            "z1 is made of x / 255 in place of x: its product is 1/255 of what it should be, and b1 \
             is added as it is",
            Planted::Rust(|s| {
                let (x, w, b) = (s.get(X), s.get(TensorName::W(1)), s.get(B(1)));
                let x = |i| x[i] / 255.0;
                let sum = product([s.batch, 16, 196], |i, j, k| x(i * 196 + k) * w[j * 196 + k]);
                sum.iter().enumerate().map(|(i, z)| z + b[i % 16]).collect()
            }),
        ),
        at(
            (SE, Z(1)),
            "from row to row of the weights it is one element too few",
            "w1 is read with rows of 195 elements",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[(
                    "    ld.global.f32 bias, [b];\n    add.f32 sum",
                    "    sub.u64 w, w, 4;\n    ld.global.f32 bias, [b];\n    add.f32 sum",
                )],
            ),
        ),
        at(
            (BCE, Z(2)),
            "the next layer is fed with z",
            "z1 in place of a1",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[("sub.u64 a_prev, a, offset;", "sub.u64 a_prev, z, offset;")],
            ),
        ),
        at(
            (SE, Z(1)),
            "x is handed over as if it lay column by column",
            "x is read as if it were stored transposed",
            Planted::Cublas(|| Rules {
                column_major: |matmul, [m, n, k]| {
                    let mut call = column_major(matmul, [m, n, k]);
                    if matmul == Matmul::ABt {
                        call.second = Operand { transposed: true, rows: m, columns: k, ld: m };
                    }
                    call
                },
                ..Rules::default()
            }),
        ),
        at(
            ("three-layer", Z(2)),
            "the biases of the layer before are not skipped",
            "z2 reads w2 and b2 32 elements too early: the first row of w2 is b1, every other row is \
             the one before, and b2 is the beginning of the last row of w2",
            Planted::CudaC("train_step", &[("w = b + n;", "w = b;")]),
        ),
    ]
}

fn a() -> Vec<Fault> {
    vec![
        at(
            (SE, A(1)),
            "sigmoid in place of relu",
            "sigmoid(z)",
            Planted::CudaC("relu", &[("z[i] < 0.0f ? 0.0f : z[i]", "1.0f / (1.0f + expf(-z[i]))")]),
        ),
        at(
            ("batch-67", A(1)),
            "the size of the grid in place of that of a block",
            "it was not written, in the elements 313",
            Planted::CudaC("relu", &[("blockIdx.x * blockDim.x", "blockIdx.x * gridDim.x")]),
        ),
        Fault {
            step: 1,
            ..at(
                (CE, A(1)),
                "what is below zero is not stored",
                "still a1 of the step before: it was not written, where z1 is below 0",
                Planted::Ptx(
                    Rung::ThreadPerSample,
                    &[(
                        "selp.f32 sum, 0f00000000, sum, negative;\n    st.global.f32 [a], sum;",
                        "@!negative st.global.f32 [a], sum;",
                    )],
                ),
            )
        },
        at(
            ("batch-67", A(1)),
            "the bias of one unit is added to both units of a thread",
            "a1 has, from unit 16 on, the bias b1 of the unit 16 before added besides its own",
            Planted::Ptx(
                Rung::Tiled,
                &[(
                    "    add.f32 sum10, sum10, bias;\n",
                    "    add.f32 sum10, sum10, bias;\n    add.f32 sum01, sum01, bias;\n    \
                     add.f32 sum11, sum11, bias;\n",
                )],
            ),
        ),
        at(
            (CE, A(1)),
            "the third of four rows is a copy of the second",
            "w1 is read one row too early, in one column in 4 from 2",
            Planted::Ptx(
                Rung::OneLaunch,
                &[("ld.v4.f32 {w0, w1, w2, w3}, [row2];", "ld.v4.f32 {w0, w1, w2, w3}, [row1];")],
            ),
        ),
    ]
}

fn p() -> Vec<Fault> {
    vec![
        at(
            (CE, P),
            "softmax along the other axis",
            "over its sum over the batch",
            Planted::CudaC(
                "softmax",
                &[(
                    "c < classes; ++c)\n        sum += expf(row[c] - largest);",
                    "c < batch; ++c)\n        sum += expf(z[c * classes + j] - largest);",
                )],
            ),
        ),
        at(
            (CE, P),
            "the largest z is not subtracted in the sum",
            "exp(z - max z) over sum exp(z)",
            Planted::Ptx(
                Rung::OneLaunch,
                &[(
                    "    sub.f32 value, value, largest;\n    mul.f32 value, value, 0f3FB8AA3B;   //",
                    "    mul.f32 value, value, 0f3FB8AA3B;   //",
                )],
            ),
        ),
        at(
            (BCE, P),
            "the sign of z in sigmoid",
            "sigmoid(-z)",
            Planted::Ptx(
                Rung::Tiled,
                &[("mul.f32 prob, value, 0fBFB8AA3B;", "mul.f32 prob, value, 0f3FB8AA3B;")],
            ),
        ),
        at(
            (SE, P),
            "z is copied before the bias is added",
            "minus b2",
            Planted::Rust(|s| {
                let (z, b) = (s.get(Z(2)), s.get(B(2)));
                z.iter().enumerate().map(|(i, z)| z - b[i % 10]).collect()
            }),
        ),
        at(
            (CE, P),
            "the sum is not set back to 0 for the next sample",
            "p is divided, in each row, by the sum of exp z over this row and all rows before it",
            Planted::Rust(|s| {
                let mut sum = 0.0;
                let row = |z: &[f32]| {
                    sum += z.iter().map(|z| z.exp()).sum::<f32>();
                    z.iter().map(|z| z.exp() / sum).collect::<Vec<_>>()
                };
                s.get(Z(2)).chunks(10).flat_map(row).collect()
            }),
        ),
    ]
}

fn loss() -> Vec<Fault> {
    vec![
        at(
            (CE, Loss),
            "a parenthesis is missing",
            "loss has all z2 of each row subtracted, not that of its label alone",
            Planted::CudaC("cross_entropy", &[("(log_sum - row[c])", "log_sum - row[c]")]),
        ),
        at(
            (SE, Loss),
            "the magnitude in place of the square",
            "the magnitude of the difference is not squared",
            Planted::CudaC(
                "squared_error",
                &[("0.5f * difference * difference", "0.5f * fabsf(difference)")],
            ),
        ),
        at(
            (BCE, Loss),
            "no mean over the classes",
            "a sum over them in place of their mean",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[("div.rn.f32 losses_sum, losses_sum, classes;", "")],
            ),
        ),
        Fault {
            step: 1,
            ..at(
                (SE, Loss),
                "what is shown is smoothed over the steps",
                "loss is the mean of what it should be and of loss of the step before",
                Planted::Rust(|s| {
                    let loss = s.right()[0];
                    vec![s.before(Loss).map_or(loss, |before| 0.5 * (loss + before[0]))]
                }),
            )
        },
    ]
}
