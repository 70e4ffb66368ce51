//! Functions: attributes, occupancy, and launches. Kernels of libraries also have function handles.

use std::ffi::c_char;
use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, HostFunction, In, LaunchConfig, List, Out, SharedBytesForBlock};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::device::limits::PROCESSORS;
use crate::execution::function::Function;
use crate::execution::launch::{LaunchShape, check_cluster, prepare};
use crate::execution::occupancy;
use crate::graph::operation::Operation;
use crate::stream;

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, `…_CLUSTER_DIMENSION`
const COOPERATIVE: i32 = 2;
const CLUSTER_DIMENSION: i32 = 4;

/// Enqueues a launch, with the parameters as `cuLaunchKernel` takes them.
pub(crate) unsafe fn launch(
    function: Handle,
    shape: LaunchShape,
    stream: Handle,
    parameters: In<usize>,
    extra: In<usize>,
) -> Result {
    let function = driver()?.function(function)?;
    let stream = calling_thread::stream(stream)?;
    // A kernel of a library belongs to no context, and can run in every context.
    if function.context != 0 && stream.context.handle != function.context {
        return Err(Code::INVALID_HANDLE
            .because("the function and the stream belong to different contexts"));
    }
    let current = calling_thread::context_of_any_state;
    let launch = prepare(&function, shape, parameters, extra, current)?;
    stream::enqueue(&stream, Operation::Launch { function, launch })
}

/// Finds the function with this handle. Null has a separate error, as `cuFuncGetName` and `cuKernelGetName` require.
fn non_null(function: Handle) -> Result<Arc<Function>> {
    fail_if!(function == 0, INVALID_VALUE, "the function is null");
    driver()?.function(function)
}

/// The block size with the highest occupancy; dynamic shared memory may depend on it.
fn best_block_size(
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    shared_for_block: SharedBytesForBlock,
    shared: usize,
    limit: i32,
) -> Result {
    grid.required()?;
    block.required()?;
    let function = driver()?.function(function)?;
    let shared = |size: i32| match shared_for_block {
        // SAFETY: the program passed this function as a callback that takes a block size.
        Some(shared_for_block) => unsafe { shared_for_block(size) as u64 },
        None => shared as u64,
    };
    let (size, fit) = occupancy::best(&function, limit, shared);
    fail_if!(fit == 0, INVALID_VALUE, "no block of this kernel fits on a multiprocessor");
    grid.set(fit * PROCESSORS)?;
    block.set(size)
}

fn resident_blocks(
    count: Out<i32>,
    function: Handle,
    threads: i32,
    shared: usize,
    flags: u32,
) -> Result {
    count.required()?;
    fail_if!(threads <= 0 || flags > 1, INVALID_VALUE, "{threads} threads, flags {flags:#x}");
    let function: Arc<Function> = driver()?.function(function)?;
    count.set(occupancy::blocks(&function, threads, shared as u64))
}

