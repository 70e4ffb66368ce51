//! `mma` compared with the results of real cards: the measurements published with Faizan A. Khattak and Mantas
//! Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004; BSD 2-Clause). `TENSOR_CORE_VECTORS`
//! names a folder with them.

use std::path::{Path, PathBuf};

use ptx_emulator::RunOptions;
use tensor_core::{Format, Rules, Sum, dot};

use super::forms::{Product, bits, products};
use super::isa;
use super::warp::{Row, Warps};

/// A measurement: the factors, `c`, and the card's result.
struct Vector {
    a: Vec<u32>,
    b: Vec<u32>,
    c: u32,
    d: u32,
}

fn parse(text: &str) -> Vec<Vector> {
    let numbers = |part: &str| -> Vec<u32> {
        part.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
    };
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let parts: Vec<Vec<u32>> = line.split('|').map(numbers).collect();
            let [a, b, c, d] = <[Vec<u32>; 4]>::try_from(parts).unwrap();
            Vector { a, b, c: c[0], d: d[0] }
        })
        .collect()
}

/// The compute capability of a card.
fn capability(card: &str) -> u32 {
    match card {
        "V100" => 70,
        "A100" => 80,
        "A2" => 86,
        "L40S" => 89,
        "H100" | "H200" => 90,
        "B200" => 100,
        other => panic!("which card is {other}?"),
    }
}

/// The bits of an element, given its value in single precision.
fn element(ty: &str, single: u32) -> u64 {
    let (exponent, fraction): (u32, u32) = match ty {
        "tf32" => return u64::from(single),
        "bf16" => return u64::from(single >> 16),
        "f16" => (5, 10),
        "e4m3" => (4, 3),
        _ => (5, 2),
    };
    let sign = u64::from(single >> 31) << (exponent + fraction);
    let value = f64::from(f32::from_bits(single)).abs();
    let bias = (1 << (exponent - 1)) - 1;
    let least = f64::powi(2.0, 1 - bias);
    let magnitude = if value < least {
        (value / least * f64::from(1_u32 << fraction)) as u64
    } else {
        let field = i64::from(single >> 23 & 255) - 127 + i64::from(bias);
        (field as u64) << fraction | u64::from(single >> (23 - fraction) & ((1 << fraction) - 1))
    };
    sign | magnitude
}

/// Puts eight vectors on the diagonal of a product, which computes all of them at once.
fn warp(product: &Product, vectors: &[Vector]) -> Vec<Row> {
    let [_, a, b, c] = product.registers();
    let parts = 32 / bits(product.a);
    let factor = |ty: &str, at: (usize, usize), of: &dyn Fn(&Vector, usize) -> u32| {
        let (which, k) = at;
        vectors.get(which).map_or(0, |vector| element(ty, of(vector, k)))
    };
    let rows = |count: usize, word: &dyn Fn(usize, usize, usize) -> u64| -> Vec<Row> {
        let word = |register: usize, lane: usize| {
            (0..parts)
                .fold(0, |all, part| all | word(lane, register, part) << (part * bits(product.a)))
        };
        (0..count).map(|register| std::array::from_fn(|lane| word(register, lane))).collect()
    };
    let a = rows(a, &|lane, register, part| {
        factor(product.a, isa::position_in_a(product, lane, register * parts + part), &|v, k| {
            v.a[k]
        })
    });
    let b = rows(b, &|lane, register, part| {
        let (k, which) = isa::position_in_b(product, lane, register * parts + part);
        factor(product.b, (which, k), &|v, k| v.b[k])
    });
    let c = (0..c).map(|register| {
        std::array::from_fn(|lane| {
            let (row, column) = isa::position_in_c(product, "f32", lane, register);
            let own = vectors.get(row).filter(|_| row == column);
            own.map_or(0, |vector| u64::from(vector.c))
        })
    });
    a.into_iter().chain(b).chain(c).collect()
}

fn folder() -> Option<PathBuf> {
    let found = std::env::var_os("TENSOR_CORE_VECTORS").map(PathBuf::from);
    if found.is_none() {
        skipped::note(
            "no measurements of matrix units: set TENSOR_CORE_VECTORS to a folder of them",
        );
    }
    found
}

/// The number of vectors in a file, and the vectors whose result differs.
fn compare(path: &Path) -> (usize, Vec<String>) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let (card, ty) = name.trim_end_matches(".txt.gz").split_once('-').unwrap();
    let packed = std::fs::File::open(path).unwrap();
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(packed)).unwrap();
    let vectors = parse(&text);
    let ty = match ty {
        "fp16" => "f16".to_owned(),
        other => other.to_lowercase(),
    };
    let k = vectors[0].a.len();
    let is_tested = |product: &&Product| {
        product.a == ty
            && product.b == ty
            && product.shape.2 == k
            && product.d == "f32"
            && product.c == "f32"
    };
    let product =
        products().into_iter().find(|p| is_tested(&p)).unwrap_or_else(|| panic!("{name}"));
    if matches!(card, "H100" | "H200") && matches!(product.a, "e4m3" | "e5m2") {
        return compare_wgmma(&name, &product, &vectors);
    }
    let [d, a, b, c] = product.registers();
    let mut wrong = Vec::new();
    for portable in [false, true] {
        let warps = Warps {
            text: format!("{} {{%d}}, {{%a}}, {{%b}}, {{%c}}", product.name()),
            written: (32, d),
            read: vec![(32, a), (32, b), (32, c)],
            options: RunOptions {
                portable,
                capability: Some(capability(card)),
                ..RunOptions::default()
            },
        };
        let inputs: Vec<Vec<Row>> = vectors.chunks(8).map(|eight| warp(&product, eight)).collect();
        for (eight, rows) in vectors.chunks(8).zip(warps.run(&inputs)) {
            for (which, vector) in eight.iter().enumerate() {
                let place = |lane: usize, register: usize| {
                    isa::position_in_c(&product, "f32", lane, register)
                };
                let found = (0..32).find_map(|lane| {
                    let own = isa::matrix(&product, lane) == 0;
                    let register = (0..d).find(|&r| own && place(lane, r) == (which, which))?;
                    Some(rows[register][lane] as u32)
                });
                if found != Some(vector.d) {
                    wrong.push(format!("{name}: {found:x?}, the card says {:x}", vector.d));
                }
            }
        }
    }
    (vectors.len(), wrong)
}

/// Products of FP8 on 9.0 were measured by `wgmma`, without the `c` in the files.
fn compare_wgmma(name: &str, product: &Product, vectors: &[Vector]) -> (usize, Vec<String>) {
    let format = if product.a == "e4m3" { Format::E4m3 } else { Format::E5m2 };
    let rules = Rules::new(90, format);
    let mut wrong = Vec::new();
    for vector in vectors {
        let factors: Vec<_> = vector
            .a
            .iter()
            .zip(&vector.b)
            .map(|(&a, &b)| (f32::from_bits(a), f32::from_bits(b)))
            .collect();
        let found = dot(&rules, (format, format), Sum::Single, &factors, 0.0).to_bits();
        if found != vector.d {
            wrong.push(format!("{name}: {found:x}, the card says {:x}", vector.d));
        }
    }
    (vectors.len(), wrong)
}

#[test]
fn the_matrix_units_match_real_cards() {
    let Some(folder) = folder() else { return };
    let (mut count, mut files, mut wrong) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let (vectors, differing) = compare(&path);
            count += vectors;
            files += 1;
            wrong.extend(differing);
        }
    }
    assert!(files > 0, "no measurements in {}", folder.display());
    let shown = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), shown.join("\n"));
    println!("{count} measurements in {files} files");
}
