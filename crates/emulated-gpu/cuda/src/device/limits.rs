//! Limits of a device and of its multiprocessors. They are those of compute capability 9.0 (CUDA C++ Programming
//! Guide, "Compute Capabilities").

/// Maximum threads of a block along each axis.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Maximum threads of a block.
pub(crate) const MAX_BLOCK_THREADS: u64 = 1024;
/// Maximum blocks of a grid along each axis.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Multiprocessors of a device.
pub(crate) const PROCESSORS: i32 = 132;
/// Maximum shared memory of a block in bytes, unless the kernel opts in to more.
pub(crate) const MAX_SHARED: i32 = 48 << 10;
/// Maximum shared memory of a block in bytes, if the kernel opts in.
pub(crate) const MAX_SHARED_OPT_IN: i32 = 227 << 10;

/// Limits of a multiprocessor.
pub(crate) mod multiprocessor {
    /// Threads.
    pub(crate) const THREADS: i32 = 2048;
    /// Blocks.
    pub(crate) const BLOCKS: i32 = 32;
    /// Registers.
    pub(crate) const REGISTERS: i32 = 65_536;
    /// Shared memory in bytes.
    pub(crate) const SHARED: i32 = 228 << 10;
    /// Shared memory that the system reserves for each block, in bytes.
    pub(crate) const SHARED_RESERVED: i32 = 1 << 10;
}
