//! CUDA graphs: a phase's launches, written down once and replayed as one.
//!
//! A launch costs the host a few microseconds, and a training step of a small network is a dozen
//! launches of kernels that take no longer than that. A graph holds them all, with their arguments,
//! and the device goes through it by itself.
//!
//! What is written down are addresses. So everything is allocated before, and graphs are thrown
//! away when a buffer moves.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream, DriverError};

use crate::error::Result;

/// What is replayed as one. Learning rates are written down as well, so they are a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Forward,
    Backward,
    /// With the bits of the learning rate.
    Update(u32),
    /// All three, likewise.
    Step(u32),
}

/// A phase, the size of the batch, and that of the one which it is a share of.
pub(crate) type Key = (Phase, usize, Option<usize>);

/// The graphs.
#[derive(Default)]
pub(crate) struct Graphs(HashMap<Key, CudaGraph>);

impl Graphs {
    /// Throws all away: a buffer is in another place.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.0.contains_key(&key)
    }

    /// Writes down what `launch` puts into the stream; nothing of it runs yet.
    // ANCHOR: capture
    pub(crate) fn capture(
        &mut self,
        stream: &Arc<CudaStream>,
        key: Key,
        launch: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let launched = launch();
        // Has to be called even when a launch failed, or the stream would capture forever.
        let graph = stream.end_capture(CUgraphInstantiate_flags(0));
        launched?;
        let graph = graph?.ok_or(DriverError(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED))?;
        self.0.insert(key, graph);
        Ok(())
    }
    // ANCHOR_END: capture

    /// Replays one that was captured.
    pub(crate) fn launch(&self, key: Key) -> Result<()> {
        Ok(self.0[&key].launch()?)
    }
}
