//! The blind test's faults of the backward pass and of the update.

use level3_cublas::Rules;
use level3_cublas::column_major::{Matmul, Operand, column_major};
use level4_ptx::Rung;
use tensor::TensorName::{BNext, Da, Db, Dw, Dz, W, WNext, X};

use crate::blind::{BCE, CE, SE, at};
use crate::faults::{Fault, Planted};
use crate::network::product;

/// All of them.
pub(crate) fn faults() -> Vec<Fault> {
    let mut all = output_gradient();
    all.extend(dw());
    all.extend(db());
    all.extend(da());
    all.extend(dz());
    all.extend(update());
    all
}

fn output_gradient() -> Vec<Fault> {
    vec![
        at(
            (CE, Dz(2)),
            "one divided by the batch in whole numbers",
            "dz2 is 0 everywhere: 1/B is computed in whole numbers and is 0",
            Planted::CudaC("output_gradient", &[("/ (float)batch", "* (float)(1 / batch)")]),
        ),
        at(
            ("batch-37", Dz(2)),
            "divided by the batch as it is padded to whole tiles",
            "dz2 is 37/64 of what it should be: it is divided by 64, B rounded up to a multiple of \
             32, not by 37",
            Planted::Ptx(
                Rung::Tiled,
                &[(
                    "cvt.rn.f32.u32 divisor, batch;",
                    "add.u32 delta, batch, 31;\n    and.b32 delta, delta, 0xffffffe0;\n    \
                     cvt.rn.f32.u32 divisor, delta;",
                )],
            ),
        ),
        at(
            (CE, Dz(2)),
            "the pointer of z in place of that of p",
            "z2 is read in place of p",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[(
                    "add.u64 p_row, p, offset;\n    add.u64 y_row, y, offset;\n    add.u64 dz",
                    "ld.global.u64 p_row, [layer+32];\n    cvta.to.global.u64 p_row, p_row;\n    \
                     add.u64 p_row, p_row, offset;\n    add.u64 y_row, y, offset;\n    add.u64 dz",
                )],
            ),
        ),
        Fault {
            step: 1,
            ..at(
                (SE, Dz(2)),
                "gradients of the output pile up from step to step",
                "plus dz2 of the step before",
                Planted::CudaC("output_gradient", &[("dz[i] = ", "dz[i] += ")]),
            )
        },
    ]
}

fn dw() -> Vec<Fault> {
    vec![
        at(
            (CE, Dw(2)),
            "dz is handed over as if it lay transposed",
            "dz2 is read as if it were stored transposed",
            Planted::Cublas(|| Rules {
                column_major: |matmul, [m, n, k]| {
                    let mut call = column_major(matmul, [m, n, k]);
                    if matmul == Matmul::AtB {
                        call.second = Operand { transposed: false, rows: k, columns: m, ld: k };
                    }
                    call
                },
                ..Rules::default()
            }),
        ),
        at(
            (SE, Dw(1)),
            "the inputs are rounded down to a multiple of 8",
            "it was not written, in columns 192 to 195",
            Planted::Cublas(|| Rules {
                column_major: |matmul, shape| {
                    let mut call = column_major(matmul, shape);
                    if matmul == Matmul::AtB {
                        call.first.rows &= !7;
                        call.result.rows &= !7;
                    }
                    call
                },
                ..Rules::default()
            }),
        ),
        at(
            (SE, Dw(2)),
            "threads add without an atomic operation",
            "only the last sample of the batch, 7, counts",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[(
                    "red.global.add.f32 [dw], value;",
                    "ld.global.f32 sum, [dw];\n    add.f32 sum, sum, value;\n    \
                     st.global.f32 [dw], sum;",
                )],
            ),
        ),
        at(
            (BCE, Dw(2)),
            "the row length of the other matrix",
            "a1 is read with rows of 10 elements",
            Planted::CudaC("matmul_at_b", &[("b[l * n + j]", "b[l * m + j]")]),
        ),
        at(
            ("batch-67", Dw(2)),
            "the second half of a tile is loaded from the rows of the first",
            "dw2 multiplies dz2 of samples 16 to 31 and 48 to 63 with a1 of the sample 16 before",
            Planted::Ptx(
                Rung::Tiled,
                &[("    add.u32 sample, sample, 16;\n    add.u32 to,", "    add.u32 to,")],
            ),
        ),
        Fault {
            step: 1,
            ..at(
                (BCE, Dw(1)),
                "the batch before is still in the buffer of x",
                "x of the step before",
                Planted::Rust(|s| {
                    let (dz, x) = (s.get(Dz(1)), s.before(X).unwrap_or_else(|| s.get(X)));
                    product([16, 196, s.batch], |j, k, i| dz[i * 16 + j] * x[i * 196 + k])
                }),
            )
        },
    ]
}

fn db() -> Vec<Fault> {
    vec![
        at(
            ("batch-37", Db(2)),
            "four rows from sample to sample, while eight are counted",
            "db2 adds samples w, w + 4, w + 8 and so on in warp w of 8, and not w, w + 8: samples 4 \
             to 19 count twice, 0 to 3 and 20 once, and those from 21 on not at all",
            Planted::Ptx(
                Rung::Tiled,
                &[("mul.wide.u32 stride, n, 32;", "mul.wide.u32 stride, n, 16;")],
            ),
        ),
        at(
            ("batch-67", Db(2)),
            "no barrier before the warps are added up",
            "all of the 67 samples but one in 8 are left out",
            Planted::Ptx(
                Rung::Tiled,
                &[("st.shared.f32 [to], sum;\n    bar.sync 0;", "st.shared.f32 [to], sum;")],
            ),
        ),
        at(
            (BCE, Db(2)),
            "the sum along the other axis",
            "the sum of dz2 over the units, not the samples, and 0 after the last sample",
            Planted::Rust(|s| {
                let mut db: Vec<f32> = s.get(Dz(2)).chunks(10).map(|dz| dz.iter().sum()).collect();
                db.resize(10, 0.0);
                db
            }),
        ),
        Fault {
            step: 1,
            ..at(
                (SE, Db(1)),
                "an average over the steps",
                "0.9 times db1 of the step before",
                Planted::Rust(|s| {
                    let right = s.right();
                    let Some(before) = s.before(Db(1)) else { return right };
                    right.iter().zip(before).map(|(db, before)| 0.9 * before + 0.1 * db).collect()
                }),
            )
        },
    ]
}

