//! Limits of a device and of its multiprocessors, those of compute capability 9.0 (CUDA C++ Programming Guide,
//! "Compute Capabilities").

/// Threads of a block along each axis, at most.
pub(crate) const BLOCK: [u32; 3] = [1024, 1024, 64];
/// Threads of a block, at most.
pub(crate) const BLOCK_THREADS: u64 = 1024;
/// Blocks of a grid along each axis, at most.
pub(crate) const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Multiprocessors.
pub(crate) const PROCESSORS: i32 = 132;
/// Shared memory of a block, unless a kernel asks for more, in bytes.
pub(crate) const SHARED: i32 = 48 << 10;
/// Shared memory of a block that a kernel may ask for, in bytes.
pub(crate) const SHARED_MOST: i32 = 227 << 10;

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
    /// Shared memory that the system takes for each block, in bytes.
    pub(crate) const SHARED_RESERVED: i32 = 1 << 10;
}
