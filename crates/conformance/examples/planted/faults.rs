//! The faults that are planted, one at a time: in level 4's PTX as text, in what level 3 tells
//! cuBLAS, and in Rust.

use level3_cublas::Rules;
use level3_cublas::column_major::Form;
use level4_ptx::Rung;
use tensor::TensorName;
use tensor::TensorName::{A, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};

use crate::network::{Step, product};

/// A fault, and what has to be said of it.
pub(crate) struct Fault {
    /// What is wrong, in a few words.
    pub(crate) what: &'static str,
    /// Where it is planted.
    pub(crate) planted: Planted,
    /// The reference that it is compared with: a dump or a run of `reference/dumps`.
    pub(crate) on: &'static str,
    /// The step that it shows in first.
    pub(crate) step: u64,
    /// The tensor that it makes wrong.
    pub(crate) tensor: TensorName,
}

/// How a fault is planted.
pub(crate) enum Planted {
    /// In the PTX of a rung: each text is replaced wherever it stands.
    Ptx(Rung, &'static [(&'static str, &'static str)]),
    /// In what level 3 tells cuBLAS.
    Cublas(fn() -> Rules),
    /// In Rust: a tensor is made wrongly, and all that follows is made of it.
    Rust(fn(&Step<'_>) -> Vec<f32>),
    /// In Rust: the parameters are changed behind the update.
    Between(fn(&mut [f32])),
}

const PLAIN: Rung = Rung::ThreadPerSample;
const CE: &str = "softmax-steps";
const BCE: &str = "bce-steps";
const SE: &str = "squared-error-steps";

const fn ptx(
    what: &'static str,
    tensor: TensorName,
    on: &'static str,
    texts: &'static [(&'static str, &'static str)],
) -> Fault {
    Fault { what, planted: Planted::Ptx(PLAIN, texts), on, step: 0, tensor }
}

const fn rust(
    what: &'static str,
    tensor: TensorName,
    step: u64,
    make: fn(&Step<'_>) -> Vec<f32>,
) -> Fault {
    Fault { what, planted: Planted::Rust(make), on: CE, step, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    let mut all = vec![
        ptx("the bias is not added", Z(1), CE, &[("add.f32 sum, sum, bias;", "")]),
        ptx(
            "the bias is subtracted",
            Z(1),
            BCE,
            &[("add.f32 sum, sum, bias;", "sub.f32 sum, sum, bias;")],
        ),
        ptx(
            "the cursor of the biases stays where it is",
            Z(1),
            SE,
            &[("    add.u64 b, b, 4;\n", "")],
        ),
        ptx(
            "every sample reads the first row of x",
            Z(1),
            CE,
            &[(
                "    mul.lo.u32 row, sample, m;\n    mul.wide.u32 offset, row, 4;\n    add.u64 a_prev",
                "    mov.u32 row, 0;\n    mul.wide.u32 offset, row, 4;\n    add.u64 a_prev",
            )],
        ),
        ptx(
            "the sum starts with 1",
            Z(1),
            BCE,
            &[(
                "each_unit:\n    mov.f32 sum, 0f00000000;\n    mov.u64 input",
                "each_unit:\n    mov.f32 sum, 0f3F800000;\n    mov.u64 input",
            )],
        ),
        ptx(
            "the magnitude in place of relu",
            A(1),
            CE,
            &[("selp.f32 sum, 0f00000000, sum, negative;", "abs.f32 sum, sum;")],
        ),
        ptx(
            "a slope of 0.01 below zero",
            A(1),
            BCE,
            &[(
                "selp.f32 sum, 0f00000000, sum, negative;",
                "mul.f32 value, sum, 0f3C23D70A;\n    selp.f32 sum, value, sum, negative;",
            )],
        ),
        ptx(
            "2 to the power of z in softmax",
            P,
            CE,
            &[("mul.f32 exponent, value, 0f3FB8AA3B;    // log2 e", "mov.f32 exponent, value;")],
        ),
        ptx("softmax is not divided by its sum", P, CE, &[("div.rn.f32 prob, prob, total;", "")]),
        ptx(
            "softmax's sum starts with 1",
            P,
            CE,
            &[("mov.f32 total, 0f00000000;", "mov.f32 total, 0f3F800000;")],
        ),
        ptx(
            "the binary logarithm in the loss",
            Loss,
            CE,
            &[(
                "fma.rn.f32 term, term, 0f3F317218, largest;     // ln 2",
                "add.f32 term, term, largest;",
            )],
        ),
        ptx(
            "2 to the power of -z in sigmoid",
            P,
            BCE,
            &[("mul.f32 exponent, value, 0fBFB8AA3B;    // -log2 e", "neg.f32 exponent, value;")],
        ),
        ptx("sigmoid without its reciprocal", P, BCE, &[("rcp.rn.f32 prob, prob;", "")]),
        ptx(
            "p is twice z",
            P,
            SE,
            &[(
                "st.global.f32 [p_row], value;\n    ld.global.f32 target",
                "add.f32 prob, value, value;\n    st.global.f32 [p_row], prob;\n    ld.global.f32 target",
            )],
        ),
        ptx(
            "the one half of the squared error is missing",
            Loss,
            SE,
            &[("mul.f32 term, value, 0f3F000000;        // one half", "mov.f32 term, value;")],
        ),
        ptx(
            "y is not subtracted",
            Dz(2),
            CE,
            &[("sub.f32 gradient, prob, target;", "mov.f32 gradient, prob;")],
        ),
        ptx(
            "y - p in place of p - y",
            Dz(2),
            BCE,
            &[("sub.f32 gradient, prob, target;", "sub.f32 gradient, target, prob;")],
        ),
        ptx("not divided by B", Dz(2), SE, &[("div.rn.f32 gradient, gradient, divisor;", "")]),
        ptx(
            "divided by C, not by B",
            Dz(2),
            CE,
            &[(
                "cvt.rn.f32.u32 divisor, batch;\n    mov.u32 left, n;\noutput_gradient",
                "cvt.rn.f32.u32 divisor, n;\n    mov.u32 left, n;\noutput_gradient",
            )],
        ),
        ptx(
            "the cursor of y stays where it is",
            Dz(2),
            BCE,
            &[("    add.u64 y_row, y_row, 4;\n    add.u64 dz, dz, 4;", "    add.u64 dz, dz, 4;")],
        ),
        ptx(
            "the biases' gradient is added twice",
            Db(2),
            CE,
            &[(
                "red.global.add.f32 [db], gradient;",
                "red.global.add.f32 [db], gradient;\n    red.global.add.f32 [db], gradient;",
            )],
        ),
        ptx(
            "dw is dz alone",
            Dw(2),
            SE,
            &[("mul.f32 value, value, gradient;", "mov.f32 value, gradient;")],
        ),
        ptx(
            "the mask is turned round",
            Dz(1),
            CE,
            &[(
                "setp.gt.f32 positive, value, 0f00000000;",
                "setp.le.f32 positive, value, 0f00000000;",
            )],
        ),
        ptx(
            "the mask is made of da",
            Dz(1),
            BCE,
            &[(
                "setp.gt.f32 positive, value, 0f00000000;",
                "setp.gt.f32 positive, sum, 0f00000000;",
            )],
        ),
        ptx(
            "a slope of 0.01 on the way back",
            Dz(1),
            SE,
            &[(
                "selp.f32 sum, sum, 0f00000000, positive;",
                "mul.f32 value, sum, 0f3C23D70A;\n    selp.f32 sum, sum, value, positive;",
            )],
        ),
        ptx(
            "the first unit of the next layer is left out of da",
            Da(1),
            CE,
            &[(
                "    mov.u32 left, n;\ncolumn:",
                "    sub.u32 left, n, 1;\n    add.u64 dz, dz, 4;\n    \
                 add.u64 w_column, w_column, row_bytes;\ncolumn:",
            )],
        ),
        ptx(
            "from row to row it is n elements, not m",
            Da(1),
            BCE,
            &[("mul.wide.u32 row_bytes, m, 4;", "mul.wide.u32 row_bytes, n, 4;")],
        ),
        ptx(
            "the step goes uphill",
            WNext(1),
            CE,
            &[("neg.f32 step, learning_rate;", "mov.f32 step, learning_rate;")],
        ),
        ptx(
            "half a step",
            WNext(1),
            BCE,
            &[(
                "neg.f32 step, learning_rate;",
                "neg.f32 step, learning_rate;\n    mul.f32 step, step, 0f3F000000;",
            )],
        ),
        ptx(
            "the old weight is forgotten",
            WNext(1),
            SE,
            &[("fma.rn.f32 old, step, gradient, old;", "mul.f32 old, step, gradient;")],
        ),
        ptx(
            "weights decay by a twentieth",
            WNext(1),
            CE,
            &[(
                "fma.rn.f32 old, step, gradient, old;",
                "fma.rn.f32 gradient, old, 0f3D4CCCCD, gradient;\n    fma.rn.f32 old, step, gradient, old;",
            )],
        ),
    ];
    all.push(Fault {
        what: "only the first chunk of samples is added",
        planted: Planted::Ptx(Rung::OneLaunch, &[("mov.u32 left, chunks;", "mov.u32 left, 1;")]),
        on: "batch-67",
        step: 0,
        tensor: WNext(1),
    });
    let cublas = |what, tensor, step, rules| Fault {
        what,
        planted: Planted::Cublas(rules),
        on: CE,
        step,
        tensor,
    };
    all.push(cublas("beta = 1 piles gradients up from step to step", Dw(2), 1, || Rules {
        beta: |form| if form == Form::AtB { 1.0 } else { 0.0 },
        ..Rules::default()
    }));
    all.push(cublas("beta = 1/2 where da is passed on", Da(1), 1, || Rules {
        beta: |form| if form == Form::AB { 0.5 } else { 0.0 },
        ..Rules::default()
    }));
    all.push(cublas("beta = 1 in the forward pass", Z(1), 1, || Rules {
        beta: |form| if form == Form::ABt { 1.0 } else { 0.0 },
        ..Rules::default()
    }));
    all.extend(crate::tiled::faults());
    all.extend(in_rust());
    all
}

fn in_rust() -> Vec<Fault> {
    vec![
        rust("momentum of 0.9 that nobody asked for", WNext(1), 1, |s| {
            let last = s.before(Dw(1));
            let next = s.right().into_iter().enumerate();
            next.map(|(i, w)| w - 0.1 * 0.9 * last.map_or(0.0, |last| last[i])).collect()
        }),
        rust("L2 regularisation in the gradient", Dw(1), 0, |s| {
            s.right().iter().zip(s.get(W(1))).map(|(dw, w)| dw + 0.01 * w).collect()
        }),
        rust("the mask of the step before", Dz(1), 1, |s| {
            let z = s.before(Z(1)).unwrap_or_else(|| s.get(Z(1)));
            s.get(Da(1)).iter().zip(z).map(|(&da, &z)| if z > 0.0 { da } else { 0.0 }).collect()
        }),
        rust("the weights are updated before da is passed on", Da(1), 0, |s| {
            let step = |(w, dw): (&f32, &f32)| w - 0.1 * dw;
            let w: Vec<f32> = s.get(W(2)).iter().zip(s.get(Dw(2))).map(step).collect();
            let dz = s.get(Dz(2));
            product([s.batch, 16, 10], |i, j, k| dz[i * 10 + k] * w[k * 16 + j])
        }),
        rust("the last sample is left out of the biases' gradient", Db(1), 0, |s| {
            let dz = s.get(Dz(1));
            product([1, 16, s.batch - 1], |_, j, i| dz[i * 16 + j])
        }),
        rust("every second sample is left out of the gradient", Dw(1), 0, |s| {
            let (dz, x) = (s.get(Dz(1)), s.get(X));
            let keep = |i: usize| if i.is_multiple_of(2) { 1.0 } else { 0.0 };
            product([16, 196, s.batch], |j, k, i| keep(i) * dz[i * 16 + j] * x[i * 196 + k])
        }),
        rust("the biases' gradient is summed of da", Db(1), 0, |s| {
            let da = s.get(Da(1));
            product([1, 16, s.batch], |_, j, i| da[i * 16 + j])
        }),
        rust("the last 4 of 196 pixels are left out", Z(1), 0, |s| {
            let (x, w, b) = (s.get(X), s.get(W(1)), s.get(TensorName::B(1)));
            let sum = product([s.batch, 16, 192], |i, j, k| x[i * 196 + k] * w[j * 196 + k]);
            sum.iter().enumerate().map(|(i, z)| z + b[i % 16]).collect()
        }),
        rust("the biases of the first layer in the second", Z(2), 0, |s| {
            let b = (s.get(TensorName::B(1)), s.get(TensorName::B(2)));
            s.right().iter().enumerate().map(|(i, z)| z - b.1[i % 10] + b.0[i % 10]).collect()
        }),
        rust("the labels of the step before", Dz(2), 1, |s| {
            let y = s.before(Y).unwrap_or_else(|| s.get(Y));
            s.get(P).iter().zip(y).map(|(p, y)| (p - y) / s.batch as f32).collect()
        }),
        rust("sigmoid's slope at the output", Dz(2), 0, |s| {
            s.right().iter().zip(s.get(P)).map(|(dz, p)| dz * p * (1.0 - p)).collect()
        }),
        rust("the last row is left over from the step before", A(1), 1, |s| {
            let mut a = s.right();
            let last = a.len() - 16;
            if let Some(before) = s.before(A(1)) {
                let end = a.len();
                a[last..].copy_from_slice(&before[last..end]);
            }
            a
        }),
        rust("softmax leaves the last class out of its sum", P, 0, |s| {
            let z = s.get(Z(2));
            let sum = |row: &[f32]| row[..9].iter().map(|z| z.exp()).sum::<f32>();
            (0..z.len()).map(|i| z[i].exp() / sum(&z[i / 10 * 10..][..10])).collect()
        }),
        rust("the loss of the first sample counts twice", Loss, 0, |s| {
            let (p, y) = (s.get(P), s.get(Y));
            let of = |i: usize| (0..10).map(|c| -y[i * 10 + c] * p[i * 10 + c].ln()).sum::<f32>();
            vec![((0..s.batch).map(of).sum::<f32>() + of(0)) / s.batch as f32]
        }),
        rust("biases are updated by the gradient of the step before", BNext(1), 1, |s| {
            let db = s.before(Db(1)).unwrap_or_else(|| s.get(Db(1)));
            s.get(TensorName::B(1)).iter().zip(db).map(|(b, db)| b - 0.1 * db).collect()
        }),
        Fault {
            what: "the weights are clipped between the steps",
            planted: Planted::Between(|w| w.iter_mut().for_each(|w| *w = w.clamp(-0.06, 0.06))),
            on: CE,
            step: 1,
            tensor: W(1),
        },
    ]
}
