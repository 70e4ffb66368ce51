//! Occupancy: the number of blocks that fit on a multiprocessor (CUDA C++ Programming Guide, "Compute
//! Capabilities", column 9.0).

use crate::device::limits::MAX_SHARED_OPT_IN;
use crate::device::limits::multiprocessor::{BLOCKS, REGISTERS, SHARED, SHARED_RESERVED, THREADS};
use crate::execution::function::Function;

/// The granularity with which registers are allocated to a warp.
const REGISTER_UNIT: i32 = 256;
/// The granularity with which shared memory is allocated to a block, in bytes.
const SHARED_UNIT: i64 = 128;

/// The number of blocks, with the given threads and dynamic shared memory, that fit on a multiprocessor.
pub(crate) fn blocks(function: &Function, threads: i32, dynamic_shared: u64) -> i32 {
    if threads <= 0 || threads > function.max_threads() as i32 {
        return 0;
    }
    let dynamic = i64::try_from(dynamic_shared).unwrap_or(i64::MAX);
    let own = dynamic.saturating_add(i64::from(function.kernel.static_shared()));
    if own > i64::from(MAX_SHARED_OPT_IN) {
        return 0;
    }
    let warps = (threads + 31) / 32;
    let by_threads = THREADS / (warps * 32);
    let registers_of_warp =
        (function.registers() as i32 * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    let by_registers = REGISTERS / (registers_of_warp * warps);
    let shared_of_block =
        (own + i64::from(SHARED_RESERVED) + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    let by_shared = (i64::from(SHARED) / shared_of_block) as i32;
    by_threads.min(by_registers).min(by_shared).min(BLOCKS)
}

/// The dynamic shared memory that each block may have so that `blocks` blocks fit on a multiprocessor. The function's
/// attribute is an upper limit (`cudaOccAvailableDynamicSMemPerBlock` of CUDA's `cuda_occupancy.h`).
pub(crate) fn dynamic_shared(function: &Function, blocks: i32) -> u64 {
    let each = i64::from(SHARED) / i64::from(blocks.max(1)) / SHARED_UNIT * SHARED_UNIT;
    let left = each - i64::from(SHARED_RESERVED) - i64::from(function.kernel.static_shared());
    left.clamp(0, i64::from(function.dynamic_shared()).max(0)) as u64
}

/// The block size that gives the most resident threads per multiprocessor, and the number of resident blocks of that
/// size. `shared` returns the dynamic shared memory for a block size.
pub(crate) fn best(function: &Function, limit: i32, shared: impl Fn(i32) -> u64) -> (i32, i32) {
    let max = function.max_threads() as i32;
    let max = if limit > 0 { max.min(limit) } else { max };
    let mut best = (0, 0);
    let mut size = max;
    while size > 0 {
        let resident = blocks(function, size, shared(size));
        if resident * size > best.0 * best.1 {
            best = (size, resident);
        }
        // The first block size that is tried is the maximum; all other sizes are multiples of a warp.
        size = (size - 1) / 32 * 32;
    }
    best
}
