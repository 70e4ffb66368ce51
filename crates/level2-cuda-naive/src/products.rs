//! The variants of the three matrix products (the ladder): one idea per file of `kernels/products`.

use std::fmt;

use clap::ValueEnum;
use cudarc::driver::LaunchConfig;
use gpu::Gpu;
use gpu::launch::{matrix, tiles};
use tensor::Dtype;
use training::Result;

/// How the three products are computed: by a file of `kernels/products`, or by the plain kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Products {
    /// A thread for each element; it reads all its operands from global memory.
    #[default]
    Naive,
    /// Neighbours in a warp read neighbours in memory.
    Coalesced,
    /// A block copies a tile of each matrix to shared memory, and all its threads use it.
    SharedTile,
    /// A thread keeps 4 x 4 results in registers.
    RegisterTile,
    /// As `register-tile`, with loads of four numbers, and the next tile is loaded while one is multiplied.
    Vectorised,
    /// A warp multiplies small matrices in one instruction, on tensor cores, which round their factors
    /// to TF32.
    Wmma,
}

impl Products {
    /// Every variant, from the first to the last.
    pub const ALL: [Self; 6] = [
        Self::Naive,
        Self::Coalesced,
        Self::SharedTile,
        Self::RegisterTile,
        Self::Vectorised,
        Self::Wmma,
    ];

    /// The file of a kernel in `kernels`, without its extension. Only products depend on the variant.
    pub(crate) fn file(self, kernel: &str) -> String {
        match self {
            Self::Naive => kernel.into(),
            _ if !kernel.starts_with("matmul") => kernel.into(),
            _ => format!("products/{self}").replace('-', "_"),
        }
    }

    /// The arithmetic.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        if let Self::Wmma = self { Dtype::Tf32 } else { Dtype::F32 }
    }

    /// Fails if the device is too old for this variant: for the `.target` of its file.
    pub(crate) fn check_card(self, gpu: &Gpu) -> Result<()> {
        let least = if let Self::Wmma = self { (8, 0) } else { (5, 0) };
        let instead = format!("--products {}", Self::Vectorised);
        gpu.require(least, &format!("--products {self}"), Some(&instead))
    }

    /// The grid of `c = a · bᵀ`, whose result is `[m, n]`.
    pub(crate) fn grid_along_rows(self, m: usize, n: usize) -> LaunchConfig {
        if self != Self::Coalesced {
            return self.grid_across_rows(m, n);
        }
        // The grid has a warp for each element.
        let mut shape = matrix(m, 1);
        shape.grid_dim.0 = u32::try_from(n).unwrap_or(u32::MAX);
        shape
    }

    /// The grid of `c = a · b` and of `c = aᵀ · b`, whose result is `[m, n]`.
    pub(crate) fn grid_across_rows(self, m: usize, n: usize) -> LaunchConfig {
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
