//! Launches: what a caller asks for, checked as the driver checks it before anything runs.

#![allow(unsafe_code, reason = "reads the parameters that a program passed")]

use std::sync::Arc;

use ptx_emulator::Launch;
use ptx_emulator::memory::Heap;

use crate::abi::In;
use crate::abi::error::{Code, Result};
use crate::abi::host_memory;
use crate::context::{Context, HEAP_LIMIT};
use crate::device::limits::{BLOCK, BLOCK_THREADS, GRID, PROCESSORS};
use crate::execution::function::Function;
use crate::execution::occupancy;

/// `CU_LAUNCH_PARAM_END`, `…_BUFFER_POINTER`, `…_BUFFER_SIZE`
const EXTRA_END: usize = 0;
const EXTRA_POINTER: usize = 1;
const EXTRA_SIZE: usize = 2;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
}

/// Checks `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`: three numbers of 32 bits.
///
/// # Errors
/// `NOT_SUPPORTED` for clusters of more than one block.
pub(crate) fn check_cluster(value: &[u64; 8]) -> Result {
    let [x, y] = [value[0] as u32, (value[0] >> 32) as u32];
    if x > 1 || y > 1 || value[1] as u32 > 1 {
        return Err(Code::NOT_SUPPORTED.because("clusters of more than one block are not emulated"));
    }
    Ok(())
}

/// The launch of a kernel. `current` is the context that a library's kernel runs in.
///
/// # Safety
/// `parameters` and `extra` are what the program passed for this kernel (`cuLaunchKernel`).
///
/// # Errors
/// `INVALID_VALUE`, `COOPERATIVE_LAUNCH_TOO_LARGE`, `OUT_OF_MEMORY`.
pub(crate) unsafe fn prepare(
    function: &Function,
    shape: Shape,
    parameters: In<usize>,
    extra: In<usize>,
    current: impl FnOnce() -> Result<Arc<Context>>,
) -> Result<Arc<Launch>> {
    check(function, shape)?;
    let parameters = match (parameters.is_null(), extra.is_null()) {
        (false, false) => {
            return Err(Code::INVALID_VALUE.because("a launch has kernelParams or extra, not both"));
        }
        // SAFETY: the caller's promise.
        (_, true) => unsafe { from_pointers(function, parameters)? },
        // SAFETY: the same.
        (true, false) => unsafe { from_extra(function, extra)? },
    };
    let Shape { grid, block, shared, cooperative } = shape;
    let context = function.own_context().map_or_else(current, Ok)?;
    let bytes = context.limit(HEAP_LIMIT)?;
    let heap = Heap { owner: context.handle as u64, bytes, device: context.device };
    let launch = Launch { grid, block, dynamic_shared: shared, parameters, cooperative, heap };
    check_room(function, &launch)?;
    Ok(Arc::new(launch))
}

/// The same launch, of which all blocks are there at once, or need not be.
///
/// # Errors
/// `COOPERATIVE_LAUNCH_TOO_LARGE`, `OUT_OF_MEMORY`.
pub(crate) fn cooperating(
    function: &Function,
    launch: &Launch,
    cooperative: bool,
) -> Result<Launch> {
    let Launch { grid, block, dynamic_shared: shared, .. } = *launch;
    check(function, Shape { grid, block, shared, cooperative })?;
    let launch = Launch { cooperative, ..launch.clone() };
    check_room(function, &launch)?;
    Ok(launch)
}

fn check(function: &Function, shape: Shape) -> Result {
    let Shape { grid, block, shared, cooperative } = shape;
    let name = function.kernel.name();
    let refuse = |why: String| Err(Code::INVALID_VALUE.because(format!("{name}: {why}")));
    let beyond = |axes: [u32; 3], most: [u32; 3]| axes.iter().zip(most).any(|(&n, most)| n > most);
    if grid.contains(&0) || block.contains(&0) {
        return refuse(format!("grid {grid:?} of blocks {block:?}: nothing may be 0"));
    }
    if count(block) > BLOCK_THREADS || beyond(block, BLOCK) {
        return refuse(format!(
            "blocks {block:?}: {BLOCK:?} and {BLOCK_THREADS} threads in all are the most"
        ));
    }
    if function.kernel.limits().required_cluster.is_some_and(|cluster| cluster != [1; 3]) {
        return Err(Code::NOT_SUPPORTED.because(format!(
            "{name} has a cluster of more than one block (.reqnctapercluster), which is not emulated"
        )));
    }
    if beyond(grid, GRID) {
        return refuse(format!("grid {grid:?}: {GRID:?} is the most"));
    }
    let limits = function.kernel.limits();
    if limits.required_threads.is_some_and(|required| required != block) {
        return refuse(format!("blocks {block:?}: the kernel says .reqntid"));
    }
    if count(block) > u64::from(function.max_threads()) {
        return refuse(format!(
            "blocks {block:?}: the kernel allows {} threads",
            function.max_threads()
        ));
    }
    if i64::from(shared) > i64::from(function.dynamic_shared()) {
        return refuse(format!(
            "{shared} bytes of dynamic shared memory: {} are the most, unless the attribute \
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is set first",
            function.dynamic_shared()
        ));
    }
    if cooperative {
        let threads = i32::try_from(count(block)).unwrap_or(i32::MAX);
        let resident = occupancy::blocks(function, threads, u64::from(shared));
        if count(grid) > u64::try_from(resident).unwrap_or(0) * PROCESSORS as u64 {
            return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE.because(format!(
                "{name}: grid {grid:?}: {resident} blocks fit on each of {PROCESSORS} multiprocessors"
            )));
        }
    }
    Ok(())
}

