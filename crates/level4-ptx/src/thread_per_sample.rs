//! The first rung: launches of the kernels of `ptx/thread_per_sample.ptx`.

use gpu::launch::grid;
use gpu::phases::{BACKWARD, FORWARD, Phases, UPDATE};
use gpu::transfer::{Resident, Transfer};
use gpu::{Read, Write, launch};
use training::Result;

use crate::Record;
use crate::launches::{Kernel, Launches, Loader, Update};
use crate::state::{AllLayers, State};
use crate::update::update;

/// The parameters of `forward` and `forward_backward`, in the order of their launch.
type Forward = (Read, u32, u32, Read, Read, Write, Write, u32);
/// The parameters of `backward`, in the order of its launch.
type Backward = (Read, u32, Read, Read, Read, u32);

/// The kernels of the first rung, with a thread for each sample. A block has a single warp, so that a batch spreads
/// over as many multiprocessors as possible.
pub(crate) struct ThreadPerSample {
    forward: Kernel<Forward>,
    backward: Kernel<Backward>,
    forward_backward: Kernel<Forward>,
    update: Update,
}

impl ThreadPerSample {
    pub(crate) fn boxed(from: &Loader<'_>) -> Result<Box<dyn Launches>> {
        Ok(Box::new(Self {
            forward: Kernel::load(from, "forward")?,
            backward: Kernel::load(from, "backward")?,
            forward_backward: Kernel::load(from, "forward_backward")?,
            update: Update::new(from, 1)?,
        }))
    }

    /// Computes `z1 a1 … zL p` and the loss of each sample. If the kernel is `forward_backward`, it also runs the
    /// backward pass. `products` is the number of products for each layer.
    fn forward(on: &Kernel<Forward>, products: usize, state: &mut State) -> gpu::Result<()> {
        let AllLayers { layers, loss, batch, n0, classes, weights, numbers, .. } =
            state.all_layers(on.function.name())?;
        let State { buffers: gpu::State { input, p, .. }, table, losses, .. } = state;
        let (x, y) = (&input.x(), &input.y());
        launch!(on.function, grid(batch.div_ceil(32), 1, 32), flops[2 * products * weights * batch] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, loss, read x[batch * n0],
            read y[batch * classes], write p[batch * classes], write losses[batch], batch)
    }

    /// Computes `dzL dwL dbL … dz1 dw1 db1`.
    fn backward(on: &Kernel<Backward>, state: &mut State) -> gpu::Result<()> {
        let AllLayers { layers, batch, n0, classes, weights, numbers, .. } =
            state.all_layers("backward")?;
        zero_gradients(&mut state.buffers)?;
        let State { buffers: gpu::State { input, p, .. }, table, .. } = state;
        let (x, y) = (&input.x(), &input.y());
        launch!(on.function, grid(batch.div_ceil(32), 1, 32), flops[4 * weights * batch] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, read x[batch * n0],
            read y[batch * classes], read p[batch * classes], batch)
    }
}

impl Launches for ThreadPerSample {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        match phases {
            FORWARD => Self::forward(&self.forward, 1, state)?,
            BACKWARD => Self::backward(&self.backward, state)?,
            UPDATE => update(&self.update, &mut state.buffers, learning_rate)?,
            _ => {
                state.buffers.is_loaded("forward_backward")?;
                zero_gradients(&mut state.buffers)?;
                Self::forward(&self.forward_backward, 3, state)?;
                update(&self.update, &mut state.buffers, learning_rate)?;
            }
        }
        Ok(())
    }
}

/// Sets the gradients to 0, because the threads add to them.
fn zero_gradients(buffers: &mut gpu::State<Resident>) -> gpu::Result<()> {
    for layer in &mut buffers.layers {
        buffers.stream.memset_zeros(&mut layer.dw)?;
        buffers.stream.memset_zeros(&mut layer.db)?;
    }
    Ok(())
}
