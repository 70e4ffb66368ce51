//! The interface for observers of a running launch: statistics, traces and records.

use super::core::Core;
use super::warp::Warp;

/// An observer that is called before each step.
pub(crate) trait Watch: Send {
    /// A warp is about to run the step `pc` with the lanes of a mask. Its registers and local
    /// memory are in `core`, and its other splits in `warp`.
    fn step(&mut self, core: &Core<'_>, pc: u32, mask: u32, warp: &Warp);
}
