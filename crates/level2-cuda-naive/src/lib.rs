//! Level 2: level 1 translated kernel by kernel. One operation is one kernel, and one element of its result is one
//! thread; parameters, activations and gradients stay on the device.
//!
//! `forward`, `backward` and `update` are line-by-line translations of level 1's functions to the buffers of [`State`].
//! [`operations`] launches the kernels of the folder `kernels`; [`mod@gpu::launch`] chooses the grids, and
//! [`gpu::transfer`] copies the batches to the device, in one of five ways.
//!
//! [`PerSample`] is the same network in two kernels, in which one thread trains one sample.

mod backward;
mod forward;
pub mod loss;
pub mod operations;
mod per_sample;
mod products;
mod program;
mod update;

use data::{Batch, Dataset};
use gpu::{Gpu, Launcher, State, transfer};
use profile::Profile;
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters, Result};

use loss::Losses;
use operations::Operations;
use own_kernels::OwnKernels;
pub use per_sample::PerSample;
pub use products::Products;
pub use program::{Kernels, Options, Program};

/// The network on the GPU.
pub struct Level2 {
    on: Operations,
    state: State,
    losses: Losses,
    /// The reader's kernels, with `--own-kernels`.
    own: Option<OwnKernels>,
    profile: Profile,
}

impl Level2 {
    /// A network with all parameters 0. `products` selects the kernels of the three matrix products.
    ///
    /// # Errors
    /// If a kernel can't be loaded, or the driver reports an error.
    pub fn new(
        gpu: &Gpu,
        network: &Network,
        products: Products,
        transfer: transfer::Strategy,
        profile: Profile,
    ) -> gpu::Result<Self> {
        let on = Operations::new(gpu, Launcher::new(gpu, &profile.profiler), products)?;
        let input = transfer.start(gpu, &on.launcher)?;
        let state = State::new(on.stream(), network, input, |_| true)?;
        let losses = Losses::new(&on, network)?;
        Ok(Self { on, state, losses, own: None, profile })
    }

    /// This network with the reader's kernels for its training steps. The book's kernels still compute the loss.
    #[must_use]
    pub fn with_own_kernels(mut self, own: Option<OwnKernels>) -> Self {
        self.on.launcher.substitutes = own.as_ref().map(OwnKernels::substitutes);
        self.own = own;
        self
    }
}

impl Level for Level2 {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        Ok(self.state.dataset(set)?)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        Ok(self.state.load(batch, next)?)
    }

    fn forward(&mut self) -> Result<()> {
        Ok(forward::forward(&self.on, &mut self.state)?)
    }

    fn backward(&mut self) -> Result<()> {
        Ok(backward::backward(&self.on, &mut self.state)?)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        Ok(update::update(&self.on, &mut self.state, learning_rate)?)
    }

    fn loss(&mut self) -> Result<f32> {
        Ok(self.losses.mean(self.state.logits())?)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        Ok(self.state.set_parameters(&self.on.launcher, parameters)?)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        match name {
            TensorName::Loss => Ok(Some(Tensor::scalar(self.loss()?))),
            _ => self.state.tensor(&self.on.launcher, name),
        }
    }

    fn report(&mut self, accuracy: Option<&str>) -> Result<Vec<String>> {
        let mut lines = self.profile.report()?;
        lines.extend(self.own.as_ref().and_then(|own| own.credit(accuracy)));
        Ok(lines)
    }
}
