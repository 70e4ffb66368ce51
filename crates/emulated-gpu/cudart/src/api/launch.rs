//! Launches.

use c_abi::{Code, export};

use crate::abi::{Dim3, DriverLaunchConfig, LaunchConfig, per_thread};
use crate::context::{bind, device};
use crate::driver;
use crate::ffi::{In, Result, export_on_stream};
use crate::registry::kernel;

/// What there may be of each, as the device's attributes: blocks and threads along each axis, threads.
const THREADS: i32 = 1;
const BLOCK: [i32; 3] = [2, 3, 4];
const GRID: [i32; 3] = [5, 6, 7];

/// Refuses what the runtime refuses before the driver sees it.
fn check(grid: Dim3, block: Dim3) -> Result {
    let device = device()?;
    let most = |which: i32| {
        let mut value = 0;
        driver::cuDeviceGetAttribute(&mut value, which, device)?;
        Ok::<_, crate::ffi::Error>(value as u64)
    };
    let wrong = |what: String| Err(Code::INVALID_CONFIGURATION.because(what));
    for (what, dim, numbers) in [("blocks", grid, GRID), ("threads of a block", block, BLOCK)] {
        for (count, (axis, which)) in
            [dim.x, dim.y, dim.z].into_iter().zip("xyz".chars().zip(numbers))
        {
            let most = most(which)?;
            if count == 0 || u64::from(count) > most {
                return wrong(format!("{count} {what} along {axis}: there can be 1 to {most}"));
            }
        }
    }
    let (threads, most) =
        (u64::from(block.x) * u64::from(block.y) * u64::from(block.z), most(THREADS)?);
    if threads > most {
        return wrong(format!("{threads} threads in a block: there can be {most}"));
    }
    Ok(())
}

/// What the driver says to a function that is none.
fn known(done: Result) -> Result {
    done.map_err(|error| match error.code {
        Code::INVALID_HANDLE => Code::INVALID_DEVICE_FUNCTION.because(
            "the kernel is not known: was the program linked with the file that has it, and built with \
             nvcc?",
        ),
        _ => error,
    })
}

/// What the driver is to launch.
pub(super) fn driver_config(config: &LaunchConfig) -> Result<DriverLaunchConfig> {
    check(config.grid, config.block)?;
    let shared = u32::try_from(config.shared).map_err(|_| {
        Code::INVALID_VALUE.because(format!("{} bytes of shared memory", config.shared))
    })?;
    let &LaunchConfig { grid, block, stream, attributes, count, .. } = config;
    Ok(DriverLaunchConfig { grid, block, shared, stream, attributes, count })
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn launch(config: &LaunchConfig, function: usize, arguments: usize) -> Result {
    bind()?;
    let config = driver_config(config)?;
    let at = &raw const config as usize;
    known(driver::cuLaunchKernelEx(at, kernel(function)?, arguments, 0))
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn simple(
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
        simple(function, (grid, block), arguments, shared, stream)
    }

    /// The same, for what nvcc makes of `<<<…>>>`.
    fn __cudaLaunchKernel / __cudaLaunchKernel_ptsz(
        function: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize; stream
    ) {
        simple(function, (grid, block), arguments, shared, stream)
    }

    /// Launches a kernel whose blocks wait for each other.
    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz(
        function: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize; stream
    ) {
        bind()?;
        let config = LaunchConfig { grid, block, shared, stream, attributes: 0, count: 0 };
        let DriverLaunchConfig { grid, block, shared, stream, .. } = driver_config(&config)?;
        known(driver::cuLaunchCooperativeKernel(
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

    /// The same, with stream 0 as the calling thread's own.
    fn cudaLaunchKernelExC_ptsz(config: In<'_, LaunchConfig>, function: usize, arguments: usize) {
        let config = config.get_as("config")?;
        launch(&LaunchConfig { stream: per_thread(config.stream), ..config }, function, arguments)
    }
}
