//! The grids and blocks of launches.

use cudarc::driver::LaunchConfig;
use tensor::Loss;

// ANCHOR: shapes
/// Threads of a block along a row: one warp, whose 32 threads access 32
/// neighbouring elements of a row, which are neighbours in memory.
const COLUMNS: usize = 32;
/// Rows of a block: 8, so that it has 8 warps, which are 256 threads.
const ROWS: usize = 8;
/// Threads of a block if the shape of the elements does not matter.
const THREADS: usize = COLUMNS * ROWS;

/// A launch with a thread for each element of a `[rows, columns]` matrix. The index x runs along a
/// row, because threads that are neighbours in x are in the same warp; y runs along a column.
#[must_use]
pub fn matrix(rows: usize, columns: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks(columns, COLUMNS), blocks(rows, ROWS), 1),
        block_dim: (COLUMNS as u32, ROWS as u32, 1),
        shared_mem_bytes: 0,
    }
}

/// A launch with a thread for each element.
#[must_use]
pub fn line(elements: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks(elements, THREADS), 1, 1),
        block_dim: (THREADS as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}
// ANCHOR_END: shapes

/// A launch with a block of 16 by 16 threads for each `side` by `side` elements of a `[rows, columns]` matrix.
#[must_use]
pub fn tiles(rows: usize, columns: usize, side: usize) -> LaunchConfig {
    let block_dim = (16, 16, 1);
    LaunchConfig { block_dim, ..grid(blocks(columns, side), blocks(rows, side), 256) }
}

/// A launch of `columns` times `rows` blocks with `threads` threads each.
#[must_use]
pub const fn grid(columns: u32, rows: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (columns, rows, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// The number by which kernels identify a loss.
#[must_use]
pub const fn loss_code(loss: Loss) -> u32 {
    match loss {
        Loss::CrossEntropy => 0,
        Loss::Bce => 1,
        Loss::SquaredError => 2,
    }
}

/// The number of blocks for `threads` threads. The last block may have more threads than needed, so every kernel first
/// checks whether its thread is needed.
fn blocks(threads: usize, per_block: usize) -> u32 {
    // A grid of 2³² − 1 blocks is larger than any device allows, so the driver refuses it.
    u32::try_from(threads).map_or(u32::MAX, |_| threads.div_ceil(per_block) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_thread() {
        assert_eq!(matrix(8, 32).grid_dim, (1, 1, 1));
        assert_eq!(matrix(9, 33).grid_dim, (2, 2, 1));
        assert_eq!(line(1).grid_dim, (1, 1, 1));
        assert_eq!(line(257).grid_dim, (2, 1, 1));
        assert_eq!(line(1 << 33).grid_dim.0, u32::MAX, "refused by the driver, not cut off");
    }
}
