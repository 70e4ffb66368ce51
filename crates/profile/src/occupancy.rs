//! Occupancy: the share of a multiprocessor's warp slots that the blocks of a launch use.

use std::ops::RangeInclusive;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
use cudarc::driver::{CudaContext, CudaFunction, LaunchConfig};
use gpu::Result;

/// The number of threads in a warp.
const WARP: u32 = 32;

/// The launch shapes of each operation, and the occupancy that the driver reports for each.
pub(crate) struct Occupancy {
    /// The number of warp slots of a multiprocessor.
    warp_slots: u32,
    /// The occupancy of each launch shape. A shape is an operation, the threads per block, and the
    /// bytes of dynamic shared memory.
    launched: Vec<((&'static str, u32, u32), f64)>,
}

impl Occupancy {
    pub(crate) fn new(context: &CudaContext) -> Result<Self> {
        let threads = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(Self { warp_slots: threads.unsigned_abs() / WARP, launched: Vec::new() })
    }

    /// Records a launch of a kernel, with its occupancy.
    pub(crate) fn launched(
        &mut self,
        operation: &'static str,
        function: &CudaFunction,
        shape: LaunchConfig,
    ) -> Result<()> {
        let (x, y, z) = shape.block_dim;
        let threads = x.saturating_mul(y).saturating_mul(z);
        let key = (operation, threads, shape.shared_mem_bytes);
        if !self.launched.iter().any(|(other, _)| *other == key) {
            let shared = shape.shared_mem_bytes as usize;
            let blocks =
                function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None)?;
            self.launched.push((key, share(blocks, threads, self.warp_slots)));
        }
        Ok(())
    }

    /// The lowest and the highest occupancy of an operation's launches.
    pub(crate) fn range(&self, operation: &str) -> Option<RangeInclusive<f64>> {
        let shares = self.launched.iter().filter(|((name, ..), _)| *name == operation);
        let shares = shares.map(|(_, share)| *share..=*share);
        shares.reduce(|a, b| a.start().min(*b.start())..=a.end().max(*b.end()))
    }
}

/// The share of the warp slots that `blocks` blocks of `threads` threads use.
fn share(blocks: u32, threads: u32, warp_slots: u32) -> f64 {
    f64::from(blocks) * f64::from(threads.div_ceil(WARP)) / f64::from(warp_slots.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_warps_use_a_slot() {
        assert!((share(4, 256, 64) - 0.5).abs() < 1e-12);
        assert!((share(32, 33, 64) - 1.0).abs() < 1e-12);
        assert!(share(0, 1024, 64).abs() < 1e-12);
    }

    #[test]
    fn several_shapes_have_a_range() {
        let launched = vec![
            (("a", 32, 0), 0.5),
            (("b", 32, 0), 1.0),
            (("a", 64, 0), 0.25),
            (("a", 64, 8), 0.75),
        ];
        let occupancy = Occupancy { warp_slots: 64, launched };
        assert_eq!(occupancy.range("a"), Some(0.25..=0.75));
        assert_eq!(occupancy.range("b"), Some(1.0..=1.0));
        assert_eq!(occupancy.range("c"), None);
    }
}
