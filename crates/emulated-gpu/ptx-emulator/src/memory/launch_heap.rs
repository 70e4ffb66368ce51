//! The heap that a launch specifies for its kernel.

/// The heap from which a kernel's `malloc` allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// The owner's id. Kernels of one owner share a heap.
    pub owner: u64,
    /// The size in bytes, if the heap has to be created.
    pub bytes: u64,
    /// The device that the heap is on.
    pub device: u32,
}

impl Default for Heap {
    /// CUDA's default heap size (`CU_LIMIT_MALLOC_HEAP_SIZE`), 8 MiB.
    fn default() -> Self {
        Self { owner: 0, bytes: 8 << 20, device: 0 }
    }
}
