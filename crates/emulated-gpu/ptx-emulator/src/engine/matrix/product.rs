//! Matrix products: the registers of a warp are unpacked into tiles, multiplied, and packed again.

#![allow(unsafe_code, reason = "AVX2 and FMA code is called once the host was checked for it")]

use tensor_core::{COLUMNS, Format, Rules, Sum, add};

use super::number::{decode_each, format, pack_elements, unpack_elements};
use super::sparse::Sparse;
use crate::arithmetic::inner_product;
use crate::engine::core::Outcome;
use crate::engine::registers::{LANES, Registers, Slot, lanes};
use crate::program::{Element, FloatMode, Fragment, InnerProduct, MatrixShape, Multiply, Role};

/// Computes a product; `unsafe` because it may need AVX2 and FMA.
type Compute = unsafe fn(&Product, &[u16], &mut Registers);

/// The maximum number of rows of `a` and of `c` (eight columns wide), over all matrices of a warp.
const MAX_ROWS: usize = 32;
/// The maximum number of stripes of eight columns in `b`.
const MAX_STRIPES: usize = 4;

/// A product with resolved operands.
pub(in crate::engine) struct Product {
    compute: Compute,
    inner_product: InnerProduct,
    saturate: bool,
    mode: FloatMode,
    rules: Rules,
    /// Whether factors of 8 bits are multiplied as halves, and `c` is added last.
    as_halves: bool,
    elements: [Element; 3],
    result: Element,
    shape: MatrixShape,
    /// The number of matrices, each with a separate `b`.
    matrices: usize,
    /// The index in the tile of each element, for a, b, c and d: by register, then by lane, then by
    /// position in the register.
    places: [Vec<u16>; 4],
    registers: [Vec<Slot>; 4],
    /// The metadata of `mma.sp`, with which the places of `a` are only known when the instruction
    /// runs.
    sparse: Option<Sparse>,
}

/// The index of each element in its tile: `a` is stored by rows, `b` and `c` in stripes of eight
/// columns, one matrix after the other. Single bits are grouped into words.
fn places(fragment: Fragment) -> Vec<u16> {
    let word = fragment.element == Element::B1;
    let parts = if word { 1 } else { fragment.element.in_register() };
    let bits = |number: usize, along: bool| if word && along { number / 32 } else { number };
    let columns = bits(fragment.columns(), fragment.role == Role::A);
    let rows = bits(fragment.rows(), fragment.role == Role::B);
    let mut found = Vec::new();
    for index in 0..fragment.registers() {
        for lane in 0..LANES {
            for part in 0..parts {
                let (matrix, row, column) = fragment.place(lane, index, part);
                let row = bits(row, fragment.role == Role::B);
                let column = bits(column, fragment.role == Role::A);
                let at = if fragment.role == Role::A {
                    row * columns + column
                } else {
                    (column / COLUMNS * rows + row) * COLUMNS + column % COLUMNS
                };
                found.push((matrix * rows * columns + at) as u16);
            }
        }
    }
    found
}

impl Product {
    /// `registers` are the registers of a, b, c and d. `fast` means that the host has AVX2 and FMA.
    pub(in crate::engine) fn new(
        multiply: &Multiply,
        registers: [Vec<Slot>; 4],
        metadata: Option<Slot>,
        capability: u32,
        fast: bool,
    ) -> Self {
        let [a, b, c] = multiply.fragments;
        let d = Fragment { element: multiply.result, ..c };
        // The rules depend on the type of `a`. Sums are only rounded to halves if d is half
        // precision, too.
        let mut rules = Rules::new(capability, format(a.element));
        // `wmma` has 16 columns. On 9.0, it sums in the same groups as on 8.0.
        if a.element == Element::Tf32 && b.shape.n == 16 && capability < 100 {
            rules.group = 4;
        }
        let halves = Rules::of_halves(capability, format(a.element), b.shape.k);
        let sparse = multiply.sparse.zip(metadata).map(|(sparse, slot)| {
            Sparse::new(slot, (sparse.selector, sparse.ordered), a, b.shape.k)
        });
        Self {
            compute: compute(a.element, b.shape.k, fast),
            inner_product: multiply.inner_product,
            saturate: multiply.saturate,
            mode: FloatMode { rounding: multiply.rounding, ..FloatMode::NEAREST },
            rules: halves.unwrap_or(rules),
            as_halves: halves.is_some(),
            elements: [a.element, b.element, c.element],
            result: multiply.result,
            shape: b.shape,
            matrices: a.matrices(),
            places: [places(a), places(b), places(c), places(d)],
            registers,
            sparse,
        }
    }

