//! The fast version of the training step. It differs from the textbook form in four ways:
//!
//! 1. *Fusion.* Bias and ReLU are applied while the block of `z` that a product wrote is still in
//!    the cache, and so is ReLU's mask in the backward pass. The hidden `z`, `da`, `dw` and `db` are
//!    never written to memory: `w −= learning_rate · dzᵀ · a_prev` is one product that adds to the
//!    weight matrix.
//! 2. *A faster product*: the crate `gemm-f32`, which selects AVX-512, AVX2 or NEON code at run time.
//! 3. *Threads*: the result of each large product is split into blocks, one for each thread, which share no
//!    memory that they write. The order of a block's sums only depends on its width, so the number of threads
//!    only changes the rounding.
//! 4. *No copy of the input*, if the rows of a batch are contiguous in the dataset.

use std::time::Instant;

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, Zip};
use rayon::prelude::*;
use tensor::Loss;

use crate::operations::{matrix, matrix_mut, output_gradient, sigmoid, softmax};
use crate::state::{Layer, State};

/// Products with fewer multiplications run on one thread: using more would cost more than it saves.
const WORTH_SHARING: usize = 1 << 19;

// ANCHOR: step
/// One training step: forward, backward and update.
pub(crate) fn step(state: &mut State, learning_rate: f32) {
    // Entering the thread pool once for the whole step, rather than for each product, keeps its
    // threads awake in between.
    rayon::scope(|_| fused_step(state, learning_rate));
}

fn fused_step(state: &mut State, learning_rate: f32) {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    let classes = state.layers[last].outputs;
    for l in 0..=last {
        let (before, rest) = state.layers.split_at_mut(l);
        let a_prev = before.last().map_or(state.input.x(), |previous| &previous.a);
        forward(&mut rest[0], a_prev, batch, l < last);
    }
    let z = &state.layers[last].z;
    match state.loss {
        Loss::CrossEntropy => softmax(z, &mut state.p, classes),
        Loss::Bce => sigmoid(z, &mut state.p),
        Loss::SquaredError => state.p.copy_from_slice(z),
    }
    output_gradient(&state.p, &state.y, &mut state.layers[last].dz, classes);
    for l in (0..=last).rev() {
        let (before, rest) = state.layers.split_at_mut(l);
        // The gradient of the layer before needs the old weights, so it comes before the update.
        if let Some(previous) = before.last_mut() {
            backward(previous, &rest[0], batch);
        }
        let a_prev = before.last().map_or(state.input.x(), |previous| &previous.a);
        update(&mut rest[0], a_prev, batch, learning_rate);
    }
}
// ANCHOR_END: step

/// `z = a_prev · wᵀ + b`; a hidden layer only stores `relu(z)`, in `a`.
///
/// The result is split along its longer side: into blocks of samples that share the weights, or
/// into blocks of units that share the samples.
fn forward(layer: &mut Layer, a_prev: &[f32], batch: usize, hidden: bool) {
    let (m, n) = (layer.inputs, layer.outputs);
    let a_prev = matrix(a_prev, batch, m);
    let w = matrix(&layer.w, n, m);
    let b = ArrayView1::from(&layer.b);
    let mut z = matrix_mut(if hidden { &mut layer.a } else { &mut layer.z }, batch, n);
    let threads = threads_for(batch * n * m);
    if batch > n {
        let samples = batch.div_ceil(threads);
        z.axis_chunks_iter_mut(Axis(0), samples)
            .into_par_iter()
            .zip(a_prev.axis_chunks_iter(Axis(0), samples))
            .for_each(|(z, a_prev)| forward_block(z, a_prev, w, b, hidden));
    } else {
        let units = n.div_ceil(threads);
        z.axis_chunks_iter_mut(Axis(1), units)
            .into_par_iter()
            .zip(w.axis_chunks_iter(Axis(0), units))
            .zip(b.axis_chunks_iter(Axis(0), units))
            .for_each(|((z, w), b)| forward_block(z, a_prev, w, b, hidden));
    }
}

/// One block of the forward pass: the product, then bias and ReLU while it is still in the cache.
fn forward_block(
    mut z: ArrayViewMut2<'_, f32>,
    a_prev: ArrayView2<'_, f32>,
    w: ArrayView2<'_, f32>,
    b: ArrayView1<'_, f32>,
    hidden: bool,
) {
    product(&mut z, 0.0, 1.0, a_prev, w.t());
    for mut row in z.rows_mut() {
        Zip::from(&mut row).and(&b).for_each(|z, b| {
            *z += b;
            // Written so that NaN stays NaN.
            if hidden && *z < 0.0 {
                *z = 0.0;
            }
        });
    }
}

