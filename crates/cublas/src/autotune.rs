//! Autotuning (`--autotune`): measures the candidates of the library's heuristic, and chooses the best.
//!
//! A real GPU runs each candidate between two events. On the emulated GPU times are meaningless, so
//! candidates are ranked by a count that follows from the tile and split-K: the multiply-adds of the
//! busiest multiprocessor.
#![allow(unsafe_code, reason = "cuBLASLt is a C library")]

use cudarc::cublaslt::result::CublasError;
use cudarc::cublaslt::sys::{
    self, cublasLtMatmulAlgo_t, cublasLtMatmulAlgoConfigAttributes_t as Config,
    cublasLtMatmulHeuristicResult_t,
};
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaSlice, DevicePtr};
use gpu::{Gpu, Result, Stretch};

use crate::column_major::Operand;
use crate::cublaslt::PlannedMatmul;
use crate::library::{Routine, rejected};

/// The maximum number of candidates that are requested from the heuristic.
pub(crate) const MAX_CANDIDATES: usize = 8;
/// The number of timed runs of a candidate. An untimed run precedes them.
const TIMED_RUNS: usize = 20;

/// The method by which candidate algorithms are measured.
pub(crate) struct Autotune {
    /// Whether the GPU is emulated, so that candidates are compared by counts instead of times.
    emulated: bool,
    multiprocessors: usize,
}

/// The library's description of a candidate.
struct Candidate {
    algorithm: cublasLtMatmulAlgo_t,
    /// Rows and columns of the result that a block computes, if known.
    tile: Option<(usize, usize)>,
    /// How many parts each sum is split into (split-K).
    parts: usize,
}

/// The measurement of a candidate.
struct Cost {
    /// The lower, the better; infinite if the candidate could not be measured.
    order: f64,
    text: String,
}

impl Autotune {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = usize::try_from(gpu.context().attribute(attribute)?).unwrap_or(1);
        Ok(Self { emulated: gpu.is_emulated(), multiprocessors: multiprocessors.max(1) })
    }

    /// Selects the best candidate for a product. Returns a table with a line for each.
    pub(crate) fn choose(
        &self,
        planned: &mut PlannedMatmul,
        answers: &[cublasLtMatmulHeuristicResult_t],
    ) -> Result<String> {
        let candidates = answers.iter().map(Candidate::new).collect::<Result<Vec<_>, _>>();
        let failed = rejected("cublasLtMatmulAlgoConfigGetAttribute", &planned.problem);
        let candidates = candidates.map_err(failed)?;
        let call = &planned.problem.call;
        let shape = [call.result.rows, call.result.columns, call.k];
        let count = |candidate: &Candidate| candidate.count(shape, self.multiprocessors);
        let costs: Vec<Cost> = match self.emulated {
            true => candidates.iter().map(|candidate| Cost::counted(count(candidate))).collect(),
            false => times(planned, &candidates)?,
        };
        let best = best(&costs);
        planned.algorithm = candidates[best].algorithm;
        let how = if self.emulated { "counted, not timed" } else { "timed" };
        let mut table = format!("autotune: {}, {how}", planned.problem);
        for (index, (Candidate { tile, parts, .. }, cost)) in
            candidates.iter().zip(&costs).enumerate()
        {
            let tile = tile.map_or_else(|| "?".into(), |(m, n)| format!("{m} x {n}"));
            let (parts, text) = (format!("split-K {parts}"), &cost.text);
            let mark = if index == best { "  <- kept" } else { "" };
            table.push_str(&format!("\n  tile {tile:<10} {parts:<11} {text}{mark}"));
        }
        Ok(table)
    }
}

/// Times all candidates. The operands are temporary. The epilogue's buffers are the real ones: a step overwrites them
/// before it reads them.
fn times(planned: &mut PlannedMatmul, candidates: &[Candidate]) -> Result<Vec<Cost>> {
    let (call, pointers) = (planned.problem.call, planned.problem.pointers);
    let stream = planned.shared.stream.clone();
    let zeros = |operand: &Operand| -> Result<CudaSlice<f32>> {
        Ok(stream.alloc_zeros(operand.ld * operand.columns)?)
    };
    let operands = [zeros(&call.first)?, zeros(&call.second)?, zeros(&call.result)?];
    let addresses = operands.each_ref().map(|operand| operand.device_ptr(&stream).0);
    let mut costs = Vec::new();
    for candidate in candidates {
        planned.algorithm = candidate.algorithm;
        // SAFETY: the operands have the sizes of the call, and live until the stream is synchronised.
        let run = || unsafe { planned.run(addresses, pointers) };
        // The library may reject a candidate.
        if run().is_err() {
            costs.push(Cost::unknown());
            continue;
        }
        let timed = Stretch::record(&stream, || (0..TIMED_RUNS).try_for_each(|_| run()))?;
        let order = 1e6 * timed.elapsed()?.as_secs_f64() / TIMED_RUNS as f64;
        costs.push(Cost { order, text: format!("{order:>12.2} us") });
    }
    stream.synchronize()?;
    Ok(costs)
}

