//! Level 4: the network in PTX written by hand, in eight rungs of a ladder.
//!
//! `forward`, `backward`, `update` and `state` stand beside those of the other levels; `step` says
//! which rung launches what in their place. What is computed, and how, is in the folder `ptx`;
//! `thread_per_sample`, `tiled`, `one_launch` and `whole_epoch` launch what lies there (`tiled` also the
//! products on tensor cores and from register tiles), and `kernels` loads it. `choice` says which rungs
//! a device can run.
//!
//! A kernel that takes a whole network, of any number of layers, is told of it by a table in the
//! device's memory ([`Record`]). A launch whose blocks wait for each other has to fit onto the
//! device, all at once: [`Plan`] says how it is cut.
//!
//! With the cargo feature `cust`, `--host cust` runs the same through the crate cust, whose build
//! script wants a CUDA installation; `scripts/test-cust.sh` gives it the emulated driver.

mod auto;
mod backward;
mod choice;
mod cooperative;
mod forward;
mod input;
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
#[cfg(feature = "cust")]
pub mod with_cust;

use data::{Batch, Dataset};
use gpu::{Gpu, Launcher};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, MultiStep, Parameters, Result};

use kernels::Kernels;
pub use plan::Plan;
pub use program::{Options, Program};
pub use rung::Rung;
use state::State;
pub use table::Record;

/// The network on the GPU.
pub struct Level4 {
    network: Network,
    rung: Rung,
    kernels: Kernels,
    on: Launcher,
    state: State,
    /// Batches of a launch, at most.
    at_once: usize,
    profile: Profile,
}

impl Level4 {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// When the PTX can't be loaded, with what the driver's compiler says, and what the driver says.
    pub fn new(gpu: &Gpu, network: &Network, rung: Rung, profile: Profile) -> Result<Self> {
        Self::start(gpu, network, rung, rung.ptx(), profile)
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
        let kernels = Kernels::load(gpu, rung, ptx, &profile.profiler).map_err(Error::level)?;
        let on = Launcher::new(gpu, &profile.profiler);
        let state = State::new(&on, network, rung).map_err(Error::level)?;
        // Between launches somebody may ask to stop: on hardware after milliseconds.
        let at_once = match rung {
            Rung::WholeEpoch if gpu.is_emulated() => 64,
            Rung::WholeEpoch => 1024,
            _ => 1,
        };
        Ok(Self { network: network.clone(), rung, kernels, on, state, at_once, profile })
    }
}

/// Says what to do where a card is too old for a rung.
fn runs_on(gpu: &Gpu, rung: Rung) -> Result<()> {
    let found = gpu.context().compute_capability().map_err(Error::level)?;
    let least = rung.least_capability();
    if found >= least {
        return Ok(());
    }
    let instead = rung.rest().map(|rest| format!(": choose --kernels {rest}")).unwrap_or_default();
    Err(Error::Usage(format!(
        "--kernels {rung} wants compute capability {}.{}, and {} has {}.{}{instead}",
        least.0,
        least.1,
        gpu.device(),
        found.0,
        found.1
    )))
}

/// Whether the kernels can count what a batch takes in every layer.
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
        self.state.dataset(set).map_err(Error::level)
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let plan = planned(&mut self.kernels, &self.network, batch.len())?;
        self.state.load(batch, plan).map_err(Error::level)
    }

    fn forward(&mut self) -> Result<()> {
        self.kernels.forward(&mut self.state).map_err(Error::level)
    }

    fn backward(&mut self) -> Result<()> {
        self.kernels.backward(&mut self.state).map_err(Error::level)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.kernels.update(&mut self.state, learning_rate).map_err(Error::level)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.kernels.step(&mut self.state, learning_rate).map_err(Error::level)
    }

    /// The mean of what the kernels left for each sample.
    fn loss(&mut self) -> Result<f32> {
        let batch = self.state.batch;
        self.state.is_loaded("loss").map_err(Error::level)?;
        let State { losses, losses_from, .. } = &self.state;
        let losses = losses.slice(*losses_from..*losses_from + batch);
        let losses = self.on.read(&losses, batch).map_err(Error::level)?;
        Ok(losses.iter().sum::<f32>() / batch as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.state.set_parameters(parameters).map_err(Error::level)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        let State { layers, batch, .. } = &self.state;
        if !self.rung.materialises(name, layers.len()) {
            return Ok(None);
        }
        if name == TensorName::Loss {
            return Ok(Some(Tensor::scalar(self.loss()?)));
        }
        let Some(buffer) = self.state.view(name) else { return Ok(None) };
        let shape = self.network.shape(name, *batch).unwrap_or_default();
        let elements = shape.iter().product();
        let data = self.on.read(&buffer, elements).map_err(Error::level)?;
        Tensor::new(shape, data).map(Some).map_err(Error::level)
    }

    fn report(&mut self) -> Result<Vec<String>> {
        self.profile.report().map_err(Error::level)
    }
}

impl MultiStep for Level4 {
    fn at_once(&self) -> usize {
        self.at_once
    }

    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()> {
        if let (Kernels::WholeEpoch(_), [first, .., last]) = (&self.kernels, batches) {
            let plan = planned(&mut self.kernels, &self.network, first.len())?;
            self.state.expect(first.len(), plan).map_err(Error::level)?;
            if let Kernels::WholeEpoch(kernel) = &mut self.kernels
                && batches.iter().rev().skip(1).all(|batch| batch.len() == first.len())
                && last.len() <= first.len()
                && kernel.steps(&mut self.state, batches, learning_rate).map_err(Error::level)?
            {
                // Afterwards it is as if the last one had been loaded alone.
                self.load(last, None)?;
                let before = &batches[..batches.len() - 1];
                self.state.losses_from = before.iter().map(Batch::len).sum();
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

/// How a batch of that size is cut, by the rungs that cut batches.
fn planned<'a>(
    kernels: &'a mut Kernels,
    network: &Network,
    batch: usize,
) -> Result<Option<&'a Plan>> {
    countable_batch(network, batch)?;
    let (on, refusal): (_, fn(&Network, usize) -> Error) = match kernels {
        Kernels::OneLaunch(kernel) => (&mut kernel.0, no_room),
        Kernels::WholeEpoch(kernel) => (&mut kernel.together, off_chip),
        _ => return Ok(None),
    };
    on.plan(network, batch).map(Some).ok_or_else(|| refusal(network, batch))
}

/// The weights of hidden layers have to fit on chip, in blocks that are all there at once.
fn off_chip(network: &Network, batch: usize) -> Error {
    let hidden = network.sizes.len() - 2;
    let weights: usize = network.sizes.windows(2).take(hidden).map(|n| n[0] * n[1]).sum();
    Error::Usage(format!(
        "{network}, batches of {batch}: the device can't keep {} kB of hidden weights on chip, in \
         blocks that are all there at once: choose --kernels one-launch",
        (weights * size_of::<f32>()).div_ceil(1000)
    ))
}

/// The one launch needs all of its blocks on the device at once, or the device can't do that.
fn no_room(network: &Network, batch: usize) -> Error {
    Error::Usage(format!(
        "the device can't hold all blocks of one launch for {network} and batches of {batch} at \
         once, and they wait for each other: choose --kernels tiled"
    ))
}
