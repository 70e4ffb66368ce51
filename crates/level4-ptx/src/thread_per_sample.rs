//! The first rung: launches of the kernels of `ptx/thread_per_sample.ptx`.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use gpu::{Launcher, Layer, Result, Work, size};

use crate::kernels::{Update, grid};
use crate::state::{State, loss_code};

/// Threads of a block that trains samples: a single warp, so that a batch spreads over as many
/// multiprocessors as it can.
const SAMPLES: usize = 32;

/// The kernels of the first rung.
pub(crate) struct ThreadPerSample {
    pub(crate) forward: CudaFunction,
    pub(crate) backward: CudaFunction,
    pub(crate) forward_backward: CudaFunction,
    pub(crate) update: Update,
    pub(crate) on: Launcher,
}

impl ThreadPerSample {
    /// `z1 a1 … zL p`, and the loss of each sample.
    pub(crate) fn forward(&self, state: &mut State) -> Result<()> {
        self.forward_by(&self.forward, "forward", 2, state)
    }

    /// `dzL dwL dbL … dz1 dw1 db1`.
    pub(crate) fn backward(&self, state: &mut State) -> Result<()> {
        self.zero_gradients(state)?;
        let (layers, batch) = (state.layers.len() as u32, state.batch as u32);
        let work = work("backward", state, 4)?;
        let (x, y) = (state.input.x(), state.input.y());
        let mut launch = self.on.stream.launch_builder(&self.backward);
        launch.arg(&state.table).arg(&layers);
        launch.arg(&x).arg(&y).arg(&state.p).arg(&batch);
        // SAFETY: these are the kernel's parameters, and the table says what the layers are.
        unsafe { self.on.launch(launch, samples(state.batch), work) }
    }

    /// Both in one launch.
    pub(crate) fn forward_backward(&self, state: &mut State) -> Result<()> {
        self.zero_gradients(state)?;
        self.forward_by(&self.forward_backward, "forward_backward", 6, state)
    }

    fn forward_by(
        &self,
        kernel: &CudaFunction,
        operation: &'static str,
        flops: usize,
        state: &mut State,
    ) -> Result<()> {
        let (layers, batch) = (state.layers.len() as u32, state.batch as u32);
        let loss = loss_code(state.loss);
        let work = work(operation, state, flops)?;
        let (x, y) = (state.input.x(), state.input.y());
        let mut launch = self.on.stream.launch_builder(kernel);
        launch.arg(&state.table).arg(&layers).arg(&loss);
        launch.arg(&x).arg(&y).arg(&mut state.p).arg(&mut state.losses).arg(&batch);
        // SAFETY: these are the kernel's parameters, and the table says what the layers are.
        unsafe { self.on.launch(launch, samples(state.batch), work) }
    }

    /// The threads add their gradients to what is there.
    fn zero_gradients(&self, state: &mut State) -> Result<()> {
        for layer in &mut state.layers {
            self.on.stream.memset_zeros(&mut layer.dw)?;
            self.on.stream.memset_zeros(&mut layer.db)?;
        }
        Ok(())
    }
}

/// A thread for each sample.
const fn samples(batch: usize) -> LaunchConfig {
    grid((batch.div_ceil(SAMPLES), 1), SAMPLES)
}

/// What a launch over all layers has to do, where the loaded batch is one of this network: this many
/// operations for each weight and sample, and the parameters and rows that it can't do without.
pub(crate) fn work(operation: &'static str, state: &State, flops: usize) -> Result<Work> {
    let State { layers, input, .. } = state;
    let batch = state.batch;
    state.is_loaded(operation)?;
    let (n0, classes) = (layers[0].inputs, layers[layers.len() - 1].outputs);
    let buffers = [
        ("x", input.x().len(), size([batch, n0])),
        ("y", input.y().len(), size([batch, classes])),
        ("p", state.p.len(), size([batch, classes])),
        ("losses", state.losses.len(), size([batch])),
    ];
    let checked = Work::new(operation, &buffers, size([0]))?;
    let weights: usize = layers.iter().map(|l: &Layer| l.inputs * l.outputs).sum();
    let rows: usize = layers.iter().map(|l| l.inputs + l.outputs).sum();
    let bytes = size_of::<f32>() * (weights + batch * rows);
    Ok(Work { bytes, flops: flops * weights * batch, ..checked })
}
