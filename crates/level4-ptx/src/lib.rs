//! Level 4: the network in PTX written by hand, in eight rungs of a ladder.
//!
//! `forward`, `backward` and `update` can be read next to those of the other levels. [`Rung`] has a row for each rung.
//! Three modules launch the kernels of the rungs, and run the phases of a step in as few launches as the rung allows:
//! `thread_per_sample`, `tiled` (also for rungs whose products use tensor cores or register tiles), and `cooperative`
//! (for rungs with one launch per step, or one for many steps). The kernels are in the folder `ptx`, and `launches`
//! loads them. `auto` decides which rungs a device can run, and which rung `--kernels auto` chooses.
//!
//! A kernel that processes all layers gets a table of them in the device's memory ([`Record`]). If the blocks of a
//! launch wait for each other, all of them must fit onto the device at once: [`Plan`] splits the work accordingly.

mod auto;
mod backward;
mod cooperative;
mod forward;
mod launches;
mod plan;
mod program;
mod rung;
mod state;
mod thread_per_sample;
mod tiled;
mod update;

use data::{Batch, Dataset};
use gpu::phases::{BACKWARD, FORWARD, STEP, UPDATE};
use gpu::transfer::Transfer;
use gpu::{Gpu, Launcher, Profiler};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, MultiStep, Parameters, Result};

use auto::{check_card, check_sizes, choose};
use launches::{Launches, Loader};
pub use plan::Plan;
pub use program::{Options, Program};
pub use rung::{Rung, RungRow};
pub use state::Record;
use state::State;

/// The network on the GPU.
pub struct Level4 {
    gpu: Gpu,
    on: Launcher,
    launches: Box<dyn Launches>,
    state: State,
    /// Whether the rung is still to be chosen for the first batch (`--kernels auto`).
    is_undecided: bool,
    profile: Profile,
}

impl Level4 {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// If the PTX can't be loaded (the error includes the messages of the driver's compiler), or the driver reports an
    /// error.
    pub fn new(gpu: &Gpu, network: &Network, rung: Rung, profile: Profile) -> Result<Self> {
        Self::open(gpu, network, rung, rung.row().ptx, profile)
    }

    /// A network with all parameters 0, with `ptx` in place of the rung's file, to see the effect of a mistake in it.
    ///
    /// # Safety
    /// A kernel can read and write any memory. The emulated device checks each access.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[allow(unsafe_code, reason = "the caller has to vouch for the kernels")]
    pub unsafe fn with_ptx(gpu: &Gpu, network: &Network, rung: Rung, ptx: &str) -> Result<Self> {
        Self::open(gpu, network, rung, ptx, Profile::default())
    }

    fn open(gpu: &Gpu, network: &Network, rung: Rung, ptx: &str, profile: Profile) -> Result<Self> {
        check_sizes(network, 0)?;
        check_card(gpu, rung)?;
        let loader = Loader::new(gpu, rung, ptx, &profile.profiler)?;
        let launches = (rung.row().load)(&loader)?;
        let on = loader.launcher;
        let state = State::new(&on, network, rung)?;
        Ok(Self { gpu: gpu.clone(), on, launches, state, is_undecided: false, profile })
    }

    /// Switches to the rung that `--kernels auto` chooses for batches of this size. The buffers can be kept, because
    /// the initial rung of `auto` has buffers for all tensors of the other rungs.
    fn choose_rung(&mut self, batch: usize) -> Result<()> {
        let rung = choose(&self.gpu, &self.state.buffers.network, batch)?;
        host::complain(format_args!("note: --kernels auto takes {rung}"));
        let loader = Loader::new(&self.gpu, rung, rung.row().ptx, &self.profile.profiler)?;
        self.launches = (rung.row().load)(&loader)?;
        self.state.rung = rung;
        self.is_undecided = false;
        Ok(())
    }
}

impl Level for Level4 {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        Ok(self.state.buffers.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        if self.is_undecided {
            self.choose_rung(batch.len())?;
        }
        // No batch counts as loaded until all buffers are large enough for it.
        self.state.buffers.batch = 0;
        self.state.buffers.input.load(batch, None)?;
        self.state.make_room(&*self.launches, batch.len())
    }

    fn forward(&mut self) -> Result<()> {
        self.launches.launch(&mut self.state, FORWARD, 0.0)
    }

    fn backward(&mut self) -> Result<()> {
        self.launches.launch(&mut self.state, BACKWARD, 0.0)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.launches.launch(&mut self.state, UPDATE, learning_rate)
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        self.launches.launch(&mut self.state, STEP, learning_rate)
    }

    /// The mean of the samples' losses, which the kernels stored.
    fn loss(&mut self) -> Result<f32> {
        let State { buffers, losses, losses_from, .. } = &self.state;
        buffers.is_loaded("loss")?;
        let losses = self.on.read(&losses.slice(*losses_from..), buffers.batch)?;
        Ok(losses.iter().sum::<f32>() / buffers.batch as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        let unrecorded = Launcher { profiler: Profiler::off(), ..self.on.clone() };
        Ok(self.state.buffers.set_parameters(&unrecorded, parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        let State { buffers, rung, .. } = &self.state;
        match name {
            _ if !rung.materialises(name, buffers.layers.len()) => Ok(None),
            TensorName::Loss => Ok(Some(Tensor::scalar(self.loss()?))),
            _ => buffers.tensor(&self.on, name),
        }
    }

    fn report(&mut self, _accuracy: Option<&str>) -> Result<Vec<String>> {
        Ok(self.profile.report()?)
    }
}

impl MultiStep for Level4 {
    fn at_once(&self) -> usize {
        self.state.rung.at_once(self.gpu.is_emulated())
    }

    fn steps(&mut self, batches: &[Batch<'_>], learning_rate: f32) -> Result<()> {
        if let [before @ .., last] = batches
            && self.launches.steps(&mut self.state, batches, learning_rate)?
        {
            // The contract of `steps`: afterwards, the last batch is the loaded one.
            self.load(last, None)?;
            self.state.losses_from = before.iter().map(Batch::len).sum();
            return Ok(());
        }
        for (k, batch) in batches.iter().enumerate() {
            self.load(batch, batches.get(k + 1))?;
            self.step(learning_rate)?;
        }
        Ok(())
    }
}
