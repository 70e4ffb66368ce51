//! Watchers of a running launch: statistics, trace and record.

use super::core::Core;
use super::warp::Warp;

/// Is told of each step before it happens.
pub(crate) trait Watch: Send {
    /// A warp comes to the step `pc` with the lanes of a mask. Its registers and its local memory are
    /// in `core`; `warp` has its other fragments.
    fn step(&mut self, core: &Core<'_>, pc: u32, mask: u32, warp: &Warp);
}
