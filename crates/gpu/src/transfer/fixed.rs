//! A wrapper of a transfer strategy that copies each batch to the same address, for CUDA graphs.

use data::{Batch, Dataset};

use super::{Inputs, Transfer};
use crate::{Launcher, Result, View};

/// Wraps a transfer so that each batch ends up at the same address: a graph replays fixed addresses, but most
/// strategies use several.
pub struct Fixed {
    transfer: Box<dyn Transfer>,
    inputs: Inputs,
}

impl Fixed {
    /// Wraps a transfer.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(transfer: Box<dyn Transfer>, on: &Launcher) -> Result<Self> {
        Ok(Self { transfer, inputs: Inputs::new(on)? })
    }
}

impl Transfer for Fixed {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.transfer.dataset(set)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        let Self { transfer, inputs } = self;
        transfer.load(batch, next)?;
        inputs.fit(batch)?;
        let Inputs { on, x, y, .. } = inputs;
        for (from, to) in transfer.views().into_iter().zip([x, y]) {
            on.stream.memcpy_dtod(&from, &mut to.slice_mut(..from.len()))?;
        }
        Ok(())
    }

    fn views(&self) -> [View<'_>; 2] {
        self.inputs.views()
    }
}