    /// Computes the product and stores the result.
    ///
    /// # Errors
    /// If the metadata are invalid.
    pub(super) fn run(&self, registers: &mut Registers) -> Outcome {
        let expanded = self.sparse.as_ref().map(|sparse| sparse.places(registers)).transpose()?;
        let places = expanded.as_deref().unwrap_or(&self.places[0]);
        // SAFETY: `new` chose a version for this host's features.
        unsafe { (self.compute)(self, places, registers) };
        Ok(())
    }

    /// The registers of a matrix, each with the indices of its elements.
    fn rows(&self, which: usize) -> impl Iterator<Item = (Slot, &[u16])> {
        each_row(&self.registers[which], &self.places[which])
    }

    /// The number of stripes of eight columns in `b` and `c`, over all matrices.
    fn stripes(&self) -> usize {
        self.matrices * self.shape.n / COLUMNS
    }
}

fn each_row<'p>(slots: &'p [Slot], places: &'p [u16]) -> impl Iterator<Item = (Slot, &'p [u16])> {
    let each = places.len() / slots.len().max(1);
    slots.iter().copied().zip(places.chunks_exact(each.max(1)))
}

fn compute(a: Element, k: usize, fast: bool) -> Compute {
    match (a, k) {
        (Element::F64, _) => double_products,
        (Element::B1, _) => bit_products,
        (Element::S8 | Element::U8 | Element::S4 | Element::U4, _) => integer_products,
        (_, 4) => host::<4>(fast),
        (_, 8) => host::<8>(fast),
        (_, 16) => host::<16>(fast),
        (_, 32) => host::<32>(fast),
        (_, _) => host::<64>(fast),
    }
}

fn host<const K: usize>(fast: bool) -> Compute {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return floats_avx2::<K>;
    }
    let _ = fast;
    floats_portable::<K>
}

