//! Filling memory. The functions that are not `Async` stand in the default stream, and the caller
//! waits where the memory is pinned or managed (CUDA Driver API, "API synchronization behavior").

use crate::abi::error::Result;
use crate::abi::ffi::export;
use crate::abi::{Handle, Pointer};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::graph::operation::Operation;
use crate::memory::copy::Fill;
use crate::stream;

fn fill(fill: Fill, stream: Option<Handle>) -> Result {
    let waits = stream.is_none();
    let stream = calling_thread::stream(stream.unwrap_or(0))?;
    let hardware = &driver()?.hardware;
    fill.check(hardware.memory())?;
    if fill.width == 0 || fill.height == 0 {
        return Ok(());
    }
    let shared = hardware.allocations.with(fill.address, |one| one.is_shared());
    if waits && shared == Some(true) {
        return stream::enqueue_and_wait(&stream, Operation::Fill(fill));
    }
    stream::enqueue(&stream, Operation::Fill(fill))
}

/// A row, in a stream of the caller's or in the default one.
fn row(address: Pointer, value: u32, size: u64, count: usize, stream: Option<Handle>) -> Result {
    fill(Fill { address, pitch: 0, value, size, width: count as u64, height: 1 }, stream)
}

fn rows(
    address: Pointer,
    pitch: usize,
    (value, size): (u32, u64),
    (width, height): (usize, usize),
    stream: Option<Handle>,
) -> Result {
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    fill(Fill { address, pitch, value, size, width, height }, stream)
}

export! {
    3020 fn cuMemsetD8_v2(to: Pointer, value: u8, count: usize) also cuMemsetD8_v2_ptds {
        row(to, u32::from(value), 1, count, None)
    }

    3020 fn cuMemsetD16_v2(to: Pointer, value: u16, count: usize) also cuMemsetD16_v2_ptds {
        row(to, u32::from(value), 2, count, None)
    }

    3020 fn cuMemsetD32_v2(to: Pointer, value: u32, count: usize) also cuMemsetD32_v2_ptds {
        row(to, value, 4, count, None)
    }

    3020 fn cuMemsetD8Async(to: Pointer, value: u8, count: usize, stream: Handle)
    also cuMemsetD8Async_ptsz {
        row(to, u32::from(value), 1, count, Some(stream))
    }

    3020 fn cuMemsetD16Async(to: Pointer, value: u16, count: usize, stream: Handle)
    also cuMemsetD16Async_ptsz {
        row(to, u32::from(value), 2, count, Some(stream))
    }

    3020 fn cuMemsetD32Async(to: Pointer, value: u32, count: usize, stream: Handle)
    also cuMemsetD32Async_ptsz {
        row(to, value, 4, count, Some(stream))
    }

    3020 fn cuMemsetD2D8_v2(to: Pointer, pitch: usize, value: u8, width: usize, height: usize)
    also cuMemsetD2D8_v2_ptds {
        rows(to, pitch, (u32::from(value), 1), (width, height), None)
    }

    3020 fn cuMemsetD2D16_v2(to: Pointer, pitch: usize, value: u16, width: usize, height: usize)
    also cuMemsetD2D16_v2_ptds {
        rows(to, pitch, (u32::from(value), 2), (width, height), None)
    }

    3020 fn cuMemsetD2D32_v2(to: Pointer, pitch: usize, value: u32, width: usize, height: usize)
    also cuMemsetD2D32_v2_ptds {
        rows(to, pitch, (value, 4), (width, height), None)
    }

    3020 fn cuMemsetD2D8Async(
        to: Pointer, pitch: usize, value: u8, width: usize, height: usize, stream: Handle,
    ) also cuMemsetD2D8Async_ptsz {
        rows(to, pitch, (u32::from(value), 1), (width, height), Some(stream))
    }

    3020 fn cuMemsetD2D16Async(
        to: Pointer, pitch: usize, value: u16, width: usize, height: usize, stream: Handle,
    ) also cuMemsetD2D16Async_ptsz {
        rows(to, pitch, (u32::from(value), 2), (width, height), Some(stream))
    }

    3020 fn cuMemsetD2D32Async(
        to: Pointer, pitch: usize, value: u32, width: usize, height: usize, stream: Handle,
    ) also cuMemsetD2D32Async_ptsz {
        rows(to, pitch, (value, 4), (width, height), Some(stream))
    }
}
