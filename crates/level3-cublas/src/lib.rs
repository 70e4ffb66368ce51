//! Level 3: level 2 with its matrix products handed to cuBLAS, then fused with cuBLASLt's epilogues.
//!
//! `forward`, `backward`, `update` and `state` are those of levels 1 and 2, line by line; what is
//! left of level 2's kernels is used as it is. [`column_major`] says once how row-major matrices
//! are handed to a library that reads columns. A product is planned once for each size of batch
//! (`plan`) and run at every step (`product`), by `cublas` or by `cublaslt`; [`epilogue`] lists what
//! cuBLASLt does besides. `graph` replays a whole step as one. [`ranks`] is all that is there of other
//! GPUs.

mod backward;
pub mod column_major;
mod cublas;
mod cublaslt;
pub mod epilogue;
mod error;
mod forward;
mod graph;
mod input;
mod library;
mod operations;
mod plan;
mod product;
mod program;
pub mod ranks;
mod state;
pub mod traffic;
mod update;

use std::sync::Arc;

use data::{Batch, Dataset};
use gpu::{Gpu, transfer};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters, Rank};

use column_major::{ColumnMajor, Matmul, Shape};
pub use error::{Error, Result};
use graph::{Graphs, Phase};
use operations::Operations;
pub use program::{Gemm, Options, Program};
use ranks::{Communicator, Ranks};
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
    /// With several ranks: gradients are sent as soon as this many bytes of them are there.
    pub bucket: usize,
}

/// What the level tells the library of its matrices: the things that are easily got wrong.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The product for a column-major library.
    pub column_major: fn(Matmul, Shape) -> ColumnMajor,
    /// The leading dimension of the mask for this many units.
    pub mask_ld: fn(usize) -> usize,
    /// How much of what `c` held before this product is added to it (cuBLAS alone).
    pub beta: fn(Matmul) -> f32,
    /// With several ranks: by how much gradients are divided, from the samples of a share and those
    /// of the whole batch.
    pub divisor: fn(usize, usize) -> usize,
    /// With several ranks: whether gradients are averaged over them; otherwise they are added up.
    pub averages: bool,
}

impl Default for Rules {
    fn default() -> Self {
        // A result is written without being read.
        Self {
            column_major: column_major::column_major,
            mask_ld: epilogue::mask_ld,
            beta: |_| 0.0,
            divisor: |_, whole| whole,
            averages: false,
        }
    }
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
    /// With several ranks: the bytes of a bucket.
    bucket: usize,
    /// Whether to tell the traffic of a step at the end.
    tells_traffic: bool,
}

impl Level3 {
    /// A network with all parameters 0. With graphs there is no profile: one
    /// holds many operations, which can't be told apart from outside.
    ///
    /// # Errors
    /// When a kernel or a library can't be loaded, and what the driver says.
    pub fn new(gpu: &Gpu, network: &Network, setup: Setup, profile: Profile) -> Result<Self> {
        Self::start(gpu, network, setup, Rules::default(), profile)
    }

    /// The same with other rules, to see what becomes of a mistake.
    ///
    /// # Safety
    /// A library believes what it is told: with wrong rules it reads and writes memory that it
    /// shouldn't. The emulated one looks first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[allow(unsafe_code, reason = "the caller has to vouch for the rules")]
    pub unsafe fn with_rules(
        gpu: &Gpu,
        network: &Network,
        setup: Setup,
        rules: Rules,
    ) -> Result<Self> {
        Self::start(gpu, network, setup, rules, Profile::default())
    }

    fn start(
        gpu: &Gpu,
        network: &Network,
        setup: Setup,
        rules: Rules,
        profile: Profile,
    ) -> Result<Self> {
        // A graph is one launch, in which no events tell the operations apart.
        let profile = if setup.graph { Profile::default() } else { profile };
        let on = Operations::new(gpu, &setup, rules, &profile.profiler)?;
        let state = State::new(gpu, &on, network, &setup)?;
        Ok(Self {
            gpu: gpu.clone(),
            network: network.clone(),
            on,
            state,
            graphs: setup.graph.then(Graphs::default),
            profile,
            bucket: setup.bucket,
            tells_traffic: false,
        })
    }

