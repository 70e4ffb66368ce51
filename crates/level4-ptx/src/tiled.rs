//! The second rung: launches of the kernels of `ptx/tiled.ptx`, one for each operation. On `register-tiles`,
//! `tensor-cores`, `bf16` and `three-tf32`, other kernels replace those of the products.

use cudarc::driver::LaunchConfig;
use gpu::{Buffer, Function, Launcher, Layer, Read, Result, View, Write, launch, loss_code};
use tensor::Loss;

use crate::backward::backward;
use crate::forward::forward;
use crate::kernels::{Loader, Update, grid};
use crate::state::State;
use crate::step::{BACKWARD, FORWARD, Launches, Phases, UPDATE};
use crate::update::update;

/// The columns and rows of the tile that a block computes, for each product.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    /// Threads in a block.
    threads: u32,
    /// For `forward_layer`: units, samples.
    forward: (u32, u32),
    /// For `gradient`: inputs, units.
    gradient: (u32, u32),
    /// For `backward_layer`: inputs, samples.
    backward: (u32, u32),
}

impl Tiles {
    /// Blocks of `threads` threads, with tiles of `side` units or samples; `backward_layer` computes `inputs`
    /// inputs.
    pub(crate) const fn new(threads: u32, side: u32, inputs: u32) -> Self {
        Self { threads, forward: (side, side), gradient: (64, side), backward: (inputs, side) }
    }

    /// The grid of a product with this many columns and rows.
    const fn grid(self, columns: u32, rows: u32, of_a_block: (u32, u32)) -> LaunchConfig {
        grid(columns.div_ceil(of_a_block.0), rows.div_ceil(of_a_block.1), self.threads)
    }
}

/// The kernels of the second rung, and of the rungs with other products. Their last parameters are `B`,
/// `m` and `n`, or those of the three that a kernel needs.
pub(crate) struct Tiled {
    launcher: Launcher,
    tiles: Tiles,
    forward_layer: Function<ForwardLayer>,
    output: Function<Output>,
    gradient: Function<(Read, Read, Write, u32, u32, u32)>,
    sum_batch: Function<(Read, Write, u32, u32)>,
    backward_layer: Function<BackwardLayer>,
    update: Update,
}

/// `a_prev`, `w`, `b`, `out`; `B`, `m`, `n`; and whether to apply ReLU.
type ForwardLayer = (Read, Read, Read, Write, u32, u32, u32, u32);
/// `z`, `y`, `p`, `dz`, `losses`; `B`, `n`; and the loss.
type Output = (Read, Read, Write, Write, Write, u32, u32, u32);
/// `dz`, `w`, `a_prev`, `dz_prev`; `B`, `m`, `n`.
type BackwardLayer = (Read, Read, Read, Write, u32, u32, u32);

/// The shape of a layer in a launch: `B` samples, `m` inputs, `n` units.
#[derive(Clone, Copy)]
pub(crate) struct LayerShape {
    batch: u32,
    m: u32,
    n: u32,
}

impl LayerShape {
    pub(crate) const fn new(batch: usize, layer: &Layer) -> Self {
        Self { batch: batch as u32, m: layer.inputs as u32, n: layer.outputs as u32 }
    }
}

impl Tiled {
    pub(crate) fn load(from: &Loader<'_>, tiles: Tiles) -> Result<Box<dyn Launches>> {
        Ok(Box::new(Self {
            launcher: from.launcher.clone(),
            tiles,
            forward_layer: from.own("forward_layer")?,
            gradient: from.own("gradient")?,
            backward_layer: from.own("backward_layer")?,
            output: from.rest("output")?,
            sum_batch: from.rest("sum_batch")?,
            update: Update::load(from, 4)?,
        }))
    }

    /// `out = a_prev · wᵀ + b`, or relu of that: the kernel `forward_layer`.
    pub(crate) fn matmul_a_bt_add_bias(
        &self,
        a_prev: &View<'_>,
        w: &Buffer,
        b: &Buffer,
        out: &mut Buffer,
        LayerShape { batch, m, n }: LayerShape,
        relu: bool,
    ) -> Result<()> {
        let relu = u32::from(relu);
        launch!(self.forward_layer, self.tiles.grid(n, batch, self.tiles.forward),
            flops[2 * batch * n * m], read a_prev[batch * m], read w[n * m], read b[n],
            write out[batch * n], batch, m, n, relu)
    }

    /// `p`, the loss of each sample, and `dz = (p − y) / B`. Each sample has a warp, and a block four warps.
    pub(crate) fn output(
        &self,
        (z, y): (&Buffer, &View<'_>),
        (p, dz, losses): (&mut Buffer, &mut Buffer, &mut Buffer),
        LayerShape { batch, n, .. }: LayerShape,
        loss: Loss,
    ) -> Result<()> {
        let loss = loss_code(loss);
        launch!(self.output, grid(batch.div_ceil(4), 1, 4 * 32), flops[6 * batch * n],
            read z[batch * n], read y[batch * n], write p[batch * n], write dz[batch * n],
            write losses[batch], batch, n, loss)
    }

    /// `dw = dzᵀ · a_prev`: the kernel `gradient`.
    pub(crate) fn matmul_at_b(
        &self,
        dz: &Buffer,
        a_prev: &View<'_>,
        dw: &mut Buffer,
        LayerShape { batch, m, n }: LayerShape,
    ) -> Result<()> {
        launch!(self.gradient, self.tiles.grid(m, n, self.tiles.gradient), flops[2 * batch * n * m],
            read dz[batch * n], read a_prev[batch * m], write dw[n * m], batch, m, n)
    }

    /// `db = Σ_batch dz`. A block has 32 units.
    pub(crate) fn sum_batch(
        &self,
        dz: &Buffer,
        db: &mut Buffer,
        LayerShape { batch, n, .. }: LayerShape,
    ) -> Result<()> {
        launch!(self.sum_batch, grid(n.div_ceil(32), 1, 256), flops[batch * n],
            read dz[batch * n], write db[n], batch, n)
    }

    /// `dz_prev = dz · w` where `a_prev` is positive, 0 elsewhere: the kernel `backward_layer`.
    pub(crate) fn matmul_a_b_relu_backward(
        &self,
        dz: &Buffer,
        w: &Buffer,
        a_prev: &Buffer,
        dz_prev: &mut Buffer,
        LayerShape { batch, m, n }: LayerShape,
    ) -> Result<()> {
        launch!(self.backward_layer, self.tiles.grid(m, batch, self.tiles.backward),
            flops[2 * batch * n * m], read dz[batch * n], read w[n * m], read a_prev[batch * m],
            write dz_prev[batch * m], batch, m, n)
    }
}

impl Launches for Tiled {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        if phases & FORWARD != 0 {
            forward(self, state)?;
        }
        if phases & BACKWARD != 0 {
            // `dw` has its size without a batch, too.
            state.is_loaded("backward")?;
            backward(self, state)?;
        }
        if phases & UPDATE != 0 {
            update(&self.update, state, learning_rate)?;
        }
        Ok(())
    }
}
