//! Products in tiles, from copies of the operands.
//!
//! `gemm` and `matrixmultiply` use plain loads and stores, so they must not touch device memory: a
//! kernel on another stream may be writing it. Each tile of `a` and `b` is copied with
//! [`words`](crate::words), and stays in a core's cache until it has been multiplied, so the copy
//! costs little more than reading the operands once.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::Parallelism;
use rayon::prelude::*;

use crate::product::Product;
use crate::scratch::Scratch;
use crate::{Number, Order, Result, View};

/// The number of elements in a tile of `a`: half a megabyte in single precision, which fits a
/// core's second-level cache.
const TILE: usize = 1 << 17;
/// The minimum number of rows in a tile of `a`: with fewer, `gemm` leaves registers half empty.
const MIN_ROWS: usize = 64;
/// The maximum number of terms of a sum that are computed by one call. `gemm` itself cuts longer
/// sums into pieces of about [`DEPTH`].
const MAX_DEPTH: usize = 1024;
/// The number of terms in a piece of a longer sum.
const DEPTH: usize = 512;
/// The number of elements in a panel of the result: columns that are computed together and then
/// copied to `d`.
const PANEL: usize = 1 << 19;
/// The size of a panel if sums are short, so that the copy dominates: the panel stays in a core's
/// cache.
const SHORT_PANEL: usize = 1 << 15;
/// The maximum number of columns of a panel.
const MAX_COLUMNS: usize = 512;
/// The minimum number of columns of a panel, unless sums are short: `a` is copied once per panel.
const MIN_COLUMNS: usize = 128;
/// The number of elements below which copying a matrix on several threads costs more than it saves.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 16;
/// The number of multiply-adds below which computing tiles on several threads costs more than it
/// saves.
const MIN_PARALLEL_WORK: usize = 1 << 19;

impl Product {
    /// The number of columns of the result that are computed together.
    pub(crate) fn panel_columns(&self) -> usize {
        let panel = if self.k < MIN_COLUMNS { SHORT_PANEL } else { PANEL };
        let least = self.k.saturating_mul(2).clamp(8, MIN_COLUMNS);
        (panel / self.m.max(1)).clamp(least, MAX_COLUMNS).min(self.n)
    }

    /// The number of rows and columns in a tile of `a`; a tile of `b` has as many rows as a tile of
    /// `a` has columns.
    fn tile(&self) -> (usize, usize) {
        let depth =
            if self.k <= MAX_DEPTH { self.k } else { self.k.div_ceil(self.k.div_ceil(DEPTH)) };
        ((TILE / depth.max(1)).max(MIN_ROWS).min(self.m), depth)
    }

    /// The number of elements in all tiles that exist at the same time.
    pub(crate) fn tile_elements(&self) -> usize {
        let (rows, depth) = self.tile();
        let tiles = rows.saturating_mul(depth).saturating_mul(threads());
        tiles.saturating_add(depth.saturating_mul(self.panel_columns()))
    }

    /// Computes `result = alpha · a · b + beta · result`, where `result` is stored column by column
    /// without gaps.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// `a` and `b` must be readable; `result` must have `m · n` elements.
    pub(crate) unsafe fn multiply_in_tiles<T: Number>(
        &self,
        result: &mut [T],
        (alpha, beta): (T, T),
    ) -> Result {
        let (m, n, k) = (self.m, self.n, self.k);
        debug_assert_eq!(result.len(), m * n);
        let (rows, depth) = self.tile();
        let blocks = m.div_ceil(rows);
        let threads = threads();
        let work = m.saturating_mul(n).saturating_mul(depth);
        let is_shared = threads > 1 && work >= MIN_PARALLEL_WORK;
        // With fewer blocks than threads, several threads share each block.
        let inner =
            if is_shared && blocks < threads { Parallelism::Rayon(0) } else { Parallelism::None };
        let target = View::new(result.as_mut_ptr() as u64, T::TYPE, (1, m as isize));
        for from in (0..k).step_by(depth) {
            let depth = depth.min(k - from);
            let beta = if from == 0 { beta } else { T::from_f32(1.0) };
            // SAFETY: the rows are inside `b`, which is readable, as the caller promises.
            let b = unsafe { Tile::<T>::new(self.b.from(from, 0), (depth, n), is_shared)? };
            let block = |index: usize| -> Result {
                let first = index * rows;
                let rows = rows.min(m - first);
                let target = target.from(first, 0).address as *mut T;
                // SAFETY: the rows are inside `a` and inside the result, which are valid, as the
                // caller promises; every block has its own rows of the result.
                unsafe {
                    let copy_shared = matches!(inner, Parallelism::Rayon(_));
                    let a = Tile::new(self.a.from(first, from), (rows, depth), copy_shared)?;
                    a.multiply(&b, target, m as isize, (alpha, beta), inner);
                }
                Ok(())
            };
            if is_shared && blocks > 1 {
                (0..blocks).into_par_iter().try_for_each(block)?;
            } else {
                (0..blocks).try_for_each(block)?;
            }
        }
        Ok(())
    }
}

