//! `wmma`: load, multiply and store compute the product of matrices, in every shape, type and layout, from
//! global and shared memory.

use emulated_gpu_test_support::ptx::{HEADER, launch};
use ptx_emulator::{Emulator, RunOptions};

use super::forms::bits;
use super::products::{Random, decode, encode, range};

/// A matrix in memory.
struct Stored {
    ty: &'static str,
    rows: usize,
    columns: usize,
    by_rows: bool,
    /// The number of elements from one row (or column) to the next.
    stride: usize,
    values: Vec<i64>,
}

impl Stored {
    fn new(ty: &'static str, (rows, columns): (usize, usize), by_rows: bool, gap: usize) -> Self {
        let long = if by_rows { columns } else { rows };
        Self { ty, rows, columns, by_rows, stride: long + gap, values: vec![0; rows * columns] }
    }

    fn fill(&mut self, random: &mut Random, range: (i64, i64)) {
        self.values.iter_mut().for_each(|value| *value = random.between(range));
    }

    fn size(&self) -> usize {
        let lines = if self.by_rows { self.rows } else { self.columns };
        lines * self.stride * bits(self.ty) / 8
    }

    /// The byte and bit offset of an element.
    fn bit_position(&self, row: usize, column: usize) -> (usize, usize) {
        let (line, at) = if self.by_rows { (row, column) } else { (column, row) };
        let bit = (line * self.stride + at) * bits(self.ty);
        (bit / 8, bit % 8)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        for row in 0..self.rows {
            for column in 0..self.columns {
                let word = encode(self.ty, self.values[row * self.columns + column]);
                let (at, shift) = self.bit_position(row, column);
                for byte in 0..bits(self.ty).div_ceil(8) {
                    bytes[at + byte] |= ((word << shift) >> (8 * byte)) as u8;
                }
            }
        }
        bytes
    }

    fn read(&mut self, bytes: &[u8]) {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let (at, _) = self.bit_position(row, column);
                let width = bits(self.ty) / 8;
                let mut word = [0; 8];
                word[..width].copy_from_slice(&bytes[at..at + width]);
                self.values[row * self.columns + column] =
                    decode(self.ty, u64::from_le_bytes(word));
            }
        }
    }
}

struct Case {
    shape: (usize, usize, usize),
    factor: &'static str,
    sums: (&'static str, &'static str),
    rows: (bool, bool),
    shared: bool,
    gap: usize,
}

fn registers(elements: usize, ty: &str, factor: bool) -> usize {
    let each = if ty == "f64" { 1 } else { 32 / bits(ty) };
    if ty == "f16" && factor { 8 } else { elements / 32 / each }
}

fn vector(letter: char, ty: &str, count: usize) -> (String, String) {
    let width = if ty == "f64" { 64 } else { 32 };
    let names: Vec<String> = (0..count).map(|index| format!("%{letter}{index}")).collect();
    (format!("{{{}}}", names.join(",")), format!(".reg .b{width} %{letter}<{count}>;\n"))
}

