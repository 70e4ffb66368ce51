//! Hard limits of the emulated device and of PTX.

/// The default compute capability, 9.0.
pub(crate) const CAPABILITY: u32 = 90;
/// Threads of a block in total.
pub(crate) const BLOCK_THREADS: u64 = 1024;
/// Threads of a block along each axis.
pub(crate) const BLOCK_SHAPE: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid along each axis.
pub(crate) const GRID_SHAPE: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Warps that can be resident at once: 64 on each of 132 multiprocessors.
pub(crate) const RESIDENT_WARPS: u64 = 132 * 64;
/// Bytes of shared memory of a block, as on devices of compute capability 9.0.
pub(crate) const SHARED_BYTES: u64 = 227 << 10;
/// Bytes of shared memory that the system reserves if a kernel uses it (CUDA C++ Programming Guide, "Compute Capability
/// 8.x": 1 KB).
pub(crate) const RESERVED_SHARED: u32 = 1 << 10;
/// Bytes of local memory of a thread (CUDA C++ Programming Guide, "Technical Specifications").
pub(crate) const LOCAL_BYTES: u64 = 512 << 10;
/// Bytes of the inaccessible zone before and after each variable in a thread's memory.
pub(crate) const REDZONE: u64 = 32;
/// The maximum total size of red zones for a thread. Further variables have no red zone, so that many small variables
/// don't multiply their memory.
pub(crate) const MAX_REDZONES: u64 = 64 << 10;
/// Bytes of a kernel's parameters (PTX ISA, "Parameter State Space").
pub(crate) const PARAMETER_BYTES: u64 = 32_764;
/// Barriers of a block (PTX ISA, "bar, barrier").
pub(crate) const BARRIERS: usize = 16;