/// How many there are of a shape; 2^64 - 1 where they are more.
fn count(axes: [u32; 3]) -> u64 {
    axes.iter().fold(1, |product: u64, &n| product.saturating_mul(n.into()))
}

/// What is resident at once has its local memory from the device's.
fn check_room(function: &Function, launch: &Launch) -> Result {
    let blocks = if launch.cooperative { count(launch.grid) } else { 1 };
    let each = u64::from(function.kernel.local_bytes());
    let wanted = each.saturating_mul(count(launch.block)).saturating_mul(blocks);
    let free = function.hardware().allocations.free_bytes(launch.heap.device);
    if wanted <= free || wanted == 0 {
        return Ok(());
    }
    Err(Code::OUT_OF_MEMORY.because(format!(
        "{}: {wanted} bytes of local memory, {each} for each of {} threads of {blocks} resident blocks, \
         and {free} bytes are free: launch fewer threads, or declare less .local",
        function.kernel.name(),
        count(launch.block)
    )))
}

/// One pointer for each parameter, to its value.
///
/// # Safety
/// Where the system can't tell that they are not there, they are.
unsafe fn from_pointers(function: &Function, parameters: In<usize>) -> Result<Vec<u8>> {
    let layouts = function.kernel.parameters();
    let mut packed = vec![0; function.kernel.parameter_bytes() as usize];
    if layouts.is_empty() {
        return Ok(packed);
    }
    let name = function.kernel.name();
    let missing = |what: &str| {
        Code::INVALID_VALUE.because(format!("{name} takes {} parameters: {what}", layouts.len()))
    };
    if parameters.is_null() {
        return Err(missing("none were passed"));
    }
    // SAFETY: the caller's promise.
    let pointers = unsafe { host_memory::words(parameters.address(), layouts.len()) };
    let pointers = pointers.map_err(|_| missing("their pointers can't be read"))?;
    let ranges: Vec<(usize, usize)> = pointers
        .iter()
        .zip(layouts)
        .map(|(&pointer, layout)| (pointer, layout.size as usize))
        .collect();
    let mut values = vec![0; ranges.iter().map(|(_, size)| size).sum()];
    // SAFETY: the caller's promise.
    if !unsafe { host_memory::gather(&ranges, &mut values) } {
        return Err(missing("the values can't be read; were as many passed?"));
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

/// All parameters in one buffer, as `CU_LAUNCH_PARAM_BUFFER_POINTER` has it.
///
/// # Safety
/// As of [`from_pointers`].
unsafe fn from_extra(function: &Function, extra: In<usize>) -> Result<Vec<u8>> {
    let wrong = |why: &str| Code::INVALID_VALUE.because(format!("extra parameters: {why}"));
    // SAFETY: the caller's promise.
    let words = |at, count| unsafe { host_memory::words(at, count) };
    let (mut buffer, mut size) = (None, None);
    // The driver's list is of pairs and ends by itself; no driver knows more than two of them.
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
    // A C structure ends in padding that a list of parameters has not.
    if size < wanted || size > wanted.next_multiple_of(16) {
        return Err(wrong(&format!(
            "{} takes {wanted} bytes, and {size} were passed",
            function.kernel.name()
        )));
    }
    let mut packed = vec![0; wanted];
    // SAFETY: the caller's promise.
    if wanted > 0 && !unsafe { host_memory::gather(&[(buffer, wanted)], &mut packed) } {
        return Err(wrong("the buffer can't be read"));
    }
    Ok(packed)
}
