//! Named ranges of the host's time line, for NVIDIA's profilers (Nsight Systems).
#![allow(unsafe_code, reason = "NVTX is a C library")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::rc::Rc;

use cudarc::nvtx::{result, sys};

use crate::install;

/// The loaded NVTX library.
pub struct Nvtx(());

impl Nvtx {
    /// Loads the library if it is installed. cudarc would panic if it, or one of the two functions, were missing.
    #[must_use]
    pub fn load() -> Option<Self> {
        install::load_nvidia("nvToolsExt").ok()?;
        let has = |name: &str| {
            // SAFETY: the library was loaded above, and the function is only looked up.
            unsafe { sys::culib().get::<*const c_void>(name.as_bytes()) }.is_ok()
        };
        (has("nvtxRangePushA") && has("nvtxRangePop")).then_some(Self(()))
    }

    /// Begins a range.
    #[must_use]
    pub fn push(&self, name: &str) -> Range {
        // The name is cut at the first NUL, because a C string ends there, and cudarc would panic.
        result::range_push(name.split('\0').next().unwrap_or_default());
        Range(PhantomData)
    }
}

/// A range, which ends when it is dropped. It isn't `Send`, so it ends on the thread that began it.
pub struct Range(PhantomData<Rc<()>>);

impl Drop for Range {
    fn drop(&mut self) {
        result::range_pop();
    }
}
