//! The rungs of the ladder, with a row for each rung: its PTX file, its minimum compute capability, and its launches.

use std::fmt;

use clap::ValueEnum;
use tensor::{Dtype, Network, TensorName};

use crate::cooperative::Cooperative;
use crate::launches::{Launches, Loader};
use crate::thread_per_sample::ThreadPerSample;
use crate::tiled::{Tiled, Tiles};

/// A rung of the ladder, with a file in `ptx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Rung {
    /// One thread computes the whole network for one sample; gradients are added atomically.
    ThreadPerSample,
    /// A kernel for each product, with tiles in shared memory, wide loads and warp shuffles.
    Tiled,
    /// A whole training step in one cooperative launch, weights kept on chip.
    #[default]
    OneLaunch,
    /// The products of `tiled` with 64 results in the registers of each thread, its copies asynchronous.
    RegisterTiles,
    /// Many training steps in one cooperative launch, weights kept on chip from step to step.
    WholeEpoch,
    /// The products of `tiled` on tensor cores, which round their factors to TF32.
    TensorCores,
    /// The products of `tensor-cores` with factors rounded to bfloat16, two of which fill a register.
    Bf16,
    /// The products of `tensor-cores` in single precision: each factor is the sum of three TF32 numbers.
    ThreeTf32,
}

