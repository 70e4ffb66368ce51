//! The execution counters of each kernel.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptx_emulator::{Kernel, Statistics};

use crate::abi::Handle;

/// The structure `EmulatedGpuCounts`: a kernel's counts, summed over its launches. Some counters are only updated if
/// counting was requested, and are 0 otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Launches.
    pub(crate) launches: u64,
    /// Blocks that ran.
    pub(crate) blocks: u64,
    /// Warps that ran.
    pub(crate) warps: u64,
    /// Instructions that warps executed; an instruction for up to 32 lanes counts once.
    pub(crate) warp_instructions: u64,
    /// Instructions that threads executed: each instruction of a warp counts once per active lane.
    pub(crate) thread_instructions: u64,
    /// Time on the host, in nanoseconds.
    pub(crate) nanoseconds: u64,
    /// Branches on which the lanes of a warp diverged. This counter and the following ones are only updated if counting
    /// was requested.
    pub(crate) divergent_branches: u64,
    /// Instructions of warps that accessed global memory.
    pub(crate) global_requests: u64,
    /// 32-byte sectors of global memory that these instructions accessed.
    pub(crate) global_sectors: u64,
    /// Instructions of warps that accessed shared memory.
    pub(crate) shared_requests: u64,
    /// Passes that these instructions took: an instruction with bank conflicts takes several passes.
    pub(crate) shared_passes: u64,
    /// The sectors among `global_sectors` that were written.
    pub(crate) global_written_sectors: u64,
    /// Floating-point multiply-adds, except those of the tensor cores.
    pub(crate) fma_multiply_adds: u64,
    /// Multiply-adds of the tensor cores.
    pub(crate) tensor_multiply_adds: u64,
    /// Multiply-adds in other formats: multiply-adds of FMA units that are not in single precision, and multiply-adds
    /// of tensor cores that are not in TF32.
    pub(crate) other_multiply_adds: u64,
    /// Floating-point additions, subtractions and products that are not part of a multiply-add.
    pub(crate) single_operations: u64,
}

/// The counters of all kernels.
#[derive(Debug, Default)]
pub(crate) struct KernelCounts {
    kernels: Mutex<BTreeMap<Handle, (String, Counts)>>,
}

impl KernelCounts {
    /// Adds a launch of a function's kernel.
    pub(crate) fn add(
        &self,
        function: Handle,
        kernel: &Kernel,
        statistics: &Statistics,
        time: Duration,
    ) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kernels.entry(function);
        let (_, counts) = entry.or_insert_with(|| (kernel.name().to_owned(), Counts::default()));
        counts.launches += 1;
        counts.blocks += statistics.blocks;
        counts.warps += statistics.warps;
        counts.warp_instructions += statistics.warp_instructions;
        counts.thread_instructions += statistics.thread_instructions;
        counts.nanoseconds += u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        for line in &statistics.lines {
            counts.divergent_branches += line.splits;
            counts.global_requests += line.global_requests;
            counts.global_sectors += line.global_sectors;
            counts.shared_requests += line.shared_requests;
            counts.shared_passes += line.shared_passes;
            counts.global_written_sectors += line.global_written_sectors;
            counts.fma_multiply_adds += line.fma_multiply_adds;
            counts.tensor_multiply_adds += line.tensor_multiply_adds;
            counts.other_multiply_adds += line.other_multiply_adds;
            counts.single_operations += line.single_operations;
        }
    }

    /// The counts of a kernel since it was loaded, or since the last reset.
    pub(crate) fn get(&self, function: Handle) -> Counts {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.get(&function).map(|(_, counts)| *counts).unwrap_or_default()
    }

    /// Sets all counters to 0.
    pub(crate) fn reset(&self) {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// All counters as JSON.
    pub(crate) fn to_json(&self, device: &str) -> String {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let list: Vec<serde_json::Value> = kernels
            .values()
            .map(|(name, counts)| {
                serde_json::json!({
                    "kernel": name,
                    "launches": counts.launches,
                    "blocks": counts.blocks,
                    "warps": counts.warps,
                    "warp_instructions": counts.warp_instructions,
                    "thread_instructions": counts.thread_instructions,
                    "seconds": counts.nanoseconds as f64 / 1e9,
                    "divergent_branches": counts.divergent_branches,
                    "global_requests": counts.global_requests,
                    "global_sectors": counts.global_sectors,
                    "shared_requests": counts.shared_requests,
                    "shared_passes": counts.shared_passes,
                    "global_written_sectors": counts.global_written_sectors,
                    "fma_multiply_adds": counts.fma_multiply_adds,
                    "tensor_multiply_adds": counts.tensor_multiply_adds,
                    "other_multiply_adds": counts.other_multiply_adds,
                    "single_operations": counts.single_operations,
                })
            })
            .collect();
        let whole = serde_json::json!({ "device": device, "kernels": list });
        format!("{whole:#}\n")
    }
}
