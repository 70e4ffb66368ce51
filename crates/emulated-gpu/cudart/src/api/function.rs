//! What is known of a kernel, and what may be asked of it.

use c_abi::{Code, export, fail_if};

use crate::abi::{FunctionAttributes, LaunchConfig};
use crate::api::launch::driver_config;
use crate::context::bind;
use crate::driver;
use crate::ffi::{In, Out, Result};
use crate::registry::{is_kernel, kernel};

/// The driver's numbers of attributes, in the order of `cudaFuncAttributes` behind its sizes.
const NUMBERS: [i32; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];

/// The driver's kernel.
fn find(function: usize) -> Result<usize> {
    bind()?;
    fail_if!(function == 0, INVALID_DEVICE_FUNCTION, "func is null");
    kernel(function)
}

/// What the driver says of a kernel that isn't one.
fn known(done: Result) -> Result {
    done.map_err(|error| match error.code {
        Code::INVALID_HANDLE => Code::INVALID_DEVICE_FUNCTION.because("the kernel is not known"),
        _ => error,
    })
}

export! {
    /// What a kernel needs.
    fn cudaFuncGetAttributes(out: Out<'_, FunctionAttributes>, function: usize) {
        out.required_as("attr")?;
        let kernel = find(function)?;
        let attribute = |which: i32| {
            let mut value = 0;
            known(driver::cuFuncGetAttribute(&mut value, which, kernel))?;
            Ok::<_, crate::ffi::Error>(value)
        };
        let mut all = FunctionAttributes {
            shared: attribute(1)? as usize,
            constant: attribute(2)? as usize,
            local: attribute(3)? as usize,
            ..FunctionAttributes::default()
        };
        for (value, which) in all.numbers.iter_mut().zip(NUMBERS) {
            *value = attribute(which)?;
        }
        out.set_as(all, "attr")
    }

    /// Asks something of it; the driver's attributes have the same numbers.
    fn cudaFuncSetAttribute(function: usize, which: i32, value: i32) {
        known(driver::cuFuncSetAttribute(find(function)?, which, value))
    }

    /// A preference, which changes nothing here.
    fn cudaFuncSetCacheConfig(function: usize, config: i32) {
        known(driver::cuFuncSetCacheConfig(find(function)?, config))
    }

    /// A preference, which changes nothing here.
    fn cudaFuncSetSharedMemConfig(function: usize, config: i32) {
        known(driver::cuFuncSetSharedMemConfig(find(function)?, config))
    }

    /// Its name, as C++ mangles it.
    fn cudaFuncGetName(out: usize, function: usize) {
        known(driver::cuFuncGetName(out, find(function)?))
    }

    /// Where a parameter is, and how long.
    fn cudaFuncGetParamInfo(function: usize, index: usize, offset: usize, size: usize) {
        known(driver::cuFuncGetParamInfo(find(function)?, index, offset, size))
    }

    /// How many parameters there are.
    fn cudaFuncGetParamCount(function: usize, out: Out<'_, usize>) {
        out.required_as("paramCount")?;
        let kernel = find(function)?;
        let (mut offset, mut count) = (0usize, 0);
        let mut more = |index| {
            driver::cuFuncGetParamInfo(kernel, index, &raw mut offset as usize, 0)
        };
        loop {
            match more(count) {
                Ok(()) => count += 1,
                // There is no such parameter.
                Err(error) if error.code == Code::INVALID_VALUE => break,
                Err(error) => return known(Err(error)),
            }
        }
        out.set_as(count, "paramCount")
    }

    /// The driver's function.
    fn cudaGetFuncBySymbol(out: usize, function: usize) {
        known(driver::cuKernelGetFunction(out, find(function)?))
    }

    /// The driver's kernel.
    fn cudaGetKernel(out: Out<'_, usize>, function: usize) {
        bind()?;
        fail_if!(!is_kernel(function), INVALID_DEVICE_FUNCTION, "no kernel is registered there");
        out.set_as(kernel(function)?, "kernel")
    }

    /// How many blocks fit on a multiprocessor.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: usize, function: usize, block: i32, shared: usize) {
        known(driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out, find(function)?, block, shared, 0,
        ))
    }

    /// The same, with flags.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: usize, function: usize, block: i32, shared: usize, flags: u32
    ) {
        known(driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out, find(function)?, block, shared, flags,
        ))
    }

    /// How much shared memory is left for each block.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(out: usize, function: usize, blocks: i32, block: i32) {
        known(driver::cuOccupancyAvailableDynamicSMemPerBlock(out, find(function)?, blocks, block))
    }

    /// How large a cluster can be.
    fn cudaOccupancyMaxPotentialClusterSize(out: usize, function: usize, config: In<'_, LaunchConfig>) {
        let kernel = find(function)?;
        let config = driver_config(&config.get_as("launchConfig")?)?;
        known(driver::cuOccupancyMaxPotentialClusterSize(out, kernel, &raw const config as usize))
    }

    /// How many clusters fit on the device.
    fn cudaOccupancyMaxActiveClusters(out: usize, function: usize, config: In<'_, LaunchConfig>) {
        let kernel = find(function)?;
        let config = driver_config(&config.get_as("launchConfig")?)?;
        known(driver::cuOccupancyMaxActiveClusters(out, kernel, &raw const config as usize))
    }
}
