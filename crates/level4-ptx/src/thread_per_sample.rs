//! The first rung: launches of the kernels of `ptx/thread_per_sample.ptx`.

use cudarc::driver::LaunchConfig;
use gpu::transfer::Transfer;
use gpu::{Function, Launcher, Read, Result, Write, launch};

use crate::Record;
use crate::kernels::{Loader, On, Update, grid};
use crate::state::{AllLayers, State};
use crate::step::{BACKWARD, FORWARD, Launches, Phases, UPDATE};
use crate::update::update;

/// The parameters of `forward` and `forward_backward`: the table, the number of layers, the loss, `x`, `y`,
/// `p`, the losses and the number of samples.
type Forward = (Read, u32, u32, Read, Read, Write, Write, u32);
/// The parameters of `backward`: the table, the number of layers, `x`, `y`, `p` and the number of samples.
type Backward = (Read, u32, Read, Read, Read, u32);

/// The kernels of the first rung.
pub(crate) struct ThreadPerSample {
    launcher: Launcher,
    forward: On<Forward>,
    backward: Function<Backward>,
    forward_backward: On<Forward>,
    update: Update,
}

impl ThreadPerSample {
    pub(crate) fn load(from: &Loader<'_>) -> Result<Box<dyn Launches>> {
        Ok(Box::new(Self {
            launcher: from.launcher.clone(),
            forward: On::load(from, "forward")?,
            backward: from.own("backward")?,
            forward_backward: On::load(from, "forward_backward")?,
            update: Update::load(from, 1)?,
        }))
    }

    /// `z1 a1 … zL p`, and the loss of each sample; with `forward_backward` also the backward pass.
    /// `products` is the number of products for each layer.
    fn forward(on: &On<Forward>, products: usize, state: &mut State) -> Result<()> {
        let AllLayers { layers, loss, batch, n0, classes, weights, numbers, .. } =
            state.all_layers(on.kernel.name())?;
        let State { input, table, p, losses, .. } = state;
        let (x, y) = (&input.x(), &input.y());
        launch!(on.kernel, samples(batch), flops[2 * products * weights * batch] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, loss, read x[batch * n0],
            read y[batch * classes], write p[batch * classes], write losses[batch], batch)
    }

    /// `dzL dwL dbL … dz1 dw1 db1`.
    fn backward(&self, state: &mut State) -> Result<()> {
        let AllLayers { layers, batch, n0, classes, weights, numbers, .. } =
            state.all_layers("backward")?;
        self.zero_gradients(state)?;
        let State { input, table, p, .. } = state;
        let (x, y) = (&input.x(), &input.y());
        launch!(self.backward, samples(batch), flops[4 * weights * batch] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, read x[batch * n0],
            read y[batch * classes], read p[batch * classes], batch)
    }

    /// The threads add their gradients to what is there.
    fn zero_gradients(&self, state: &mut State) -> Result<()> {
        for layer in &mut state.layers {
            self.launcher.stream.memset_zeros(&mut layer.dw)?;
            self.launcher.stream.memset_zeros(&mut layer.db)?;
        }
        Ok(())
    }
}

impl Launches for ThreadPerSample {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        match phases {
            FORWARD => Self::forward(&self.forward, 1, state),
            BACKWARD => self.backward(state),
            UPDATE => update(&self.update, state, learning_rate),
            _ => {
                state.is_loaded("forward_backward")?;
                self.zero_gradients(state)?;
                Self::forward(&self.forward_backward, 3, state)?;
                update(&self.update, state, learning_rate)
            }
        }
    }
}

/// A grid with a thread for each sample. A block has a single warp, so that a batch spreads over as many
/// multiprocessors as possible.
const fn samples(batch: u32) -> LaunchConfig {
    grid(batch.div_ceil(32), 1, 32)
}
