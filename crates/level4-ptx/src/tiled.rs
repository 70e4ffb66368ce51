//! The second rung: launches of the kernels of `ptx/tiled.ptx`, one for each operation; and of those
//! that take the place of its products in `ptx/tensor_cores.ptx`, `ptx/bf16.ptx`,
//! `ptx/three_tf32.ptx` and `ptx/register_tiles.ptx`.
#![allow(unsafe_code, reason = "a kernel can't be launched without")]

use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use gpu::{Buffer, Launcher, Result, View, Work, size};
use tensor::Loss;

use crate::Rung;
use crate::kernels::{Update, grid};
use crate::state::loss_code;

/// Threads of a block.
const THREADS: usize = 256;
/// Units that a block of `sum_batch` computes.
const UNITS: usize = 32;

/// How much a block of each product computes.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    /// Threads of a block.
    pub(crate) threads: usize,
    /// Of `forward_layer`: units, samples.
    pub(crate) forward: (usize, usize),
    /// Of `gradient`: inputs, units.
    pub(crate) gradient: (usize, usize),
    /// Of `backward_layer`: inputs, samples.
    pub(crate) backward: (usize, usize),
}

impl Tiles {
    pub(crate) const fn of(rung: Rung) -> Self {
        let (threads, side, inputs) = match rung {
            Rung::RegisterTiles => (64, 64, 64),
            Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 => (THREADS, 32, 64),
            _ => (THREADS, 32, 32),
        };
        let [forward, gradient, backward] = [(side, side), (64, side), (inputs, side)];
        Self { threads, forward, gradient, backward }
    }

    /// The grid of a product with this many columns and rows.
    fn grid(self, columns: usize, rows: usize, of_a_block: (usize, usize)) -> LaunchConfig {
        grid((columns.div_ceil(of_a_block.0), rows.div_ceil(of_a_block.1)), self.threads)
    }
}

/// The kernels of the second rung, and of those that have other products.
pub(crate) struct Tiled {
    pub(crate) forward_layer: CudaFunction,
    pub(crate) output: CudaFunction,
    pub(crate) gradient: CudaFunction,
    pub(crate) sum_batch: CudaFunction,
    pub(crate) backward_layer: CudaFunction,
    pub(crate) update: Update,
    pub(crate) tiles: Tiles,
    pub(crate) on: Launcher,
}

/// The shape of a layer in a launch: `B` samples, `m` inputs, `n` units.
#[derive(Clone, Copy)]
pub(crate) struct LayerShape {
    pub(crate) batch: usize,
    pub(crate) m: usize,
    pub(crate) n: usize,
}

