//! Copies. A copy that is not `Async` goes to the default stream, and the caller waits for it unless both ends are
//! device memory (CUDA Driver API, "API synchronization behavior").

use std::sync::Arc;

use crate::abi::copy::{Copy2d, Copy3d, Side3d};
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::is_per_thread;
use crate::abi::{Handle, In, List, Out, Pointer};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::api::legacy_streams;
use crate::context::Context;
use crate::graph::operation::Operation;
use crate::memory::allocations::Allocation;
use crate::memory::copy::{CopyMemory, End, Transfer};
use crate::stream;
use crate::stream::capture;

/// Whether the caller waits until the copy has finished.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// The caller waits, unless the copy only moves device memory.
    Synchronous,
    /// The caller only waits if the driver can't copy pageable memory later.
    Asynchronous,
}

/// Enqueues a copy.
pub(crate) fn copy(mut transfer: Transfer, stream: Handle, call: CallKind) -> Result {
    let stream = calling_thread::stream(stream)?;
    if call == CallKind::Synchronous {
        capture::forbid_legacy(&stream)?;
        capture::forbid_unsafe_call(&driver()?.captures)?;
    }
    transfer.check(driver()?.hardware.memory())?;
    if transfer.is_empty() {
        return Ok(());
    }
    let host = |place: &CopyMemory| matches!(place, CopyMemory::Host(_));
    let pageable = (host(&transfer.from.place), host(&transfer.to.place));
    if stream.capture().is_some() {
        if call == CallKind::Synchronous {
            return stream::enqueue_and_wait(&stream, Operation::NoOp);
        }
        // A graph reads the source when it is launched.
        return stream::enqueue(&stream, Operation::Copy(Arc::new(transfer)));
    }
    // Pageable memory is read, and written, before the call returns.
    let wait = pageable.1 || call == CallKind::Synchronous && touches_host(&transfer)?;
    if pageable.0 && !wait {
        transfer.stage()?;
    }
    // A copy between two devices is ordered with the default streams of both devices (CUDA C++ Programming Guide,
    // "Peer-to-Peer Memory Copy").
    let owners = owners(&transfer, stream.context.device)?;
    let operation = Operation::Copy(Arc::new(transfer));
    legacy_streams::order_with_others(&stream, owners, || {
        if wait {
            stream::enqueue_and_wait(&stream, operation)
        } else {
            stream::enqueue(&stream, operation)
        }
    })
}

/// The contexts on other devices in which the memory of the source or the destination was allocated.
fn owners(transfer: &Transfer, device: u32) -> Result<Vec<Arc<Context>>> {
    let driver = driver()?;
    let owner = |end: &End| {
        let CopyMemory::Device(address) = end.place else { return None };
        let owner =
            |one: &mut Allocation| (one.device != device && !one.is_host()).then_some(one.context);
        driver.contexts.get(driver.hardware.allocations.with_allocation(address, owner)??)
    };
    Ok([&transfer.from, &transfer.to].into_iter().filter_map(owner).collect())
}

/// Classifies an address as host or device memory.
///
/// # Errors
/// `NOT_INITIALIZED` if the driver is not initialised.
pub(crate) unsafe fn place_of(address: Pointer) -> Result<CopyMemory> {
    Ok(CopyMemory::classify(driver()?.hardware.memory(), address))
}

