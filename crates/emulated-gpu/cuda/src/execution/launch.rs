//! Launches: their parameters, and the driver's checks before anything runs.

#![allow(unsafe_code, reason = "reads the parameters that a program passed")]

use std::sync::Arc;

use ptx_emulator::Launch;
use ptx_emulator::memory::Heap;

use crate::abi::In;
use crate::abi::error::{Code, Result};
use crate::abi::host_memory;
use crate::context::{Context, HEAP_LIMIT};
use crate::device::limits::{MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID, PROCESSORS};
use crate::execution::function::Function;
use crate::execution::occupancy;

/// `CU_LAUNCH_PARAM_END`, `…_BUFFER_POINTER`, `…_BUFFER_SIZE`
pub(crate) const EXTRA_END: usize = 0;
pub(crate) const EXTRA_POINTER: usize = 1;
pub(crate) const EXTRA_SIZE: usize = 2;

/// The grid, the block size, the shared memory and the kind of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
}

/// Checks `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`, which consists of three 32-bit numbers.
///
/// # Errors
/// `NOT_SUPPORTED` if a cluster has more than one block.
pub(crate) fn check_cluster(value: &[u64; 8]) -> Result {
    let [x, y] = [value[0] as u32, (value[0] >> 32) as u32];
    if x > 1 || y > 1 || value[1] as u32 > 1 {
        return Err(Code::NOT_SUPPORTED.because("clusters of more than one block are not emulated"));
    }
    Ok(())
}

/// Prepares the launch of a kernel. `current` returns the context in which a library's kernel runs.
///
/// # Safety
/// `parameters` and `extra` are those that the program passed to `cuLaunchKernel` for this kernel.
///
/// # Errors
/// `INVALID_VALUE` if the shape or the parameters are invalid; `NOT_SUPPORTED` if the kernel requires clusters of more
/// than one block; `COOPERATIVE_LAUNCH_TOO_LARGE` if the blocks of a cooperative launch can't all be resident;
/// `OUT_OF_MEMORY` if the device is out of memory for the threads' local memory; otherwise the errors of `current`.
pub(crate) unsafe fn prepare(
    function: &Function,
    shape: LaunchShape,
    parameters: In<usize>,
    extra: In<usize>,
    current: impl FnOnce() -> Result<Arc<Context>>,
) -> Result<Arc<Launch>> {
    check(function, shape)?;
    let parameters = match (parameters.is_null(), extra.is_null()) {
        (false, false) => {
            return Err(Code::INVALID_VALUE
                .because("a launch takes either kernelParams or extra, not both"));
        }
        // SAFETY: guaranteed by the caller.
        (_, true) => unsafe { from_pointers(function, parameters)? },
        // SAFETY: the same.
        (true, false) => unsafe { from_extra(function, extra)? },
    };
    let LaunchShape { grid, block, shared, cooperative } = shape;
    let context = function.module_context().map_or_else(current, Ok)?;
    let bytes = context.limit(HEAP_LIMIT)?;
    let heap = Heap { owner: context.handle as u64, bytes, device: context.device };
    let launch = Launch { grid, block, dynamic_shared: shared, parameters, cooperative, heap };
    check_local_memory(function, &launch)?;
    Ok(Arc::new(launch))
}

/// Copies a launch with another value of `cooperative`.
///
/// # Errors
/// See [`prepare`].
pub(crate) fn set_cooperative_launch(
    function: &Function,
    launch: &Launch,
    cooperative: bool,
) -> Result<Launch> {
    let Launch { grid, block, dynamic_shared: shared, .. } = *launch;
    check(function, LaunchShape { grid, block, shared, cooperative })?;
    let launch = Launch { cooperative, ..launch.clone() };
    check_local_memory(function, &launch)?;
    Ok(launch)
}

fn check(function: &Function, shape: LaunchShape) -> Result {
    let LaunchShape { grid, block, shared, cooperative } = shape;
    let name = function.kernel.name();
    let invalid = |why: String| Err(Code::INVALID_VALUE.because(format!("{name}: {why}")));
    let exceeds = |axes: [u32; 3], max: [u32; 3]| axes.iter().zip(max).any(|(&n, max)| n > max);
    if grid.contains(&0) || block.contains(&0) {
        return invalid(format!("grid {grid:?} of blocks {block:?}: no dimension may be 0"));
    }
    if count(block) > MAX_BLOCK_THREADS || exceeds(block, MAX_BLOCK) {
        return invalid(format!(
            "blocks {block:?}: the maximum is {MAX_BLOCK:?}, and {MAX_BLOCK_THREADS} threads"
        ));
    }
    if function.kernel.limits().required_cluster.is_some_and(|cluster| cluster != [1; 3]) {
        return Err(Code::NOT_SUPPORTED
            .because(format!("{name} requires clusters of more than one block (.reqnctapercluster), which are not emulated")));
    }
    if exceeds(grid, MAX_GRID) {
        return invalid(format!("grid {grid:?}: the maximum is {MAX_GRID:?}"));
    }
    let limits = function.kernel.limits();
    if limits.required_threads.is_some_and(|required| required != block) {
        return invalid(format!("blocks {block:?}: the kernel requires another size (.reqntid)"));
    }
    if count(block) > u64::from(function.max_threads()) {
        return invalid(format!(
            "blocks {block:?}: the kernel allows at most {} threads",
            function.max_threads()
        ));
    }
    if i64::from(shared) > i64::from(function.dynamic_shared()) {
        return invalid(format!(
            "{shared} bytes of dynamic shared memory: the maximum is {}, unless the attribute \
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is set before",
            function.dynamic_shared()
        ));
    }
    if cooperative {
        let threads = i32::try_from(count(block)).unwrap_or(i32::MAX);
        let resident = occupancy::blocks(function, threads, u64::from(shared));
        if count(grid) > u64::try_from(resident).unwrap_or(0) * PROCESSORS as u64 {
            return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE
                .because(format!("{name}: grid {grid:?}: only {resident} blocks fit on each of {PROCESSORS} multiprocessors")));
        }
    }
    Ok(())
}