    /// Joins the ranks that have this id, and waits until all have.
    pub(crate) fn join(&mut self, id: ranks::Id, place: Rank) -> Result<Arc<Communicator>> {
        ranks::install(&self.gpu)?;
        self.gpu.context().bind_to_thread()?;
        let communicator = Communicator::join(id, place)?;
        let layers: Vec<_> =
            self.state.layers.iter().map(|layer| [layer.inputs, layer.outputs]).collect();
        let (kernels, joined) = (&self.on.kernels, Arc::clone(&communicator));
        let (stream, profiler) = (kernels.stream(), &kernels.launcher.profiler);
        let (bucket, rules) = (self.bucket, &self.on.rules);
        self.on.ranks = Some(Ranks::new(joined, stream, profiler, &layers, bucket, rules)?);
        Ok(communicator)
    }

    /// Has the level tell at the end what a step launches and moves.
    #[must_use]
    pub fn telling_traffic(self, tells_traffic: bool) -> Self {
        Self { tells_traffic, ..self }
    }

    // ANCHOR: run
    /// Replays a phase, where graphs were asked for; launches it elsewhere.
    fn run(&mut self, phase: Phase) -> Result<()> {
        let Self { on, state, graphs, .. } = self;
        let Some(graphs) = graphs else { return launch(on, state, phase) };
        if phase == Phase::Forward && state.batch == 0 {
            return launch(on, state, phase);
        }
        let key = (phase, state.batch, state.whole);
        if !graphs.has(key) {
            // Once without capturing, since a library may have to load its code first. Gradients
            // can be made twice; parameters can be updated only once.
            let mut alone = |phase| match &on.ranks {
                Some(ranks) => ranks.silently(|| launch(on, state, phase)),
                None => launch(on, state, phase),
            };
            match phase {
                Phase::Forward | Phase::Backward => alone(phase)?,
                Phase::Update(_) => {}
                Phase::Step(_) => {
                    alone(Phase::Forward)?;
                    alone(Phase::Backward)?;
                }
            }
            graphs.capture(on.stream(), key, || launch(on, state, phase))?;
        }
        graphs.launch(key)
    }
    // ANCHOR_END: run
}

/// Puts the launches of a phase into the stream.
fn launch(on: &Operations, state: &mut State, phase: Phase) -> Result<()> {
    match phase {
        Phase::Forward => forward::forward(on, state),
        Phase::Backward => backward::backward(on, state),
        Phase::Update(learning_rate) => update::update(on, state, f32::from_bits(learning_rate)),
        Phase::Step(learning_rate) => {
            launch(on, state, Phase::Forward)?;
            launch(on, state, Phase::Backward)?;
            launch(on, state, Phase::Update(learning_rate))
        }
    }
}

