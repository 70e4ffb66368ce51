//! Faults in the rung of tiles: what a tile, a half of it, a warp or its lanes may get wrong.

use level4_ptx::Rung;
use tensor::TensorName;
use tensor::TensorName::{A, Db, Dw, P};

use crate::faults::{Fault, Planted};

const fn tiled(
    what: &'static str,
    says: &'static str,
    tensor: TensorName,
    on: &'static str,
    texts: &'static [(&'static str, &'static str)],
) -> Fault {
    Fault { what, says, planted: Planted::Ptx(Rung::Tiled, texts), on, step: 0, tensor }
}

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    vec![
        tiled(
            "each fourth term of the sum is left out in a quarter of each tile",
            "one in 4 of the 196 inputs is left out, from 3 on",
            A(1),
            "softmax-steps",
            &[("    fma.rn.f32 sum00, a0_3, w0_3, sum00;\n", "")],
        ),
        tiled(
            "the lower half of a tile gets no bias",
            "b1 is not added",
            A(1),
            "batch-37",
            &[("    add.f32 sum10, sum10, bias;\n", "")],
        ),
        tiled(
            "no relu in the lower half of a tile",
            "it is z1",
            A(1),
            "batch-67",
            &[("setp.lt.and.f32 p, sum10, 0f00000000, q;", "setp.ne.u32 p, 0, 0;")],
        ),
        tiled(
            "every tile multiplies with the first tile of the weights",
            "w1 is read",
            A(1),
            "bce-steps",
            &[("    add.u64 w_from, w_from, 128;\n", "")],
        ),
        tiled(
            "2 to the power of z in the sum that softmax divides by",
            "sum 2^",
            P,
            "softmax-steps",
            &[("    mul.f32 value, value, 0f3FB8AA3B;   // log2 e\n", "")],
        ),
        tiled(
            "the sum over the lanes leaves out lanes 8 and up",
            "groups of 8",
            P,
            "softmax-steps",
            &[("total_known:\n    mov.u32 delta, 16;", "total_known:\n    mov.u32 delta, 4;")],
        ),
        tiled(
            "the gradient adds 16 of each 32 samples",
            "of each 32",
            Dw(2),
            "batch-67",
            &[(
                "sub.u32 left, batch, sample0;\n    min.u32 left, left, 32;",
                "sub.u32 left, batch, sample0;\n    min.u32 left, left, 16;",
            )],
        ),
        tiled(
            "the sum over the batch leaves out the last warp",
            "the last of the 8 samples is left out",
            Db(2),
            "softmax-steps",
            &[("setp.lt.u32 more, s, 8;", "setp.lt.u32 more, s, 7;")],
        ),
    ]
}
