//! Level 4: the network in PTX written by hand, in eight rungs of a ladder.
//!
//! `forward`, `backward`, `update` and `state` can be read next to those of the other levels. [`Rung`] has a
//! row for each rung. Four modules launch the kernels of the rungs, and run the phases of a step as fused as
//! the rung allows: `thread_per_sample`, `tiled` (also for the products on tensor cores and from register
//! tiles), `one_launch` and `whole_epoch`. The kernels are in the folder `ptx`, and `kernels` loads them.
//! `choice` decides which rungs a device can run.
//!
//! A kernel that takes a whole network, of any number of layers, gets a table of them in the
//! device's memory ([`Record`]). A launch whose blocks wait for each other has to fit onto the
//! device, all at once: [`Plan`] says how it is cut.

mod auto;
mod backward;
mod choice;
mod cooperative;
mod forward;
mod kernels;
mod one_launch;
mod plan;
mod program;
mod rung;
mod state;
mod step;
mod table;
mod thread_per_sample;
mod tiled;
mod update;
mod whole_epoch;

use data::{Batch, Dataset};
use gpu::{Gpu, Launcher, Layer, Profiler};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, MultiStep, Parameters, Result};

use kernels::Loader;
pub use plan::Plan;
pub use program::{Options, Program};
pub use rung::{Row, Rung};
use state::State;
use step::{BACKWARD, FORWARD, Launches, STEP, UPDATE};
pub use table::Record;

/// The network on the GPU.
pub struct Level4 {
    network: Network,
    rung: Rung,
    launches: Box<dyn Launches>,
    on: Launcher,
    state: State,
    profile: Profile,
}

impl Level4 {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// If the PTX can't be loaded, with the messages of the driver's compiler, or if the driver reports
    /// an error.
    pub fn new(gpu: &Gpu, network: &Network, rung: Rung, profile: Profile) -> Result<Self> {
        Self::start(gpu, network, rung, rung.row().ptx, profile)
    }

    /// The same with another text in place of the rung's file, to see what becomes of a mistake.
    ///
    /// # Safety
    /// A kernel reads and writes what it likes. The emulated device looks first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[allow(unsafe_code, reason = "the caller has to vouch for the kernels")]
    pub unsafe fn with_ptx(gpu: &Gpu, network: &Network, rung: Rung, ptx: &str) -> Result<Self> {
        Self::start(gpu, network, rung, ptx, Profile::default())
    }

    fn start(
        gpu: &Gpu,
        network: &Network,
        rung: Rung,
        ptx: &str,
        profile: Profile,
    ) -> Result<Self> {
        let largest = network.sizes.windows(2).map(|n| n[0].saturating_mul(n[1])).max();
        counted(largest.unwrap_or_default(), "a weight matrix")?;
        runs_on(gpu, rung)?;
        let loader = Loader::new(gpu, rung, ptx, &profile.profiler)?;
        let launches = (rung.row().load)(&loader)?;
        let on = loader.launcher;
        let state = State::new(&on, network, rung)?;
        Ok(Self { network: network.clone(), rung, launches, on, state, profile })
    }
}

/// Fails if the card is too old for the rung.
fn runs_on(gpu: &Gpu, rung: Rung) -> Result<()> {
    let instead = rung.row().rest.map(|rest| format!("--kernels {rest}"));
    gpu.require(rung.row().least_capability, &format!("--kernels {rung}"), instead.as_deref())
}

/// Fails if a batch has more elements in some layer than the kernels can count.
fn countable_batch(network: &Network, batch: usize) -> Result<()> {
    let widest = network.sizes.iter().max().copied().unwrap_or_default();
    counted(batch.saturating_mul(widest), "a batch")
}

/// The kernels count the elements of a buffer, and some of them its bytes, in 32 bits.
fn counted(elements: usize, what: &str) -> Result<()> {
    if elements <= 1 << 30 {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{what} would have {elements} elements, and the kernels count up to 2^30: make the layers \
         or the batch smaller"
    )))
}

impl Level for Level4 {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        Ok(self.state.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let Self { network, launches, state, .. } = self;
        countable_batch(network, batch.len())?;
        Ok(state.load(batch, launches.plan(network, batch.len())?)?)
    }

    fn forward(&mut self) -> Result<()> {
        Ok(self.launches.launch(&mut self.state, FORWARD, 0.0)?)
    }

    fn backward(&mut self) -> Result<()> {
        Ok(self.launches.launch(&mut self.state, BACKWARD, 0.0)?)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        Ok(self.launches.launch(&mut self.state, UPDATE, learning_rate)?)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        Ok(self.launches.launch(&mut self.state, STEP, learning_rate)?)
    }

    /// The mean of what the kernels left for each sample.
    fn loss(&mut self) -> Result<f32> {
        self.state.is_loaded("loss")?;
        let State { losses, losses_from, batch, .. } = &self.state;
        let losses = self.on.read(&losses.slice(*losses_from..losses_from + batch), *batch)?;
        Ok(losses.iter().sum::<f32>() / *batch as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        let unrecorded = Launcher { profiler: Profiler::off(), ..self.on.clone() };
        Ok(Layer::set_parameters(&mut self.state.layers, &unrecorded, parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        if !self.rung.materialises(name, self.network.layers()) {
            return Ok(None);
        }
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        let Some(buffer) = self.state.view(name) else { return Ok(None) };
        self.on.tensor(&buffer, &self.network, name, self.state.batch)
    }

    fn report(&mut self) -> Result<Vec<String>> {
        Ok(self.profile.report()?)
    }
}

impl MultiStep for Level4 {
    fn at_once(&self) -> usize {
        self.launches.at_once()
    }

    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()> {
        if let [first, before @ .., last] = batches
            && self.at_once() > 1
            && before.iter().all(|batch| batch.len() == first.len())
            && last.len() <= first.len()
        {
            let Self { network, launches, state, .. } = self;
            countable_batch(network, first.len())?;
            state.expect(first.len(), launches.plan(network, first.len())?)?;
            if launches.steps(state, batches, learning_rate)? {
                // The contract of `steps`: afterwards, the last batch is the loaded one.
                self.load(last, None)?;
                self.state.losses_from = batches[..batches.len() - 1].iter().map(Batch::len).sum();
                return Ok(());
            }
        }
        for (k, batch) in batches.iter().enumerate() {
            self.load(batch, batches.get(k + 1))?;
            self.step(learning_rate)?;
        }
        Ok(())
    }
}
