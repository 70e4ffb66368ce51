//! Occupancy: the number of blocks that fit on a multiprocessor (CUDA C++ Programming Guide, "Compute
//! Capabilities", column 9.0).

use crate::device::limits::SHARED_MOST;
use crate::device::limits::multiprocessor::{BLOCKS, REGISTERS, SHARED, SHARED_RESERVED, THREADS};
use crate::execution::function::Function;

/// Registers are given to warps in units of this.
const REGISTER_UNIT: i32 = 256;
/// Shared memory is given to blocks in units of this.
const SHARED_UNIT: i64 = 128;

/// Blocks of this many threads and this much dynamic shared memory that fit on a multiprocessor.
pub(crate) fn blocks(function: &Function, threads: i32, dynamic_shared: u64) -> i32 {
    if threads <= 0 || threads > function.max_threads() as i32 {
        return 0;
    }
    let dynamic = i64::try_from(dynamic_shared).unwrap_or(i64::MAX);
    let own = dynamic.saturating_add(i64::from(function.kernel.static_shared()));
    if own > i64::from(SHARED_MOST) {
        return 0;
    }
    let warps = (threads + 31) / 32;
    let by_threads = THREADS / (warps * 32);
    let of_warp =
        (function.registers() as i32 * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    let by_registers = REGISTERS / (of_warp * warps);
    let of_block = (own + i64::from(SHARED_RESERVED) + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    let by_shared = (i64::from(SHARED) / of_block) as i32;
    by_threads.min(by_registers).min(by_shared).min(BLOCKS)
}

/// Dynamic shared memory that each block may have when this many are to fit on a multiprocessor, which
/// is no more than the function's attribute for it allows (`cudaOccAvailableDynamicSMemPerBlock` of
/// CUDA's `cuda_occupancy.h`).
pub(crate) fn dynamic_shared(function: &Function, blocks: i32) -> u64 {
    let each = i64::from(SHARED) / i64::from(blocks.max(1)) / SHARED_UNIT * SHARED_UNIT;
    let left = each - i64::from(SHARED_RESERVED) - i64::from(function.kernel.static_shared());
    left.clamp(0, i64::from(function.dynamic_shared()).max(0)) as u64
}

/// The block size with the most threads on a multiprocessor, and how many blocks fit then. `shared`
/// says how much dynamic shared memory a block of this many threads has.
pub(crate) fn best(function: &Function, limit: i32, shared: impl Fn(i32) -> u64) -> (i32, i32) {
    let most = function.max_threads() as i32;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0);
    let mut size = most;
    while size > 0 {
        let fit = blocks(function, size, shared(size));
        if fit * size > best.0 * best.1 {
            best = (size, fit);
        }
        // Whole warps, after the largest size, which need not be.
        size = (size - 1) / 32 * 32;
    }
    best
}
