//! The layouts of `mma` fragments, as given below each figure of the ISA ("Matrix Fragments for mma.…") for
//! each shape: the row and column of element `i` of a lane.

use super::forms::Product;

/// The row and column of element `i` of a lane's part of `a`.
pub(crate) fn position_in_a(product: &Product, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let low = |yes: bool| if yes { group } else { group + 8 };
    match (product.shape, product.a) {
        ((8, 8, 4), "f16") => {
            let low = lane < 16;
            if product.rows.0 {
                (if low { lane % 4 } else { lane % 4 + 4 }, i)
            } else {
                (if low { i % 4 } else { i % 4 + 4 }, lane % 4)
            }
        }
        ((8, 8, 4), _) => (group, thread),
        ((8, 8, 16), _) => (group, thread * 4 + i),
        ((8, 8, 32), _) => (group, thread * 8 + i),
        ((8, 8, 128), _) => (group, thread * 32 + i),
        ((16, 8, 4), _) => (low(i == 0), thread),
        ((16, 8, 8), "f16" | "bf16") => (low(i < 2), thread * 2 + (i & 1)),
        ((16, 8, 8), _) => (low(i.is_multiple_of(2)), if i < 2 { thread } else { thread + 4 }),
        ((16, 8, 16), "f16" | "bf16") => {
            let row = low(i < 2 || (4..6).contains(&i));
            (row, thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
        }
        ((16, 8, 16), "f64") => {
            (low(i.is_multiple_of(2)), if i.is_multiple_of(2) { i * 2 } else { i * 2 - 2 } + thread)
        }
        // s8, u8, e4m3, e5m2
        ((16, 8, 16), _) => (low(i < 4), thread * 4 + (i & 3)),
        ((16, 8, 32), "s4" | "u4") => (low(i < 8), thread * 8 + (i & 7)),
        ((16, 8, 32), _) => {
            let row = low(i < 4 || (8..12).contains(&i));
            (row, thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        }
        ((16, 8, 64), _) => {
            let row = low(i < 8 || (16..24).contains(&i));
            (row, thread * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
        }
        ((16, 8, 128), _) => (low(i < 32), thread * 32 + (i & 31)),
        ((16, 8, 256), _) => {
            let row = low(i < 32 || (64..96).contains(&i));
            (row, thread * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
        }
        (shape, ty) => panic!("{shape:?} {ty}"),
    }
}

/// The row and column of element `i` of a lane's part of `b`.
pub(crate) fn position_in_b(product: &Product, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = match (product.shape, product.a) {
        ((8, 8, 4), "f16") => {
            let low = lane < 16;
            return if product.rows.1 {
                (lane % 4, if low { i } else { i + 4 })
            } else {
                (i, if low { lane % 4 } else { lane % 4 + 4 })
            };
        }
        ((8 | 16, 8, 4), _) => thread,
        ((8, 8, 16), _) => thread * 4 + i,
        ((8, 8, 32), _) => thread * 8 + i,
        ((8, 8, 128), _) => thread * 32 + i,
        ((16, 8, 8), "f16" | "bf16") => thread * 2 + i,
        ((16, 8, 8), _) => {
            if i == 0 {
                thread
            } else {
                thread + 4
            }
        }
        ((16, 8, 16), "f16" | "bf16") => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        ((16, 8, 16), "f64") => thread + i * 4,
        ((16, 8, 16), _) => thread * 4 + i,
        ((16, 8, 32), "s4" | "u4") => thread * 8 + i,
        ((16, 8, 32), _) => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        ((16, 8, 64), _) => thread * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
        ((16, 8, 128), _) => thread * 32 + i,
        ((16, 8, 256), _) => thread * 32 + (i & 31) + if i < 32 { 0 } else { 128 },
        (shape, ty) => panic!("{shape:?} {ty}"),
    };
    (row, group)
}

/// The row and column of element `i` of a lane's part of `c` or `d` with the type `ty`.
pub(crate) fn position_in_c(product: &Product, ty: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    match (product.shape, product.a, ty) {
        ((8, 8, 4), "f16", "f16") => (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i),
        ((8, 8, 4), "f16", _) => {
            let x = (lane & 0b1) + (i & 0b10);
            (if lane < 16 { x } else { x + 4 }, (i & 0b100) + (lane & 0b10) + (i & 0b1))
        }
        ((8, ..), ..) => (group, thread * 2 + i),
        _ => (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
    }
}

/// The index of the matrix of which a lane has a part, for `mma.m8n8k4` with half precision; 0 for all other products.
pub(crate) fn matrix(product: &Product, lane: usize) -> usize {
    let fourfold = product.shape == (8, 8, 4) && product.a == "f16";
    if fourfold { lane % 16 / 4 } else { 0 }
}
