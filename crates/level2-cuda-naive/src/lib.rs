//! Level 2: level 1 translated kernel by kernel. One operation is one kernel, and one element of
//! its result is one thread; parameters, activations and gradients stay on the device.
//!
//! `forward`, `backward`, `update` and `state` are those of level 1, line by line. [`operations`]
//! launches the kernels of the folder `kernels`; [`launch`] says with how many threads.
//! [`transfer`] brings the batches, in one of five ways.
//!
//! [`PerSample`] is the same network in two kernels, in which one thread trains one sample.

mod backward;
mod forward;
pub mod launch;
pub mod loss;
pub mod operations;
mod per_sample;
mod program;
pub mod state;
pub mod transfer;
mod update;

use cudarc::driver::{CudaSlice, CudaView};
use data::{Batch, Dataset};
use gpu::{Gpu, Profile};
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, Parameters, Result};

use operations::Operations;
pub use per_sample::PerSample;
pub use program::{Kernels, Options, Program};
use state::State;

/// Numbers in the device's memory.
pub type Buffer = CudaSlice<f32>;
/// A stretch of such numbers.
pub type View<'a> = CudaView<'a, f32>;

/// The network on the GPU.
pub struct Level2 {
    network: Network,
    on: Operations,
    state: State,
    profile: Profile,
}

impl Level2 {
    /// A network with all parameters 0.
    ///
    /// # Errors
    /// When a kernel can't be loaded, and what the driver says.
    pub fn new(
        gpu: &Gpu,
        network: &Network,
        transfer: transfer::How,
        profile: Profile,
    ) -> gpu::Result<Self> {
        let on = Operations::new(gpu, &profile.profiler)?;
        let state = State::new(on.stream(), network, transfer.start(&on)?)?;
        Ok(Self { network: network.clone(), on, state, profile })
    }
}

impl Level for Level2 {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.state.input.dataset(set).map_err(Error::level)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        self.state.load(batch, next).map_err(Error::level)
    }

    fn forward(&mut self) -> Result<()> {
        forward::forward(&self.on, &mut self.state).map_err(Error::level)
    }

    fn backward(&mut self) -> Result<()> {
        backward::backward(&self.on, &mut self.state).map_err(Error::level)
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        update::update(&self.on, &mut self.state, learning_rate).map_err(Error::level)
    }

    fn loss(&mut self) -> Result<f32> {
        self.state.loss(&self.on).map_err(Error::level)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.state.set_parameters(parameters).map_err(Error::level)
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        use TensorName::{A, B, Da, Db, Dw, Dz, P, W, X, Y, Z};
        let State { layers, input, p, batch, .. } = &self.state;
        let buffer = match name {
            X => input.x(),
            Y => input.y(),
            P => p.as_view(),
            W(l) => layers[l - 1].w.as_view(),
            B(l) => layers[l - 1].b.as_view(),
            Z(l) => layers[l - 1].z.as_view(),
            A(l) => layers[l - 1].a.as_view(),
            Dz(l) => layers[l - 1].dz.as_view(),
            Dw(l) => layers[l - 1].dw.as_view(),
            Db(l) => layers[l - 1].db.as_view(),
            Da(l) => layers[l - 1].da.as_view(),
            TensorName::Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            TensorName::WNext(_) | TensorName::BNext(_) => return Ok(None),
        };
        let shape = self.network.shape(name, *batch).unwrap_or_default();
        let elements = shape.iter().product();
        let data = self.on.read(&buffer, elements).map_err(Error::level)?;
        Tensor::new(shape, data).map(Some).map_err(Error::level)
    }

    fn report(&mut self) -> Result<Vec<String>> {
        self.profile.report().map_err(Error::level)
    }
}
