//! The fast version of the training step. It differs from the textbook form in five ways:
//!
//! 1. *Packing* (`packed`): the weights stay in the order in which the kernels read them.
//! 2. *Registers* (`kernels`): each number that is loaded is used many times. Bias, ReLU, ReLU's mask and the
//!    update are applied in registers. The hidden `z`, `da`, `dw` and `db` are never written to memory.
//! 3. *Blocks* (`step`): two phases, each cut into items that the threads compute in any order.
//! 4. *Threads* (`threads`) that stay awake between two phases.
//! 5. *No copy of the input*: the kernels read the rows of a batch where they are in the dataset.

mod kernels;
mod packed;
mod step;
mod threads;

use std::sync::Arc;
use std::time::Instant;

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use pulp::Arch;

use crate::operations::{matrix, matrix_mut};
use crate::state::{Layer, State};
use packed::{Packed, WIDTH, panels};
use step::Step;
use threads::{Schedule, Team};

/// Steps with fewer multiplications run on one thread: using more would cost more than it saves.
const WORTH_SHARING: usize = 1 << 19;

/// The packed weights, the buffers and the threads of the fast form.
pub(crate) struct Fast {
    arch: Arch,
    threads: usize,
    layers: Arc<Vec<Packed>>,
    /// Whether the packed weights are up to date: the level's weights may have changed since.
    packed: bool,
    /// Whether the last step's results have yet to be copied to the level's buffers.
    ahead: bool,
    schedule: Option<Arc<Schedule<Step>>>,
    team: Option<Team<Step>>,
}

impl Fast {
    /// Prepares the fast form for the network of this state.
    pub(crate) fn new(state: &State) -> Self {
        let threads = rayon::current_num_threads();
        let layer = |(l, layer): (usize, &Layer)| {
            let first = l == 0;
            // The first layer has at least two chunks for each thread, but none of few inputs.
            let slices = if first { (2 * threads).div_ceil(panels(layer.outputs)) } else { 1 };
            Packed::new(layer, first, slices.clamp(1, (layer.inputs / 64).max(1)))
        };
        Self {
            arch: instructions(),
            threads,
            layers: Arc::new(state.layers.iter().enumerate().map(layer).collect()),
            packed: false,
            ahead: false,
            schedule: None,
            team: None,
        }
    }

    /// The numbers that the buffers of a step hold for each sample: `a` and `dz` of every layer in whole panels, a part
    /// of the first `z` for each chunk, and the last layer's `z` and `p`.
    pub(crate) fn numbers_per_sample(&self) -> u64 {
        let padded: usize = self.layers.iter().map(|layer| WIDTH * panels(layer.outputs)).sum();
        let parts = WIDTH * self.layers[0].chunks.len();
        (2 * padded + parts + 2 * self.layers[self.layers.len() - 1].outputs) as u64
    }

    /// One training step: forward, backward and update.
    pub(crate) fn step(&mut self, state: &mut State, learning_rate: f32) {
        if !self.packed {
            self.layers.iter().zip(&state.layers).for_each(|(packed, layer)| packed.pack(layer));
            self.packed = true;
        }
        let step = self.schedule.as_ref().filter(|schedule| schedule.work.batch() == state.batch);
        let schedule = match step {
            Some(schedule) => Arc::clone(schedule),
            None => {
                self.finish();
                let threads = self.threads;
                let step = Step::new(self.arch, &self.layers, state.loss, state.batch, threads);
                let items = step.items();
                Arc::clone(self.schedule.insert(Arc::new(Schedule::new(step, &items))))
            }
        };
        let weights: usize = self.layers.iter().map(|layer| layer.inputs * layer.outputs).sum();
        // The step owns the batch while it runs, because its threads may outlive this call.
        schedule.work.begin(state);
        if state.batch * weights < WORTH_SHARING {
            schedule.run();
        } else {
            self.team.get_or_insert_with(|| Team::new(self.threads)).run(&schedule);
        }
        schedule.work.end(state, learning_rate);
        self.ahead = true;
    }

    /// Applies the pending update of the last step.
    fn finish(&self) {
        self.schedule.iter().for_each(|schedule| schedule.work.finish());
    }

    /// Copies the results of the last step to the level's buffers, unless they are there already.
    pub(crate) fn unpack(&mut self, state: &mut State) {
        if !std::mem::take(&mut self.ahead) {
            return;
        }
        self.finish();
        self.layers.iter().zip(&mut state.layers).for_each(|(packed, layer)| packed.unpack(layer));
        // A batch of another size may have been loaded since.
        if let Some(schedule) = &self.schedule
            && schedule.work.batch() == state.batch
        {
            schedule.work.unpack(state);
        }
    }

    /// Marks the packed weights as outdated, because the weights in the level's buffers have changed.
    pub(crate) fn repack(&mut self) {
        (self.packed, self.ahead) = (false, false);
        self.schedule.iter().for_each(|schedule| schedule.work.forget());
    }
}

/// The widest vectors of this processor, unless the variable `LEVEL1_SIMD` is `avx2` or `scalar`.
fn instructions() -> Arch {
    match std::env::var("LEVEL1_SIMD").as_deref() {
        #[cfg(target_arch = "x86_64")]
        Ok("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        Ok("scalar") => Arch::Scalar,
        _ => Arch::new(),
    }
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
        // The innermost loops of `gemm` write columns, but `c` is row-major, so compute cᵀ = bᵀ · aᵀ.
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
