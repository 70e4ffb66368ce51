//! The third rung: the one launch of `ptx/one_launch.ptx`.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::PushKernelArg;
use gpu::Result;

use crate::cooperative::{Cooperative, shape};
use crate::state::{State, loss_code};
use crate::thread_per_sample::work;

/// Which phases a launch runs; added up for more than one.
pub(crate) const FORWARD: u32 = 1;
pub(crate) const BACKWARD: u32 = 2;
pub(crate) const UPDATE: u32 = 4;

/// The kernel of the third rung.
pub(crate) struct OneLaunch(pub(crate) Cooperative);

impl OneLaunch {
    /// Runs some phases of a training step on the loaded batch.
    pub(crate) fn step(
        &mut self,
        state: &mut State,
        learning_rate: f32,
        phases: u32,
        operation: &'static str,
    ) -> Result<()> {
        let flops = 2 * (phases & FORWARD) as usize + 2 * (phases & BACKWARD) as usize;
        let work = work(operation, state, flops)?;
        let plan = self.0.planned(state.batch, operation)?;
        let (layers, batch) = (state.layers.len() as u32, state.batch as u32);
        let loss = loss_code(state.loss);
        let (chunks, groups) = (plan.chunks as u32, plan.groups as u32);
        let on_chip = u32::from(plan.on_chip);
        let (x, y) = (state.input.x(), state.input.y());
        let mut launch = self.0.on.stream.launch_builder(&self.0.kernel);
        launch.arg(&state.table).arg(&layers).arg(&loss);
        launch.arg(&x).arg(&y).arg(&mut state.p).arg(&mut state.losses);
        launch.arg(&batch).arg(&learning_rate).arg(&phases);
        launch.arg(&chunks).arg(&groups).arg(&on_chip).arg(&mut self.0.barrier);
        // SAFETY: these are the kernel's parameters; the table says what the layers are, and was
        // written for this plan.
        unsafe { self.0.on.launch_cooperative(launch, shape(&plan), work) }
    }
}
