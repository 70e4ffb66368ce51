//! Kernel launches.

use c_abi::{Code, export};

use crate::abi::{Dim3, DriverLaunchConfig, LaunchConfig, per_thread};
use crate::context::{bind_context, device};
use crate::driver;
use crate::ffi::{In, Result, export_on_stream};
use crate::registry::kernel;

/// The numbers of the device attributes with launch limits: the threads of a block in total, the threads of a block
/// along each axis, and the blocks of a grid along each axis.
const THREADS: i32 = 1;
const BLOCK: [i32; 3] = [2, 3, 4];
const GRID: [i32; 3] = [5, 6, 7];

/// Returns `cudaErrorInvalidConfiguration` for a grid or block beyond the device's limits. The driver would return
/// another code.
fn check_size(grid: Dim3, block: Dim3) -> Result {
    let device = device()?;
    let max = |which: i32| {
        let mut value = 0;
        driver::cuDeviceGetAttribute(&mut value, which, device)?;
        Ok::<_, crate::ffi::Error>(value as u64)
    };
    let invalid = |what: String| Err(Code::INVALID_CONFIGURATION.because(what));
    for (what, dim, numbers) in [("blocks", grid, GRID), ("threads in a block", block, BLOCK)] {
        for (count, (axis, which)) in
            [dim.x, dim.y, dim.z].into_iter().zip("xyz".chars().zip(numbers))
        {
            let max = max(which)?;
            if count == 0 || u64::from(count) > max {
                return invalid(format!("{count} {what} along {axis}: the limit is 1 to {max}"));
            }
        }
    }
    let (threads, max) =
        (u64::from(block.x) * u64::from(block.y) * u64::from(block.z), max(THREADS)?);
    if threads > max {
        return invalid(format!("{threads} threads in a block: the limit is {max}"));
    }
    Ok(())
}

/// Converts the driver's error code for an invalid kernel handle to the runtime's.
pub(super) fn kernel_error(done: Result) -> Result {
    done.map_err(|error| match error.code {
        Code::INVALID_HANDLE => Code::INVALID_DEVICE_FUNCTION.because(
            "the kernel is not known: link the program with the object file that defines it, and compile \
             that file with nvcc",
        ),
        _ => error,
    })
}

/// Checks a launch configuration and converts it to the driver's.
pub(super) fn driver_config(config: &LaunchConfig) -> Result<DriverLaunchConfig> {
    check_size(config.grid, config.block)?;
    let shared = u32::try_from(config.shared).map_err(|_| {
        Code::INVALID_VALUE.because(format!("{} bytes of shared memory", config.shared))
    })?;
    let &LaunchConfig { grid, block, stream, attributes, count, .. } = config;
    Ok(DriverLaunchConfig { grid, block, shared, stream, attributes, count })
}

unsafe fn launch(config: &LaunchConfig, function: usize, arguments: usize) -> Result {
    bind_context()?;
    let config = driver_config(config)?;
    let at = &raw const config as usize;
    kernel_error(driver::cuLaunchKernelEx(at, kernel(function)?, arguments, 0))
}

unsafe fn launch_with_sizes(
    function: usize,
    (grid, block): (Dim3, Dim3),
    arguments: usize,
    shared: usize,
    stream: usize,
) -> Result {
    let config = LaunchConfig { grid, block, shared, stream, attributes: 0, count: 0 };
    launch(&config, function, arguments)
}

export_on_stream! {
    /// Launches a kernel.
    fn cudaLaunchKernel / cudaLaunchKernel_ptsz(
        function: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize; stream
    ) {
        launch_with_sizes(function, (grid, block), arguments, shared, stream)
    }

    /// Launches a kernel. nvcc's code for `<<<…>>>` calls this function.
    fn __cudaLaunchKernel / __cudaLaunchKernel_ptsz(
        function: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize; stream
    ) {
        launch_with_sizes(function, (grid, block), arguments, shared, stream)
    }

    /// Launches a kernel whose blocks can wait for each other.
    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz(
        function: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize; stream
    ) {
        bind_context()?;
        let config = LaunchConfig { grid, block, shared, stream, attributes: 0, count: 0 };
        let DriverLaunchConfig { grid, block, shared, stream, .. } = driver_config(&config)?;
        kernel_error(driver::cuLaunchCooperativeKernel(
            kernel(function)?, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
            arguments,
        ))
    }
}

export! {
    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC(config: In<'_, LaunchConfig>, function: usize, arguments: usize) {
        launch(&config.get_as("config")?, function, arguments)
    }

    /// Launches a kernel with attributes; stream 0 is the per-thread default stream.
    fn cudaLaunchKernelExC_ptsz(config: In<'_, LaunchConfig>, function: usize, arguments: usize) {
        let config = config.get_as("config")?;
        launch(&LaunchConfig { stream: per_thread(config.stream), ..config }, function, arguments)
    }
}