fn da() -> Vec<Fault> {
    vec![
        at(
            (BCE, Da(1)),
            "the weights are handed over as if they lay transposed",
            "w2 read in column-major order",
            Planted::Cublas(|| Rules {
                column_major: |matmul, [m, n, k]| {
                    let mut call = column_major(matmul, [m, n, k]);
                    if matmul == Matmul::AB {
                        call.first = Operand { transposed: true, rows: k, columns: n, ld: k };
                    }
                    call
                },
                ..Rules::default()
            }),
        ),
        at(
            (SE, Da(1)),
            "the result is stored column by column",
            "it is stored column-major",
            Planted::CudaC("matmul_a_b", &[("c[i * n + j] = sum", "c[j * m + i] = sum")]),
        ),
        at(
            (CE, Da(1)),
            "the weights of the layer before",
            "the beginning of w1 is read in place of w2",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[(
                    "ld.global.u64 w, [layer+16];\n    ld.global.u64 z_prev",
                    "ld.global.u64 w, [before+16];\n    ld.global.u64 z_prev",
                )],
            ),
        ),
        Fault {
            step: 1,
            ..at(
                (SE, Da(1)),
                "a copy of the weights is one update behind",
                "w2 of the step before",
                Planted::Rust(|s| {
                    let Some(last) = s.before(Dw(2)) else { return s.right() };
                    let (dz, w) = (s.get(Dz(2)), s.get(W(2)));
                    let w = |i: usize| w[i] + 0.1 * last[i];
                    product([s.batch, 16, 10], |i, j, k| dz[i * 10 + k] * w(k * 16 + j))
                }),
            )
        },
    ]
}

fn dz() -> Vec<Fault> {
    vec![
        at(
            (SE, Dz(1)),
            "relu itself in place of its slope",
            "multiplied by relu(z)",
            Planted::Ptx(
                Rung::ThreadPerSample,
                &[(
                    "selp.f32 sum, sum, 0f00000000, positive;",
                    "mul.f32 sum, sum, value;\n    selp.f32 sum, sum, 0f00000000, positive;",
                )],
            ),
        ),
        at(
            ("batch-67", Dz(1)),
            "the lower half of a tile takes the mask of the upper half",
            "row i ^ 16 for row i, in rows 16 to 31 of each 32",
            Planted::Ptx(
                Rung::Tiled,
                &[(
                    "    setp.gt.f32 q, active, 0f00000000;\n    selp.f32 sum10",
                    "    selp.f32 sum10",
                )],
            ),
        ),
    ]
}

fn update() -> Vec<Fault> {
    vec![
        at(
            (SE, WNext(1)),
            "the last element has no thread",
            "it is w1, in row 15 alone, of 16 and column 195 alone",
            Planted::CudaC("update", &[("i >= elements)", "i >= elements - 1)")]),
        ),
        at(
            (BCE, BNext(2)),
            "nobody updates what is left of a multiple of four",
            "it is b2, in elements 8 to 9",
            Planted::Ptx(Rung::Tiled, &[("@!four bra one_by_one;", "@!four ret;")]),
        ),
        at(
            (SE, BNext(1)),
            "every group of units takes the gradients of the first",
            "the first 4 elements of db1 are read again and again",
            Planted::Ptx(Rung::OneLaunch, &[("    add.u32 index, index, unit0;\n", "")]),
        ),
        at(
            (CE, WNext(1)),
            "one of 16 sums takes the gradient of another unit",
            "dw1 is read -196 elements off, in one row in 4",
            Planted::Ptx(
                Rung::OneLaunch,
                &[("fma.rn.f32 s2_1, d2, v1, s2_1;", "fma.rn.f32 s2_1, d1, v1, s2_1;")],
            ),
        ),
        Fault {
            step: 1,
            ..at(
                (CE, WNext(2)),
                "the learning rate decays",
                "the step is 0.900000 times",
                Planted::Rust(|s| {
                    let rate = if s.before(W(2)).is_some() { 0.09 } else { 0.1 };
                    s.get(W(2)).iter().zip(s.get(Dw(2))).map(|(w, dw)| w - rate * dw).collect()
                }),
            )
        },
        Fault {
            step: 1,
            ..at(
                (BCE, WNext(1)),
                "of two buffers of weights the older one is updated",
                "w1 of the step before is updated",
                Planted::Rust(|s| {
                    let right = s.right();
                    let Some(last) = s.before(Dw(1)) else { return right };
                    right.iter().zip(last).map(|(w, last)| w + 0.1 * last).collect()
                }),
            )
        },
        Fault {
            step: 1,
            ..at(
                (BCE, W(1)),
                "the weights are kept in bfloat16",
                "as bfloat16 has",
                Planted::Between(|w| {
                    for w in w {
                        let bits = w.to_bits();
                        let bits = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
                        *w = f32::from_bits(bits & 0xffff_0000);
                    }
                }),
            )
        },
    ]
}
