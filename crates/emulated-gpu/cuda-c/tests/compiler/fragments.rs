//! Products of matrix fragments. Small integers, which every type represents exactly, are compared with
//! plain Rust; other numbers with NVRTC.

use crate::kernel::Argument;
use crate::reference::both;

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug)]
struct Element {
    name: &'static str,
    bytes: usize,
    fragment: &'static str,
}

const HALF: Element = Element { name: "half", bytes: 2, fragment: "half" };
const BFLOAT: Element = Element { name: "__nv_bfloat16", bytes: 2, fragment: "__nv_bfloat16" };
const TF32: Element = Element { name: "float", bytes: 4, fragment: "wmma::precision::tf32" };
const FLOAT: Element = Element { name: "float", bytes: 4, fragment: "float" };
const SIGNED: Element = Element { name: "signed char", bytes: 1, fragment: "signed char" };
const UNSIGNED: Element = Element { name: "unsigned char", bytes: 1, fragment: "unsigned char" };
const INT: Element = Element { name: "int", bytes: 4, fragment: "int" };

impl Element {
    fn put(self, value: i32, bytes: &mut Vec<u8>) {
        match (self.name, self.bytes) {
            // Integers up to 16 are exact in every type.
            ("half", _) => {
                let float = (value as f32).to_bits();
                let (sign, exponent) = ((float >> 16) as u16 & 0x8000, (float >> 23 & 255) as u16);
                let digits = (float >> 13) as u16 & 0x3ff;
                let half = if value == 0 { 0 } else { sign | (exponent - 112) << 10 | digits };
                bytes.extend(half.to_le_bytes());
            }
            ("__nv_bfloat16", _) => {
                bytes.extend((((value as f32).to_bits() >> 16) as u16).to_le_bytes());
            }
            ("float", _) => bytes.extend((value as f32).to_le_bytes()),
            (_, 1) => bytes.push(value as u8),
            _ => bytes.extend(value.to_le_bytes()),
        }
    }
}

/// The rows and columns of the product, and the length of the sums.
type Shape = (usize, usize, usize);

fn source((m, n, k): Shape, element: Element, sum: Element, rows: (bool, bool, bool)) -> String {
    let layout = |row: bool| if row { "wmma::row_major" } else { "wmma::col_major" };
    let stride = |row: bool, across: usize, down: usize| if row { across } else { down };
    let order = if rows.2 { "wmma::mem_row_major" } else { "wmma::mem_col_major" };
    format!(
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\nusing namespace nvcuda;
         extern \"C\" __global__ void k(const {e} *a, const {e} *b, const {s} *c, {s} *d) {{
             wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {f}, {}> fa;
             wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {f}, {}> fb;
             wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {s}> fc, fd;
             wmma::load_matrix_sync(fa, a, {});
             wmma::load_matrix_sync(fb, b, {});
             wmma::load_matrix_sync(fc, c, {}, {order});
             wmma::mma_sync(fd, fa, fb, fc);
             wmma::store_matrix_sync(d, fd, {}, {order});
         }}",
        layout(rows.0),
        layout(rows.1),
        stride(rows.0, k, m),
        stride(rows.1, n, k),
        stride(rows.2, n, m),
        stride(rows.2, n, m),
        e = element.name,
        f = element.fragment,
        s = sum.name,
    )
}

/// A matrix in row-major or column-major order.
fn matrix(
    rows: usize,
    columns: usize,
    by_rows: bool,
    at: impl Fn(usize, usize) -> i32,
) -> Vec<i32> {
    let (outer, inner) = if by_rows { (rows, columns) } else { (columns, rows) };
    let place = |i, j| if by_rows { at(i, j) } else { at(j, i) };
    (0..outer).flat_map(|i| (0..inner).map(move |j| (i, j))).map(|(i, j)| place(i, j)).collect()
}

fn bytes(element: Element, values: &[i32]) -> Argument {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| element.put(*value, &mut bytes));
    Argument::Bytes(bytes)
}

fn check(shape: Shape, element: Element, sum: Element, rows: (bool, bool, bool)) {
    let (m, n, k) = shape;
    let least = if element.name == "unsigned char" { 0 } else { -4 };
    let a = |i: usize, j: usize| (i * 5 + j * 3) as i32 % 9 + least;
    let b = |i: usize, j: usize| (i * 7 + j * 2) as i32 % 8 + least;
    let c = |i: usize, j: usize| (i * 3 + j) as i32 % 16 - 8;
    let text = source(shape, element, sum, rows);
    let arguments = [
        bytes(element, &matrix(m, k, rows.0, a)),
        bytes(element, &matrix(k, n, rows.1, b)),
        bytes(sum, &matrix(m, n, rows.2, c)),
        bytes(sum, &vec![0; m * n]),
    ];
    let warp = ([1, 1, 1], [32, 1, 1], 0);
    let memory = both(&text, "k", warp, &arguments);
    let product = |i, j| c(i, j) + (0..k).map(|l| a(i, l) * b(l, j)).sum::<i32>();
    let expected = bytes(sum, &matrix(m, n, rows.2, product));
    let Argument::Bytes(expected) = expected else { return };
    assert_eq!(memory[3], expected, "{shape:?} of {element:?}, {sum:?}, {rows:?}");
    // Arbitrary numbers, whose sums are rounded, are compared with NVRTC's.
    let mut state = 12345u32;
    let mut drawn = |count: usize, element: Element| {
        let mut all = Vec::new();
        for _ in 0..count {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match element.name {
                "half" => all.extend(((state >> 16) as u16 & 0xbfff | 0x2000).to_le_bytes()),
                "__nv_bfloat16" => {
                    all.extend(((state >> 16) as u16 & 0x81ff | 0x3e00).to_le_bytes())
                }
                "float" => all.extend((state & 0x81ff_ffff | 0x3e00_0000).to_le_bytes()),
                _ => all.extend(&state.to_le_bytes()[4 - element.bytes..]),
            }
        }
        Argument::Bytes(all)
    };
    let arguments = [
        drawn(m * k, element),
        drawn(k * n, element),
        drawn(m * n, sum),
        bytes(sum, &vec![0; m * n]),
    ];
    both(&text, "k", warp, &arguments);
}