fn check(case: &Case) {
    let Case { shape: (m, n, k), factor, sums: (d_type, c_type), rows, shared, gap } = *case;
    let mut random = Random(7);
    let mut a = Stored::new(factor, (m, k), rows.0, gap);
    let mut b = Stored::new(factor, (k, n), rows.1, gap);
    let mut c = Stored::new(c_type, (m, n), rows.0, gap);
    let mut d = Stored::new(d_type, (m, n), rows.1, gap);
    a.fill(&mut random, range(factor));
    b.fill(&mut random, range(factor));
    c.fill(&mut random, (-50, 50));
    let shape = format!("m{m}n{n}k{k}");
    let order = |rows: bool| if rows { "row" } else { "col" };
    let (av, ar) = vector('a', factor, registers(m * k, factor, true));
    let (bv, br) = vector('b', factor, registers(k * n, factor, true));
    let (cv, cr) = vector('c', c_type, registers(m * n, c_type, false));
    let (dv, dr) = vector('d', d_type, registers(m * n, d_type, false));
    let bitwise = if factor == "b1" { ".xor.popc" } else { "" };
    let types = if factor == "f16" {
        format!("{d_type}.{c_type}")
    } else {
        format!("{d_type}.{factor}.{factor}.{c_type}")
    };
    // If `a` should be in shared memory, the lanes copy it there byte by byte.
    let (space, from) = if shared { (".shared", "%s") } else { ("", "%p0") };
    let copy = format!(
        ".shared .align 32 .b8 box[{0}]; .reg .pred %q; mov.u32 %s, box; mov.u32 %i, %tid.x;\n\
         L: setp.ge.u32 %q, %i, {0}; @%q bra M; cvt.u64.u32 %p5, %i; add.u64 %p5, %p5, %p0;\n\
         ld.global.u8 %h, [%p5]; add.u32 %t, %s, %i; st.shared.u8 [%t], %h; add.u32 %i, %i, 32;\n\
         bra L; M: bar.warp.sync 0xffffffff;\n",
        a.size()
    );
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{{\n\
         {ar}{br}{cr}{dr}.reg .b64 %p<6>; .reg .b32 %s, %i, %t; .reg .b16 %h;\n\
         ld.param.u64 %p0, [a]; ld.param.u64 %p1, [b]; ld.param.u64 %p2, [c]; ld.param.u64 %p3, [d];\n\
         {copy}\
         wmma.load.a.sync.aligned.{}.{shape}{space}.{factor} {av}, [{from}], {};\n\
         wmma.load.b.sync.aligned.{}.{shape}.global.{factor} {bv}, [%p1], {};\n\
         wmma.load.c.sync.aligned.{}.{shape}.{c_type} {cv}, [%p2], {};\n\
         wmma.mma{bitwise}.sync.aligned.{}.{}.{shape}.{types} {dv}, {av}, {bv}, {cv};\n\
         wmma.store.d.sync.aligned.{}.{shape}.{d_type} [%p3], {dv}, {};\nret;\n}}\n",
        order(rows.0),
        a.stride,
        order(rows.1),
        b.stride,
        order(rows.0),
        c.stride,
        order(rows.0),
        order(rows.1),
        order(rows.1),
        d.stride,
    );
    let emulator = Emulator::new(RunOptions { threads: 1, ..RunOptions::default() });
    let memory = emulator.memory();
    let pointers = [&a, &b, &c, &d].map(|matrix| {
        let address = memory.allocate(matrix.size() as u64, 32).unwrap();
        memory.write(address, &matrix.bytes()).unwrap();
        address
    });
    launch(&emulator, &text, ([1; 3], [32, 1, 1]), &pointers)
        .unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let mut bytes = vec![0; d.size()];
    memory.read(pointers[3], &mut bytes).unwrap();
    d.read(&bytes);
    for row in 0..m {
        for column in 0..n {
            let sum: i64 = (0..k)
                .map(|at| {
                    let (x, y) = (a.values[row * k + at], b.values[at * n + column]);
                    if factor == "b1" { x ^ y } else { x * y }
                })
                .sum();
            let wanted = c.values[row * n + column] + sum;
            assert_eq!(d.values[row * n + column], wanted, "{row}, {column}:\n{text}");
        }
    }
}

#[test]
fn wmma_multiplies_matrices_in_memory() {
    let large = [(16, 16, 16), (8, 32, 16), (32, 8, 16)];
    let mut cases = Vec::new();
    for shape in large {
        for d in ["f16", "f32"] {
            for c in ["f16", "f32"] {
                cases.push((shape, "f16", (d, c)));
            }
        }
        cases.push((shape, "bf16", ("f32", "f32")));
        cases.push((shape, "s8", ("s32", "s32")));
        cases.push((shape, "u8", ("s32", "s32")));
    }
    cases.push(((16, 16, 8), "tf32", ("f32", "f32")));
    cases.push(((8, 8, 4), "f64", ("f64", "f64")));
    cases.push(((8, 8, 32), "s4", ("s32", "s32")));
    cases.push(((8, 8, 32), "u4", ("s32", "s32")));
    cases.push(((8, 8, 128), "b1", ("s32", "s32")));
    for (shape, factor, sums) in cases {
        let narrow = matches!(factor, "s4" | "u4" | "b1");
        for rows in [(true, true), (true, false), (false, true), (false, false)] {
            if narrow && rows != (true, false) {
                continue;
            }
            for shared in [false, true] {
                let gap = if shared { if narrow { 128 } else { 16 } } else { 0 };
                check(&Case { shape, factor, sums, rows, shared, gap });
            }
        }
    }
}
