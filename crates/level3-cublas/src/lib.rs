//! Level 3: level 2 with its matrix products replaced by cuBLAS, then fused with cuBLASLt's epilogues.
//!
//! `forward`, `backward`, `update` and `state` are those of levels 1 and 2, line by line; `operations`
//! are level 2's kernels and the products. [`column_major`] describes row-major matrices to a
//! [`library`] that reads them column by column. A product is planned once for each batch size
//! (`plan`) and run at every step (`product`), by `cublas` or by `cublaslt`; [`epilogue`] lists the
//! operations that cuBLASLt can add to a product. `graph` replays a whole step as one launch. Because it
//! is a [`DeviceLevel`], the level can be one of several ranks.

mod backward;
pub mod column_major;
mod cublas;
mod cublaslt;
pub mod epilogue;
mod error;
mod forward;
mod graph;
mod input;
pub mod library;
mod operations;
mod plan;
mod product;
mod program;
mod state;
mod update;

use data::{Batch, Dataset};
use data_parallel::{DeviceLevel, Finished};
use gpu::{Buffer, Gpu, Launcher, Layer};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters};

pub use error::{Error, Result};
use graph::{Graphs, Phase};
use library::Library;
use operations::Operations;
pub use program::{Gemm, Options, Program, Setup};
use state::State;

/// The network on the GPU.
pub struct Level3 {
    gpu: Gpu,
    network: Network,
    on: Operations,
    state: State,
    /// The graphs, with `--graph`.
    graphs: Option<Graphs>,
    profile: Profile,
}

impl Level3 {
    /// A network with all parameters 0. With graphs, nothing is profiled.
    ///
    /// # Errors
    /// If a kernel or a library can't be loaded, or the driver reports an error.
    pub fn new(gpu: &Gpu, network: &Network, setup: Setup, profile: Profile) -> Result<Self> {
        // A graph is one launch: no events separate its operations.
        let profile = if setup.graph { Profile::default() } else { profile };
        let on = Operations::new(gpu, &setup, &profile.profiler)?;
        let state = State::new(gpu, &on, network, &setup)?;
        let graphs = setup.graph.then(Graphs::default);
        Ok(Self { gpu: gpu.clone(), network: network.clone(), on, state, graphs, profile })
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
        self.on.library = wrap(self.on.library);
        self
    }

    /// A line for each tensor of a step with `batch` samples: the product or kernel that makes it.
    ///
    /// # Errors
    /// If the library has no algorithm for a product, or the driver reports an error.
    pub fn plan(&mut self, batch: usize) -> Result<Vec<String>> {
        self.state.batch = 0;
        self.state.make_room(&self.on, batch)?;
        let rows = plan::table(&self.state.plans[&batch], self.network.loss);
        let line = |(name, made): (TensorName, String)| format!("{:<4} {made}", name.to_string());
        Ok(rows.into_iter().map(line).collect())
    }

    // ANCHOR: run
    /// Replays the graph of a phase if graphs are on; otherwise launches the phase.
    fn run(&mut self, phase: Phase, finished: Finished<'_>) -> Result<()> {
        let Self { on, state, graphs, .. } = self;
        let Some(graphs) = graphs else { return launch(on, state, phase, finished) };
        let key = (phase, state.batch, state.whole);
        graphs.discard_if_moved(state.addresses(on));
        if !graphs.has(key) {
            // Launch once without capturing, because a library may have to load its code first. Making
            // gradients twice is harmless; updating parameters twice is not.
            let mut uncaptured = |phase| launch(on, state, phase, &mut |_, _| Ok(()));
            match phase {
                Phase::Forward | Phase::Backward => uncaptured(phase)?,
                Phase::Update(_) => {}
                Phase::Step(_) => {
                    uncaptured(Phase::Forward)?;
                    uncaptured(Phase::Backward)?;
                }
            }
            graphs.capture(on.stream(), key, || launch(on, state, phase, finished))?;
        }
        graphs.launch(key)
    }
    // ANCHOR_END: run
}

/// Puts the launches of a phase into the stream.
fn launch(on: &Operations, state: &mut State, phase: Phase, finished: Finished<'_>) -> Result<()> {
    match phase {
        Phase::Forward => forward::forward(on, state),
        Phase::Backward => backward::backward(on, state, finished),
        Phase::Update(learning_rate) => update::update(on, state, f32::from_bits(learning_rate)),
        Phase::Step(learning_rate) => {
            forward::forward(on, state)?;
            backward::backward(on, state, finished)?;
            update::update(on, state, f32::from_bits(learning_rate))
        }
    }
}

impl Level for Level3 {
    fn dataset(&mut self, set: &Dataset) -> training::Result<()> {
        Ok(self.state.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> training::Result<()> {
        Ok(self.state.load(&self.on, batch, next, None)?)
    }

    fn forward(&mut self) -> training::Result<()> {
        Ok(self.run(Phase::Forward, &mut |_, _| Ok(()))?)
    }

    fn backward(&mut self) -> training::Result<()> {
        self.backward_with(&mut |_, _| Ok(()))
    }

    fn update(&mut self, learning_rate: f32) -> training::Result<()> {
        Ok(self.run(Phase::Update(learning_rate.to_bits()), &mut |_, _| Ok(()))?)
    }

    fn step(&mut self, learning_rate: f32) -> training::Result<()> {
        self.step_with(learning_rate, &mut |_, _| Ok(()))
    }

    fn loss(&mut self) -> training::Result<f32> {
        Ok(self.state.loss(&self.on)?)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> training::Result<()> {
        let on = &self.on.kernels.launcher;
        Ok(Layer::set_parameters(&mut self.state.layers, on, parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> training::Result<Option<Tensor>> {
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        let Some(buffer) = self.state.view(name) else { return Ok(None) };
        self.on.kernels.launcher.tensor(&buffer, &self.network, name, self.state.batch)
    }

    fn report(&mut self) -> training::Result<Vec<String>> {
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
        &self.network
    }

    fn layers(&mut self) -> &mut [Layer] {
        &mut self.state.layers
    }

    fn load_share(
        &mut self,
        share: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: usize,
    ) -> training::Result<()> {
        Ok(self.state.load(&self.on, share, next, Some(whole))?)
    }

    fn backward_with(&mut self, finished: Finished<'_>) -> training::Result<()> {
        Ok(self.run(Phase::Backward, finished)?)
    }

    fn step_with(&mut self, learning_rate: f32, finished: Finished<'_>) -> training::Result<()> {
        Ok(self.run(Phase::Step(learning_rate.to_bits()), finished)?)
    }

    fn loss_sum(&mut self) -> training::Result<&mut Buffer> {
        Ok(self.state.loss_sum(&self.on)?)
    }

    fn mean_loss(&self, sum: f32, samples: usize) -> f32 {
        self.state.mean_loss(sum, samples)
    }
}
