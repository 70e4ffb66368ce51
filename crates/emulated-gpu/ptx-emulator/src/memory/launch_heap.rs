//! The heap that a launch brings along.

/// The heap that a kernel's `malloc` allocates from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// Whose it is: kernels of one owner share it.
    pub owner: u64,
    /// Its size, where it is not made already.
    pub bytes: u64,
    /// The device that it is on.
    pub device: u32,
}

impl Default for Heap {
    /// As large as CUDA's (`CU_LIMIT_MALLOC_HEAP_SIZE`): 8 MiB.
    fn default() -> Self {
        Self { owner: 0, bytes: 8 << 20, device: 0 }
    }
}
