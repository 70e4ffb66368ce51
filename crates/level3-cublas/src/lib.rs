//! Level 3: level 2 with its matrix products handed to cuBLAS, then fused with cuBLASLt's epilogues.
//!
//! `forward`, `backward`, `update` and `state` are those of levels 1 and 2, line by line; `operations`
//! are level 2's kernels and the products. [`column_major`] describes row-major matrices to a
//! [`library`] that reads columns. A product is planned once for each size of batch
//! (`plan`) and run at every step (`product`), by `cublas` or by `cublaslt`; [`epilogue`] lists what
//! cuBLASLt does besides. `graph` replays a whole step as one. As a
//! [`DeviceLevel`] the level can be one of several ranks.

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
use gpu::{Buffer, Gpu, Launcher, Layer, transfer};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters};

pub use error::{Error, Result};
use graph::{Graphs, Phase};
use library::Library;
use operations::Operations;
pub use program::{Gemm, Options, Program};
use state::State;

/// How the level computes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Who multiplies matrices.
    pub gemm: Gemm,
    /// Whether inputs of products are rounded to TF32, which tensor cores multiply.
    pub tf32: bool,
    /// Whether the algorithms that cuBLASLt's heuristic offers are measured, and the best one is kept.
    pub autotune: bool,
    /// Whether launches are captured once into a CUDA graph, and replayed.
    pub graph: bool,
    /// How batches get to the device.
    pub transfer: transfer::Strategy,
}

/// The network on the GPU.
pub struct Level3 {
    gpu: Gpu,
    network: Network,
    on: Operations,
    state: State,
    /// The graphs, where they were asked for.
    graphs: Option<Graphs>,
    profile: Profile,
}

impl Level3 {
    /// A network with all parameters 0. With graphs there is no profile: one
    /// holds many operations, which can't be told apart from outside.
    ///
    /// # Errors
    /// When a kernel or a library can't be loaded, and what the driver says.
    pub fn new(gpu: &Gpu, network: &Network, setup: Setup, profile: Profile) -> Result<Self> {
        // A graph is one launch, in which no events tell the operations apart.
        let profile = if setup.graph { Profile::default() } else { profile };
        let on = Operations::new(gpu, &setup, &profile.profiler)?;
        let state = State::new(gpu, &on, network, &setup)?;
        let graphs = setup.graph.then(Graphs::default);
        Ok(Self { gpu: gpu.clone(), network: network.clone(), on, state, graphs, profile })
    }

    /// Replaces this level's library by the one that `wrap` makes of it.
    ///
    /// # Safety
    /// The library's routines compute what they were asked to plan.
    #[must_use]
    #[allow(unsafe_code, reason = "the caller has to vouch for the library")]
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
        let rows = plan::table(&self.state.plans, self.network.loss);
        let line =
            |(name, made_by): (TensorName, String)| format!("{:<4} {made_by}", name.to_string());
        Ok(rows.into_iter().map(line).collect())
    }

    // ANCHOR: run
    /// Replays the graph of a phase if graphs are on; otherwise launches the phase.
    fn run(&mut self, phase: Phase, finished: Finished<'_>) -> Result<()> {
        let Self { on, state, graphs, .. } = self;
        let Some(graphs) = graphs else { return launch(on, state, phase, finished) };
        let key = (phase, state.batch, state.whole);
        if !graphs.has(key) {
            // Once without capturing, since a library may have to load its code first. Gradients
            // can be made twice; parameters can be updated only once.
            let mut alone = |phase| launch(on, state, phase, &mut |_, _| Ok(()));
            match phase {
                Phase::Forward | Phase::Backward => alone(phase)?,
                Phase::Update(_) => {}
                Phase::Step(_) => {
                    alone(Phase::Forward)?;
                    alone(Phase::Backward)?;
                }
            }
            graphs.capture(on.stream(), key, || launch(on, state, phase, finished))?;
        }
        graphs.launch(key)
    }
    // ANCHOR_END: run

    /// Loads a batch, or a share of a batch of `whole` samples.
    fn take_in(
        &mut self,
        batch: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: Option<usize>,
    ) -> Result<()> {
        let moved = self.state.load(&self.on, batch, next, whole);
        // If the device ran out of memory, some buffers may have moved.
        if let (Some(graphs), Ok(true) | Err(_)) = (&mut self.graphs, &moved) {
            graphs.clear();
        }
        moved.map(|_| ())
    }
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
        Ok(self.take_in(batch, next, None)?)
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
        Ok(self.take_in(share, next, Some(whole))?)
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

#[cfg(test)]
mod tests;
