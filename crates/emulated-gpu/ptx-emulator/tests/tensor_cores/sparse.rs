//! `mma.sp`: products of integers in every form, compared with integer arithmetic. The elements of `a` and
//! their metadata have the positions of the ISA.

use emulated_gpu_test_support::ptx::{HEADER, emulator, launch};
use ptx_emulator::source::Source;
use ptx_emulator::{FaultKind, RunOptions, parse};

use super::forms::{SparseProduct, bits, sparse_products};
use super::products::{Random, decode, encode, range};
use super::warp::{Row, Warps};

/// A matrix by rows.
type Matrix = Vec<Vec<i64>>;
/// The two stored positions of each chunk of each row.
type Choices = Vec<Vec<(usize, usize)>>;
/// The stored positions of `a`; `a`, `b` and `c`.
type Case = (Choices, Matrix, Matrix, Matrix);

/// The number of columns of a chunk, and the number of adjacent columns that are stored or left out together.
fn chunk_columns(ty: &str) -> (usize, usize) {
    match ty {
        "tf32" => (2, 1),
        "s4" | "u4" => (8, 2),
        _ => (4, 1),
    }
}

/// The row of element `i` of a lane's part of `a`, and a range of columns: the element's register stores half of them
/// ("Matrix fragments for sparse mma…").
fn columns_of(product: &SparseProduct, lane: usize, i: usize) -> (usize, std::ops::Range<usize>) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = |low: bool| if low { group } else { group + 8 };
    let (row, first, width) = match (product.k, product.a) {
        (16, "f16" | "bf16") => (row(i < 2), thread * 4, 4),
        (32, "f16" | "bf16") => {
            (row(i < 2 || (4..6).contains(&i)), thread * 4 + if i < 4 { 0 } else { 16 }, 4)
        }
        (8, "tf32") => (row(i == 0), thread * 2, 2),
        (16, "tf32") => (row(i.is_multiple_of(2)), thread * 2 + if i < 2 { 0 } else { 8 }, 2),
        (32, _) => (row(i < 4), thread * 8, 8),
        (64, "s4" | "u4") => (row(i < 8), thread * 16, 16),
        (64, _) => (row(i < 4 || (8..12).contains(&i)), thread * 8 + if i < 8 { 0 } else { 32 }, 8),
        (128, _) => {
            (row(i < 8 || (16..24).contains(&i)), thread * 16 + if i < 16 { 0 } else { 64 }, 16)
        }
        other => panic!("{other:?}"),
    };
    (row, first..first + width)
}

/// The lane that holds the metadata of a chunk of a row, and the lowest of their four bits.
fn metadata_of(product: &SparseProduct, row: usize, column: usize) -> (usize, usize) {
    let (group, below, f) = (row % 8, row / 8, product.selector as usize);
    let at = column / chunk_columns(product.a).0;
    let half = column / (product.k / 2);
    match (product.k, product.a) {
        (16, "f16" | "bf16") | (8, "tf32") => (4 * group + f, 16 * below + 4 * at),
        (32, "f16" | "bf16") | (16, "tf32") => {
            (4 * group + 2 * f + half, 16 * below + 4 * (at % 4))
        }
        (32, _) | (64, "s4" | "u4") => (4 * group + 2 * f + below, 4 * at),
        _ => (4 * group + 2 * half + below, 4 * (at % 8)),
    }
}

/// Random positions to store.
fn choose(random: &mut Random, product: &SparseProduct) -> Choices {
    let (width, run) = chunk_columns(product.a);
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let halves = [(0, 1), (2, 3)];
    let mut one = || match width / run {
        2 => halves[random.next() as usize % 2],
        _ => pairs[random.next() as usize % 6],
    };
    (0..16).map(|_| (0..product.k / width).map(|_| one()).collect()).collect()
}

/// The stored columns of a row, in ascending order.
fn stored_columns(product: &SparseProduct, choices: &[(usize, usize)]) -> Vec<usize> {
    let (width, run) = chunk_columns(product.a);
    let mut found = Vec::new();
    for (at, &(first, second)) in choices.iter().enumerate() {
        if width == 2 {
            // Positions count half-numbers.
            found.push(at * width + first / 2);
            continue;
        }
        for place in [first, second] {
            found.extend((0..run).map(|part| at * width + place * run + part));
        }
    }
    found
}