const SHAPES: [Shape; 3] = [(16, 16, 16), (8, 32, 16), (32, 8, 16)];

#[test]
fn products_of_halves() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        check(shape, HALF, FLOAT, (true, index == 0, true));
        check(shape, HALF, HALF, (index == 1, true, index != 2));
    }
}

#[test]
fn products_of_bfloat16_and_tf32() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        check(shape, BFLOAT, FLOAT, (index != 1, index == 1, true));
    }
    check((16, 16, 8), TF32, FLOAT, (true, false, true));
    check((16, 16, 8), TF32, FLOAT, (false, true, false));
}

#[test]
fn products_of_bytes() {
    for (index, shape) in SHAPES.into_iter().enumerate() {
        check(shape, SIGNED, INT, (true, index == 2, true));
        check(shape, UNSIGNED, INT, (index == 0, true, false));
    }
}

/// A kernel that multiplies n × n matrices of halves tile by tile. The fragment `b` has the layout `layout`
/// and is loaded from `tile`.
fn tiled_source(n: usize, start: &str, (layout, tile): (&str, &str), end: &str) -> String {
    format!(
        "#include <cuda_fp16.h>\n#include <mma.h>\nusing namespace nvcuda;
        extern \"C\" __global__ void k(const half *a, const half *b, float *c) {{
            const int n = {n};
            int row = blockIdx.y * 16, column = blockIdx.x * 16;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
            wmma::fill_fragment(sum, {start});
            for (int k = 0; k < n; k += 16) {{
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::{layout}> fb;
                wmma::load_matrix_sync(fa, a + row * n + k, n);
                wmma::load_matrix_sync(fb, b + {tile}, n);
                wmma::mma_sync(sum, fa, fb, sum);
            }}
            {end}
            wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
        }}"
    )
}

/// A larger product, tile by tile, that also modifies elements of fragments.
#[test]
fn tiled_products() {
    let halved = "for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * 0.5f;";
    let source = tiled_source(48, "1.0f", ("col_major", "column * n + k"), halved);
    let a = |i: usize, j: usize| (i * 5 + j * 3) as i32 % 7 - 3;
    let b = |i: usize, j: usize| (i * 2 + j * 5) as i32 % 6 - 2;
    let arguments = [
        bytes(HALF, &matrix(48, 48, true, a)),
        bytes(HALF, &matrix(48, 48, false, b)),
        bytes(FLOAT, &vec![0; 48 * 48]),
    ];
    let memory = both(&source, "k", ([3, 3, 1], [32, 1, 1], 0), &arguments);
    for (index, found) in crate::kernel::as_floats(&memory[2]).into_iter().enumerate() {
        let (i, j) = (index / 48, index % 48);
        let expected = (1 + (0..48).map(|l| a(i, l) * b(l, j)).sum::<i32>()) as f32 * 0.5;
        assert_eq!(found, expected, "{i}, {j}");
    }
}

/// Halves between -2 and 2, summed in float, are compared with the product in double.
#[test]
fn products_are_as_precise_as_float() {
    let source = tiled_source(64, "0.0f", ("row_major", "k * n + column"), "");
    // Numbers below 2 with 11 significant bits, which a half can represent.
    let numbers = |seed: u32| {
        let all = crate::kernel::drawn(64 * 64, seed).into_iter();
        all.map(|x| (f64::from(x) * 1024.0).round() / 1024.0).collect::<Vec<f64>>()
    };
    let halves = |numbers: &[f64]| {
        let mut bytes = Vec::new();
        for number in numbers {
            // The fraction bits of a half are the upper ten of a float's.
            let bits = (*number as f32).to_bits();
            let exponent = (bits >> 23 & 255).saturating_sub(112) as u16;
            let half = (bits >> 16 & 0x8000) as u16 | exponent << 10 | (bits >> 13 & 0x3ff) as u16;
            bytes.extend((if *number == 0.0 { 0 } else { half }).to_le_bytes());
        }
        Argument::Bytes(bytes)
    };
    let (a, b) = (numbers(5), numbers(6));
    assert!(a.iter().chain(&b).all(|x| x.abs() <= 2.0));
    let arguments = [halves(&a), halves(&b), Argument::Bytes(vec![0; 4 * 64 * 64])];
    let memory = both(&source, "k", ([4, 4, 1], [32, 1, 1], 0), &arguments);
    for (index, found) in crate::kernel::as_floats(&memory[2]).into_iter().enumerate() {
        let (i, j) = (index / 64, index % 64);
        let products = (0..64).map(|l| a[i * 64 + l] * b[l * 64 + j]);
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        // Each of the 64 additions may round, and a tensor core may truncate instead.
        let most = size * 64.0 * f64::from(f32::EPSILON);
        assert!((f64::from(found) - sum).abs() <= most, "{i}, {j}: {found}, not {sum}");
        assert!(found.is_finite());
    }
}
