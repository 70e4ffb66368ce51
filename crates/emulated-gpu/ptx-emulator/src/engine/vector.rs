//! Operations on 32 lanes at once. Each operation is written once, for a single lane, and compiled
//! twice: for AVX2 and FMA, and for the host's baseline. Both versions give the same bits.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;

use super::code::{Compute, Operands};
use super::lane::{Lane, Stored};
use super::registers::{LANES, Registers};

/// An operation on rows.
pub(super) trait RowOperation {
    type D: Stored;
    type A: Lane;
    type B: Lane;
    type C: Lane;
    /// The result for one lane.
    fn apply(a: Self::A, b: Self::B, c: Self::C) -> Self::D;
}

// ANCHOR: rows
#[inline(always)]
fn rows<O: RowOperation, const AVX2: bool>(
    registers: &mut Registers,
    operands: &Operands,
    mask: u32,
) {
    let mut out = [O::D::default(); LANES];
    {
        let a = O::A::row(registers, operands.a);
        let b = O::B::row(registers, operands.b);
        let c = O::C::row(registers, operands.c);
        for lane in 0..LANES {
            out[lane] = O::apply(a[lane], b[lane], c[lane]);
        }
    }
    O::D::write::<AVX2>(registers, operands.d, &out, mask);
}

fn rows_portable<O: RowOperation>(registers: &mut Registers, operands: &Operands, mask: u32) {
    rows::<O, false>(registers, operands, mask);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn rows_avx2<O: RowOperation>(registers: &mut Registers, operands: &Operands, mask: u32) {
    rows::<O, true>(registers, operands, mask);
}
// ANCHOR_END: rows

/// Whether to compute and write lanes in groups. In WebAssembly, a complete row of results would be
/// zeroed and copied by function calls, which take longer than the operation.
const IN_GROUPS: bool = cfg!(target_family = "wasm");
/// Lanes per 128-bit vector.
const GROUP: usize = 4;

/// Computes a few lanes at a time and writes them at once. A lane's result only depends on the same
/// lane of the operands, so it may overwrite any of them.
fn rows_in_groups<O: RowOperation>(registers: &mut Registers, operands: &Operands, mask: u32) {
    for start in (0..LANES).step_by(GROUP) {
        let a = group(O::A::row(registers, operands.a), start);
        let b = group(O::B::row(registers, operands.b), start);
        let c = group(O::C::row(registers, operands.c), start);
        let out = std::array::from_fn(|lane| O::apply(a[lane], b[lane], c[lane]));
        write_group(O::D::row_mut(registers, operands.d), start, out, mask);
    }
}

#[inline(always)]
fn group<T: Lane>(row: &[T; LANES], start: usize) -> [T; GROUP] {
    std::array::from_fn(|lane| row[start + lane])
}

#[inline(always)]
fn write_group<T: Stored>(row: &mut [T; LANES], start: usize, values: [T; GROUP], mask: u32) {
    for (lane, value) in values.into_iter().enumerate() {
        let to = &mut row[start + lane];
        *to = if mask == u32::MAX || mask >> (start + lane) & 1 != 0 { value } else { *to };
    }
}

/// Whether the host has AVX2 and FMA. Under Miri it doesn't.
pub(super) fn fast_host() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    false
}

/// The version for this host; `fast` if it has AVX2 and FMA.
pub(super) fn compile<O: RowOperation>(fast: bool) -> Compute {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return rows_avx2::<O>;
    }
    let _ = fast;
    if IN_GROUPS {
        return rows_in_groups::<O>;
    }
    rows_portable::<O>
}

/// A comparison of rows into a predicate.
pub(super) trait Comparator {
    type A: Lane;
    fn apply(a: Self::A, b: Self::A) -> bool;
}

fn compares_portable<O: Comparator>(registers: &mut Registers, operands: &Operands, mask: u32) {
    let mut bits = 0;
    {
        let a = O::A::row(registers, operands.a);
        let b = O::A::row(registers, operands.b);
        for lane in 0..LANES {
            bits |= if O::apply(a[lane], b[lane]) { 1u32 << lane } else { 0 };
        }
    }
    let word = &mut registers.predicates[operands.d as usize];
    *word = *word & !mask | bits & mask;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn compares_avx2<O: Comparator>(registers: &mut Registers, operands: &Operands, mask: u32) {
    let mut holds = [0; LANES];
    {
        let a = O::A::row(registers, operands.a);
        let b = O::A::row(registers, operands.b);
        for lane in 0..LANES {
            holds[lane] = if O::apply(a[lane], b[lane]) { u32::MAX } else { 0 };
        }
    }
    let bits = avx2::signs(&holds);
    let word = &mut registers.predicates[operands.d as usize];
    *word = *word & !mask | bits & mask;
}

/// The version of a comparison for this host, as in [`compile`].
pub(super) fn compile_comparison<O: Comparator>(fast: bool) -> Compute {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return compares_avx2::<O>;
    }
    let _ = fast;
    compares_portable::<O>
}

