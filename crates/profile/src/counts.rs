//! The emulated GPU's counts. They are read through functions that only the emulated driver exports
//! (`include/emulated_gpu.h` of emulated-cuda).
#![allow(unsafe_code, reason = "the driver is a C library")]

use std::ffi::c_int;
use std::iter::Sum;

use cudarc::driver::CudaFunction;
use cudarc::driver::sys::CUfunction;
use libloading::Library;

/// A kernel's counts, summed over its launches, in the layout of the C structure `EmulatedGpuCounts`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Launches.
    pub launches: u64,
    /// Blocks.
    pub blocks: u64,
    /// Warps.
    pub warps: u64,
    /// Instructions that warps executed; an instruction for up to 32 lanes counts once.
    pub warp_instructions: u64,
    /// Instructions that threads executed: each warp instruction counts once per active lane.
    pub thread_instructions: u64,
    /// Time that the emulator took on the host, in nanoseconds.
    pub nanoseconds: u64,
    /// Branches at which the lanes of a warp diverged.
    pub divergent_branches: u64,
    /// Warp instructions that accessed global memory.
    pub global_requests: u64,
    /// 32-byte sectors of global memory that the requests accessed; a request of 32 neighbouring words accesses 4.
    pub global_sectors: u64,
    /// Warp instructions that accessed shared memory.
    pub shared_requests: u64,
    /// Passes that the requests to shared memory took: a request with bank conflicts takes more than one.
    pub shared_passes: u64,
    /// Sectors of global memory that were written.
    pub global_written_sectors: u64,
    /// Floating-point multiply-adds outside of tensor cores.
    pub fma_multiply_adds: u64,
    /// Multiply-adds by tensor cores.
    pub tensor_multiply_adds: u64,
    /// Multiply-adds with types other than single precision and, on tensor cores, TF32.
    pub other_multiply_adds: u64,
    /// Floating-point additions, subtractions and multiplications that aren't part of a multiply-add.
    pub single_operations: u64,
}

impl Counts {
    /// Bytes of global memory that were read and written: 32 per sector. This includes accesses that would hit a card's
    /// caches.
    #[must_use]
    pub const fn global_bytes(&self) -> u64 {
        32 * self.global_sectors
    }

    /// Bytes that shared memory could have transferred in its passes, 128 per pass.
    #[must_use]
    pub const fn shared_bytes(&self) -> u64 {
        128 * self.shared_passes
    }

    /// Floating-point operations: two for a multiply-add, one for every other operation.
    #[must_use]
    pub const fn flops(&self) -> u64 {
        2 * (self.fma_multiply_adds + self.tensor_multiply_adds) + self.single_operations
    }

    /// Arithmetic intensity: floating-point operations for each byte of global memory; `None`
    /// without accesses to global memory.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.global_bytes();
        (bytes > 0).then(|| self.flops() as f64 / bytes as f64)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |a, b| Self {
            launches: a.launches + b.launches,
            blocks: a.blocks + b.blocks,
            warps: a.warps + b.warps,
            warp_instructions: a.warp_instructions + b.warp_instructions,
            thread_instructions: a.thread_instructions + b.thread_instructions,
            nanoseconds: a.nanoseconds + b.nanoseconds,
            divergent_branches: a.divergent_branches + b.divergent_branches,
            global_requests: a.global_requests + b.global_requests,
            global_sectors: a.global_sectors + b.global_sectors,
            shared_requests: a.shared_requests + b.shared_requests,
            shared_passes: a.shared_passes + b.shared_passes,
            global_written_sectors: a.global_written_sectors + b.global_written_sectors,
            fma_multiply_adds: a.fma_multiply_adds + b.fma_multiply_adds,
            tensor_multiply_adds: a.tensor_multiply_adds + b.tensor_multiply_adds,
            other_multiply_adds: a.other_multiply_adds + b.other_multiply_adds,
            single_operations: a.single_operations + b.single_operations,
        })
    }
}

type SetCounting = unsafe extern "C" fn(c_int) -> c_int;
type GetCounts = unsafe extern "C" fn(CUfunction, *mut Counts, usize) -> c_int;

/// A handle that switches on the emulated GPU's counting of instructions. Dropping it switches counting off.
pub(crate) struct Counter {
    set: SetCounting,
    get: GetCounts,
    /// The library with the functions `set` and `get`, which must stay loaded.
    _library: Library,
}

impl Counter {
    /// Starts to count; `None` if the driver isn't the emulated one, and so lacks the counting functions, or if it
    /// refuses to count.
    pub(crate) fn start() -> Option<Self> {
        // SAFETY: the emulated driver has already been loaded under this name; its functions have
        // the types that its header declares.
        let counter = unsafe {
            let library = Library::new("libcuda.so").ok()?;
            let set: SetCounting = *library.get("emulatedGpuSetCounting").ok()?;
            let get: GetCounts = *library.get("emulatedGpuGetCounts").ok()?;
            Self { set, get, _library: library }
        };
        // SAFETY: emulated_gpu.h: `CUresult emulatedGpuSetCounting(int on)`.
        (unsafe { (counter.set)(1) } == 0).then_some(counter)
    }

    /// The counts of a kernel since it was loaded.
    pub(crate) fn counts(&self, function: &CudaFunction) -> Counts {
        let mut counts = Counts::default();
        // SAFETY: emulated_gpu.h: `CUresult emulatedGpuGetCounts(CUfunction, EmulatedGpuCounts *,
        // size_t)`, which writes at most the number of bytes that is passed.
        unsafe { (self.get)(function.cu_function(), &raw mut counts, size_of::<Counts>()) };
        counts
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (self.set)(0) };
    }
}
