//! Autotuning: the candidates of the library's heuristic are measured, and the best is kept.
//!
//! On a GPU a candidate is run, and timed between two events. The emulated one has no clock worth
//! reading. There a candidate is judged by what it asks of a card, which follows from its tile and its
//! split of the sums: how many multiply-adds the busiest multiprocessor has to do one after another.
#![allow(unsafe_code, reason = "cuBLASLt is a C library")]

use std::ffi::c_void;

use cudarc::cublaslt::result::CublasError;
use cudarc::cublaslt::sys::{
    self, cublasLtMatmulAlgo_t, cublasLtMatmulAlgoConfigAttributes_t as Config,
    cublasLtMatmulHeuristicResult_t,
};
use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags};
use cudarc::driver::{CudaSlice, DevicePtr};
use gpu::{Gpu, GpuError};

use super::{PlannedMatmul, refused};
use crate::column_major::Operand;
use crate::error::Result;
use crate::library::Routine;

/// Candidates that the heuristic is asked for.
pub(super) const MOST: usize = 8;
/// Runs of a candidate that are timed together, after one that isn't.
const RUNS: usize = 20;

/// How candidates are measured.
pub(super) struct Autotune {
    /// Whether the GPU is emulated, and candidates are compared by counts instead of times.
    emulated: bool,
    multiprocessors: usize,
}

impl Autotune {
    pub(super) fn new(gpu: &Gpu) -> Result<Self> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = usize::try_from(gpu.context().attribute(attribute)?).unwrap_or(1);
        Ok(Self { emulated: gpu.is_emulated(), multiprocessors })
    }

    /// Measures the candidates for a product, and selects the best one.
    pub(super) fn choose(
        &self,
        planned: &mut PlannedMatmul,
        answers: &[cublasLtMatmulHeuristicResult_t],
    ) -> Result<()> {
        let candidates = answers.iter().map(Candidate::new).collect::<Result<Vec<_>, _>>();
        let call = "cublasLtMatmulAlgoConfigGetAttribute";
        let candidates = candidates.map_err(|error| refused(call, error, &planned.problem))?;
        let call = &planned.problem.call;
        let shape = [call.result.rows, call.result.columns, call.k];
        let counts = |candidate: &Candidate| candidate.counts(shape, self.multiprocessors);
        let costs = match self.emulated {
            true => candidates.iter().map(counts).collect(),
            false => times(planned, &candidates)?,
        };
        planned.algorithm = candidates[best(&costs)].algorithm;
        planned.measured = Some(table(&planned.problem.to_string(), &candidates, &costs));
        Ok(())
    }
}

/// Times all candidates, with temporary operands and the epilogue's own buffers, which a step fills again
/// before it reads them.
fn times(planned: &mut PlannedMatmul, candidates: &[Candidate]) -> Result<Vec<Cost>> {
    let (call, pointers) = (planned.problem.call, planned.problem.pointers);
    let stream = planned.on.stream.clone();
    let zeros = |operand: &Operand| -> Result<CudaSlice<f32>> {
        Ok(stream.alloc_zeros(operand.ld * operand.columns).map_err(GpuError::from)?)
    };
    let operands = [zeros(&call.first)?, zeros(&call.second)?, zeros(&call.result)?];
    let addresses = operands.each_ref().map(|operand| operand.device_ptr(&stream).0);
    let mut costs = Vec::new();
    for candidate in candidates {
        planned.algorithm = candidate.algorithm;
        // SAFETY: the operands are as large as the call says, and live until the stream is waited for.
        let run = || unsafe { planned.run(addresses, pointers) };
        let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        // A candidate that the library refuses is out.
        if run().is_err() {
            costs.push(Cost::Unknown);
            continue;
        }
        let start = event()?;
        for _ in 0..RUNS {
            run()?;
        }
        let milliseconds = start.elapsed_ms(&event()?)?;
        costs.push(Cost::Time(1e-3 * f64::from(milliseconds) / RUNS as f64));
    }
    stream.synchronize()?;
    Ok(costs)
}

/// A candidate, as the library describes it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    algorithm: cublasLtMatmulAlgo_t,
    /// Rows and columns of the result that a block computes, where that is known.
    tile: Option<(usize, usize)>,
    /// How many parts each sum is split into.
    parts: usize,
}

/// What was measured of a candidate: less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cost {
    /// Seconds of a run.
    Time(f64),
    /// Blocks, and the multiply-adds of the busiest multiprocessor.
    Counts { blocks: usize, longest: usize },
    /// It could not be measured.
    Unknown,
}

impl Cost {
    fn of_order(self) -> f64 {
        match self {
            Self::Time(seconds) => seconds,
            Self::Counts { longest, .. } => longest as f64,
            Self::Unknown => f64::INFINITY,
        }
    }
}

impl Candidate {
    /// Reads what an answer of the heuristic says of itself.
    fn new(answer: &cublasLtMatmulHeuristicResult_t) -> Result<Self, CublasError> {
        let attribute = |which| {
            let (mut value, mut written) = (0_i32, 0);
            // SAFETY: both attributes are numbers of 32 bits, for which there is room.
            unsafe {
                sys::cublasLtMatmulAlgoConfigGetAttribute(
                    &raw const answer.algo,
                    which,
                    (&raw mut value).cast::<c_void>(),
                    size_of::<i32>(),
                    &raw mut written,
                )
            }
            .result()?;
            Ok(value)
        };
        let tile = attribute(Config::CUBLASLT_ALGO_CONFIG_TILE_ID)?;
        let parts = attribute(Config::CUBLASLT_ALGO_CONFIG_SPLITK_NUM)?;
        let parts = usize::try_from(parts).unwrap_or(1).max(1);
        Ok(Self { algorithm: answer.algo, tile: tile_of(tile), parts })
    }

