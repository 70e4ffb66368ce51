//! The exported names, and the results for invalid handles.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::support::*;

#[test]
fn every_name_in_the_headers_is_exported() {
    const FUNCTIONS: [&str; 13] = [
        "Create",
        "Destroy",
        "AddData",
        "AddFile",
        "Complete",
        "GetLinkedCubinSize",
        "GetLinkedCubin",
        "GetLinkedPtxSize",
        "GetLinkedPtx",
        "GetErrorLogSize",
        "GetErrorLog",
        "GetInfoLogSize",
        "GetInfoLog",
    ];
    let versions = (0..=9).map(|minor| format!("_12_{minor}"));
    let thirteen: Vec<String> = (0..=5).map(|minor| format!("_13_{minor}")).collect();
    for version in versions.chain(thirteen.iter().cloned()) {
        for name in FUNCTIONS {
            let _: unsafe extern "C" fn() = function(&format!("__nvJitLink{name}{version}"));
        }
    }
    for name in ["GetLinkedLTOIRSize", "GetLinkedLTOIR"] {
        for version in &thirteen {
            let _: unsafe extern "C" fn() = function(&format!("__nvJitLink{name}{version}"));
        }
        let _: unsafe extern "C" fn() = function(&format!("nvJitLink{name}"));
    }
    for name in FUNCTIONS {
        let _: unsafe extern "C" fn() = function(&format!("nvJitLink{name}"));
    }
    let _: unsafe extern "C" fn() = function("emulatedNvJitLink");
    let version: Version = function("nvJitLinkVersion");
    let mut minor = 0;
    // SAFETY: one pointer is valid, and the library refuses the other, which is null.
    assert_eq!(unsafe { version(ptr::null_mut(), &raw mut minor) }, INVALID_INPUT);
}

#[test]
fn invalid_handles_are_refused_with_the_documented_result() {
    type OfHandle = unsafe extern "C" fn(Handle) -> c_int;
    type OfPlace = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
    type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
    let link = Link::new(&["-arch=sm_80"]);
    for (version, null) in [("_12_9", INVALID_INPUT), ("_13_0", NULL_INPUT)] {
        let complete: OfHandle = function(&format!("__nvJitLinkComplete{version}"));
        let destroy: unsafe extern "C" fn(*mut Handle) -> c_int =
            function(&format!("__nvJitLinkDestroy{version}"));
        let size: OfPlace = function(&format!("__nvJitLinkGetErrorLogSize{version}"));
        let create: Create = function(&format!("__nvJitLinkCreate{version}"));
        let (mut none, mut nowhere) = (ptr::null_mut(), 0xdead_0000_usize as Handle);
        // SAFETY: the library refuses null pointers and handles that aren't a link's.
        unsafe {
            assert_eq!(complete(none), null);
            assert_eq!(complete(nowhere), INVALID_INPUT);
            assert_eq!(destroy(ptr::null_mut()), null);
            assert_eq!(destroy(&raw mut none), null);
            assert_eq!(destroy(&raw mut nowhere), INVALID_INPUT);
            assert_eq!(size(link.handle, ptr::null_mut()), null);
            assert_eq!(create(ptr::null_mut(), 0, ptr::null()), null);
            assert_eq!(create(&raw mut none, 1, ptr::null()), null);
            assert_eq!(create(&raw mut none, 1, &ptr::null()), null);
        }
        let add: unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const c_char) -> c_int =
            function(&format!("__nvJitLinkAddData{version}"));
        // SAFETY: the library refuses the handle, and refuses the size before it reads the bytes.
        unsafe {
            assert_eq!(add(link.handle, PTX, ptr::null(), 9, ptr::null()), INVALID_INPUT);
            let expected = INVALID_INPUT;
            assert_eq!(add(link.handle, PTX, HEADER.as_ptr(), usize::MAX, ptr::null()), expected);
        }
    }
    assert_eq!(link.get("LinkedCubin"), Err(INTERNAL));
}
