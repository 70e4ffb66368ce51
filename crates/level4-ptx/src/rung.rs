//! The rungs of the ladder: which file of PTX a training step runs.

use std::fmt;

use clap::ValueEnum;
use tensor::{Dtype, TensorName};

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
    /// The products of `tiled` on tensor cores, which round their factors to TF32.
    TensorCores,
    /// The same with factors rounded to bfloat16, two of which fill a register.
    Bf16,
    /// The same in single precision: each factor is the sum of three TF32 numbers.
    ThreeTf32,
    /// The products of `tiled` with 64 results in the registers of each thread, its copies asynchronous.
    RegisterTiles,
    /// Many training steps in one cooperative launch, weights kept on chip from step to step.
    WholeEpoch,
}

impl Rung {
    /// Every rung, from the first to the last.
    pub const ALL: [Self; 8] = [
        Self::ThreadPerSample,
        Self::Tiled,
        Self::OneLaunch,
        Self::TensorCores,
        Self::Bf16,
        Self::ThreeTf32,
        Self::RegisterTiles,
        Self::WholeEpoch,
    ];

    /// The name as `--kernels` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThreadPerSample => "thread-per-sample",
            Self::Tiled => "tiled",
            Self::OneLaunch => "one-launch",
            Self::TensorCores => "tensor-cores",
            Self::Bf16 => "bf16",
            Self::ThreeTf32 => "three-tf32",
            Self::RegisterTiles => "register-tiles",
            Self::WholeEpoch => "whole-epoch",
        }
    }

    /// The file in `ptx/`.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::ThreadPerSample => "ptx/thread_per_sample.ptx",
            Self::Tiled => "ptx/tiled.ptx",
            Self::OneLaunch => "ptx/one_launch.ptx",
            Self::TensorCores => "ptx/tensor_cores.ptx",
            Self::Bf16 => "ptx/bf16.ptx",
            Self::ThreeTf32 => "ptx/three_tf32.ptx",
            Self::RegisterTiles => "ptx/register_tiles.ptx",
            Self::WholeEpoch => "ptx/whole_epoch.ptx",
        }
    }

    /// The text of that file.
    #[must_use]
    pub const fn ptx(self) -> &'static str {
        match self {
            Self::ThreadPerSample => include_str!("../../../ptx/thread_per_sample.ptx"),
            Self::Tiled => include_str!("../../../ptx/tiled.ptx"),
            Self::OneLaunch => include_str!("../../../ptx/one_launch.ptx"),
            Self::TensorCores => include_str!("../../../ptx/tensor_cores.ptx"),
            Self::Bf16 => include_str!("../../../ptx/bf16.ptx"),
            Self::ThreeTf32 => include_str!("../../../ptx/three_tf32.ptx"),
            Self::RegisterTiles => include_str!("../../../ptx/register_tiles.ptx"),
            Self::WholeEpoch => include_str!("../../../ptx/whole_epoch.ptx"),
        }
    }

    /// The rung whose kernels it has beside its own: all but the products.
    pub(crate) const fn rest(self) -> Option<Self> {
        match self {
            Self::TensorCores | Self::Bf16 | Self::ThreeTf32 | Self::RegisterTiles => {
                Some(Self::Tiled)
            }
            _ => None,
        }
    }

    /// The least compute capability that it runs on, major and minor: its file's `.target`.
    #[must_use]
    pub const fn least_capability(self) -> (i32, i32) {
        match self {
            Self::ThreadPerSample | Self::Tiled | Self::OneLaunch | Self::WholeEpoch => (5, 2),
            Self::TensorCores | Self::Bf16 | Self::ThreeTf32 | Self::RegisterTiles => (8, 0),
        }
    }

    /// What is computed in.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::TensorCores => Dtype::Tf32,
            Self::Bf16 => Dtype::Bf16,
            _ => Dtype::F32,
        }
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
            // Only partial sums are, one for each chunk of the batch.
            (Self::OneLaunch, Dw(_) | Db(_)) => false,
            // They live in the registers of the threads that update by them.
            (Self::WholeEpoch, Dw(_) | Db(_)) => false,
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
        f.pad(self.name())
    }
}