impl Tiled {
    /// `out = a_prev · wᵀ + b`, or relu of that: the kernel `forward_layer`.
    pub(crate) fn matmul_a_bt_add_bias(
        &self,
        a_prev: &View<'_>,
        w: &Buffer,
        b: &Buffer,
        out: &mut Buffer,
        shape: LayerShape,
        relu: bool,
    ) -> Result<()> {
        let LayerShape { batch, m, n } = shape;
        let buffers = [
            ("a_prev", a_prev.len(), size([batch, m])),
            ("w", w.len(), size([n, m])),
            ("b", b.len(), size([n])),
            ("out", out.len(), size([batch, n])),
        ];
        let work = Work::new("forward_layer", &buffers, size([2, batch, n, m]))?;
        let (samples, inputs, units, relu) = (batch as u32, m as u32, n as u32, u32::from(relu));
        let mut launch = self.on.stream.launch_builder(&self.forward_layer);
        launch.arg(a_prev).arg(w).arg(b).arg(out);
        launch.arg(&samples).arg(&inputs).arg(&units).arg(&relu);
        let shape = self.tiles.grid(n, batch, self.tiles.forward);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.on.launch(launch, shape, work) }
    }

    /// `p`, the loss of each sample, and `dz = (p − y) / B`.
    pub(crate) fn output(
        &self,
        (z, y): (&Buffer, &View<'_>),
        (p, dz, losses): (&mut Buffer, &mut Buffer, &mut Buffer),
        batch: usize,
        n: usize,
        loss: Loss,
    ) -> Result<()> {
        let elements = size([batch, n]);
        let buffers = [
            ("z", z.len(), elements),
            ("y", y.len(), elements),
            ("p", p.len(), elements),
            ("dz", dz.len(), elements),
            ("losses", losses.len(), size([batch])),
        ];
        let work = Work::new("output", &buffers, size([6, batch, n]))?;
        let (samples, classes, loss) = (batch as u32, n as u32, loss_code(loss));
        let mut launch = self.on.stream.launch_builder(&self.output);
        launch.arg(z).arg(y).arg(p).arg(dz).arg(losses);
        launch.arg(&samples).arg(&classes).arg(&loss);
        // A warp for each sample, four of them in a block.
        let shape = grid((batch.div_ceil(4), 1), 4 * 32);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.on.launch(launch, shape, work) }
    }

    /// `dw = dzᵀ · a_prev`: the kernel `gradient`.
    pub(crate) fn matmul_at_b(
        &self,
        dz: &Buffer,
        a_prev: &View<'_>,
        dw: &mut Buffer,
        shape: LayerShape,
    ) -> Result<()> {
        let LayerShape { batch, m, n } = shape;
        let buffers = [
            ("dz", dz.len(), size([batch, n])),
            ("a_prev", a_prev.len(), size([batch, m])),
            ("dw", dw.len(), size([n, m])),
        ];
        let work = Work::new("gradient", &buffers, size([2, batch, n, m]))?;
        let (samples, inputs, units) = (batch as u32, m as u32, n as u32);
        let mut launch = self.on.stream.launch_builder(&self.gradient);
        launch.arg(dz).arg(a_prev).arg(dw).arg(&samples).arg(&inputs).arg(&units);
        let shape = self.tiles.grid(m, n, self.tiles.gradient);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.on.launch(launch, shape, work) }
    }

    /// `db = Σ_batch dz`.
    pub(crate) fn sum_batch(
        &self,
        dz: &Buffer,
        db: &mut Buffer,
        batch: usize,
        n: usize,
    ) -> Result<()> {
        let buffers = [("dz", dz.len(), size([batch, n])), ("db", db.len(), size([n]))];
        let work = Work::new("sum_batch", &buffers, size([batch, n]))?;
        let (samples, units) = (batch as u32, n as u32);
        let mut launch = self.on.stream.launch_builder(&self.sum_batch);
        launch.arg(dz).arg(db).arg(&samples).arg(&units);
        let shape = grid((n.div_ceil(UNITS), 1), THREADS);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.on.launch(launch, shape, work) }
    }

    /// `dz_prev = dz · w` where `a_prev` is positive, 0 elsewhere: the kernel `backward_layer`.
    pub(crate) fn matmul_a_b_relu_backward(
        &self,
        dz: &Buffer,
        w: &Buffer,
        a_prev: &Buffer,
        dz_prev: &mut Buffer,
        shape: LayerShape,
    ) -> Result<()> {
        let LayerShape { batch, m, n } = shape;
        let buffers = [
            ("dz", dz.len(), size([batch, n])),
            ("w", w.len(), size([n, m])),
            ("a_prev", a_prev.len(), size([batch, m])),
            ("dz_prev", dz_prev.len(), size([batch, m])),
        ];
        let work = Work::new("backward_layer", &buffers, size([2, batch, n, m]))?;
        let (samples, inputs, units) = (batch as u32, m as u32, n as u32);
        let mut launch = self.on.stream.launch_builder(&self.backward_layer);
        launch.arg(dz).arg(w).arg(a_prev).arg(dz_prev);
        launch.arg(&samples).arg(&inputs).arg(&units);
        let shape = self.tiles.grid(m, batch, self.tiles.backward);
        // SAFETY: these are the kernel's parameters, and it stays within the shapes just checked.
        unsafe { self.on.launch(launch, shape, work) }
    }
}