    /// What it asks of a card with this many multiprocessors, for a result of `m` by `n` and sums of `k`.
    /// All threads of a block multiply, those beyond the edge zeros.
    fn counts(&self, [m, n, k]: [usize; 3], multiprocessors: usize) -> Cost {
        let Some((rows, columns)) = self.tile else { return Cost::Unknown };
        let blocks = m.div_ceil(rows) * n.div_ceil(columns) * self.parts;
        let rounds = blocks.div_ceil(multiprocessors.max(1));
        // The parts of split sums are added up by everybody together.
        let adding =
            if self.parts > 1 { (m * n * self.parts).div_ceil(multiprocessors.max(1)) } else { 0 };
        let longest = rounds * rows * columns * k.div_ceil(self.parts) + adding;
        Cost::Counts { blocks, longest }
    }
}

/// Which is the best: the first of equals, as the heuristic has its own order.
fn best(costs: &[Cost]) -> usize {
    let mut best = 0;
    for (index, cost) in costs.iter().enumerate() {
        if cost.of_order() < costs[best].of_order() {
            best = index;
        }
    }
    best
}

/// What was measured, a line for each candidate, the one that is kept marked.
fn table(product: &str, candidates: &[Candidate], costs: &[Cost]) -> String {
    let kept = best(costs);
    let emulated = costs.iter().any(|cost| matches!(cost, Cost::Counts { .. }));
    let how = if emulated { "counted, not timed" } else { "timed" };
    let mut lines = vec![format!("autotune: {product}, {how}")];
    for (index, (candidate, cost)) in candidates.iter().zip(costs).enumerate() {
        let tile = candidate.tile.map_or_else(|| "?".into(), |(m, n)| format!("{m} x {n}"));
        let cost = match cost {
            Cost::Time(seconds) => format!("{:>12.2} us", 1e6 * seconds),
            Cost::Counts { blocks, longest } => format!(
                "blocks {blocks:>4}, multiply-adds of the busiest multiprocessor {longest:>9}"
            ),
            Cost::Unknown => "could not be measured".into(),
        };
        let parts = format!("split-K {}", candidate.parts);
        let mark = if index == kept { "  <- kept" } else { "" };
        lines.push(format!("  tile {tile:<10} {parts:<11} {cost}{mark}"));
    }
    lines.join("\n")
}

/// Rows and columns of a tile by its number in `cublasLtMatmulTile_t`, of those that a header before CUDA 12
/// had.
fn tile_of(id: i32) -> Option<(usize, usize)> {
    const TILES: [(usize, usize); 24] = [
        (8, 8),
        (8, 16),
        (16, 8),
        (8, 32),
        (16, 16),
        (32, 8),
        (8, 64),
        (16, 32),
        (32, 16),
        (64, 8),
        (32, 32),
        (32, 64),
        (64, 32),
        (32, 128),
        (64, 64),
        (128, 32),
        (64, 128),
        (128, 64),
        (64, 256),
        (128, 128),
        (256, 64),
        (64, 512),
        (128, 256),
        (256, 128),
    ];
    TILES.get(usize::try_from(id).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(tile: Option<(usize, usize)>, parts: usize) -> Candidate {
        Candidate { algorithm: cublasLtMatmulAlgo_t { data: [0; 8] }, tile, parts }
    }

    #[test]
    fn tiles_are_those_of_the_header() {
        assert_eq!(tile_of(5), Some((16, 16)));
        assert_eq!(tile_of(15), Some((64, 64)));
        assert_eq!(tile_of(20), Some((128, 128)));
        assert_eq!(tile_of(24), Some((256, 128)));
        assert_eq!([tile_of(0), tile_of(-3), tile_of(9999)], [None; 3]);
    }

    #[test]
    fn a_small_product_wants_small_tiles_and_split_sums() {
        let shape = [30, 256, 784];
        let counts = |tile, parts| candidate(Some(tile), parts).counts(shape, 132);
        let one = counts((64, 64), 1);
        assert_eq!(one, Cost::Counts { blocks: 4, longest: 64 * 64 * 784 });
        let small = counts((16, 16), 1);
        assert_eq!(small, Cost::Counts { blocks: 32, longest: 16 * 16 * 784 });
        // 30 · 256 · 4 partial sums are shared by 132.
        let split = counts((16, 16), 4);
        assert_eq!(split, Cost::Counts { blocks: 128, longest: 16 * 16 * 196 + 233 });
        assert_eq!(best(&[one, small, split]), 2);
        assert_eq!(candidate(None, 1).counts(shape, 132), Cost::Unknown);
    }

    #[test]
    fn what_can_not_be_measured_is_never_better() {
        assert_eq!(best(&[Cost::Unknown, Cost::Time(2.0), Cost::Time(1.0), Cost::Time(1.0)]), 2);
        assert_eq!(best(&[Cost::Unknown, Cost::Unknown]), 0);
    }
}
