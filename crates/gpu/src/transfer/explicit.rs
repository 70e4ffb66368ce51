//! The strategy that copies each batch from ordinary, pageable memory.
//!
//! The simplest way, and the slowest: the operating system might move such memory, so the driver first
//! copies it into its own memory, while the host waits.

use data::Batch;

use super::{Inputs, Transfer};
use crate::{Launcher, Result, View};

/// Copies batches from ordinary memory.
pub(super) struct Explicit {
    /// The batch in the host's memory: rows gathered from the data set, and one-hot targets.
    host: (Vec<f32>, Vec<f32>),
    inputs: Inputs,
}

impl Explicit {
    /// Allocates buffers of one element, which grow with the first batch.
    pub(super) fn new(on: &Launcher) -> Result<Self> {
        Ok(Self { host: (Vec::new(), Vec::new()), inputs: Inputs::new(on)? })
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
        // When this returns, the driver has copied the pageable memory, so `host` may be overwritten.
        let stream = self.inputs.on.stream.clone();
        self.inputs.write(&stream, x, &self.host.1)
    }
    // ANCHOR_END: load

    fn views(&self) -> [View<'_>; 2] {
        self.inputs.views()
    }
}
