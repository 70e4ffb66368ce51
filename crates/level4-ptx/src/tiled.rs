//! The second rung: launches of the kernels of `ptx/tiled.ptx`, one for each operation. On `register-tiles`,
//! `tensor-cores`, `bf16` and `three-tf32`, the products have other kernels.
#![allow(unsafe_code, reason = "nothing checks that a kernel has these parameters")]

use cudarc::driver::LaunchConfig;
use gpu::kernels;
use gpu::launch::grid;
use gpu::phases::{BACKWARD, FORWARD, Phases, UPDATE};
use training::Result;

use crate::backward::backward;
use crate::forward::forward;
use crate::launches::{Launches, Loader, Update};
use crate::state::State;
use crate::update::update;

/// The size of the tile that a block computes, and of the block.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    /// Threads in a block.
    pub(crate) threads: u32,
    /// The number of rows of each product's tile (samples or units), and of columns of `forward_layer`'s tile (units).
    pub(crate) side: u32,
    /// The number of columns of `backward_layer`'s tile (inputs).
    pub(crate) inputs: u32,
}

impl Tiles {
    /// The grid of a product whose result has `rows` rows and `columns` columns, for tiles of `width` columns.
    const fn grid(self, columns: u32, rows: u32, width: u32) -> LaunchConfig {
        grid(columns.div_ceil(width), rows.div_ceil(self.side), self.threads)
    }
}

kernels! {
    /// The kernels of the second rung, or of a rung that differs from it only in the products. A layer has `m` inputs
    /// and `n` units.
    pub(crate) struct Tiled(on) {
        tiles: Tiles,
        update: Update,
    }

    /// `out = a_prev · wᵀ + b`; if `relu` is 1, `out = relu(a_prev · wᵀ + b)`.
    matmul_a_bt_add_bias = "forward_layer"(read a_prev[batch * m], read w[n * m], read b[n],
        write out[batch * n], batch: u32, m: u32, n: u32, relu: u32)
        in on.tiles.grid(n, batch, on.tiles.side), flops[2 * batch * n * m];

    /// `p`, the loss of each sample, and `dz = (p − y) / B`. There is a warp for each sample, and a block has four
    /// warps.
    output = "output"(read z[batch * n], read y[batch * n], write p[batch * n], write dz[batch * n],
        write losses[batch], batch: u32, n: u32, loss: u32)
        in grid(batch.div_ceil(4), 1, 4 * 32), flops[6 * batch * n];

    /// `dw = dzᵀ · a_prev`.
    matmul_at_b = "gradient"(read dz[batch * n], read a_prev[batch * m], write dw[n * m],
        batch: u32, m: u32, n: u32)
        in on.tiles.grid(m, n, 64), flops[2 * batch * n * m];

    /// `db = Σ_batch dz`. A block computes 32 units.
    sum_batch = "sum_batch"(read dz[batch * n], write db[n], batch: u32, n: u32)
        in grid(n.div_ceil(32), 1, 256), flops[batch * n];

    /// `dz_prev = dz · w` where `a_prev` is positive, 0 elsewhere.
    matmul_a_b_relu_backward = "backward_layer"(read dz[batch * n], read w[n * m],
        read a_prev[batch * m], write dz_prev[batch * m], batch: u32, m: u32, n: u32)
        in on.tiles.grid(m, batch, on.tiles.inputs), flops[2 * batch * n * m];
}

impl Tiled {
    pub(crate) fn boxed(from: &Loader<'_>, tiles: Tiles) -> Result<Box<dyn Launches>> {
        let update = Update::new(from, 4)?;
        // SAFETY: in every rung's file, the kernels have these parameters and stay within the buffers.
        let on =
            unsafe { Self::load(from.launcher.clone(), tiles, update, |name| from.find(name)) };
        Ok(Box::new(on?))
    }
}

impl Launches for Tiled {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        if phases & FORWARD != 0 {
            forward(self, state)?;
        }
        if phases & BACKWARD != 0 {
            // Without this check, the launch for `dw` would succeed even if no batch is loaded, because the size of
            // `dw` doesn't depend on the batch.
            state.buffers.is_loaded("backward")?;
            backward(self, &mut state.buffers)?;
        }
        if phases & UPDATE != 0 {
            update(&self.update, &mut state.buffers, learning_rate)?;
        }
        Ok(())
    }
}
