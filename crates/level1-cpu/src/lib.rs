//! Level 1: the network by hand, on the CPU. It is the blueprint of every later level: the same
//! operations in the same order, under the same names.
//!
//! [`operations`] has the functions that the lower levels turn into kernels; `forward`, `backward` and
//! `update` call them in order; `state` has the buffers. `fast` is a second version of the training step, as
//! fast as the machine allows; a test compares it with the plain one.

mod backward;
pub mod bound;
mod fast;
mod forward;
pub mod operations;
mod program;
mod state;
mod update;

use data::{Batch, Dataset};
use tensor::{Loss, Network, Tensor, TensorName};
use training::{Level, Parameters, Result};

use fast::Fast;
pub use fast::large_product_gflops;
pub use program::{Form, Options, Program};
use state::State;

/// The network on the CPU.
pub struct Level1 {
    network: Network,
    state: State,
    fast: Fast,
    form: Form,
    /// Whether the last step was a fused one, which doesn't write all buffers.
    fused: bool,
}

impl Level1 {
    /// A network with all parameters 0.
    #[must_use]
    pub fn new(network: &Network, form: Form) -> Self {
        let state = State::new(network);
        let fast = Fast::new(&state);
        Self { network: network.clone(), state, fast, form, fused: false }
    }
}

impl Level for Level1 {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        // The set is in the host's memory already.
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let packed = if self.form == Form::Fast { self.fast.numbers_per_sample() } else { 0 };
        self.state.load(batch, packed)
    }

    fn forward(&mut self) -> Result<()> {
        self.state.is_loaded("forward")?;
        self.fast.unpack(&mut self.state);
        self.fused = false;
        self.state.input.gather();
        forward::forward(&mut self.state);
        Ok(())
    }

    fn backward(&mut self) -> Result<()> {
        self.state.is_loaded("backward")?;
        self.state.input.gather();
        backward::backward(&mut self.state);
        Ok(())
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.fast.unpack(&mut self.state);
        self.fast.repack();
        update::update(&mut self.state, learning_rate);
        Ok(())
    }

    fn step(&mut self, learning_rate: f32) -> Result<()> {
        if self.form == Form::Fast {
            self.state.is_loaded("step")?;
            self.fused = true;
            self.fast.step(&mut self.state, learning_rate);
            return Ok(());
        }
        self.forward()?;
        self.backward()?;
        self.update(learning_rate)
    }

    fn loss(&mut self) -> Result<f32> {
        self.state.is_loaded("loss")?;
        self.fast.unpack(&mut self.state);
        let State { layers, y, loss, .. } = &self.state;
        let last = &layers[layers.len() - 1];
        Ok(match loss {
            Loss::CrossEntropy => operations::cross_entropy(&last.z, y, last.outputs),
            Loss::Bce => operations::bce(&last.z, y, last.outputs),
            Loss::SquaredError => operations::squared_error(&last.z, y, last.outputs),
        })
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.fast.repack();
        for (layer, given) in self.state.layers.iter_mut().zip(&parameters.layers) {
            layer.w.copy_from_slice(given.w.data());
            layer.b.copy_from_slice(given.b.data());
        }
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        self.fast.unpack(&mut self.state);
        if name == X {
            self.state.input.gather();
        }
        let State { layers, input, y, p, batch, .. } = &self.state;
        let last = layers.len();
        let buffer: &[f32] = match name {
            // A fused step stores relu(z) and the masked gradient instead, and applies the
            // gradients of the parameters without storing them.
            Z(l) if self.fused && l < last => return Ok(None),
            Da(_) | Dw(_) | Db(_) if self.fused => return Ok(None),
            X => input.x(),
            Y => y,
            P => p,
            W(l) => &layers[l - 1].w,
            B(l) => &layers[l - 1].b,
            Z(l) => &layers[l - 1].z,
            A(l) => &layers[l - 1].a,
            Dz(l) => &layers[l - 1].dz,
            Dw(l) => &layers[l - 1].dw,
            Db(l) => &layers[l - 1].db,
            Da(l) => &layers[l - 1].da,
            Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            WNext(_) | BNext(_) => return Ok(None),
        };
        let shape = self.network.shape(name, *batch).unwrap_or_default();
        Tensor::new(shape, buffer.to_vec()).map(Some).map_err(training::Error::level)
    }
}