impl Cost {
    fn unknown() -> Self {
        Self { order: f64::INFINITY, text: "could not be measured".into() }
    }

    fn counted(count: Option<(usize, usize)>) -> Self {
        let Some((blocks, busiest)) = count else { return Self::unknown() };
        let text =
            format!("blocks {blocks:>4}, multiply-adds of the busiest multiprocessor {busiest:>9}");
        Self { order: busiest as f64, text }
    }
}

impl Candidate {
    /// Reads the configuration of an answer of the heuristic.
    fn new(answer: &cublasLtMatmulHeuristicResult_t) -> Result<Self, CublasError> {
        let attribute = |which| {
            let (mut value, mut written) = (0_i32, 0);
            // SAFETY: both attributes are numbers of 32 bits, for which there is room.
            unsafe {
                sys::cublasLtMatmulAlgoConfigGetAttribute(
                    &raw const answer.algo,
                    which,
                    (&raw mut value).cast(),
                    size_of::<i32>(),
                    &raw mut written,
                )
            }
            .result()?;
            Ok(value)
        };
        let tile = tile_of(attribute(Config::CUBLASLT_ALGO_CONFIG_TILE_ID)?);
        let parts = attribute(Config::CUBLASLT_ALGO_CONFIG_SPLITK_NUM)?;
        let parts = usize::try_from(parts).unwrap_or(1).max(1);
        Ok(Self { algorithm: answer.algo, tile, parts })
    }

    /// The number of blocks, and the number of multiply-adds of the busiest multiprocessor, for a result `[m, n]` whose
    /// elements are sums of `k` terms; `None` if the tile is unknown. All threads of a block multiply; those beyond the
    /// matrix's edge multiply zeros.
    fn count(&self, [m, n, k]: [usize; 3], multiprocessors: usize) -> Option<(usize, usize)> {
        let (rows, columns) = self.tile?;
        let blocks = m.div_ceil(rows) * n.div_ceil(columns) * self.parts;
        let rounds = blocks.div_ceil(multiprocessors);
        // If sums are split, the multiprocessors share the work of adding the partial sums.
        let additions = if self.parts > 1 { m * n * self.parts } else { 0 };
        let products = rounds * rows * columns * k.div_ceil(self.parts);
        Some((blocks, products + additions.div_ceil(multiprocessors)))
    }
}

/// The index of the candidate with the lowest cost. Among equal ones it is the first, because the heuristic ranked it
/// higher.
fn best(costs: &[Cost]) -> usize {
    let order = |&index: &usize| costs[index].order;
    (0..costs.len()).min_by(|a, b| order(a).total_cmp(&order(b))).unwrap_or(0)
}

/// Rows and columns of a tile, by its number in `cublasLtMatmulTile_t` as of CUDA 11.
fn tile_of(id: i32) -> Option<(usize, usize)> {
    const TILES: &str = "8x8 8x16 16x8 8x32 16x16 32x8 8x64 16x32 32x16 64x8 32x32 32x64 64x32 32x128 64x64 \
                         128x32 64x128 128x64 64x256 128x128 256x64 64x512 128x256 256x128";
    let tile = TILES.split(' ').nth(usize::try_from(id).ok()?.checked_sub(1)?)?;
    let (rows, columns) = tile.split_once('x')?;
    Some((rows.parse().ok()?, columns.parse().ok()?))
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
    fn small_tiles_and_split_sums_are_best_for_a_small_product() {
        let shape = [30, 256, 784];
        let count = |tile, parts| candidate(Some(tile), parts).count(shape, 132);
        let one = count((64, 64), 1);
        assert_eq!(one, Some((4, 64 * 64 * 784)));
        let small = count((16, 16), 1);
        assert_eq!(small, Some((32, 16 * 16 * 784)));
        // Adding four partial sums for each of 30 · 256 elements, shared by 132 multiprocessors: 233 additions each.
        let split = count((16, 16), 4);
        assert_eq!(split, Some((128, 16 * 16 * 196 + 233)));
        assert_eq!(best(&[one, small, split].map(Cost::counted)), 2);
        assert_eq!(candidate(None, 1).count(shape, 132), None);
    }

    #[test]
    fn a_candidate_that_could_not_be_measured_is_never_better() {
        let order = |order| Cost { order, text: String::new() };
        assert_eq!(best(&[Cost::unknown(), order(2.0), order(1.0), order(1.0)]), 2);
        assert_eq!(best(&[Cost::unknown(), Cost::unknown()]), 0);
    }
}