/// The description of a rung.
pub struct RungRow {
    /// The rung's name as an argument of `--kernels`.
    pub name: &'static str,
    /// The path of the rung's PTX file in the repository.
    pub file: &'static str,
    /// The text of that file.
    pub ptx: &'static str,
    /// The minimum compute capability, major and minor, which its PTX file states as `.target`.
    pub least_capability: (i32, i32),
    /// The arithmetic.
    pub dtype: Dtype,
    /// The rung whose file has the kernels that this rung's own file lacks: all except the products.
    pub(crate) rest: Option<Rung>,
    /// The number of launches in a training step: a fixed number, and a number for each layer. `None` for a rung with
    /// one cooperative launch, because it depends on the device whether all blocks can be resident at once.
    pub(crate) launches: Option<(usize, usize)>,
    /// Whether `--kernels auto` prefers this rung to the rungs before it, for a network and a batch size.
    pub(crate) suits: fn(&Network, usize) -> bool,
    /// Loads its kernels.
    pub(crate) load: fn(&Loader<'_>) -> training::Result<Box<dyn Launches>>,
}

macro_rules! row {
    ($name:literal, $file:literal, $dtype:ident, $least_capability:expr, $rest:expr, $launches:expr,
     $suits:expr, $load:expr) => {
        RungRow {
            name: $name,
            file: concat!("ptx/", $file, ".ptx"),
            ptx: include_str!(concat!("../../../ptx/", $file, ".ptx")),
            least_capability: $least_capability,
            dtype: Dtype::$dtype,
            rest: $rest,
            launches: $launches,
            suits: $suits,
            load: $load,
        }
    };
}

/// Launches of a fused step: one for the forward and the backward pass, and one update for each parameter tensor.
const FUSED: Option<(usize, usize)> = Some((1, 2));
/// Launches of a step with a kernel per operation. For each layer: a product in the forward pass, two products in the
/// backward pass, the sum for the bias's gradient, and two updates. The first layer needs no product for the gradient
/// of its inputs; the launch of `output` takes that place in the count.
const PER_OPERATION: Option<(usize, usize)> = Some((0, 6));
/// The rung whose file has the other kernels, for rungs whose own file only has the products.
const TILED_UPDATE: Option<Rung> = Some(Rung::Tiled);

#[rustfmt::skip]
static ROWS: [RungRow; Rung::ALL.len()] = [
    row!("thread-per-sample", "thread_per_sample", F32, (5, 2), None, FUSED, |_, _| false, ThreadPerSample::boxed),
    row!("tiled", "tiled", F32, (5, 2), None, PER_OPERATION, |_, _| true, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 32 })),
    row!("one-launch", "one_launch", F32, (5, 2), None, None, |_, _| true, |from| Cooperative::boxed(from, Rung::OneLaunch)),
    row!("register-tiles", "register_tiles", F32, (8, 0), TILED_UPDATE, PER_OPERATION, fills_tiles, |from| Tiled::boxed(from, Tiles { threads: 64, side: 64, inputs: 64 })),
    row!("whole-epoch", "whole_epoch", F32, (5, 2), None, None, is_small, |from| Cooperative::boxed(from, Rung::WholeEpoch)),
    row!("tensor-cores", "tensor_cores", Tf32, (8, 0), TILED_UPDATE, PER_OPERATION, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
    row!("bf16", "bf16", Bf16, (8, 0), TILED_UPDATE, PER_OPERATION, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
    row!("three-tf32", "three_tf32", F32, (8, 0), TILED_UPDATE, PER_OPERATION, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
];

/// Whether the products fill tiles of 64 by 64 results: with smaller products, tiles are mostly padding.
fn fills_tiles(network: &Network, batch: usize) -> bool {
    let hidden = &network.sizes[1..network.layers()];
    batch >= 64 && !hidden.is_empty() && hidden.iter().all(|units| *units >= 64)
}

/// Whether a batch has few samples. On `whole-epoch`, a block computes the whole batch; larger batches are distributed
/// better with one launch per step.
const fn is_small(_: &Network, batch: usize) -> bool {
    batch <= 64
}

impl Rung {
    /// Every rung, from the first to the last.
    pub const ALL: [Self; 8] = [
        Self::ThreadPerSample,
        Self::Tiled,
        Self::OneLaunch,
        Self::RegisterTiles,
        Self::WholeEpoch,
        Self::TensorCores,
        Self::Bf16,
        Self::ThreeTf32,
    ];

    /// The rung's row.
    #[must_use]
    pub fn row(self) -> &'static RungRow {
        &ROWS[self as usize]
    }

    /// The maximum number of batches in one launch. It is limited because Ctrl-C only takes effect between launches; on
    /// hardware, that is within milliseconds.
    pub(crate) const fn at_once(self, emulated: bool) -> usize {
        match (self, emulated) {
            (Self::WholeEpoch, true) => 64,
            (Self::WholeEpoch, false) => 1024,
            _ => 1,
        }
    }

    /// Whether a network of `layers` layers has this tensor in memory.
    #[must_use]
    pub const fn materialises(self, name: TensorName, layers: usize) -> bool {
        use TensorName::{A, Da, Db, Dw, Z};
        match (self, name) {
            (_, A(l) | Da(l)) if l == layers => false,
            (Self::ThreadPerSample, _) => true,
            // Instead of z and da, these rungs store relu(z) and the masked gradient.
            (_, Z(l)) => l == layers,
            (_, Da(_)) => false,
            // The gradients themselves are never in memory: one rung stores partial sums, one for each chunk of the
            // batch, and the other keeps the gradients in registers of the threads that apply them.
            (Self::OneLaunch | Self::WholeEpoch, Dw(_) | Db(_)) => false,
            _ => true,
        }
    }

    /// Whether the rung needs a buffer of this tensor's shape: for the tensor itself, or for the second copy of another
    /// tensor (the copy of `a` is in the buffer of `da`, the copy of `w` in the buffer of `dw`, and the copy of `b` in
    /// the buffer of `db`).
    pub(crate) const fn holds(self, name: TensorName, layers: usize) -> bool {
        use TensorName::{Da, Db, Dw};
        match (self, name) {
            (Self::WholeEpoch, Da(l)) => l < layers,
            // The first layer's parameters need no second copy, because only the block that updates them reads them.
            (Self::WholeEpoch, Dw(l) | Db(l)) => l > 1,
            _ => self.materialises(name, layers),
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().name)
    }
}