impl Level for Level3 {
    fn dataset(&mut self, set: &Dataset) -> training::Result<()> {
        self.state.dataset(set).map_err(training::Error::level)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> training::Result<()> {
        let moved = self.state.load(&self.on, batch, next);
        // Where there was no memory for all buffers, some may have moved.
        if let (Some(graphs), Ok(true) | Err(_)) = (&mut self.graphs, &moved) {
            graphs.clear();
        }
        moved.map(|_| ()).map_err(training::Error::level)
    }

    fn forward(&mut self) -> training::Result<()> {
        self.run(Phase::Forward).map_err(training::Error::level)
    }

    fn backward(&mut self) -> training::Result<()> {
        self.run(Phase::Backward).map_err(training::Error::level)
    }

    fn update(&mut self, learning_rate: f32) -> training::Result<()> {
        self.run(Phase::Update(learning_rate.to_bits())).map_err(training::Error::level)
    }

    fn step(&mut self, learning_rate: f32) -> training::Result<()> {
        self.run(Phase::Step(learning_rate.to_bits())).map_err(training::Error::level)
    }

    fn loss(&mut self) -> training::Result<f32> {
        self.state.loss(&self.on).map_err(training::Error::level)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> training::Result<()> {
        self.state.set_parameters(&self.on, parameters).map_err(training::Error::level)
    }

    fn tensor(&mut self, name: TensorName) -> training::Result<Option<Tensor>> {
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        if self.state.batch == 0 && name.has_a_row_for_each_sample() {
            let shape = self.network.shape(name, 0).unwrap_or_default();
            return Tensor::new(shape, Vec::new()).map(Some).map_err(training::Error::level);
        }
        let Some(buffer) = self.state.view(name) else { return Ok(None) };
        let shape = self.network.shape(name, self.state.batch).unwrap_or_default();
        let elements = shape.iter().product();
        let data =
            self.on.kernels.launcher.read(&buffer, elements).map_err(training::Error::level)?;
        Tensor::new(shape, data).map(Some).map_err(training::Error::level)
    }

    fn place(&self) -> Rank {
        self.on.ranks.as_ref().map_or(Rank::ALONE, Ranks::place)
    }

    fn agree(&mut self, terms: &[String]) -> training::Result<()> {
        let ranks = self.on.ranks.as_ref();
        ranks.map_or(Ok(()), |ranks| ranks.agree(terms)).map_err(training::Error::level)
    }

    fn any(&mut self, here: bool) -> training::Result<bool> {
        let ranks = self.on.ranks.as_ref();
        ranks.map_or(Ok(here), |ranks| ranks.any(here)).map_err(training::Error::level)
    }

    fn report(&mut self) -> training::Result<Vec<String>> {
        let mut lines = self.profile.report().map_err(training::Error::level)?;
        if self.tells_traffic && self.place().is_first() {
            lines.extend(traffic::table(&self.gpu, &self.network, self.state.largest())?);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use data::Epoch;
    use gpu::Choice;
    use training::Preset;
    use training::dump::Inputs;

    use super::*;

    /// Steps with batches of these sizes; after each, the number of graphs and the plans.
    fn after(sizes: &[usize], setup: Setup) -> Vec<(usize, Rc<[plan::LayerPlan]>)> {
        let gpu = Gpu::open_one(Choice::Emulated, 0, 2).unwrap();
        let preset = Preset::find("softmax").unwrap();
        let inputs = Inputs::fixture(&preset);
        let mut level = Level3::new(&gpu, &preset.network, setup, Profile::default()).unwrap();
        let step = |&size: &usize| {
            let order = Epoch::in_order(inputs.set.len(), size, false);
            level.load(&order.batch(&inputs.set, 0), None).unwrap();
            level.step(0.1).unwrap();
            let graphs = level.graphs.as_ref().map_or(0, Graphs::len);
            (graphs, Rc::clone(&level.state.plans))
        };
        sizes.iter().map(step).collect()
    }

    #[test]
    fn a_size_is_planned_once() {
        let found = after(&[5, 5, 8, 5, 8], Setup::default());
        let same = |i: usize, j: usize| Rc::ptr_eq(&found[i].1, &found[j].1);
        assert!(same(0, 1) && same(0, 3) && same(2, 4) && !same(0, 2));
    }

    #[test]
    fn a_size_is_captured_once_unless_buffers_move() {
        let graphs = |sizes: &[usize]| {
            let found = after(sizes, Setup { graph: true, ..Setup::default() });
            found.into_iter().map(|(graphs, _)| graphs).collect::<Vec<_>>()
        };
        assert_eq!(graphs(&[8, 8, 5, 8, 5]), [1, 1, 2, 2, 2]);
        // A larger batch needs larger buffers, which are elsewhere.
        assert_eq!(graphs(&[5, 8, 5]), [1, 1, 2]);
    }
}