/// The product of the axes, saturating at 2^64 - 1.
fn count(axes: [u32; 3]) -> u64 {
    axes.iter().fold(1, |product: u64, &n| product.saturating_mul(n.into()))
}

/// Checks that the local memory of all resident threads fits in the device's free memory.
fn check_local_memory(function: &Function, launch: &Launch) -> Result {
    let blocks = if launch.cooperative { count(launch.grid) } else { 1 };
    let each = u64::from(function.kernel.local_bytes());
    let wanted = each.saturating_mul(count(launch.block)).saturating_mul(blocks);
    let free = function.hardware().allocations.free_bytes(launch.heap.device);
    if wanted <= free || wanted == 0 {
        return Ok(());
    }
    Err(Code::OUT_OF_MEMORY.because(format!(
        "{}: {wanted} bytes of local memory, {each} for each of {} threads of {blocks} resident blocks, \
         but only {free} bytes are free; launch fewer threads, or declare less .local",
        function.kernel.name(),
        count(launch.block)
    )))
}

/// Reads the parameters through a list of pointers, one for each value.
///
/// # Safety
/// The list and the values are readable, or the system can detect that they aren't.
unsafe fn from_pointers(function: &Function, parameters: In<usize>) -> Result<Vec<u8>> {
    let layouts = function.kernel.parameters();
    let mut packed = vec![0; function.kernel.parameter_bytes() as usize];
    if layouts.is_empty() {
        return Ok(packed);
    }
    let name = function.kernel.name();
    let missing = |what: &str| {
        Code::INVALID_VALUE.because(format!("{name} takes {} parameters; {what}", layouts.len()))
    };
    if parameters.is_null() {
        return Err(missing("none were passed"));
    }
    // SAFETY: guaranteed by the caller.
    let pointers = unsafe { host_memory::words(parameters.address(), layouts.len()) };
    let pointers = pointers.map_err(|_| missing("their pointers can't be read"))?;
    let ranges: Vec<(usize, usize)> = pointers
        .iter()
        .zip(layouts)
        .map(|(&pointer, layout)| (pointer, layout.size as usize))
        .collect();
    let mut values = vec![0; ranges.iter().map(|(_, size)| size).sum()];
    // SAFETY: guaranteed by the caller.
    if !unsafe { host_memory::gather(&ranges, &mut values) } {
        return Err(missing("their values can't be read; pass a pointer for each parameter"));
    }
    let mut rest = &values[..];
    for layout in layouts {
        let (value, after) = rest.split_at(layout.size as usize);
        rest = after;
        if let Some(place) =
            packed.get_mut(layout.offset as usize..).and_then(|p| p.get_mut(..value.len()))
        {
            place.copy_from_slice(value);
        }
    }
    Ok(packed)
}

/// Reads the parameters from one buffer (`CU_LAUNCH_PARAM_BUFFER_POINTER`).
///
/// # Safety
/// See [`from_pointers`].
unsafe fn from_extra(function: &Function, extra: In<usize>) -> Result<Vec<u8>> {
    let wrong = |why: &str| Code::INVALID_VALUE.because(format!("extra parameters: {why}"));
    // SAFETY: guaranteed by the caller.
    let words = |at, count| unsafe { host_memory::words(at, count) };
    let (mut buffer, mut size) = (None, None);
    // The list consists of pairs, at most two, and an end marker.
    for pair in 0..3 {
        let at = extra.address() + pair * 16;
        if words(at, 1)? == [EXTRA_END] {
            break;
        }
        match words(at, 2)?[..] {
            [EXTRA_POINTER, pointer] => buffer = Some(pointer),
            [EXTRA_SIZE, pointer] => size = words(pointer, 1)?.first().copied(),
            _ => return Err(wrong("the list does not end with CU_LAUNCH_PARAM_END")),
        }
    }
    let (Some(buffer), Some(size)) = (buffer, size) else {
        return Err(wrong("the buffer or its size is missing"));
    };
    let wanted = function.kernel.parameter_bytes() as usize;
    // A C structure may end in padding, which a parameter list doesn't have.
    if size < wanted || size > wanted.next_multiple_of(16) {
        return Err(wrong(&format!(
            "{} takes {wanted} bytes, and {size} were passed",
            function.kernel.name()
        )));
    }
    let mut packed = vec![0; wanted];
    // SAFETY: guaranteed by the caller.
    if wanted > 0 && !unsafe { host_memory::gather(&[(buffer, wanted)], &mut packed) } {
        return Err(wrong("the buffer can't be read"));
    }
    Ok(packed)
}
