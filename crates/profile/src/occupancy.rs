//! How many of a multiprocessor's places for warps the blocks of a launch take.

use std::ops::RangeInclusive;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
use cudarc::driver::{CudaContext, CudaFunction, LaunchConfig};
use gpu::Result;

/// Threads of a warp.
const WARP: u32 = 32;

/// The shapes in which operations were launched, and what the driver says of each.
pub(crate) struct Occupancy {
    /// Warps that a multiprocessor has places for.
    places: u32,
    /// An operation, the threads of a block, the bytes of dynamic shared memory; the share.
    launched: Vec<((&'static str, u32, u32), f64)>,
}

impl Occupancy {
    pub(crate) fn new(context: &CudaContext) -> Result<Self> {
        let threads = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(Self { places: threads.unsigned_abs() / WARP, launched: Vec::new() })
    }

    /// A kernel is launched in this shape.
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
            self.launched.push((key, share(blocks, threads, self.places)));
        }
        Ok(())
    }

    /// The least and the largest share of an operation's launches.
    pub(crate) fn of(&self, operation: &str) -> Option<RangeInclusive<f64>> {
        let shares = self.launched.iter().filter(|((name, ..), _)| *name == operation);
        let shares = shares.map(|(_, share)| *share..=*share);
        shares.reduce(|a, b| a.start().min(*b.start())..=a.end().max(*b.end()))
    }
}

/// Of all places for warps those that this many blocks of this many threads take.
fn share(blocks: u32, threads: u32, places: u32) -> f64 {
    f64::from(blocks) * f64::from(threads.div_ceil(WARP)) / f64::from(places.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_that_are_not_full_take_a_place() {
        assert!((share(4, 256, 64) - 0.5).abs() < 1e-12);
        assert!((share(32, 33, 64) - 1.0).abs() < 1e-12);
        assert!(share(0, 1024, 64).abs() < 1e-12);
    }

    #[test]
    fn several_shapes_are_a_range() {
        let launched = vec![
            (("a", 32, 0), 0.5),
            (("b", 32, 0), 1.0),
            (("a", 64, 0), 0.25),
            (("a", 64, 8), 0.75),
        ];
        let occupancy = Occupancy { places: 64, launched };
        assert_eq!(occupancy.of("a"), Some(0.25..=0.75));
        assert_eq!(occupancy.of("b"), Some(1.0..=1.0));
        assert_eq!(occupancy.of("c"), None);
    }
}
