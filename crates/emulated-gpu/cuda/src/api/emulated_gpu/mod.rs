//! Extensions to CUDA's driver API: work of libraries that run on the host, and the kernels' counters.
//! `include/emulated_gpu.h` declares them.

pub(crate) mod card;

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, List, Out, Text};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::device::kernel_counts::Counts;
use crate::graph::operation::Operation;
use crate::graph::operation::library_work::{
    AccessRequester, LibraryWork, ReleaseFunction, WorkFunction,
};
use crate::memory::library_access::{Declaration, READ, Range, WRITE};
use crate::stream;

/// Copies the ranges of a declaration, and checks that each is declared as read, written, or both.
unsafe fn ranges(ranges: In<Range>, count: usize) -> Result<Vec<Range>> {
    let ranges = ranges.list(count)?;
    match ranges.iter().position(|range| !(1..=READ | WRITE).contains(&range.access)) {
        Some(index) => Err(Code::INVALID_VALUE
            .because(format!("range {index}: the access must be 1 (read), 2 (write) or 3 (both)"))),
        None => Ok(ranges),
    }
}

export! {
    /// `CUresult emulatedGpuDeclareAccess(CUstream stream, const char *operation, const EmulatedGpuRange *ranges,
    /// size_t count)`: declares the device memory that work of a library on the host reads and writes. The library
    /// calls it before the `cuLaunchHostFunc` that does the work. The ranges are checked when the stream reaches the
    /// declaration. If a range is invalid, the error is reported like a kernel's fault, and the host function is not
    /// called. The call can be captured.
    0 fn emulatedGpuDeclareAccess(stream: Handle, operation: Text, ranges: In<Range>, count: usize)
    also emulatedGpuDeclareAccess_ptsz {
        let stream = calling_thread::stream(stream)?;
        let ranges = self::ranges(ranges, count)?;
        let declaration = Declaration { operation: operation.get()?, ranges };
        stream::enqueue(&stream, Operation::Declare(Arc::new(declaration)))
    }

    /// `CUresult emulatedGpuLaunchWork(CUstream stream, const char *operation, EmulatedGpuWork work, void *data,
    /// EmulatedGpuRelease release)`: enqueues work of a library that computes on the host. The work requests its
    /// memory with `emulatedGpuAccess`. The call can be captured.
    0 fn emulatedGpuLaunchWork(
        stream: Handle, operation: Text, work: WorkFunction, data: Out<u8>, release: ReleaseFunction,
    ) also emulatedGpuLaunchWork_ptsz {
        fail_if!(work.is_none(), INVALID_VALUE, "the function that does the work is null");
        let (stream, operation) = (calling_thread::stream(stream)?, operation.get()?);
        let work = Arc::new(LibraryWork::new(operation, work, data.address(), release));
        stream::enqueue(&stream, Operation::Library(Arc::clone(&work))).inspect_err(|_| {
            // The failed call has dropped its reference to the work, so this is the last reference.
            work.release();
        })
    }

    /// `CUresult emulatedGpuAccess(const EmulatedGpuAccessRequester *requester, const EmulatedGpuRange *ranges, size_t count)`:
    /// requests device memory, from inside running work.
    0 fn emulatedGpuAccess(requester: In<u8>, ranges: In<Range>, count: usize) early {
        fail_if!(requester.is_null(), INVALID_VALUE, "the requester is null; pass the one that the work was called with");
        let ranges = self::ranges(ranges, count)?;
        // SAFETY: the library passes the requester that its function was called with, before the function returns.
        let requester = unsafe { &*(requester.address() as *const AccessRequester<'_>) };
        requester.request(ranges)
    }

    /// `CUresult emulatedGpuSetDevices(unsigned int count)`: sets the number of cards, before `cuInit`.
    /// `EMULATED_GPU_DEVICES` takes precedence.
    0 fn emulatedGpuSetDevices(count: u32) early {
        crate::api::driver::set_devices(count)
    }

    /// `CUresult emulatedGpuSetCounting(int on)`: switches counting of instructions on or off for later launches.
    0 fn emulatedGpuSetCounting(on: i32) {
        driver()?.hardware.emulator.set_statistics(on != 0);
        Ok(())
    }

    /// `CUresult emulatedGpuGetCounts(CUfunction function, EmulatedGpuCounts *counts, size_t size)`: the sums over all
    /// launches of a kernel since it was loaded or since the last reset. `size` is the size of the caller's structure,
    /// which may be an older, shorter version.
    0 fn emulatedGpuGetCounts(function: Handle, counts: Out<u64>, size: usize) {
        counts.required()?;
        let driver = driver()?;
        let sums = driver.hardware.counts.get(driver.function(function)?.handle);
        // SAFETY: the structure consists of 64-bit numbers, without padding.
        let all: [u64; size_of::<Counts>() / size_of::<u64>()] = unsafe { std::mem::transmute(sums) };
        counts.set_all(all.into_iter().take(size / size_of::<u64>()));
        Ok(())
    }

    /// `CUresult emulatedGpuResetCounts(void)`: sets all counts to 0.
    0 fn emulatedGpuResetCounts() {
        driver()?.hardware.counts.reset();
        Ok(())
    }
}
