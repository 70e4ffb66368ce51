//! The bound: how long a training step takes at least on this machine (the roofline model).
//!
//! A step can't be faster than its arithmetic, and it can't be faster than its traffic. Both are counted here, and
//! divided by speeds that are measured on this machine.

use std::hint::black_box;
use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use training::Preset;
use training::bench::operations_per_sample;

use crate::large_product_gflops;

/// The length, in numbers, of a buffer that is larger than every cache.
const MEMORY: usize = 1 << 26;

/// Lower bounds of the time of a training step, in seconds: one for each resource that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The time of the arithmetic of the matrix products, at the speed of a large `sgemm`.
    pub arithmetic: f64,
    /// The time to read `x` once, at the speed of main memory.
    pub memory: f64,
    /// The time to read and write each weight once, at the speed of the caches that hold the weights.
    pub weights: f64,
}

impl Bound {
    /// The longest of the three times.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.arithmetic.max(self.memory).max(self.weights)
    }
}

/// The measured speeds of this machine, on all cores.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// 10⁹ operations/s of a large `sgemm`.
    pub gflops: f64,
    /// 10⁹ bytes/s that are read from main memory.
    pub memory: f64,
}

impl Machine {
    /// Measures the speeds, in about a second.
    #[must_use]
    pub fn measure() -> Self {
        let mut buffer = vec![1.0; MEMORY];
        let sum = |part: &mut [f32]| _ = black_box(Arch::new().dispatch(Sum(part)));
        Self { gflops: large_product_gflops(), memory: 1e-9 * rate(&mut buffer, 1, &sum) }
    }

    /// The bound of a preset's step.
    #[must_use]
    pub fn bound(&self, preset: &Preset) -> Bound {
        let (network, batch) = (&preset.network, preset.batch_size);
        let operations = batch * operations_per_sample(network);
        let weights: usize = network.sizes.windows(2).map(|n| n[0] * n[1]).sum();
        let mut buffer = vec![1.0; weights];
        let negate = |part: &mut [f32]| Arch::new().dispatch(Negate(part));
        let bytes = |numbers: usize| (size_of::<f32>() * numbers) as f64;
        Bound {
            arithmetic: operations as f64 / (1e9 * self.gflops),
            memory: bytes(batch * network.sizes[0]) / (1e9 * self.memory),
            weights: bytes(weights) / rate(&mut buffer, MEMORY / weights, &negate),
        }
    }
}

/// The bandwidth of all cores in bytes per second, the best of several measurements: each core calls `pass` on its part
/// of the buffer `times` times in a row.
fn rate(buffer: &mut [f32], times: usize, pass: &(dyn Fn(&mut [f32]) + Sync)) -> f64 {
    let length = buffer.len().div_ceil(rayon::current_num_threads());
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let clock = Instant::now();
        buffer.par_chunks_mut(length).for_each(|part| (0..times).for_each(|_| pass(part)));
        best = best.min(clock.elapsed().as_secs_f64());
    }
    (times * size_of_val(buffer)) as f64 / best
}

/// Reads all numbers, and adds them up.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); 8];
        for vectors in S::as_simd_f32s(self.0).0.chunks_exact(8) {
            for i in 0..8 {
                sums[i] = simd.add_f32s(sums[i], vectors[i]);
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}

/// Reads all numbers, and writes them back with the opposite sign.
struct Negate<'a>(&'a mut [f32]);

impl WithSimd for Negate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for vector in S::as_mut_simd_f32s(self.0).0 {
            *vector = simd.neg_f32s(*vector);
        }
    }
}
