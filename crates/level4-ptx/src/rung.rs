//! The rungs of the ladder, a row for each: its file of PTX, the least card that runs it, what it launches.

use std::fmt;

use clap::ValueEnum;
use tensor::{Dtype, Network, TensorName};

use crate::kernels::Loader;
use crate::one_launch::OneLaunch;
use crate::step::Launches;
use crate::thread_per_sample::ThreadPerSample;
use crate::tiled::{Tiled, Tiles};
use crate::whole_epoch::WholeEpoch;

/// One rung: a file of `ptx/`, whole in itself.
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
    /// The same with factors rounded to bfloat16, two of which fill a register.
    Bf16,
    /// The same in single precision: each factor is the sum of three TF32 numbers.
    ThreeTf32,
}

/// A rung of the ladder.
pub struct Row {
    /// The name as `--kernels` takes it.
    pub name: &'static str,
    /// Its file of PTX in the repository.
    pub file: &'static str,
    /// The text of that file.
    pub ptx: &'static str,
    /// The least compute capability that it runs on, major and minor: its file's `.target`.
    pub least_capability: (i32, i32),
    /// What is computed in.
    pub dtype: Dtype,
    /// The rung that has the kernels that its own file lacks: all but the products.
    pub(crate) rest: Option<Rung>,
    /// Launches of a training step: these, and these for each layer. None where blocks wait for each other,
    /// because then the device may have no room for the one launch.
    pub(crate) launches: Option<(usize, usize)>,
    /// Whether `--kernels auto` prefers it to the rungs before it, for this network and size of batches.
    pub(crate) suits: fn(&Network, usize) -> bool,
    /// Loads its kernels.
    pub(crate) load: fn(&Loader<'_>) -> gpu::Result<Box<dyn Launches>>,
}

macro_rules! row {
    ($name:literal, $file:literal, $dtype:ident, $least_capability:expr, $rest:expr, $launches:expr,
     $suits:expr, $load:expr) => {
        Row {
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

/// Forward and backward at once, and an update of each parameter.
const FUSED: Option<(usize, usize)> = Some((1, 2));
/// For each layer a product forward and two backward, but for the gradient of the images; the sums for its
/// biases, and two updates; and the output.
const SIX: Option<(usize, usize)> = Some((0, 6));
/// The rest of the kernels.
const REST: Option<Rung> = Some(Rung::Tiled);

#[rustfmt::skip]
static ROWS: [Row; Rung::ALL.len()] = [
    row!("thread-per-sample", "thread_per_sample", F32, (5, 2), None, FUSED, never, ThreadPerSample::load),
    row!("tiled", "tiled", F32, (5, 2), None, SIX, always, |from| Tiled::load(from, Tiles::new(256, 32, 32))),
    row!("one-launch", "one_launch", F32, (5, 2), None, None, always, OneLaunch::load),
    row!("register-tiles", "register_tiles", F32, (8, 0), REST, SIX, fills_tiles, |from| Tiled::load(from, Tiles::new(64, 64, 64))),
    row!("whole-epoch", "whole_epoch", F32, (5, 2), None, None, is_small, WholeEpoch::load),
    row!("tensor-cores", "tensor_cores", Tf32, (8, 0), REST, SIX, never, |from| Tiled::load(from, Tiles::new(256, 32, 64))),
    row!("bf16", "bf16", Bf16, (8, 0), REST, SIX, never, |from| Tiled::load(from, Tiles::new(256, 32, 64))),
    row!("three-tf32", "three_tf32", F32, (8, 0), REST, SIX, never, |from| Tiled::load(from, Tiles::new(256, 32, 64))),
];

const fn never(_: &Network, _: usize) -> bool {
    false
}

const fn always(_: &Network, _: usize) -> bool {
    true
}

/// Products that fill the tiles of 64 by 64 results: what is smaller is mostly padding.
fn fills_tiles(network: &Network, batch: usize) -> bool {
    let hidden = &network.sizes[1..network.layers()];
    batch >= 64 && !hidden.is_empty() && hidden.iter().all(|units| *units >= 64)
}

/// Few samples: a block takes all of a batch, and more of them are shared out better by one launch a step.
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

    /// What there is to know of it.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Whether a network of this many layers has this tensor in memory.
    #[must_use]
    pub const fn materialises(self, name: TensorName, layers: usize) -> bool {
        use TensorName::{A, Da, Db, Dw, Z};
        match (self, name) {
            (_, A(l) | Da(l)) if l == layers => false,
            (Self::ThreadPerSample, _) => true,
            // relu(z) is stored instead, and the masked gradient.
            (_, Z(l)) => l == layers,
            (_, Da(_)) => false,
            // Only partial sums are, one for each chunk of the batch; or they live in the registers of the
            // threads that update by them.
            (Self::OneLaunch | Self::WholeEpoch, Dw(_) | Db(_)) => false,
            _ => true,
        }
    }

    /// Whether it wants a buffer of this tensor's shape: for the tensor, or in its place for a second
    /// copy of another one, `a` for `da`, `w` for `dw` and `b` for `db`.
    pub(crate) const fn holds(self, name: TensorName, layers: usize) -> bool {
        use TensorName::{Da, Db, Dw};
        match (self, name) {
            (Self::WholeEpoch, Da(l)) => l < layers,
            // The first layer's are read by nobody but the block that updates them.
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
