//! The ladder: the three products once more, one idea a file.

use std::fmt;

use clap::ValueEnum;
use cudarc::driver::LaunchConfig;
use gpu::Gpu;
use gpu::launch::{matrix, tiles};
use tensor::Dtype;
use training::Result;

/// How the three products are computed: a file of `kernels/products`, or the plain kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Products {
    /// A thread for each element, which reads all it needs by itself.
    #[default]
    Naive,
    /// Neighbours in a warp read neighbours in memory.
    Coalesced,
    /// A block fetches a tile of each matrix into shared memory, and all its threads use it.
    SharedTile,
    /// A thread has 4 x 4 elements in registers.
    RegisterTile,
    /// The same, four numbers in an instruction, and the next tile comes while one is multiplied.
    Vectorised,
    /// A warp multiplies small matrices in an instruction, on tensor cores, which round their factors
    /// to TF32.
    Wmma,
}

impl Products {
    /// Every way, from the first to the last.
    pub const ALL: [Self; 6] = [
        Self::Naive,
        Self::Coalesced,
        Self::SharedTile,
        Self::RegisterTile,
        Self::Vectorised,
        Self::Wmma,
    ];

    /// The file of a kernel in `kernels`, without its extension; only products depend on the variant.
    pub(crate) fn file(self, kernel: &str) -> String {
        match self {
            _ if !kernel.starts_with("matmul") => kernel.into(),
            Self::Naive => kernel.into(),
            _ => format!("products/{self}").replace('-', "_"),
        }
    }

    /// What is computed in.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::Wmma => Dtype::Tf32,
            _ => Dtype::F32,
        }
    }

    /// The least compute capability that they run on, major and minor: their file's `.target`.
    #[must_use]
    pub const fn least_capability(self) -> (i32, i32) {
        match self {
            Self::Wmma => (8, 0),
            _ => (5, 0),
        }
    }

    /// Fails if the device is too old for these products.
    pub(crate) fn run_on(self, gpu: &Gpu) -> Result<()> {
        let (option, instead) =
            (format!("--products {self}"), format!("--products {}", Self::Vectorised));
        gpu.require(self.least_capability(), &option, Some(&instead))
    }

    /// How `c = a · bᵀ`, of shape `[m, n]`, is launched.
    pub(crate) fn along_rows(self, m: usize, n: usize) -> LaunchConfig {
        match self {
            // A warp for each element.
            Self::Coalesced => {
                let rows = matrix(m, 1);
                LaunchConfig {
                    grid_dim: (u32::try_from(n).unwrap_or(u32::MAX), rows.grid_dim.1, 1),
                    ..rows
                }
            }
            _ => self.across_rows(m, n),
        }
    }

    /// How the other two products are launched, whose result is `[m, n]`.
    pub(crate) fn across_rows(self, m: usize, n: usize) -> LaunchConfig {
        match self {
            Self::Naive | Self::Coalesced => matrix(m, n),
            Self::SharedTile => tiles(m, n, 16),
            Self::RegisterTile | Self::Vectorised | Self::Wmma => tiles(m, n, 64),
        }
    }
}

impl fmt::Display for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}
