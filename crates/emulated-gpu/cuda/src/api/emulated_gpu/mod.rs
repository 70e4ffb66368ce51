//! Extensions to CUDA's driver API: functions for host libraries, and the kernels' counts. `include/emulated_gpu.h`
//! declares them.

pub(crate) mod card;

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, List, Out, Text};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::device::kernel_counts::Counts;
use crate::graph::operation::Operation;
use crate::graph::operation::library_work::{Door, ReleaseFunction, Work, WorkFunction};
use crate::memory::library_access::{Declaration, READ, Range, WRITE};
use crate::stream;

/// Ranges as they came, each to be read, written, or both.
unsafe fn ranges(ranges: In<Range>, count: usize) -> Result<Vec<Range>> {
    let ranges = ranges.list(count)?;
    match ranges.iter().position(|range| !(1..=READ | WRITE).contains(&range.access)) {
        Some(index) => Err(Code::INVALID_VALUE
            .because(format!("range {index}: the access is 1 (read), 2 (write) or 3 (both)"))),
        None => Ok(ranges),
    }
}

export! {
    /// `CUresult emulatedGpuDeclareAccess(CUstream stream, const char *operation,
    /// const EmulatedGpuRange *ranges, size_t count)`: a library of the host's says, before the
    /// `cuLaunchHostFunc` that does the work, which device memory the work reads and writes. The
    /// ranges are checked when their turn in the stream has come; when one is wrong, that is
    /// reported as a kernel's fault is, and the host function is not called. It can be captured.
    0 fn emulatedGpuDeclareAccess(stream: Handle, operation: Text, ranges: In<Range>, count: usize)
    also emulatedGpuDeclareAccess_ptsz {
        let stream = calling_thread::stream(stream)?;
        let ranges = self::ranges(ranges, count)?;
        let declaration = Declaration { operation: operation.get()?, ranges };
        stream::enqueue(&stream, Operation::Declare(Arc::new(declaration)))
    }

    /// `CUresult emulatedGpuLaunchWork(CUstream stream, const char *operation, EmulatedGpuWork work,
    /// void *data, EmulatedGpuRelease release)`: a library of the host's has work done when its turn
    /// in the stream comes; the work asks for its memory with `emulatedGpuAccess`. It can be captured.
    0 fn emulatedGpuLaunchWork(
        stream: Handle, operation: Text, work: WorkFunction, data: Out<u8>, release: ReleaseFunction,
    ) also emulatedGpuLaunchWork_ptsz {
        fail_if!(work.is_none(), INVALID_VALUE, "the function that does the work is null");
        let (stream, operation) = (calling_thread::stream(stream)?, operation.get()?);
        let work = Arc::new(Work::new(operation, work, data.address(), release));
        stream::enqueue(&stream, Operation::Library(Arc::clone(&work))).inspect_err(|_| {
            // Whoever refused it has dropped it; this one is the last.
            work.give_back();
        })
    }

    /// `CUresult emulatedGpuAccess(const EmulatedGpuDoor *door, const EmulatedGpuRange *ranges,
    /// size_t count)`: work that runs asks for device memory.
    0 fn emulatedGpuAccess(door: In<u8>, ranges: In<Range>, count: usize) early {
        fail_if!(door.is_null(), INVALID_VALUE, "the door is null");
        let ranges = self::ranges(ranges, count)?;
        // SAFETY: the library passes what its function was called with, before that returns.
        let door = unsafe { &*(door.address() as *const Door<'_>) };
        door.admit(ranges)
    }

    /// `CUresult emulatedGpuSetDevices(unsigned int count)`: how many cards there are to be, where
    /// `EMULATED_GPU_DEVICES` says nothing; before `cuInit`.
    0 fn emulatedGpuSetDevices(count: u32) early {
        crate::api::driver::ask_for_devices(count)
    }

    /// `CUresult emulatedGpuSetCounting(int on)`: each instruction is counted, or no longer, in
    /// launches from now on.
    0 fn emulatedGpuSetCounting(on: i32) {
        driver()?.hardware.emulator.set_statistics(on != 0);
        Ok(())
    }

    /// `CUresult emulatedGpuGetCounts(CUfunction function, EmulatedGpuCounts *counts, size_t size)`:
    /// the sums over all launches of a kernel since it was loaded or since the last reset. `size` is
    /// that of the caller's structure, which may be older and shorter.
    0 fn emulatedGpuGetCounts(function: Handle, counts: Out<u64>, size: usize) {
        counts.required()?;
        let driver = driver()?;
        let own = driver.hardware.counts.of(driver.function(function)?.handle);
        // SAFETY: it is the structure's own numbers: it has nothing else, and no gaps.
        let all: [u64; size_of::<Counts>() / size_of::<u64>()] = unsafe { std::mem::transmute(own) };
        counts.set_all(all.into_iter().take(size / size_of::<u64>()));
        Ok(())
    }

    /// `CUresult emulatedGpuResetCounts(void)`: all counts begin anew.
    0 fn emulatedGpuResetCounts() {
        driver()?.hardware.counts.reset();
        Ok(())
    }
}
