//! The error messages of the driver's compiler for PTX; cudarc only returns the error code.
#![allow(unsafe_code, reason = "cudarc's safe layer has no options for loading")]

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

/// Loads the PTX again to get the compiler's messages. The result is empty, or begins with a line break.
pub(crate) fn messages(context: &Arc<CudaContext>, ptx: &str) -> String {
    const LOG_BYTES: usize = 16 << 10;
    let (Ok(()), Ok(text)) = (context.bind_to_thread(), CString::new(ptx)) else {
        return String::new();
    };
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES - 1)];
    let mut module = ptr::null_mut();
    // SAFETY: cuda.h: the image is a C string; the first option takes a buffer and the second one its
    // size, which leaves the buffer's last byte 0. If the module can be loaded, it is unloaded at once.
    unsafe {
        let status = sys::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        if status == sys::CUresult::CUDA_SUCCESS {
            sys::cuModuleUnload(module);
        }
    }
    let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
    if log.trim().is_empty() { String::new() } else { format!("\n{}", log.trim_end()) }
}
