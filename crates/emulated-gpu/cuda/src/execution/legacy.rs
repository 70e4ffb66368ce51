//! The state of a kernel that is launched in several calls, as before CUDA 4.0: each call sets a part, which stays for
//! later launches.

#![allow(unsafe_code, reason = "reads the program's parameters")]

use crate::abi::error::{Result, fail_if};
use crate::abi::{In, host_memory};
use crate::execution::launch::{EXTRA_END, EXTRA_POINTER, EXTRA_SIZE, LaunchShape};

/// The most bytes of parameters that a kernel can have (PTX ISA, "Kernel Function Parameters").
const MAX_PARAMETERS: usize = 32_764;

/// The parts of a launch that were set so far. A block without threads means that no block shape was set.
#[derive(Clone, Debug, Default)]
pub(crate) struct LegacyLaunch {
    /// The block size, which `cuFuncSetBlockShape` sets.
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory, which `cuFuncSetSharedSize` sets.
    pub(crate) shared: u32,
    /// The bytes of the parameters; those that no call has set are 0.
    parameters: Vec<u8>,
    /// The number of bytes of the parameters, which `cuParamSetSize` sets.
    size: usize,
}

impl LegacyLaunch {
    /// Sets the number of bytes of the parameters.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no kernel can have that many.
    pub(crate) fn set_size(&mut self, size: u32) -> Result {
        let size = size as usize;
        fail_if!(
            size > MAX_PARAMETERS,
            INVALID_VALUE,
            "a kernel has at most {MAX_PARAMETERS} bytes of parameters"
        );
        self.parameters.resize(size.max(self.parameters.len()), 0);
        self.size = size;
        Ok(())
    }

    /// Copies bytes of the program to an offset in the parameters.
    ///
    /// # Safety
    /// The bytes are readable, or the system can detect that they aren't.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no kernel has parameters there, or the bytes can't be read.
    pub(crate) unsafe fn set_bytes(&mut self, offset: i32, from: usize, len: usize) -> Result {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(len);
        fail_if!(
            end > MAX_PARAMETERS,
            INVALID_VALUE,
            "{len} bytes at offset {offset}: a kernel has at most {MAX_PARAMETERS} bytes of parameters"
        );
        self.parameters.resize(end.max(self.parameters.len()), 0);
        // SAFETY: the caller's promise.
        let is_read =
            unsafe { host_memory::gather(&[(from, len)], &mut self.parameters[start..end]) };
        fail_if!(len > 0 && !is_read, INVALID_VALUE, "the parameter's {len} bytes can't be read");
        Ok(())
    }

    /// Launches on a grid of two dimensions, by `launch`, which receives the shape, and the parameters as the argument
    /// `extra` of `cuLaunchKernel`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no block shape was set or a dimension isn't positive; the errors of `launch`.
    pub(crate) fn launch(
        &self,
        [width, height]: [i32; 2],
        launch: impl FnOnce(LaunchShape, In<usize>) -> Result,
    ) -> Result {
        fail_if!(self.block == [0; 3], INVALID_VALUE, "cuFuncSetBlockShape was not called");
        fail_if!(width <= 0 || height <= 0, INVALID_VALUE, "a grid of {width} by {height} blocks");
        let grid = [width as u32, height as u32, 1];
        let shape =
            LaunchShape { grid, block: self.block, shared: self.shared, cooperative: false };
        let (bytes, size) = (self.parameters.as_ptr() as usize, &raw const self.size as usize);
        let extra = [EXTRA_POINTER, bytes, EXTRA_SIZE, size, EXTRA_END];
        // SAFETY: the array lives until `launch` has copied the parameters.
        launch(shape, unsafe { In::new(extra.as_ptr()) })
    }
}