export! {
    2020 fn cuFuncGetAttribute(value as required: Out<i32>, attribute: u32, function: Handle) {
        value.set(driver()?.function(function)?.attribute(attribute)?)
    }

    9000 fn cuFuncSetAttribute(function: Handle, attribute: u32, value: i32) {
        driver()?.function(function)?.set_attribute(attribute, value)
    }

    3000 fn cuFuncSetCacheConfig(function: Handle, config: u32) {
        driver()?.function(function)?;
        fail_if!(config > 3, INVALID_VALUE, "there is no cache configuration {config}");
        Ok(())
    }

    4020 fn cuFuncSetSharedMemConfig(function: Handle, config: u32) {
        driver()?.function(function)?;
        fail_if!(config > 2, INVALID_VALUE, "there is no bank configuration {config}");
        Ok(())
    }

    11000 fn cuFuncGetModule(out as required: Out<Handle>, function: Handle), 12050 cuKernelGetLibrary {
        out.set(driver()?.function(function)?.module)
    }

    12030 fn cuFuncGetName(name as required: Out<*const c_char>, function: Handle), 12030 cuKernelGetName {
        name.set(non_null(function)?.name.as_ptr())
    }

    12040 fn cuFuncGetParamInfo(
        function: Handle, index: usize, offset as required: Out<usize>, size: Out<usize>,
    ) {
        let function = driver()?.function(function)?;
        let layout = function.kernel.parameters().get(index).ok_or_else(|| {
            Code::INVALID_VALUE.because(format!("{} has no parameter {index}", function.kernel.name()))
        })?;
        size.set_if_wanted(layout.size as usize);
        offset.set(layout.offset as usize)
    }

    13020 fn cuFuncGetParamCount(function: Handle, count as required: Out<usize>), 13020 cuKernelGetParamCount {
        count.set(driver()?.function(function)?.kernel.parameters().len())
    }

    12040 fn cuFuncIsLoaded(state as required: Out<u32>, function: Handle) {
        driver()?.function(function)?;
        state.set(1)
    }

    12040 fn cuFuncLoad(function: Handle) {
        driver()?.function(function).map(|_| ())
    }

    12000 fn cuKernelGetFunction(out as required: Out<Handle>, kernel: Handle) {
        out.set(driver()?.function(kernel)?.handle)
    }

    12000 fn cuKernelGetAttribute(value as required: Out<i32>, attribute: u32, kernel: Handle, device: i32) {
        crate::api::device::check(device)?;
        value.set(driver()?.function(kernel)?.attribute(attribute)?)
    }

    12000 fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: Handle, device: i32) {
        crate::api::device::check(device)?;
        driver()?.function(kernel)?.set_attribute(attribute, value)
    }

    12000 fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, device: i32) {
        crate::api::device::check(device)?;
        driver()?.function(kernel).map(|_| ())
    }

    12040 fn cuKernelGetParamInfo(
        kernel: Handle, index: usize, offset as required: Out<usize>, size: Out<usize>,
    ) {
        // Like NVIDIA's driver, this requires a current context, into which a library's kernel would be loaded.
        calling_thread::context()?;
        let function = driver()?.function(kernel)?;
        let layout = function.kernel.parameters().get(index).ok_or(Code::INVALID_VALUE)?;
        size.set_if_wanted(layout.size as usize);
        offset.set(layout.offset as usize)
    }

    4000 fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared: u32, stream: Handle, parameters: In<usize>, extra: In<usize>,
    ) also cuLaunchKernel_ptsz {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(function, LaunchShape { grid, block, shared, cooperative: false }, stream, parameters, extra)
    }

    9000 fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
        block_z: u32, shared: u32, stream: Handle, parameters: In<usize>,
    ) also cuLaunchCooperativeKernel_ptsz {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = LaunchShape { grid, block, shared, cooperative: true };
        launch(function, shape, stream, parameters, In::null())
    }

    11060 fn cuLaunchKernelEx(
        config: In<LaunchConfig>, function: Handle, parameters: In<usize>, extra: In<usize>,
    ) also cuLaunchKernelEx_ptsz {
        let LaunchConfig { grid, block, shared, stream, attributes, attribute_count } = config.get()?;
        let mut cooperative = false;
        for attribute in attributes.list(attribute_count as usize)? {
            match attribute.id {
                COOPERATIVE => cooperative = attribute.value[0] as u32 != 0,
                CLUSTER_DIMENSION => check_cluster(&attribute.value)?,
                // The other attributes are hints, or concern features that the emulator doesn't have.
                _ => {}
            }
        }
        launch(function, LaunchShape { grid, block, shared, cooperative }, stream, parameters, extra)
    }

    10000 fn cuLaunchHostFunc(stream: Handle, function: HostFunction, data: Out<u8>)
    also cuLaunchHostFunc_ptsz {
        fail_if!(function.is_none(), INVALID_VALUE, "the host function is null");
        let stream = calling_thread::stream(stream)?;
        stream::enqueue(&stream, Operation::Host { function, data: data.address() })
    }

    6050 fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        count: Out<i32>, function: Handle, threads: i32, shared: usize,
    ) {
        resident_blocks(count, function, threads, shared, 0)
    }

    7000 fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: Out<i32>, function: Handle, threads: i32, shared: usize, flags: u32,
    ) {
        resident_blocks(count, function, threads, shared, flags)
    }

    6050 fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_for_block: SharedBytesForBlock, shared: usize,
        limit: i32,
    ) {
        best_block_size(grid, block, function, shared_for_block, shared, limit)
    }

    7000 fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_for_block: SharedBytesForBlock, shared: usize,
        limit: i32, flags: u32,
    ) {
        fail_if!(flags > 1, INVALID_VALUE, "unknown flags {flags:#x}");
        best_block_size(grid, block, function, shared_for_block, shared, limit)
    }

    10020 fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes as required: Out<usize>, function: Handle, blocks: i32, threads: i32,
    ) {
        let function = driver()?.function(function)?;
        if blocks <= 0 || threads <= 0 || occupancy::blocks(&function, threads, 0) < blocks {
            return Err(Code::INVALID_VALUE
                .because(format!("{blocks} blocks of {threads} threads do not fit on a multiprocessor")));
        }
        bytes.set(occupancy::dynamic_shared(&function, blocks) as usize)
    }

    11070 fn cuOccupancyMaxPotentialClusterSize(
        size as required: Out<i32>, function: Handle, _config: In<LaunchConfig>,
    ) {
        driver()?.function(function)?;
        // The only cluster size is one block.
        size.set(1)
    }

    11070 fn cuOccupancyMaxActiveClusters(
        count as required: Out<i32>, function: Handle, config: In<LaunchConfig>,
    ) {
        calling_thread::context()?;
        let function = driver()?.function(function)?;
        let config = config.get()?;
        let threads = config.block.iter().try_fold(1u32, |all, &axis| all.checked_mul(axis));
        let threads = threads.and_then(|threads| i32::try_from(threads).ok()).ok_or(Code::INVALID_VALUE)?;
        count.set(occupancy::blocks(&function, threads, u64::from(config.shared)) * PROCESSORS)
    }
}