/// Whether the source or the destination is host memory.
fn touches_host(transfer: &Transfer) -> Result<bool> {
    for end in [&transfer.from, &transfer.to] {
        match end.place {
            CopyMemory::Host(_) | CopyMemory::Staged(_) => return Ok(true),
            CopyMemory::Device(address) => {
                if driver()?
                    .hardware
                    .allocations
                    .with_allocation(address, |allocation| allocation.is_host())
                    == Some(true)
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn copy_linear(
    to: CopyMemory,
    from: CopyMemory,
    size: usize,
    stream: Handle,
    call: CallKind,
) -> Result {
    if size == 0 {
        return calling_thread::stream(stream).map(|_| ());
    }
    copy(Transfer::linear(from, to, size), stream, call)
}

/// `CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL`
const DURING_CALL: i32 = 2;

/// The arguments of `cuMemcpyBatchAsync`: copies with their attributes. An attribute has six numbers; the first is
/// the time at which the source is read.
struct Batch<'a> {
    to: In<'a, Pointer>,
    from: In<'a, Pointer>,
    sizes: In<'a, usize>,
    count: usize,
    attributes: In<'a, [i32; 6]>,
    firsts: In<'a, usize>,
    attribute_count: usize,
}

impl Batch<'_> {
    /// Runs the copies in order; any order would be allowed.
    ///
    /// # Safety
    /// Each list has as many elements as its count.
    unsafe fn run(self, stream: Handle) -> Result {
        let invalid = |why: &str| Err(Code::INVALID_VALUE.because(why));
        if stream == 0 && !is_per_thread() {
            return invalid("a batch of copies can't run in the legacy default stream");
        }
        if self.count == 0 || !(1..=self.count).contains(&self.attribute_count) {
            return invalid(
                "a batch needs at least one copy, and at least one attribute but no more than copies",
            );
        }
        let firsts = self.firsts.list(self.attribute_count)?;
        let is_sorted = firsts.windows(2).all(|pair| pair[0] < pair[1]);
        if firsts.first() != Some(&0) || !is_sorted || firsts.last() >= Some(&self.count) {
            return invalid(
                "the first attribute must start at copy 0, and each further one at a later copy",
            );
        }
        let attributes = self.attributes.list(self.attribute_count)?;
        if attributes.iter().any(|attribute| !(1..=3).contains(&attribute[0])) {
            return invalid(
                "the source access order must be 1 (stream), 2 (during the call) or 3 (any)",
            );
        }
        let to = self.to.list(self.count)?;
        let from = self.from.list(self.count)?;
        for ((to, from), size) in to.into_iter().zip(from).zip(self.sizes.list(self.count)?) {
            copy_linear(place_of(to)?, place_of(from)?, size, stream, CallKind::Asynchronous)?;
        }
        if attributes.iter().any(|attribute| attribute[0] == DURING_CALL) {
            return calling_thread::stream(stream)?.synchronize();
        }
        Ok(())
    }
}

/// The memory that a `CUmemorytype` and the corresponding addresses describe.
unsafe fn place(kind: i32, host: usize, device: Pointer) -> Result<CopyMemory> {
    match kind {
        1 => place_of(host as u64),
        2 => Ok(CopyMemory::Device(device)),
        4 => place_of(device),
        _ => Err(Code::INVALID_VALUE.because(format!("there is no memory type {kind}"))),
    }
}

/// `CU_MEMORYTYPE_ARRAY`
const ARRAY: i32 = 3;

/// The source or destination of a copy. The width is in bytes, the height in rows, and the depth in slices.
unsafe fn end(side: &Side3d, [width, height, depth]: [usize; 3]) -> Result<End> {
    fail_if!(side.level != 0, INVALID_VALUE, "the mipmap level must be 0");
    let Side3d { x, y, z, .. } = *side;
    if side.kind == ARRAY {
        let array = driver()?.arrays.array(side.array)?;
        return array.region([x, y, z], [width, height, depth]);
    }
    // A pitch of 0 means that rows are contiguous.
    let pitch = if side.pitch == 0 { width } else { side.pitch };
    let rows = if side.height == 0 { height } else { side.height };
    // With a single slice at z = 0, the distance to the next slice doesn't matter.
    let slice = if depth <= 1 && z == 0 { Some(0) } else { pitch.checked_mul(rows) };
    let place_in =
        |slice: usize| x.checked_add(y.checked_mul(pitch)?)?.checked_add(z.checked_mul(slice)?);
    let too_large = || Code::INVALID_VALUE.because("a copy is too large");
    let slice = slice.ok_or_else(too_large)?;
    let begin = place_in(slice).ok_or_else(too_large)?;
    if x.checked_add(width).is_none_or(|end| end > pitch) && (height > 1 || depth > 1) {
        return Err(Code::INVALID_VALUE.because("a row of the copy is longer than the pitch"));
    }
    let place = place(side.kind, side.host, side.device)?.offset(begin);
    Ok(End { place, pitch, slice, array: None })
}

/// The transfer that a three-dimensional copy describes.
///
/// # Errors
/// `INVALID_VALUE` if the description is invalid; `INVALID_HANDLE` for an unknown array.
pub(crate) unsafe fn transfer_of(copy: &Copy3d) -> Result<Transfer> {
    let Copy3d { width, height, depth, .. } = *copy;
    let size = [width, height, depth];
    let (from, to) = (end(&copy.from, size)?, end(&copy.to, size)?);
    Ok(Transfer { from, to, width, height, depth, given: Some(*copy) })
}

fn check_contexts(contexts: [Handle; 2]) -> Result {
    for context in contexts {
        if driver()?.contexts.get(context).is_none() {
            return Err(Code::INVALID_CONTEXT.because(format!("there is no context {context:#x}")));
        }
    }
    Ok(())
}

/// Declares the copy functions: for each copy, a synchronous function and one in a stream. Each also has a variant
/// (`_ptds` or `_ptsz`) whose stream 0 is the per-thread default stream. A copy's body is written once; its parameters
/// are the stream, and the kind of call. Further functions follow in the syntax of [`export!`].
macro_rules! copies {
    (
        $(
            $since:literal $name:ident, $per_thread:ident, $in_stream:ident, $per_thread_in_stream:ident
            ($($argument:ident: $type:ty),*) |$stream:ident, $call:ident| $copy:expr;
        )*
        others: $($others:tt)*
    ) => {
        $crate::abi::ffi::export! {
            $(
                $since fn $name($($argument: $type),*) also $per_thread {
                    let ($stream, $call) = (0, $crate::api::memory::copy::CallKind::Synchronous);
                    $copy
                }

                $since fn $in_stream($($argument: $type,)* $stream: Handle) also $per_thread_in_stream {
                    let $call = $crate::api::memory::copy::CallKind::Asynchronous;
                    $copy
                }
            )*
            $($others)*
        }
    };
}
pub(crate) use copies;

copies! {
    4000 cuMemcpy, cuMemcpy_ptds, cuMemcpyAsync, cuMemcpyAsync_ptsz(to: Pointer, from: Pointer, size: usize)
        |stream, call| copy_linear(place_of(to)?, place_of(from)?, size, stream, call);
    3020 cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz
        (to: Pointer, from: In<u8>, size: usize)
        |stream, call| copy_linear(CopyMemory::Device(to), place_of(from.address() as u64)?, size, stream, call);
    3020 cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz
        (to: Out<u8>, from: Pointer, size: usize)
        |stream, call| copy_linear(place_of(to.address() as u64)?, CopyMemory::Device(from), size, stream, call);
    3020 cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz
        (to: Pointer, from: Pointer, size: usize)
        |stream, call| copy_linear(CopyMemory::Device(to), CopyMemory::Device(from), size, stream, call);
    4000 cuMemcpyPeer, cuMemcpyPeer_ptds, cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz
        (to: Pointer, to_context: Handle, from: Pointer, from_context: Handle, size: usize)
        |stream, call| {
            check_contexts([to_context, from_context])?;
            copy_linear(CopyMemory::Device(to), CopyMemory::Device(from), size, stream, call)
        };
    3020 cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz(description: In<Copy2d>)
        |stream, call| copy(transfer_of(&description.get()?.in_space())?, stream, call);
    3020 cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz(description: In<Copy3d>)
        |stream, call| copy(transfer_of(&description.get()?)?, stream, call);
    4000 cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz(description: In<Copy3d>)
        |stream, call| {
            let description = description.get()?;
            check_contexts([description.from.context, description.to.context])?;
            copy(transfer_of(&description)?, stream, call)
        };

    others:
    3020 fn cuMemcpy2DUnaligned_v2(description: In<Copy2d>) also cuMemcpy2DUnaligned_v2_ptds {
        copy(transfer_of(&description.get()?.in_space())?, 0, CallKind::Synchronous)
    }

    12080 fn cuMemcpyBatchAsync(
        to: In<Pointer>, from: In<Pointer>, sizes: In<usize>, count: usize,
        attributes: In<[i32; 6]>, firsts: In<usize>, attribute_count: usize, failed: Out<usize>,
        stream: Handle,
    ) also cuMemcpyBatchAsync_ptsz {
        // The failing copy isn't identified: SIZE_MAX is the value for errors of the whole batch.
        failed.set_if_wanted(usize::MAX);
        Batch { to, from, sizes, count, attributes, firsts, attribute_count }.run(stream)
    }

    13000 fn cuMemcpyBatchAsync_v2(
        to: In<Pointer>, from: In<Pointer>, sizes: In<usize>, count: usize,
        attributes: In<[i32; 6]>, firsts: In<usize>, attribute_count: usize, stream: Handle,
    ) also cuMemcpyBatchAsync_v2_ptsz {
        Batch { to, from, sizes, count, attributes, firsts, attribute_count }.run(stream)
    }
}
