//! `mma` in every shape and type: products of small integers, which every type represents exactly and which
//! have the same sum in any order, compared with integer arithmetic; and matrices with a single non-zero
//! element.

use ptx_emulator::RunOptions;

use super::forms::{Product, bits, products};
use super::isa;
use super::warp::{Row, Warps};
pub(crate) use crate::random::Random;

/// A number as an element of a type.
pub(crate) fn encode(ty: &str, value: i64) -> u64 {
    match ty {
        "f64" => (value as f64).to_bits(),
        "f32" | "tf32" => u64::from((value as f32).to_bits()),
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        "f16" => encode_small_integer(value, 5, 10),
        "e4m3" => encode_small_integer(value, 4, 3),
        "e5m2" => encode_small_integer(value, 5, 2),
        _ => value as u64 & ((1 << bits(ty)) - 1),
    }
}

/// A small integer in a format with these numbers of exponent and fraction bits.
fn encode_small_integer(value: i64, exponent: u32, fraction: u32) -> u64 {
    let Some(top) = value.unsigned_abs().checked_ilog2() else { return 0 };
    let sign = u64::from(value < 0) << (exponent + fraction);
    let field = u64::from(top) + (1 << (exponent - 1)) - 1;
    let digits = (value.unsigned_abs() << fraction >> top) & ((1 << fraction) - 1);
    sign | field << fraction | digits
}

/// The number that an element represents.
pub(crate) fn decode(ty: &str, word: u64) -> i64 {
    let whole = |value: f64| {
        assert!(value.fract() == 0.0, "{value}");
        value as i64
    };
    match ty {
        "f64" => whole(f64::from_bits(word)),
        "f32" => whole(f64::from(f32::from_bits(word as u32))),
        "f16" => {
            let field = (word >> 10 & 31) as i32;
            let magnitude = if field == 0 {
                (word & 1023) as f64 * f64::powi(2.0, -24)
            } else {
                (word & 1023 | 1024) as f64 * f64::powi(2.0, field - 25)
            };
            whole(if word >> 15 & 1 == 1 { -magnitude } else { magnitude })
        }
        _ => i64::from(word as u32 as i32),
    }
}

/// The range of numbers for a type, small enough for the sums to be exact in half precision.
pub(crate) fn range(ty: &str) -> (i64, i64) {
    match ty {
        "b1" => (0, 1),
        "u4" | "u8" => (0, 7),
        "s4" | "s8" => (-8, 7),
        _ => (-3, 3),
    }
}

/// Several matrices of the same size, stored by rows.
#[derive(Clone)]
struct Matrices {
    columns: usize,
    size: usize,
    values: Vec<i64>,
}

impl Matrices {
    fn new(count: usize, rows: usize, columns: usize) -> Self {
        Self { columns, size: rows * columns, values: vec![0; count * rows * columns] }
    }

    fn index_of(&self, matrix: usize, (row, column): (usize, usize)) -> usize {
        matrix * self.size + row * self.columns + column
    }
}