/// Whether `gemm` supports this processor. Version 0.19 assumes that FMA implies AVX2, and that
/// AVX-512F implies the other AVX-512 features that it uses. On processors where that is wrong
/// (AMD's Piledriver, Intel's Knights Landing) it panics, so `matrixmultiply` replaces it.
fn gemm_runs_here() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let all_of_avx512 =
            || has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        (!has!("fma") || has!("avx2")) && (!has!("avx512f") || all_of_avx512())
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// The number of threads that share work. `host` starts them, because rayon itself starts as many
/// as the environment asks for, and panics if the system can't provide them.
pub(crate) fn threads() -> usize {
    host::share_work();
    rayon::current_num_threads()
}

/// Calls a function with every line of `length` elements and its index; on all cores if there are
/// many elements and `is_shared` is set.
pub(crate) fn for_each_line<T: Send>(
    lines: &mut [T],
    length: usize,
    is_shared: bool,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if is_shared && lines.len() >= MIN_PARALLEL_ELEMENTS && threads() > 1 {
        lines.par_chunks_mut(length).enumerate().for_each(|(line, values)| work(line, values));
    } else {
        lines.chunks_mut(length.max(1)).enumerate().for_each(|(line, values)| work(line, values));
    }
}

/// A tile: a contiguous copy of a part of an operand, in the type of the computation.
struct Tile<T> {
    elements: Scratch<T>,
    rows: usize,
    columns: usize,
    /// The distance in elements between adjacent rows, and between adjacent columns.
    strides: (isize, isize),
}

impl<T: Number> Tile<T> {
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// The view's `rows · columns` elements must be readable.
    unsafe fn new(view: View, (rows, columns): (usize, usize), is_shared: bool) -> Result<Self> {
        // The tile is copied in memory order, line by line.
        let (length, along, strides) = match view.order() {
            Order::Column => (rows, view, (1, rows as isize)),
            Order::Row => (columns, view.transposed(), (columns as isize, 1)),
        };
        let (along, length) = along.without_gaps(length);
        let mut elements = Scratch::new(rows.saturating_mul(columns))?;
        for_each_line(&mut elements, length, is_shared, |line, values| {
            // SAFETY: the whole line is inside the view, which is readable, as the caller promises.
            unsafe { along.read_column(line, values) };
        });
        Ok(Self { elements, rows, columns, strides })
    }

    /// Computes `target = alpha · self · b + beta · target`; columns of `target` are `ld` elements
    /// apart.
    ///
    /// # Safety
    /// No other thread may access `target` at the same time. If `beta` is 0, its values are
    /// ignored.
    unsafe fn multiply(
        &self,
        b: &Self,
        target: *mut T,
        ld: isize,
        (alpha, beta): (T, T),
        parallelism: Parallelism,
    ) {
        let (m, n, k) = (self.rows, b.columns, self.columns);
        let (a, (a_row, a_column)) = (self.elements.as_ptr(), self.strides);
        let (b, (b_row, b_column)) = (b.elements.as_ptr(), b.strides);
        // SAFETY: both tiles have all their elements; `target` is valid, as the caller promises.
        unsafe {
            if !gemm_runs_here() {
                let (a, b) = ((a, a_row, a_column), (b, b_row, b_column));
                return T::multiply([m, n, k], alpha, a, b, beta, (target, 1, ld));
            }
            let adds = beta != T::default();
            gemm::gemm(
                m,
                n,
                k,
                target,
                ld,
                1,
                adds,
                a,
                a_column,
                a_row,
                b,
                b_column,
                b_row,
                beta,
                alpha,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}