fn pack(ty: &str, count: usize, element: impl Fn(usize, usize) -> i64) -> Vec<Row> {
    let parts = 32 / bits(ty);
    (0..count)
        .map(|register| {
            std::array::from_fn(|lane| {
                (0..parts).fold(0, |word, part| {
                    word | encode(ty, element(lane, register * parts + part)) << (part * bits(ty))
                })
            })
        })
        .collect()
}

/// The registers of a warp for a product: a, b, c and the metadata.
fn registers(
    product: &SparseProduct,
    choices: &[Vec<(usize, usize)>],
    (a, b, c): (&Matrix, &Matrix, &Matrix),
) -> Vec<Row> {
    let [_, of_a, of_b, of_c] = product.registers();
    let columns: Vec<Vec<usize>> = choices.iter().map(|row| stored_columns(product, row)).collect();
    let run_of = |ty: &str| 4 * 32 / bits(ty);
    let mut all = pack(product.a, of_a, |lane, i| {
        let (row, range) = columns_of(product, lane, i);
        // The stored elements in the lane's range of columns, in ascending order.
        let before = (0..i).filter(|&j| columns_of(product, lane, j) == (row, range.clone()));
        let own: Vec<usize> =
            columns[row].iter().copied().filter(|column| range.contains(column)).collect();
        a[row][own[before.count()]]
    });
    all.extend(pack(product.b, of_b, |lane, i| {
        let parts = 32 / bits(product.b);
        b[i / parts * run_of(product.b) + lane % 4 * parts + i % parts][lane / 4]
    }));
    all.extend(pack(product.d, of_c, |lane, i| c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2]));
    // The metadata of other lanes are ignored.
    let mut metadata = [0xffff_ffff_u64; 32];
    for (row, choices) in choices.iter().enumerate() {
        for (at, &(first, second)) in choices.iter().enumerate() {
            let (lane, shift) = metadata_of(product, row, at * chunk_columns(product.a).0);
            metadata[lane] &= !(0xf << shift);
            metadata[lane] |= ((second << 2 | first) as u64) << shift;
        }
    }
    all.push(metadata);
    all
}

fn check(product: &SparseProduct, cases: &[Case]) {
    let [d, a, b, c] = product.registers();
    let inputs: Vec<Vec<Row>> =
        cases.iter().map(|(choices, a, b, c)| registers(product, choices, (a, b, c))).collect();
    for portable in [false, true] {
        let warps = Warps {
            text: format!(
                "{} {{%d}}, {{%a}}, {{%b}}, {{%c}}, %e, {}",
                product.name(),
                product.selector
            ),
            written: (32, d),
            read: vec![(32, a), (32, b), (32, c), (32, 1)],
            options: RunOptions { portable, ..RunOptions::default() },
        };
        for (rows, (choices, a, b, c)) in warps.run(&inputs).iter().zip(cases) {
            let parts = 32 / bits(product.d);
            for (register, row) in rows.iter().enumerate() {
                for (lane, word) in row.iter().enumerate() {
                    for part in 0..parts {
                        let i = register * parts + part;
                        let (m, n) = (lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2);
                        let columns = stored_columns(product, &choices[m]);
                        let sum: i64 = columns.iter().map(|&k| a[m][k] * b[k][n]).sum();
                        let low = word >> (16 * part) & if parts == 2 { 0xffff } else { u64::MAX };
                        assert_eq!(
                            decode(product.d, low),
                            c[m][n] + sum,
                            "{}, selector {}: row {m}, column {n}",
                            product.name(),
                            product.selector
                        );
                    }
                }
            }
        }
    }
}

fn filled(rows: usize, columns: usize, mut number: impl FnMut() -> i64) -> Matrix {
    (0..rows).map(|_| (0..columns).map(|_| number()).collect()).collect()
}

#[test]
fn sparse_products_of_integers_are_exact_in_every_form() {
    let mut random = Random(3);
    let all = sparse_products();
    assert!(all.len() > 60, "{}", all.len());
    for product in &all {
        let cases: Vec<_> = (0..4)
            .map(|_| {
                let choices = choose(&mut random, product);
                let a = filled(16, product.k, || random.between(range(product.a)));
                let b = filled(product.k, 8, || random.between(range(product.b)));
                let c = filled(16, 8, || random.between((-100, 100)));
                (choices, a, b, c)
            })
            .collect();
        check(product, &cases);
    }
}

