//! The limits of the emulated device and of PTX.

/// The compute capability, 9.0, unless another one is chosen.
pub(crate) const CAPABILITY: u32 = 90;
/// Threads of a block, in all.
pub(crate) const BLOCK_THREADS: u64 = 1024;
/// The same along each axis.
pub(crate) const BLOCK_SHAPE: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid along each axis.
pub(crate) const GRID_SHAPE: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Warps that are resident at once: 64 on each of 132 multiprocessors.
pub(crate) const RESIDENT_WARPS: u64 = 132 * 64;
/// Bytes of shared memory of a block, as on devices of compute capability 9.0.
pub(crate) const SHARED_BYTES: u64 = 227 << 10;
/// Of it, what the system keeps for itself where a kernel asks for it (CUDA C++ Programming Guide, "Compute
/// Capability 8.x": 1 KB).
pub(crate) const RESERVED_SHARED: u32 = 1 << 10;
/// Bytes of local memory of a thread (CUDA C++ Programming Guide, "Technical Specifications").
pub(crate) const LOCAL_BYTES: u64 = 512 << 10;
/// Bytes on either side of each variable in a thread's memory that nothing may access.
pub(crate) const REDZONE: u64 = 32;
/// Bytes of these of a thread, at most: variables beyond that have none, so that many small ones don't take a
/// multiple of their memory.
pub(crate) const MAX_REDZONES: u64 = 64 << 10;
/// Bytes of a kernel's parameters (PTX ISA, "Parameter State Space").
pub(crate) const PARAMETER_BYTES: u64 = 32_764;
/// Barriers of a block (PTX ISA, "bar, barrier").
pub(crate) const BARRIERS: usize = 16;