fn floats_portable<const K: usize>(product: &Product, places: &[u16], registers: &mut Registers) {
    floats::<K>(product, places, registers);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn floats_avx2<const K: usize>(product: &Product, places: &[u16], registers: &mut Registers) {
    floats::<K>(product, places, registers);
}

#[inline(always)]
fn floats<const K: usize>(product: &Product, places: &[u16], registers: &mut Registers) {
    let mut a = [[0.0; K]; MAX_ROWS];
    let mut b = [[[0.0; COLUMNS]; K]; MAX_STRIPES];
    let mut c = [[0.0; COLUMNS]; MAX_ROWS];
    let [a_element, b_element, c_element] = product.elements;
    for (slot, places) in each_row(&product.registers[0], places) {
        unpack_elements(a_element, registers.narrow(slot.index), places, a.as_flattened_mut());
    }
    for (slot, places) in product.rows(1) {
        let b = b.as_flattened_mut().as_flattened_mut();
        unpack_elements(b_element, registers.narrow(slot.index), places, b);
    }
    for (slot, places) in product.rows(2) {
        unpack_elements(c_element, registers.narrow(slot.index), places, c.as_flattened_mut());
    }
    let mut formats = (format(a_element), format(b_element));
    let sum = if product.result == Element::F16 { Sum::Half } else { Sum::Single };
    let m = product.shape.m;
    let before = c;
    if product.as_halves {
        formats = (Format::F16, Format::F16);
        a.iter_mut().for_each(in_pairs);
        b.iter_mut().for_each(in_pairs);
        c = [[0.0; COLUMNS]; MAX_ROWS];
    }
    for stripe in 0..product.stripes() {
        let first = if product.matrices > 1 { stripe * m } else { 0 };
        let rows = &a[first..first + m];
        let sums = &mut c[stripe * m..(stripe + 1) * m];
        tensor_core::multiply(&product.rules, formats, sum, rows, &b[stripe], sums);
    }
    if product.as_halves {
        let addends = before.as_flattened();
        c.as_flattened_mut().iter_mut().zip(addends).for_each(|(x, c)| *x = add(sum, *x, *c));
    }
    if product.saturate {
        let most = if sum == Sum::Half { 65_504.0 } else { f32::MAX };
        let limited = |x: f32| if x.is_nan() { 0.0 } else { x.clamp(-most, most) };
        c.as_flattened_mut().iter_mut().for_each(|x| *x = limited(*x));
    }
    let parts = product.result.in_register();
    for (slot, places) in product.rows(3) {
        let row = registers.narrow_mut(slot.index);
        for (word, places) in row.iter_mut().zip(places.chunks_exact(parts)) {
            *word = pack_elements(product.result, places, c.as_flattened());
        }
    }
}

/// Moves the factors 0 and 1 of each four to the front.
fn in_pairs<T: Copy, const K: usize>(factors: &mut [T; K]) {
    let old = *factors;
    for (k, factor) in old.into_iter().enumerate() {
        factors[k / 4 * 2 + k % 2 + if k % 4 < 2 { 0 } else { K / 2 }] = factor;
    }
}

/// Decodes an integer element, with sign extension.
fn integer(element: Element) -> impl Fn(u32) -> i32 {
    move |word| match element {
        Element::S8 => i32::from(word as u8 as i8),
        Element::U8 => i32::from(word as u8),
        Element::S4 => (word << 28) as i32 >> 28,
        _ => (word & 0xf) as i32,
    }
}

fn integer_products(product: &Product, places: &[u16], registers: &mut Registers) {
    let (m, k) = (product.shape.m, product.shape.k);
    let mut a = vec![0; m * k];
    let mut b = vec![[0; COLUMNS]; k * product.stripes()];
    let mut c = vec![[0; COLUMNS]; m * product.stripes()];
    let factors = |which: usize, places: &[u16], out: &mut [i32]| {
        let element = product.elements[which];
        for (slot, places) in each_row(&product.registers[which], places) {
            let row = registers.narrow(slot.index);
            match element {
                Element::S8 | Element::U8 => {
                    decode_each::<4, _>(row, places, out, integer(element))
                }
                Element::S4 | Element::U4 => {
                    decode_each::<8, _>(row, places, out, integer(element))
                }
                _ => decode_each::<1, _>(row, places, out, |word| word as i32),
            }
        }
    };
    factors(0, places, &mut a);
    factors(1, &product.places[1], b.as_flattened_mut());
    factors(2, &product.places[2], c.as_flattened_mut());
    for stripe in 0..product.stripes() {
        let (b, c) = (&b[stripe * k..(stripe + 1) * k], &mut c[stripe * m..(stripe + 1) * m]);
        for (a, c) in a.chunks_exact(k).zip(c) {
            inner_product::integers(a, b, c, product.saturate);
        }
    }
    write_sums(product, registers, c.as_flattened());
}

fn bit_products(product: &Product, _: &[u16], registers: &mut Registers) {
    let (m, k) = (product.shape.m, product.shape.k / 32);
    let mut a = vec![0; m * k];
    let mut b = vec![[0; COLUMNS]; k];
    let mut c = vec![[0; COLUMNS]; m];
    for (slot, places) in product.rows(0) {
        decode_each::<1, _>(registers.narrow(slot.index), places, &mut a, |word| word);
    }
    for (slot, places) in product.rows(1) {
        decode_each::<1, _>(registers.narrow(slot.index), places, b.as_flattened_mut(), |word| {
            word
        });
    }
    for (slot, places) in product.rows(2) {
        decode_each::<1, _>(registers.narrow(slot.index), places, c.as_flattened_mut(), |w| {
            w as i32
        });
    }
    for (a, c) in a.chunks_exact(k).zip(&mut c) {
        inner_product::bits(a, &b, c, product.inner_product == InnerProduct::Xor);
    }
    write_sums(product, registers, c.as_flattened());
}

fn write_sums(product: &Product, registers: &mut Registers, sums: &[i32]) {
    for (slot, places) in product.rows(3) {
        let row = registers.narrow_mut(slot.index);
        for (word, place) in row.iter_mut().zip(places) {
            *word = sums[usize::from(*place)] as u32;
        }
    }
}

fn double_products(product: &Product, _: &[u16], registers: &mut Registers) {
    let (m, k) = (product.shape.m, product.shape.k);
    let mut a = vec![0; m * k];
    let mut b = vec![[0; COLUMNS]; k];
    let mut c = vec![[0; COLUMNS]; m];
    let gather = |which: usize, out: &mut [u64]| {
        for (slot, places) in product.rows(which) {
            for (lane, place) in lanes(u32::MAX).zip(places) {
                out[usize::from(*place)] = registers.get(slot, lane);
            }
        }
    };
    gather(0, &mut a);
    gather(1, b.as_flattened_mut());
    gather(2, c.as_flattened_mut());
    for (a, c) in a.chunks_exact(k).zip(&mut c) {
        inner_product::doubles(a, &b, c, product.mode);
    }
    for (slot, places) in product.rows(3) {
        for (lane, place) in lanes(u32::MAX).zip(places) {
            registers.set(slot, lane, c.as_flattened()[usize::from(*place)]);
        }
    }
}
