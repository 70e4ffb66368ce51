//! Attributes, parameters and occupancy of kernels.

use c_abi::{Code, export, fail_if};

use crate::abi::{FunctionAttributes, LaunchConfig};
use crate::api::launch::{driver_config, kernel_error};
use crate::context::bind_context;
use crate::driver;
use crate::ffi::{In, Out, Result};
use crate::registry::{is_kernel, kernel};

/// The driver's attribute numbers, in the order of the fields of `cudaFuncAttributes` that follow the sizes.
const ATTRIBUTE_NUMBERS: [i32; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];

/// The driver's handle of a kernel.
fn find(function: usize) -> Result<usize> {
    bind_context()?;
    fail_if!(function == 0, INVALID_DEVICE_FUNCTION, "func is null");
    kernel(function)
}

export! {
    /// Returns the attributes of a kernel.
    fn cudaFuncGetAttributes(out: Out<'_, FunctionAttributes>, function: usize) {
        out.require_as("attr")?;
        let kernel = find(function)?;
        let attribute = |which: i32| {
            let mut value = 0;
            kernel_error(driver::cuFuncGetAttribute(&mut value, which, kernel))?;
            Ok::<_, crate::ffi::Error>(value)
        };
        let mut all = FunctionAttributes {
            shared: attribute(1)? as usize,
            constant: attribute(2)? as usize,
            local: attribute(3)? as usize,
            ..FunctionAttributes::default()
        };
        for (value, which) in all.numbers.iter_mut().zip(ATTRIBUTE_NUMBERS) {
            *value = attribute(which)?;
        }
        out.set_as(all, "attr")
    }

    /// Sets an attribute; the driver's attributes have the same numbers.
    fn cudaFuncSetAttribute(function: usize, which: i32, value: i32) {
        kernel_error(driver::cuFuncSetAttribute(find(function)?, which, value))
    }

    /// Sets a cache preference, which has no effect on the emulator.
    fn cudaFuncSetCacheConfig(function: usize, config: i32) {
        kernel_error(driver::cuFuncSetCacheConfig(find(function)?, config))
    }

    /// Sets a preference for shared memory, which has no effect on the emulator.
    fn cudaFuncSetSharedMemConfig(function: usize, config: i32) {
        kernel_error(driver::cuFuncSetSharedMemConfig(find(function)?, config))
    }

    /// Returns the name of a kernel, as C++ mangles it.
    fn cudaFuncGetName(out: usize, function: usize) {
        kernel_error(driver::cuFuncGetName(out, find(function)?))
    }

    /// Returns the offset and size of a parameter.
    fn cudaFuncGetParamInfo(function: usize, index: usize, offset: usize, size: usize) {
        kernel_error(driver::cuFuncGetParamInfo(find(function)?, index, offset, size))
    }

    /// Returns the number of parameters.
    fn cudaFuncGetParamCount(function: usize, out: Out<'_, usize>) {
        out.require_as("paramCount")?;
        let kernel = find(function)?;
        let (mut offset, mut count) = (0usize, 0);
        let mut parameter_info = |index| {
            driver::cuFuncGetParamInfo(kernel, index, &raw mut offset as usize, 0)
        };
        loop {
            match parameter_info(count) {
                Ok(()) => count += 1,
                // There is no parameter with this index, so all have been counted.
                Err(error) if error.code == Code::INVALID_VALUE => break,
                Err(error) => return kernel_error(Err(error)),
            }
        }
        out.set_as(count, "paramCount")
    }

    /// Returns the driver's function handle of a kernel.
    fn cudaGetFuncBySymbol(out: usize, function: usize) {
        kernel_error(driver::cuKernelGetFunction(out, find(function)?))
    }

    /// Returns the driver's kernel handle.
    fn cudaGetKernel(out: Out<'_, usize>, function: usize) {
        bind_context()?;
        fail_if!(!is_kernel(function), INVALID_DEVICE_FUNCTION, "no kernel is registered at this address");
        out.set_as(kernel(function)?, "kernel")
    }

    /// Returns the number of blocks that fit on a multiprocessor.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: usize, function: usize, block: i32, shared: usize) {
        kernel_error(driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out, find(function)?, block, shared, 0,
        ))
    }

    /// Returns the number of blocks that fit on a multiprocessor, given flags.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: usize, function: usize, block: i32, shared: usize, flags: u32
    ) {
        kernel_error(driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out, find(function)?, block, shared, flags,
        ))
    }

    /// Returns the shared memory available to each block when `blocks` blocks run on a multiprocessor.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(out: usize, function: usize, blocks: i32, block: i32) {
        kernel_error(driver::cuOccupancyAvailableDynamicSMemPerBlock(out, find(function)?, blocks, block))
    }

    /// Returns the maximum cluster size.
    fn cudaOccupancyMaxPotentialClusterSize(out: usize, function: usize, config: In<'_, LaunchConfig>) {
        let kernel = find(function)?;
        let config = driver_config(&config.get_as("launchConfig")?)?;
        kernel_error(driver::cuOccupancyMaxPotentialClusterSize(out, kernel, &raw const config as usize))
    }

    /// Returns the number of clusters that fit on the device.
    fn cudaOccupancyMaxActiveClusters(out: usize, function: usize, config: In<'_, LaunchConfig>) {
        let kernel = find(function)?;
        let config = driver_config(&config.get_as("launchConfig")?)?;
        kernel_error(driver::cuOccupancyMaxActiveClusters(out, kernel, &raw const config as usize))
    }
}
