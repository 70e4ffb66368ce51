//! Launches in several calls, as before CUDA 4.0 (CUDA Driver API, "Execution Control [DEPRECATED]"). PyCUDA's launches
//! with texture references and its prepared calls use them, and it needs all of them to be imported.

use std::sync::PoisonError;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, Text};
use crate::api::driver::driver;
use crate::api::execution::launch;
use crate::api::texture::reference::check_texture;
use crate::execution::launch::{EXTRA_END, EXTRA_POINTER, EXTRA_SIZE, LaunchShape};
use crate::execution::legacy::LegacyLaunch;

/// `CU_PARAM_TR_DEFAULT`: the texture unit is the one that the module assigned.
const DEFAULT_UNIT: i32 = -1;

/// Changes the parts of a kernel's launch.
fn set(function: Handle, change: impl FnOnce(&mut LegacyLaunch) -> Result) -> Result {
    let function = driver()?.function(function)?;
    let mut parts = function.legacy.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut parts)
}

/// Launches on a grid of two dimensions.
unsafe fn launch_grid(function: Handle, [width, height]: [i32; 2], stream: Handle) -> Result {
    let parts = driver()?.function(function)?;
    let parts = parts.legacy.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let LegacyLaunch { block, shared, parameters, size } = parts;
    fail_if!(block == [0; 3], INVALID_VALUE, "cuFuncSetBlockShape was not called");
    fail_if!(width <= 0 || height <= 0, INVALID_VALUE, "a grid of {width} by {height} blocks");
    let grid = [width as u32, height as u32, 1];
    let shape = LaunchShape { grid, block, shared, cooperative: false };
    let size = &raw const size as usize;
    let extra = [EXTRA_POINTER, parameters.as_ptr() as usize, EXTRA_SIZE, size, EXTRA_END];
    launch(function, shape, stream, In::null(), In::new(extra.as_ptr()))
}

export! {
    2000 fn cuFuncSetBlockShape(function: Handle, x: i32, y: i32, z: i32) {
        fail_if!(x <= 0 || y <= 0 || z <= 0, INVALID_VALUE, "blocks of {x} by {y} by {z} threads");
        set(function, |parts| {
            parts.block = [x as u32, y as u32, z as u32];
            Ok(())
        })
    }

    2000 fn cuFuncSetSharedSize(function: Handle, bytes: u32) {
        set(function, |parts| {
            parts.shared = bytes;
            Ok(())
        })
    }

    2000 fn cuParamSetSize(function: Handle, bytes: u32) {
        set(function, |parts| parts.set_size(bytes))
    }

    2000 fn cuParamSeti(function: Handle, offset: i32, value: u32) {
        set(function, |parts| parts.set_bytes(offset, &raw const value as usize, 4))
    }

    2000 fn cuParamSetf(function: Handle, offset: i32, value: f32) {
        set(function, |parts| parts.set_bytes(offset, &raw const value as usize, 4))
    }

    2000 fn cuParamSetv(function: Handle, offset: i32, value: In<u8>, bytes: u32) {
        set(function, |parts| parts.set_bytes(offset, value.address(), bytes as usize))
    }

    // A kernel finds the texture references of its module without this call.
    2000 fn cuParamSetTexRef(function: Handle, unit: i32, reference: Handle) {
        driver()?.function(function)?;
        fail_if!(unit != DEFAULT_UNIT, INVALID_VALUE, "texture unit {unit}: CUDA requires CU_PARAM_TR_DEFAULT, -1");
        check_texture(reference)
    }

    2000 fn cuLaunch(function: Handle) {
        launch_grid(function, [1, 1], 0)
    }

    2000 fn cuLaunchGrid(function: Handle, width: i32, height: i32) {
        launch_grid(function, [width, height], 0)
    }

    2000 fn cuLaunchGridAsync(function: Handle, width: i32, height: i32, stream: Handle) {
        launch_grid(function, [width, height], stream)
    }

    4000 fn cuProfilerInitialize(_settings: Text, _output: Text, format: u32) {
        fail_if!(format > 1, INVALID_VALUE, "unknown output format {format}");
        // As on a card while another profiler is at work.
        Err(Code::PROFILER_DISABLED.because(
            "profiles are written through EMULATED_GPU_STATISTICS, which names their file",
        ))
    }
}
