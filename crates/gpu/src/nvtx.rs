//! Named ranges on the host's side, for NVIDIA's profilers (Nsight Systems).
#![allow(unsafe_code, reason = "NVTX is a C library")]

use std::ffi::{CString, c_char, c_int};
use std::rc::Rc;

use libloading::Library;

use crate::library;

/// The NVTX library.
#[derive(Clone)]
pub(crate) struct Nvtx(Rc<Functions>);

struct Functions {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    /// The library that they are of, loaded as long as they are called.
    _library: Library,
}

impl Nvtx {
    /// Loads it where it is; a profiler brings the rest.
    pub(crate) fn load() -> Option<Self> {
        for path in library::candidates("nvToolsExt") {
            // SAFETY: NVTX's initialisers are made to run in any process, and the two functions
            // have the types that nvToolsExt.h declares.
            let loaded = unsafe {
                Library::new(path).and_then(|library| {
                    let (push, pop) =
                        (*library.get("nvtxRangePushA")?, *library.get("nvtxRangePop")?);
                    Ok(Functions { push, pop, _library: library })
                })
            };
            if let Ok(functions) = loaded {
                return Some(Self(Rc::new(functions)));
            }
        }
        None
    }

    /// Begins a range.
    pub(crate) fn push(&self, name: &str) -> Range {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: nvToolsExt.h: `int nvtxRangePushA(const char *)`, which copies the text.
        unsafe { (self.0.push)(name.as_ptr()) };
        Range(self.clone())
    }
}

/// A range, which ends when it is dropped.
pub struct Range(Nvtx);

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: nvToolsExt.h: `int nvtxRangePop(void)`; ranges are dropped on the thread that
        // pushed them, since they can't be sent.
        unsafe { (self.0.0.pop)() };
    }
}
