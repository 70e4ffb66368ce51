//! CUDA graphs: the launches of some phases, captured once and replayed as one.
//!
//! A launch costs the host a few microseconds, and a training step of a small network is a dozen launches of kernels
//! that take no longer than that. A graph contains all launches with their arguments, and the device executes it
//! without the host.
//!
//! The arguments include addresses. So all buffers are allocated before the capture, and graphs are discarded when a
//! buffer has moved.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpu::phases::Phases;
use gpu::{GpuError, Result};

/// Identifies a graph by everything that its launches depend on: the phases, the bits of the learning rate, the number
/// of samples and, if these are a share of a larger batch, the size of that batch.
pub(crate) type Key = (Phases, u32, usize, Option<usize>);

/// The captured graphs.
#[derive(Default)]
pub(crate) struct Graphs {
    graphs: HashMap<Key, CudaGraph>,
    /// The addresses that the graphs contain.
    addresses: Vec<u64>,
}

impl Graphs {
    /// Discards all graphs if a buffer has moved: `addresses` are the current addresses of all buffers.
    pub(crate) fn discard_if_moved(&mut self, addresses: Vec<u64>) {
        if self.addresses != addresses {
            self.graphs.clear();
            self.addresses = addresses;
        }
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.graphs.contains_key(&key)
    }

    /// Captures the work that `launch` enqueues in the stream. None of it runs yet.
    // ANCHOR: capture
    pub(crate) fn capture(
        &mut self,
        stream: &Arc<CudaStream>,
        key: Key,
        launch: impl FnOnce() -> training::Result<()>,
    ) -> training::Result<()> {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).map_err(GpuError::from)?;
        let launched = launch();
        // The capture has to be ended even if a launch failed, because otherwise the stream would
        // capture forever.
        let graph = stream.end_capture(CUgraphInstantiate_flags(0)).map_err(GpuError::from);
        launched?;
        let invalid = || GpuError::from(DriverError(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
        self.graphs.insert(key, graph?.ok_or_else(invalid)?);
        Ok(())
    }
    // ANCHOR_END: capture

    /// Replays a captured graph.
    pub(crate) fn launch(&self, key: Key) -> Result<()> {
        Ok(self.graphs[&key].launch()?)
    }
}
