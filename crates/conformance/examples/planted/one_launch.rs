//! Faults in the rung of one launch: what chunks, groups and the lanes of a warp may get wrong.

use level4_ptx::Rung;
use tensor::TensorName;
use tensor::TensorName::{A, BNext, Dz, WNext, Z};

use crate::faults::{Fault, Planted};

const fn one(
    what: &'static str,
    says: &'static str,
    tensor: TensorName,
    on: &'static str,
    texts: &'static [(&'static str, &'static str)],
) -> Fault {
    Fault { what, says, planted: Planted::Ptx(Rung::OneLaunch, texts), on, step: 0, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    vec![
        one(
            "only the first chunk of samples is added",
            "only the first 23 of the 67 samples",
            WNext(1),
            "batch-67",
            &[("mov.u32 left, chunks;", "mov.u32 left, 1;")],
        ),
        one(
            "only the last chunk of samples counts for the biases",
            "only the last 21 of the 67 samples",
            BNext(1),
            "batch-67",
            &[(
                "add_bias_chunks:\n    ld.global.f32 gradient, [from];\n    add.f32 sum, sum, gradient;",
                "add_bias_chunks:\n    ld.global.f32 gradient, [from];\n    mov.f32 sum, gradient;",
            )],
        ),
        one(
            "every chunk multiplies with the dz of the first",
            "dz1 is read",
            WNext(1),
            "batch-67",
            &[(
                "    add.u32 sample, sample, sample0;\n    add.u32 unit, unit, unit0;\n    mad.lo.u32",
                "    add.u32 unit, unit, unit0;\n    mad.lo.u32",
            )],
        ),
        one(
            "the last shuffle of the sum over the lanes is missing",
            "of each 8 of the 196 inputs",
            A(1),
            "softmax-steps",
            &[(
                "    shfl.sync.bfly.b32 send, sum, 1, 31, 0xffffffff;\n    add.f32 sum, sum, send;\n",
                "",
            )],
        ),
        one(
            "the last layer gets no bias",
            "b2 was not added",
            Z(2),
            "bce-steps",
            &[("    @stores add.f32 value, value, bias;\n", "")],
        ),
        one(
            "from row to row of w2 it is its rows, not its columns",
            "rows of 10 elements, not of 16",
            Dz(1),
            "softmax-steps",
            &[(
                "mul.wide.u32 stride, n, 4;\n    mul.lo.u32 items",
                "mul.wide.u32 stride, n_next, 4;\n    mul.lo.u32 items",
            )],
        ),
    ]
}