#[test]
fn every_stored_element_is_multiplied_with_its_row_of_b() {
    for product in sparse_products().iter().filter(|product| product.modifier.is_empty()) {
        let mut random = Random(4);
        let zeros = filled(16, 8, || 0);
        let mut cases = Vec::new();
        // A single non-zero element of `a` at each position.
        for row in 0..16 {
            for at in 0..product.k / chunk_columns(product.a).0 {
                let choices = choose(&mut random, product);
                let width = chunk_columns(product.a).0;
                let own: Vec<usize> = stored_columns(product, &choices[row])
                    .into_iter()
                    .filter(|c| c / width == at)
                    .collect();
                let mut a = filled(16, product.k, || 0);
                a[row][own[random.next() as usize % own.len()]] = 1;
                let b = filled(product.k, 8, || random.between(range(product.b)));
                cases.push((choices, a, b, zeros.clone()));
            }
        }
        let step = if cases.len() > 130 { 3 } else { 1 };
        let cases: Vec<_> = cases.into_iter().step_by(step).collect();
        check(product, &cases);
    }
}

#[test]
fn invalid_metadata_are_a_fault() {
    let run = |name: &str, metadata: u32| {
        let text = format!(
            "{HEADER}.entry k()\n{{\n\
             .reg .b32 %r<9>; mov.b32 %r0, 0; mov.b32 %r1, {metadata:#x};\n\
             mma.{name} {{%r5, %r6, %r7, %r8}}, {{%r0, %r0}}, {{%r0, %r0}}, {{%r0, %r0, %r0, %r0}}, %r1, 0;\n\
             ret;\n}}\n"
        );
        launch(&emulator(), &text, ([1; 3], [32, 1, 1]), &[])
            .map(|_| ())
            .map_err(|fault| fault.kind)
    };
    let (plain, ordered) = ("sp.sync", "sp::ordered_metadata.sync");
    let half = "aligned.m16n8k16.row.col.f32.f16.f16.f32";
    let wrong = Err(FaultKind::InvalidInstruction);
    assert_eq!(run(&format!("{plain}.{half}"), 0x4444_4444), Ok(()));
    assert_eq!(run(&format!("{plain}.{half}"), 0x4444_5444), wrong);
    // Positions may be out of order without `ordered_metadata`.
    assert_eq!(run(&format!("{plain}.{half}"), 0x4444_1444), Ok(()));
    assert_eq!(run(&format!("{ordered}.{half}"), 0x4444_1444), wrong);
    let single = "aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
    assert_eq!(run(&format!("{ordered}.{single}"), 0xe44e_4e4e), Ok(()));
    assert_eq!(run(&format!("{ordered}.{single}"), 0xe44e_4e8e), wrong);
}

/// `m16n8k32` with 16-bit types has two pairs of lanes (PTX ISA, "Sparse mma with half-precision and .bf16
/// type"), although `ptxas` accepts more selectors; `m16n8k16` has four lanes.
#[test]
fn an_invalid_selector_is_an_error() {
    let load = |ty: &str, k: usize, selector: u32| {
        let halves = if k == 32 { 4 } else { 2 };
        let factors = vec!["%r0"; halves].join(", ");
        let text = format!(
            "{HEADER}.entry k()\n{{\n\
             .reg .b32 %r<9>; mov.b32 %r0, 0; mov.b32 %r1, 0x44444444;\n\
             mma.sp.sync.aligned.m16n8k{k}.row.col.f32.{ty}.{ty}.f32 {{%r5, %r6, %r7, %r8}}, \
             {{{factors}}}, {{{factors}}}, {{%r0, %r0, %r0, %r0}}, %r1, {selector};\nret;\n}}\n"
        );
        let parsed = parse(&Source { name: "sparse.ptx".into(), text });
        parsed.map(|_| ()).map_err(|refused| format!("{refused:?}"))
    };
    for ty in ["f16", "bf16"] {
        for selector in [0, 1] {
            assert_eq!(load(ty, 32, selector), Ok(()));
        }
        for selector in [2, 3] {
            assert_eq!(load(ty, 16, selector), Ok(()));
            let refused = load(ty, 32, selector).unwrap_err();
            assert!(
                refused.contains(&format!("there is no selector {selector} here")),
                "{refused}"
            );
        }
        assert!(load(ty, 16, 4).is_err());
    }
}
