//! Many training steps in the one launch of `ptx/whole_epoch.ptx`.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::{CudaSlice, PushKernelArg};
use data::Batch;
use gpu::{Result, Work, size};

use crate::cooperative::{Cooperative, shape};
use crate::input::Found;
use crate::one_launch::{BACKWARD, FORWARD, UPDATE};
use crate::state::{State, loss_code};

/// The kernel of this rung.
pub(crate) struct WholeEpoch {
    pub(crate) together: Cooperative,
    /// Which row of the training set each sample of a launch is.
    order: CudaSlice<u32>,
}

impl WholeEpoch {
    pub(crate) fn new(together: Cooperative) -> Result<Self> {
        Ok(Self { order: together.on.stream.alloc_zeros(1)?, together })
    }

    /// Runs some phases of a training step on the loaded batch.
    pub(crate) fn step(
        &mut self,
        state: &mut State,
        learning_rate: f32,
        phases: u32,
        operation: &'static str,
    ) -> Result<()> {
        self.launch(state, &[], learning_rate, phases, operation)?;
        Ok(())
    }

    /// A training step on each of these batches, of which only the last may be smaller than the others
    /// and than [`State::expect`] was told. False, and nothing is done, where the device does not have
    /// them.
    pub(crate) fn steps(
        &mut self,
        state: &mut State,
        batches: &[Batch<'_>],
        learning_rate: f32,
    ) -> Result<bool> {
        let samples = batches.iter().map(Batch::len).sum();
        state.room_for_losses(samples)?;
        self.launch(state, batches, learning_rate, FORWARD | BACKWARD | UPDATE, "steps")
    }

    /// Runs phases on these batches; without any, on the loaded one.
    fn launch(
        &mut self,
        state: &mut State,
        batches: &[Batch<'_>],
        learning_rate: f32,
        phases: u32,
        operation: &'static str,
    ) -> Result<bool> {
        let batch = state.batch;
        state.is_loaded(operation)?;
        let found = if batches.is_empty() {
            let (x, y) = (state.input.x(), state.input.y());
            Some(Found { x, y, rows: batch, order: None })
        } else {
            state.input.find(batches)
        };
        let Some(Found { x, y, rows, order }) = found else { return Ok(false) };
        let samples = if batches.is_empty() { batch } else { batches.iter().map(Batch::len).sum() };

        let (n0, classes) = (state.layers[0].inputs, state.layers[state.layers.len() - 1].outputs);
        let buffers = [
            ("x", x.len(), size([rows, n0])),
            ("y", y.len(), size([rows, classes])),
            ("p", state.p.len(), size([batch, classes])),
            ("losses", state.losses.len(), size([samples])),
        ];
        let checked = Work::new(operation, &buffers, size([0]))?;
        let weights: usize = state.layers.iter().map(|l| l.inputs * l.outputs).sum();
        let numbers: usize = state.layers.iter().map(|l| l.inputs + l.outputs).sum();
        // A product forward and two backward, less the gradient of `x`; each weight comes and goes once.
        let flops = 2 * (phases & FORWARD) as usize + 2 * (phases & BACKWARD) as usize;
        let bytes = size_of::<f32>() * (2 * weights + samples * numbers);
        let work = Work { bytes, flops: flops * weights * samples, ..checked };

        let stream = &self.together.on.stream;
        if let Some(order) = &order {
            if self.order.len() < order.len() {
                self.order = stream.alloc_zeros(order.len())?;
            }
            stream.memcpy_htod(order, &mut self.order.slice_mut(..order.len()))?;
        }
        let plan = self.together.planned(batch, operation)?;
        let (layers, loss) = (state.layers.len() as u32, loss_code(state.loss));
        let (count, most) = (samples as u32, batch as u32);
        // Behind everything else on chip: where the rows of a batch lie.
        let rows_at = (plan.shared - size_of::<u32>() * batch) as u32;
        let in_order = 0_u64;
        let mut launch = stream.launch_builder(&self.together.kernel);
        launch.arg(&state.table).arg(&layers).arg(&loss);
        launch.arg(&x).arg(&y).arg(&mut state.p).arg(&mut state.losses);
        match order {
            Some(_) => launch.arg(&self.order),
            None => launch.arg(&in_order),
        };
        launch.arg(&count).arg(&most).arg(&learning_rate).arg(&phases);
        launch.arg(&rows_at).arg(&mut self.together.barrier);
        // SAFETY: these are the kernel's parameters; the table says what the layers are, and was
        // written for this plan; `order` names rows that `x` and `y` have.
        unsafe { self.together.on.launch_cooperative(launch, shape(&plan), work) }?;
        Ok(true)
    }
}
