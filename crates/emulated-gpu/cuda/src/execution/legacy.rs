//! The state of a kernel that is launched in several calls, as before CUDA 4.0: each call sets a part, which stays for
//! later launches.

#![allow(unsafe_code, reason = "reads the program's parameters")]

use crate::abi::error::{Result, fail_if};
use crate::abi::host_memory;

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
    pub(crate) parameters: Vec<u8>,
    /// The number of bytes of the parameters, which `cuParamSetSize` sets.
    pub(crate) size: usize,
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
}