#[inline(always)]
fn selects<T: Stored, const AVX2: bool>(registers: &mut Registers, operands: &Operands, mask: u32) {
    let chosen = registers.predicates[operands.c as usize];
    let mut out = *T::row(registers, operands.b);
    T::merge::<AVX2>(&mut out, T::row(registers, operands.a), chosen);
    T::write::<AVX2>(registers, operands.d, &out, mask);
}

fn selects_portable<T: Stored>(registers: &mut Registers, operands: &Operands, mask: u32) {
    selects::<T, false>(registers, operands, mask);
}

/// Selects a few lanes at a time, as [`rows_in_groups`] computes them.
fn selects_in_groups<T: Stored>(registers: &mut Registers, operands: &Operands, mask: u32) {
    let chosen = registers.predicates[operands.c as usize];
    for start in (0..LANES).step_by(GROUP) {
        let a = group(T::row(registers, operands.a), start);
        let b = group(T::row(registers, operands.b), start);
        let one = |lane| if chosen >> (start + lane) & 1 != 0 { a[lane] } else { b[lane] };
        write_group(T::row_mut(registers, operands.d), start, std::array::from_fn(one), mask);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn selects_avx2<T: Stored>(registers: &mut Registers, operands: &Operands, mask: u32) {
    selects::<T, true>(registers, operands, mask);
}

/// `selp` of one width.
pub(super) fn compile_select<T: Stored>(fast: bool) -> Compute {
    #[cfg(target_arch = "x86_64")]
    if fast {
        return selects_avx2::<T>;
    }
    let _ = fast;
    if IN_GROUPS {
        return selects_in_groups::<T>;
    }
    selects_portable::<T>
}

/// The type of an operand or result: the type of the row, or another type with the same bits.
pub(super) trait LaneValue {
    type Lane: Lane;
    fn from_lane(lane: Self::Lane) -> Self;
    fn into_lane(self) -> Self::Lane;
}

macro_rules! values {
    ($($value:ty, $lane:ty: |$of:ident| $from:expr, |$own:ident| $into:expr;)*) => {$(
        impl LaneValue for $value {
            type Lane = $lane;
            #[inline(always)]
            fn from_lane($of: $lane) -> Self {
                $from
            }
            #[inline(always)]
            fn into_lane(self) -> $lane {
                let $own = self;
                $into
            }
        }
    )*};
}

values! {
    u32, u32: |x| x, |x| x;
    i32, u32: |x| x as i32, |x| x as u32;
    f32, u32: |x| f32::from_bits(x), |x| x.to_bits();
    u64, u64: |x| x, |x| x;
    i64, u64: |x| x as i64, |x| x as u64;
    f64, u64: |x| f64::from_bits(x), |x| x.to_bits();
    (), (): |x| x, |x| x;
}

/// [`compile`] for an operation with one to three operands, given as a function of one lane's
/// values.
macro_rules! lane {
    (|$a:ident: $at:ty| -> $d:ty $body:block) => {
        lane!(|$a: $at, _b: ()| -> $d $body)
    };
    (|$a:ident: $at:ty, $b:ident: $bt:ty| -> $d:ty $body:block) => {
        lane!(|$a: $at, $b: $bt, _c: ()| -> $d $body)
    };
    (|$a:ident: $at:ty, $b:ident: $bt:ty, $c:ident: $ct:ty| -> $d:ty $body:block) => {{
        use $crate::engine::vector::{RowOperation, LaneValue};
        struct OfLane;
        impl RowOperation for OfLane {
            type D = <$d as LaneValue>::Lane;
            type A = <$at as LaneValue>::Lane;
            type B = <$bt as LaneValue>::Lane;
            type C = <$ct as LaneValue>::Lane;
            #[inline(always)]
            fn apply(a: Self::A, b: Self::B, c: Self::C) -> Self::D {
                #[inline(always)]
                fn on_values($a: $at, $b: $bt, $c: $ct) -> $d $body
                on_values(<$at>::from_lane(a), <$bt>::from_lane(b), <$ct>::from_lane(c)).into_lane()
            }
        }
        $crate::engine::vector::compile::<OfLane>
    }};
}
pub(super) use lane;
