//! Filling memory. A fill that is not `Async` goes to the default stream, and the caller waits for it if the memory
//! is pinned or managed (CUDA Driver API, "API synchronization behavior").

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
    let shared =
        hardware.allocations.with_allocation(fill.address, |allocation| allocation.is_shared());
    if waits && shared == Some(true) {
        return stream::enqueue_and_wait(&stream, Operation::Fill(fill));
    }
    stream::enqueue(&stream, Operation::Fill(fill))
}

/// Fills one row, in a stream or synchronously in the default stream.
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

/// Declares the fill functions for each type of value: one row or several, synchronous or in a stream. Each also has a
/// variant (`_ptds` or `_ptsz`) whose stream 0 is the per-thread default stream.
macro_rules! fills {
    ($(
        $value:ident: $row:ident, $row_per_thread:ident, $row_in_stream:ident, $row_in_stream_per_thread:ident,
        $rows:ident, $rows_per_thread:ident, $rows_in_stream:ident, $rows_in_stream_per_thread:ident;
    )*) => {
        export! {$(
            3020 fn $row(to: Pointer, value: $value, count: usize) also $row_per_thread {
                row(to, u32::from(value), size_of::<$value>() as u64, count, None)
            }

            3020 fn $row_in_stream(to: Pointer, value: $value, count: usize, stream: Handle) also $row_in_stream_per_thread {
                row(to, u32::from(value), size_of::<$value>() as u64, count, Some(stream))
            }

            3020 fn $rows(to: Pointer, pitch: usize, value: $value, width: usize, height: usize)
            also $rows_per_thread {
                rows(to, pitch, (u32::from(value), size_of::<$value>() as u64), (width, height), None)
            }

            3020 fn $rows_in_stream(
                to: Pointer, pitch: usize, value: $value, width: usize, height: usize, stream: Handle
            ) also $rows_in_stream_per_thread {
                rows(to, pitch, (u32::from(value), size_of::<$value>() as u64), (width, height), Some(stream))
            }
        )*}
    };
}

fills! {
    u8: cuMemsetD8_v2, cuMemsetD8_v2_ptds, cuMemsetD8Async, cuMemsetD8Async_ptsz,
        cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz;
    u16: cuMemsetD16_v2, cuMemsetD16_v2_ptds, cuMemsetD16Async, cuMemsetD16Async_ptsz,
        cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz;
    u32: cuMemsetD32_v2, cuMemsetD32_v2_ptds, cuMemsetD32Async, cuMemsetD32Async_ptsz,
        cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz;
}