/// The registers of a warp that hold the matrices.
fn registers(
    product: &Product,
    ty: &str,
    count: usize,
    matrices: &Matrices,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<Row> {
    let parts = if ty == "f64" { 1 } else { 32 / bits(ty) };
    (0..count)
        .map(|register| {
            std::array::from_fn(|lane| {
                (0..parts).fold(0, |word, part| {
                    let at = matrices
                        .index_of(isa::matrix(product, lane), place(lane, register * parts + part));
                    word | encode(ty, matrices.values[at]) << (part * bits(ty))
                })
            })
        })
        .collect()
}

fn expected(product: &Product, a: &Matrices, b: &Matrices, c: &Matrices) -> Matrices {
    let (m, n, k) = product.shape;
    let mut d = c.clone();
    for matrix in 0..c.values.len() / c.size {
        for row in 0..m {
            for column in 0..n {
                let sum: i64 = (0..k)
                    .map(|k| {
                        let x = a.values[a.index_of(matrix, (row, k))];
                        let y = b.values[b.index_of(matrix, (k, column))];
                        match product.modifier {
                            "xor.popc" => x ^ y,
                            _ => x * y,
                        }
                    })
                    .sum();
                let at = d.index_of(matrix, (row, column));
                d.values[at] += sum;
                if product.d == "s32" {
                    let sum = d.values[at];
                    let limited = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                    let kept = if product.modifier == "satfinite" { limited } else { sum };
                    d.values[at] = i64::from(kept as i32);
                }
            }
        }
    }
    d
}

/// Runs products, each with one warp, and compares the results.
fn check(product: &Product, cases: &[(Matrices, Matrices, Matrices)]) {
    let [d, a, b, c] = product.registers();
    let width = |ty: &str| if ty == "f64" { 64 } else { 32 };
    let inputs: Vec<Vec<Row>> = cases
        .iter()
        .map(|(am, bm, cm)| {
            let a = registers(product, product.a, a, am, |lane, i| {
                isa::position_in_a(product, lane, i)
            });
            let b = registers(product, product.b, b, bm, |lane, i| {
                isa::position_in_b(product, lane, i)
            });
            let c = registers(product, product.c, c, cm, |lane, i| {
                isa::position_in_c(product, product.c, lane, i)
            });
            [a, b, c].concat()
        })
        .collect();
    for portable in [false, true] {
        let warps = Warps {
            text: format!("{} {{%d}}, {{%a}}, {{%b}}, {{%c}}", product.name()),
            written: (width(product.d), d),
            read: vec![(width(product.a), a), (width(product.b), b), (width(product.c), c)],
            options: RunOptions { portable, ..RunOptions::default() },
        };
        let results = warps.run(&inputs);
        let parts = if product.d == "f16" { 2 } else { 1 };
        for ((a, b, c), rows) in cases.iter().zip(results) {
            let wanted = expected(product, a, b, c);
            for (register, row) in rows.iter().enumerate() {
                for (lane, word) in row.iter().enumerate() {
                    for part in 0..parts {
                        let place =
                            isa::position_in_c(product, product.d, lane, register * parts + part);
                        let at = wanted.index_of(isa::matrix(product, lane), place);
                        let bits = word >> (16 * part) & if parts == 2 { 0xffff } else { u64::MAX };
                        let found = decode(product.d, bits);
                        assert_eq!(
                            found,
                            wanted.values[at],
                            "{}: lane {lane}, register {register}, part {part}: {place:?}",
                            product.name()
                        );
                    }
                }
            }
        }
    }
}

fn matrices(product: &Product) -> (Matrices, Matrices, Matrices) {
    let (m, n, k) = product.shape;
    let count = if product.shape == (8, 8, 4) && product.a == "f16" { 4 } else { 1 };
    (Matrices::new(count, m, k), Matrices::new(count, k, n), Matrices::new(count, m, n))
}

#[test]
fn products_of_integers_are_exact_in_every_form() {
    let mut random = Random(1);
    let all = products();
    assert!(all.len() > 80, "{}", all.len());
    for product in &all {
        let cases: Vec<_> = (0..6)
            .map(|_| {
                let (mut a, mut b, mut c) = matrices(product);
                let mut fill = |matrices: &mut Matrices, range| {
                    matrices.values.iter_mut().for_each(|value| *value = random.between(range));
                };
                fill(&mut a, range(product.a));
                fill(&mut b, range(product.b));
                fill(&mut c, (-100, 100));
                (a, b, c)
            })
            .collect();
        check(product, &cases);
    }
}

#[test]
fn every_element_has_the_position_of_the_isa() {
    for product in products() {
        let mut random = Random(2);
        let mut cases = Vec::new();
        let (a, b, c) = matrices(&product);
        // A single non-zero element of `a`, then of `b`. The rows of the other matrix differ.
        for at in 0..a.values.len() {
            let (mut a, mut b) = (a.clone(), b.clone());
            a.values[at] = 1;
            b.values.iter_mut().for_each(|value| *value = random.between(range(product.b)));
            cases.push((a, b, c.clone()));
        }
        for at in 0..b.values.len() {
            let (mut a, mut b) = (a.clone(), b.clone());
            b.values[at] = 1;
            a.values.iter_mut().for_each(|value| *value = random.between(range(product.a)));
            cases.push((a, b, c.clone()));
        }
        for at in 0..c.values.len() {
            let mut c = c.clone();
            c.values[at] = 7;
            cases.push((a.clone(), b.clone(), c));
        }
        // Shapes with thousands of elements only test every seventh.
        let step = if cases.len() > 1500 { 7 } else { 1 };
        let cases: Vec<_> = cases.into_iter().step_by(step).collect();
        check(&product, &cases);
    }
}

#[test]
fn integer_sums_wrap_or_saturate() {
    for product in products().iter().filter(|product| product.d == "s32") {
        let (mut a, mut b, c) = matrices(product);
        a.values.fill(range(product.a).1);
        b.values.fill(range(product.b).1);
        if product.modifier == "xor.popc" {
            b.values.fill(0);
        }
        let (mut high, mut low) = (c.clone(), c);
        high.values.fill(i64::from(i32::MAX) - 3);
        low.values.fill(i64::from(i32::MIN) + 3);
        let mut negative = a.clone();
        negative.values.fill(range(product.a).0);
        check(product, &[(a, b.clone(), high), (negative, b, low)]);
    }
}
