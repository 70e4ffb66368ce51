//! The rungs of the ladder, a row for each: its file of PTX, its minimum compute capability, its launches.

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
    /// One thread takes one sample through the whole network; gradients are added atomically.
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
    /// The name as `--kernels` takes it.
    pub name: &'static str,
    /// Its file of PTX in the repository.
    pub file: &'static str,
    /// The text of that file.
    pub ptx: &'static str,
    /// The minimum compute capability, major and minor: its file's `.target`.
    pub least_capability: (i32, i32),
    /// The arithmetic.
    pub dtype: Dtype,
    /// The rung whose file has the kernels that this rung's own file lacks: all except the products.
    pub(crate) rest: Option<Rung>,
    /// The launches of a training step: a fixed number, and a number for each layer. `None` for a rung with one
    /// cooperative launch: whether it fits depends on the device, because all blocks must be resident at once.
    pub(crate) launches: Option<(usize, usize)>,
    /// Whether `--kernels auto` prefers it to the rungs before it, for this network and size of batches.
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

/// One launch for forward and backward, and an update of each parameter.
const FUSED: Option<(usize, usize)> = Some((1, 2));
/// For each layer a product forward and two backward, the sums for its biases, and two updates. The first
/// layer has no product for a gradient of the images, and the output has one launch instead.
const SIX: Option<(usize, usize)> = Some((0, 6));
/// The rung whose file has all kernels except the products, for rungs whose own file only has these.
const REST: Option<Rung> = Some(Rung::Tiled);

#[rustfmt::skip]
static ROWS: [RungRow; Rung::ALL.len()] = [
    row!("thread-per-sample", "thread_per_sample", F32, (5, 2), None, FUSED, |_, _| false, ThreadPerSample::boxed),
    row!("tiled", "tiled", F32, (5, 2), None, SIX, |_, _| true, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 32 })),
    row!("one-launch", "one_launch", F32, (5, 2), None, None, |_, _| true, |from| Cooperative::boxed(from, Rung::OneLaunch)),
    row!("register-tiles", "register_tiles", F32, (8, 0), REST, SIX, fills_tiles, |from| Tiled::boxed(from, Tiles { threads: 64, side: 64, inputs: 64 })),
    row!("whole-epoch", "whole_epoch", F32, (5, 2), None, None, is_small, |from| Cooperative::boxed(from, Rung::WholeEpoch)),
    row!("tensor-cores", "tensor_cores", Tf32, (8, 0), REST, SIX, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
    row!("bf16", "bf16", Bf16, (8, 0), REST, SIX, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
    row!("three-tf32", "three_tf32", F32, (8, 0), REST, SIX, |_, _| false, |from| Tiled::boxed(from, Tiles { threads: 256, side: 32, inputs: 64 })),
];

/// Whether the products fill tiles of 64 by 64 results: with smaller products, tiles are mostly padding.
fn fills_tiles(network: &Network, batch: usize) -> bool {
    let hidden = &network.sizes[1..network.layers()];
    batch >= 64 && !hidden.is_empty() && hidden.iter().all(|units| *units >= 64)
}

/// Whether a batch has few samples: a block takes a whole batch, and one launch a step distributes larger
/// batches better.
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

    /// The most batches that one launch takes. Ctrl-C only takes effect between launches: on hardware within
    /// milliseconds.
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
            // relu(z) is stored instead, and the masked gradient.
            (_, Z(l)) => l == layers,
            (_, Da(_)) => false,
            // The gradients are never in memory: it has partial sums, one for each chunk of the batch, or the gradients
            // stay in the registers of the threads that apply them.
            (Self::OneLaunch | Self::WholeEpoch, Dw(_) | Db(_)) => false,
            _ => true,
        }
    }

    /// Whether the rung needs a buffer of this tensor's shape: for the tensor, or for a second copy of another
    /// one (of `a` in place of `da`, of `w` in place of `dw`, of `b` in place of `db`).
    pub(crate) const fn holds(self, name: TensorName, layers: usize) -> bool {
        use TensorName::{Da, Db, Dw};
        match (self, name) {
            (Self::WholeEpoch, Da(l)) => l < layers,
            // Only the block that updates the first layer's parameters reads them.
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
