//! The faults that are planted, one at a time: in level 4's PTX and in level 2's CUDA C as text, in what
//! level 3 tells cuBLAS, and in Rust.

use level3_cublas::Rules;
use level3_cublas::column_major::Matmul;
use level4_ptx::Rung;
use tensor::TensorName;
use tensor::TensorName::{A, Da, Db, Dw, Dz, Loss, P, WNext, Z};

use crate::network::Step;

/// A fault, and what has to be said of it.
pub(crate) struct Fault {
    /// What is wrong, in a few words.
    pub(crate) what: &'static str,
    /// Words of a reading that is right.
    pub(crate) says: &'static str,
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
    /// In a kernel in CUDA C, likewise.
    CudaC(&'static str, &'static [(&'static str, &'static str)]),
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
    says: &'static str,
    tensor: TensorName,
    on: &'static str,
    texts: &'static [(&'static str, &'static str)],
) -> Fault {
    Fault { what, says, planted: Planted::Ptx(PLAIN, texts), on, step: 0, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    let mut all = vec![
        ptx(
            "the bias is not added",
            "b1 was not added",
            Z(1),
            CE,
            &[("add.f32 sum, sum, bias;", "")],
        ),
        ptx(
            "the bias is subtracted",
            "b1 is subtracted",
            Z(1),
            BCE,
            &[("add.f32 sum, sum, bias;", "sub.f32 sum, sum, bias;")],
        ),
        ptx(
            "the cursor of the biases stays where it is",
            "element 0 of b1 is added to every unit",
            Z(1),
            SE,
            &[("    add.u64 b, b, 4;\n", "")],
        ),
        ptx(
            "every sample reads the first row of x",
            "row 0",
            Z(1),
            CE,
            &[(
                "    mul.lo.u32 row, sample, m;\n    mul.wide.u32 offset, row, 4;\n    add.u64 a_prev",
                "    mov.u32 row, 0;\n    mul.wide.u32 offset, row, 4;\n    add.u64 a_prev",
            )],
        ),
        ptx(
            "the sum starts with 1",
            "1.0000",
            Z(1),
            BCE,
            &[(
                "each_unit:\n    mov.f32 sum, 0f00000000;\n    mov.u64 input",
                "each_unit:\n    mov.f32 sum, 0f3F800000;\n    mov.u64 input",
            )],
        ),
        ptx(
            "the magnitude in place of relu",
            "|z|",
            A(1),
            CE,
            &[("selp.f32 sum, 0f00000000, sum, negative;", "abs.f32 sum, sum;")],
        ),
        ptx(
            "a slope of 0.01 below zero",
            "leaky: 0.010000",
            A(1),
            BCE,
            &[(
                "selp.f32 sum, 0f00000000, sum, negative;",
                "mul.f32 value, sum, 0f3C23D70A;\n    selp.f32 sum, value, sum, negative;",
            )],
        ),
        ptx(
            "2 to the power of z in softmax",
            "2^z",
            P,
            CE,
            &[("mul.f32 exponent, value, 0f3FB8AA3B;    // log2 e", "mov.f32 exponent, value;")],
        ),
        ptx(
            "softmax is not divided by its sum",
            "not divided by its sum",
            P,
            CE,
            &[("div.rn.f32 prob, prob, total;", "")],
        ),
        ptx(
            "softmax's sum starts with 1",
            "1 is added to the sum",
            P,
            CE,
            &[("mov.f32 total, 0f00000000;", "mov.f32 total, 0f3F800000;")],
        ),
        ptx(
            "the binary logarithm in the loss",
            "log2 in place of ln",
            Loss,
            CE,
            &[(
                "fma.rn.f32 term, term, 0f3F317218, largest;     // ln 2",
                "add.f32 term, term, largest;",
            )],
        ),
        ptx(
            "2 to the power of -z in sigmoid",
            "2^-z",
            P,
            BCE,
            &[("mul.f32 exponent, value, 0fBFB8AA3B;    // -log2 e", "neg.f32 exponent, value;")],
        ),
        ptx(
            "sigmoid without its reciprocal",
            "1 + exp(-z)",
            P,
            BCE,
            &[("rcp.rn.f32 prob, prob;", "")],
        ),
        ptx(
            "p is twice z",
            "twice what it should be",
            P,
            SE,
            &[(
                "st.global.f32 [p_row], value;\n    ld.global.f32 target",
                "add.f32 prob, value, value;\n    st.global.f32 [p_row], prob;\n    ld.global.f32 target",
            )],
        ),
        ptx(
            "the one half of the squared error is missing",
            "twice what it should be",
            Loss,
            SE,
            &[("mul.f32 term, value, 0f3F000000;        // one half", "mov.f32 term, value;")],
        ),
        ptx(
            "y is not subtracted",
            "y is left out",
            Dz(2),
            CE,
            &[("sub.f32 gradient, prob, target;", "mov.f32 gradient, prob;")],
        ),
        ptx(
            "y - p in place of p - y",
            "sign flipped",
            Dz(2),
            BCE,
            &[("sub.f32 gradient, prob, target;", "sub.f32 gradient, target, prob;")],
        ),
        ptx(
            "not divided by B",
            "1/B is missing",
            Dz(2),
            SE,
            &[("div.rn.f32 gradient, gradient, divisor;", "")],
        ),
        ptx(
            "divided by C, not by B",
            "B/C",
            Dz(2),
            CE,
            &[(
                "cvt.rn.f32.u32 divisor, batch;\n    mov.u32 left, n;\noutput_gradient",
                "cvt.rn.f32.u32 divisor, n;\n    mov.u32 left, n;\noutput_gradient",
            )],
        ),
        ptx(
            "the cursor of y stays where it is",
            "column 0 of y is read for every column",
            Dz(2),
            BCE,
            &[("    add.u64 y_row, y_row, 4;\n    add.u64 dz, dz, 4;", "    add.u64 dz, dz, 4;")],
        ),
        ptx(
            "the biases' gradient is added twice",
            "added twice",
            Db(2),
            CE,
            &[(
                "red.global.add.f32 [db], gradient;",
                "red.global.add.f32 [db], gradient;\n    red.global.add.f32 [db], gradient;",
            )],
        ),
        ptx(
            "dw is dz alone",
            "a1 is left out",
            Dw(2),
            SE,
            &[("mul.f32 value, value, gradient;", "mov.f32 value, gradient;")],
        ),
        ptx(
            "the mask is turned round",
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
            "the mask is taken from da1",
            Dz(1),
            BCE,
            &[(
                "setp.gt.f32 positive, value, 0f00000000;",
                "setp.gt.f32 positive, sum, 0f00000000;",
            )],
        ),
        ptx(
            "a slope of 0.01 on the way back",
            "leaky: 0.010000",
            Dz(1),
            SE,
            &[(
                "selp.f32 sum, sum, 0f00000000, positive;",
                "mul.f32 value, sum, 0f3C23D70A;\n    selp.f32 sum, sum, value, positive;",
            )],
        ),
        ptx(
            "the first unit of the next layer is left out of da",
            "the first of the 10 units is left out",
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
            "rows of 10 elements, not of 16",
            Da(1),
            BCE,
            &[("mul.wide.u32 row_bytes, m, 4;", "mul.wide.u32 row_bytes, n, 4;")],
        ),
        ptx(
            "the step goes uphill",
            "the step has the wrong sign",
            WNext(1),
            CE,
            &[("neg.f32 step, learning_rate;", "mov.f32 step, learning_rate;")],
        ),
        ptx(
            "half a step",
            "the step is half",
            WNext(1),
            BCE,
            &[(
                "neg.f32 step, learning_rate;",
                "neg.f32 step, learning_rate;\n    mul.f32 step, step, 0f3F000000;",
            )],
        ),
        ptx(
            "the old weight is forgotten",
            "w1 is left out",
            WNext(1),
            SE,
            &[("fma.rn.f32 old, step, gradient, old;", "mul.f32 old, step, gradient;")],
        ),
        ptx(
            "weights decay by a twentieth",
            "weight decay by 5.0000e-2",
            WNext(1),
            CE,
            &[(
                "fma.rn.f32 old, step, gradient, old;",
                "fma.rn.f32 gradient, old, 0f3D4CCCCD, gradient;\n    fma.rn.f32 old, step, gradient, old;",
            )],
        ),
    ];
    let cublas = |what, says, tensor, step, rules| Fault {
        what,
        says,
        planted: Planted::Cublas(rules),
        on: CE,
        step,
        tensor,
    };
    all.push(cublas(
        "beta = 1 piles gradients up from step to step",
        "dw2 of the step before",
        Dw(2),
        1,
        || Rules {
            beta: |matmul| if matmul == Matmul::AtB { 1.0 } else { 0.0 },
            ..Rules::default()
        },
    ));
    all.push(cublas(
        "beta = 1/2 where da is passed on",
        "5.0000e-1 times da1 of the step before",
        Da(1),
        1,
        || Rules {
            beta: |matmul| if matmul == Matmul::AB { 0.5 } else { 0.0 },
            ..Rules::default()
        },
    ));
    all.push(cublas("beta = 1 in the forward pass", "z1 of the step before", Z(1), 1, || Rules {
        beta: |matmul| if matmul == Matmul::ABt { 1.0 } else { 0.0 },
        ..Rules::default()
    }));
    all.extend(crate::one_launch::faults());
    all.extend(crate::tiled::faults());
    all.extend(crate::cuda_c::faults());
    all.extend(crate::in_rust::faults());
    all.extend(crate::cuda_c_more::faults());
    all.extend(crate::last::faults());
    all
}
