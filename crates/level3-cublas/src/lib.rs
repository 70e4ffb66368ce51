//! Level 3: level 2 with its matrix products replaced by cuBLAS, then fused with cuBLASLt's epilogues.
//!
//! `forward`, `backward` and `update` are those of levels 1 and 2, line by line; `operations` are level 2's
//! kernels and the products. The crate [`cublas`] computes the products, by cuBLAS or cuBLASLt, and describes
//! row-major matrices to these libraries, which read them column by column. `plan` decides once for each batch
//! size which product makes which tensors, and `state` keeps the plans. `graph` replays a whole step as one
//! launch. Because it is a [`DeviceLevel`], the level can be one of several ranks.

mod backward;
mod forward;
mod graph;
mod operations;
mod plan;
mod program;
mod state;
mod update;

use cublas::library::Library;
pub use cublas::{column_major, epilogue, library};
use data::{Batch, Dataset};
use data_parallel::{DeviceLevel, Finished};
use gpu::phases::{BACKWARD, FORWARD, Phases, STEP, UPDATE};
use gpu::{Buffer, Gpu, Launcher, Layer};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters, Result};

use graph::Graphs;
use operations::Operations;
pub use program::{Gemm, Options, Program, Setup};
use state::State;

/// The network on the GPU.
pub struct Level3 {
    gpu: Gpu,
    on: Operations,
    state: State,
    /// The captured graphs; `None` without `--graph`.
    graphs: Option<Graphs>,
    profile: Profile,
}

impl Level3 {
    /// A network with all parameters 0. With graphs, nothing is profiled.
    ///
    /// # Errors
    /// If a kernel or a library can't be loaded, or the driver reports an error.
    pub fn new(gpu: &Gpu, network: &Network, setup: Setup, profile: Profile) -> gpu::Result<Self> {
        // A graph is one launch: no events separate its operations.
        let profile = if setup.graph { Profile::default() } else { profile };
        let on = Operations::new(gpu, &setup, &profile.profiler)?;
        let state = State::new(gpu, &on, network, &setup)?;
        Ok(Self { gpu: gpu.clone(), on, state, graphs: setup.graph.then(Graphs::default), profile })
    }

    /// Replaces this level's library with a wrapper around it.
    ///
    /// # Safety
    /// The wrapper's routines stay within the buffers of the product that they were planned for.
    #[must_use]
    #[allow(unsafe_code, reason = "the caller is responsible for the library")]
    pub unsafe fn with_library(
        mut self,
        wrap: impl FnOnce(Box<dyn Library>) -> Box<dyn Library>,
    ) -> Self {
        self.on.blas.library = wrap(self.on.blas.library);
        self
    }

    /// Describes a step with `batch` samples: for each tensor, a line with the product or kernel that computes it.
    ///
    /// # Errors
    /// If the library has no algorithm for a product, or the driver reports an error.
    pub fn plan(&mut self, batch: usize) -> Result<Vec<String>> {
        let Self { on, state, .. } = self;
        state.buffers.batch = 0;
        state.make_room(on, batch)?;
        let rows = plan::table(&state.plans[&batch], state.buffers.loss);
        let line = |(name, made): (TensorName, String)| format!("{:<4} {made}", name.to_string());
        Ok(rows.into_iter().map(line).collect())
    }

    // ANCHOR: run
    /// Replays the graph of these phases if graphs are on; otherwise launches them.
    fn run(&mut self, phases: Phases, rate: f32, finished: Finished<'_>) -> Result<()> {
        let Self { on, state, graphs, .. } = self;
        let Some(graphs) = graphs else { return launch(on, state, phases, rate, finished) };
        let key = (phases, rate.to_bits(), state.buffers.batch, state.whole);
        graphs.discard_if_moved(state.addresses());
        if !graphs.has(key) {
            // Launches once without capturing, because a library may have to load its code first.
            // Gradients may be computed twice, but the update must not run twice, so it is left
            // out.
            launch(on, state, phases & !UPDATE, rate, &mut |_, _| Ok(()))?;
            graphs
                .capture(on.kernels.stream(), key, || launch(on, state, phases, rate, finished))?;
        }
        Ok(graphs.launch(key)?)
    }
    // ANCHOR_END: run
}

/// Enqueues the launches of these phases in the stream.
fn launch(
    on: &Operations,
    state: &mut State,
    phases: Phases,
    learning_rate: f32,
    finished: Finished<'_>,
) -> Result<()> {
    if phases & FORWARD != 0 {
        forward::forward(on, state)?;
    }
    if phases & BACKWARD != 0 {
        backward::backward(on, state, finished)?;
    }
    if phases & UPDATE != 0 {
        update::update(on, &mut state.buffers, learning_rate)?;
    }
    Ok(())
}

impl Level for Level3 {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        Ok(self.state.buffers.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        Ok(self.state.load(&self.on, batch, next, None)?)
    }

    fn forward(&mut self) -> Result<()> {
        self.run(FORWARD, 0.0, &mut |_, _| Ok(()))
    }

    fn backward(&mut self) -> Result<()> {
        self.backward_with(&mut |_, _| Ok(()))
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.run(UPDATE, learning_rate, &mut |_, _| Ok(()))
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.step_with(learning_rate, &mut |_, _| Ok(()))
    }

    fn loss(&mut self) -> Result<f32> {
        let State { buffers, losses, .. } = &mut self.state;
        Ok(losses.mean(buffers.logits())?)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        Ok(self.state.buffers.set_parameters(&self.on.kernels.launcher, parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        match name {
            TensorName::Loss => Ok(Some(Tensor::scalar(self.loss()?))),
            _ if !self.state.is_written(name) => Ok(None),
            _ => self.state.buffers.tensor(&self.on.kernels.launcher, name),
        }
    }

    fn report(&mut self, _accuracy: Option<&str>) -> Result<Vec<String>> {
        Ok(self.profile.report()?)
    }
}

impl DeviceLevel for Level3 {
    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn launcher(&self) -> &Launcher {
        &self.on.kernels.launcher
    }

    fn network(&self) -> &Network {
        &self.state.buffers.network
    }

    fn layers(&mut self) -> &mut [Layer] {
        &mut self.state.buffers.layers
    }

    fn load_share(
        &mut self,
        share: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: usize,
    ) -> Result<()> {
        Ok(self.state.load(&self.on, share, next, Some(whole))?)
    }

    fn backward_with(&mut self, finished: Finished<'_>) -> Result<()> {
        self.run(BACKWARD, 0.0, finished)
    }

    fn step_with(&mut self, learning_rate: f32, finished: Finished<'_>) -> Result<()> {
        self.run(STEP, learning_rate, finished)
    }

    fn loss_sum(&mut self) -> Result<&mut Buffer> {
        let State { buffers, losses, .. } = &mut self.state;
        Ok(losses.sum(buffers.logits())?)
    }

    fn mean_loss(&self, sum: f32, samples: usize) -> f32 {
        self.state.losses.mean_of(sum, samples)
    }
}