/// `dz = (dz_next · w_next) ⊙ [a > 0]` of the layer before `next`.
fn backward(layer: &mut Layer, next: &Layer, batch: usize) {
    let n = layer.outputs;
    let dz_next = matrix(&next.dz, batch, next.outputs);
    let w_next = matrix(&next.w, next.outputs, n);
    let a = matrix(&layer.a, batch, n);
    let mut dz = matrix_mut(&mut layer.dz, batch, n);
    let units = n.div_ceil(threads_for(batch * n * next.outputs));
    dz.axis_chunks_iter_mut(Axis(1), units)
        .into_par_iter()
        .zip(w_next.axis_chunks_iter(Axis(1), units))
        .zip(a.axis_chunks_iter(Axis(1), units))
        .for_each(|((mut dz, w_next), a)| {
            product(&mut dz, 0.0, 1.0, dz_next, w_next);
            Zip::from(&mut dz).and(&a).for_each(|dz, a| {
                // relu(z) is positive exactly where z is.
                *dz = if *a > 0.0 { *dz } else { 0.0 };
            });
        });
}

/// `w −= learning_rate · dzᵀ · a_prev` and `b −= learning_rate · Σ_batch dz`.
fn update(layer: &mut Layer, a_prev: &[f32], batch: usize, learning_rate: f32) {
    let (m, n) = (layer.inputs, layer.outputs);
    let a_prev = matrix(a_prev, batch, m);
    let dz = matrix(&layer.dz, batch, n);
    let mut w = matrix_mut(&mut layer.w, n, m);
    let units = n.div_ceil(threads_for(batch * n * m));
    w.axis_chunks_iter_mut(Axis(0), units)
        .into_par_iter()
        .zip(dz.axis_chunks_iter(Axis(1), units))
        .for_each(|(mut w, dz)| {
            if w.nrows() > 1 && w.ncols() > 1 {
                return product(&mut w, 1.0, -learning_rate, dz.t(), a_prev);
            }
            // `gemm` would add one sample after another to a single row or column, each time rounded to
            // the precision of the weights. Summing the samples first loses less.
            let mut dw = Array2::zeros(w.dim());
            product(&mut dw.view_mut(), 0.0, 1.0, dz.t(), a_prev);
            w.scaled_add(-learning_rate, &dw);
        });
    let mut b = ArrayViewMut1::from(&mut layer.b);
    layer.db.fill(0.0);
    let mut db = ArrayViewMut1::from(&mut layer.db);
    for row in dz.rows() {
        db += &row;
    }
    b.scaled_add(-learning_rate, &db);
}

/// The number of threads for a product with this number of multiplications.
fn threads_for(multiplications: usize) -> usize {
    if multiplications < WORTH_SHARING { 1 } else { rayon::current_num_threads() }
}

/// `c = keep · c + scale · a · b`, where `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
/// If `keep` is 0, the old content of `c` is ignored.
fn product(
    c: &mut ArrayViewMut2<'_, f32>,
    keep: f32,
    scale: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
) {
    multiply(c, keep, scale, a, b, Parallelism::None);
}

/// The library's peak speed on all cores in GFLOP/s: the best of several products of 1024 × 1024 matrices.
#[must_use]
pub fn large_product_gflops() -> f64 {
    const N: usize = 1024;
    let (a, b) = (vec![0.5; N * N], vec![0.25; N * N]);
    let mut c = vec![0.0; N * N];
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        let clock = Instant::now();
        let (all, c) = (Parallelism::Rayon(0), &mut matrix_mut(&mut c, N, N));
        multiply(c, 0.0, 1.0, matrix(&a, N, N), matrix(&b, N, N), all);
        best = best.min(clock.elapsed().as_secs_f64());
    }
    2e-9 * (N * N * N) as f64 / best
}

/// Whether `gemm-f32` supports this processor. Version 0.19 assumes that FMA implies AVX2, and that AVX-512's
/// foundation implies its other parts. On processors without them (AMD's Piledriver, Intel's Knights
/// Landing) it would panic, so ndarray's product is the fallback.
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

fn multiply(
    c: &mut ArrayViewMut2<'_, f32>,
    keep: f32,
    scale: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    parallelism: Parallelism,
) {
    let ((m, k), (k_of_b, n)) = (a.dim(), b.dim());
    assert_eq!((m, n, k), (c.nrows(), c.ncols(), k_of_b), "the shapes of a product");
    if !gemm_runs_here() {
        return general_mat_mul(scale, &a, &b, keep, c);
    }
    let (a, b, mut c) = (a.t(), b.t(), c.view_mut().reversed_axes());
    let strides = |matrix: ArrayView2<'_, f32>| (matrix.strides()[1], matrix.strides()[0]);
    let (c_columns, c_rows) = strides(c.view());
    let ((a_columns, a_rows), (b_columns, b_rows)) = (strides(a), strides(b));
    #[expect(unsafe_code, reason = "the crate gemm-f32 takes pointers and strides")]
    // SAFETY: pointers and strides are those of live ndarray views whose dimensions were just
    // checked; `c` is borrowed mutably, so it overlaps neither `a` nor `b`.
    unsafe {
        // Its innermost loops write columns, but `c` is row-major, so compute cᵀ = bᵀ · aᵀ.
        get_gemm_fn()(
            n,
            m,
            k,
            c.as_mut_ptr(),
            c_columns,
            c_rows,
            keep != 0.0,
            b.as_ptr(),
            b_columns,
            b_rows,
            a.as_ptr(),
            a_columns,
            a_rows,
            keep,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}
