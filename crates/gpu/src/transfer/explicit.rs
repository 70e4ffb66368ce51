//! Each batch is copied from ordinary, pageable memory.
//!
//! The simplest way, and the slowest: the driver first copies such memory, which the operating
//! system might move, into memory of its own, while the host waits.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::Batch;

use super::{Inputs, Transfer};
use crate::{Launcher, Result, View};

/// Brings batches from ordinary memory.
pub(super) struct Explicit {
    stream: Arc<CudaStream>,
    /// Rows gathered from all over the dataset, and one-hot targets.
    host: (Vec<f32>, Vec<f32>),
    inputs: Inputs,
}

impl Explicit {
    /// Room for one element, until a batch is brought.
    pub(super) fn new(on: &Launcher) -> Result<Self> {
        let host = (Vec::new(), Vec::new());
        Ok(Self { stream: Arc::clone(&on.stream), host, inputs: Inputs::new(on)? })
    }
}

impl Transfer for Explicit {
    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        self.inputs.fit(batch)?;
        let (set, (x_len, y_len)) = (batch.dataset(), self.inputs.len);
        let x = match batch.contiguous() {
            Some(rows) => &set.x()[rows.start * set.features()..rows.end * set.features()],
            None => {
                self.host.0.resize(x_len, 0.0);
                batch.copy_x(&mut self.host.0);
                &self.host.0
            }
        };
        self.host.1.resize(y_len, 0.0);
        batch.copy_y(&mut self.host.1);
        // The driver has taken in such memory when this returns, so it may be written again.
        self.inputs.write(&self.stream, x, &self.host.1)
    }
    // ANCHOR_END: load

    fn x(&self) -> View<'_> {
        self.inputs.x()
    }

    fn y(&self) -> View<'_> {
        self.inputs.y()
    }
}
