//! Helpers: calls of the library's functions by name, links, and PTX to link.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use emulated_gpu_test_support::device;
use libloading::os::unix::Library;

/// The result code for success. Result codes have the numbers of the header of version 13.
pub(crate) const SUCCESS: c_int = 0;
pub(crate) const UNRECOGNIZED_OPTION: c_int = 1;
pub(crate) const MISSING_ARCH: c_int = 2;
pub(crate) const INVALID_INPUT: c_int = 3;
pub(crate) const PTX_COMPILE: c_int = 4;
pub(crate) const NVVM_COMPILE: c_int = 5;
pub(crate) const INTERNAL: c_int = 6;
pub(crate) const NULL_INPUT: c_int = 10;
pub(crate) const INCORRECT_INPUT_TYPE: c_int = 12;

/// Types of inputs.
pub(crate) const CUBIN: c_int = 1;
pub(crate) const PTX: c_int = 2;
pub(crate) const LTOIR: c_int = 3;
pub(crate) const FATBIN: c_int = 4;
pub(crate) const ANY: c_int = 10;

pub(crate) type Handle = *mut c_void;

/// Loads nvJitLink. From the first call on, a program that loads `libcuda.so` gets the emulated
/// driver.
pub(crate) fn library() -> &'static Library {
    let own = emulated_nvjitlink::library_path().unwrap();
    &device::install([emulated_cuda::library_path().unwrap(), own])[1]
}

/// A function by its name. The caller chooses the type.
pub(crate) fn function<F: Copy>(name: &str) -> F {
    // SAFETY: the type is that in the header, as the caller promises.
    *unsafe { library().get::<F>(name.as_bytes()) }
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A handle of the linker, destroyed on drop. All its calls use the function names of one version of the header.
pub(crate) struct Link {
    pub(crate) handle: Handle,
    /// The prefix and the suffix of the function names that are called.
    names: (&'static str, &'static str),
}

/// The prefix and the suffix of the plain names, which are empty.
pub(crate) const PLAIN_NAMES: (&str, &str) = ("", "");
pub(crate) const VERSION_13_NAMES: (&str, &str) = ("__", "_13_5");

impl Link {
    pub(crate) fn with_names(
        names: (&'static str, &'static str),
        options: &[&str],
    ) -> (Self, c_int) {
        let options: Vec<CString> =
            options.iter().map(|&option| CString::new(option).unwrap()).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut link = Self { handle: ptr::null_mut(), names };
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        let create: Create = link.function("nvJitLinkCreate");
        // SAFETY: `options` has as many C strings as its length says, and the place for the handle is valid.
        let status =
            unsafe { create(&raw mut link.handle, options.len() as u32, options.as_ptr()) };
        (link, status)
    }

    pub(crate) fn new(options: &[&str]) -> Self {
        let (link, status) = Self::with_names(VERSION_13_NAMES, options);
        assert_eq!(status, SUCCESS, "{options:?}: {}", link.log("Error"));
        link
    }

    pub(crate) fn function<F: Copy>(&self, name: &str) -> F {
        function(&format!("{}{name}{}", self.names.0, self.names.1))
    }

    pub(crate) fn add(&self, kind: c_int, bytes: impl AsRef<[u8]>, name: &str) -> c_int {
        let (bytes, name) = (bytes.as_ref(), CString::new(name).unwrap());
        type Add = unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const c_char) -> c_int;
        let add: Add = self.function("nvJitLinkAddData");
        // SAFETY: the slice has the given length, and the name is a C string.
        unsafe { add(self.handle, kind, bytes.as_ptr(), bytes.len(), name.as_ptr()) }
    }

    pub(crate) fn add_file(&self, kind: c_int, path: &str) -> c_int {
        let path = CString::new(path).unwrap();
        let add: unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int =
            self.function("nvJitLinkAddFile");
        // SAFETY: the path is a C string.
        unsafe { add(self.handle, kind, path.as_ptr()) }
    }

    pub(crate) fn complete(&self) -> c_int {
        let complete: unsafe extern "C" fn(Handle) -> c_int = self.function("nvJitLinkComplete");
        // SAFETY: the function accepts any handle.
        unsafe { complete(self.handle) }
    }

    /// Reads a result: calls `nvJitLinkGet…Size`, and then `nvJitLinkGet…` with a buffer of that size.
    pub(crate) fn get(&self, what: &str) -> Result<Vec<u8>, c_int> {
        let mut size = 0usize;
        let of_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int =
            self.function(&format!("nvJitLinkGet{what}Size"));
        // SAFETY: the place for the size is valid.
        match unsafe { of_size(self.handle, &raw mut size) } {
            SUCCESS => {}
            status => return Err(status),
        }
        // The byte after the buffer must not change.
        let mut bytes = vec![0xa5; size + 1];
        let get: unsafe extern "C" fn(Handle, *mut u8) -> c_int =
            self.function(&format!("nvJitLinkGet{what}"));
        // SAFETY: the buffer has the size that the library returned.
        assert_eq!(unsafe { get(self.handle, bytes.as_mut_ptr()) }, SUCCESS);
        assert_eq!(bytes.pop(), Some(0xa5));
        Ok(bytes)
    }

    pub(crate) fn log(&self, which: &str) -> String {
        let bytes = self.get(&format!("{which}Log")).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_empty() || text.ends_with("\n\0"), "{text:?}");
        text.trim_end_matches('\0').to_owned()
    }

    /// Completes the link, and returns the image.
    pub(crate) fn image(&self) -> Vec<u8> {
        assert_eq!(self.complete(), SUCCESS, "{}", self.log("Error"));
        self.get("LinkedCubin").unwrap()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let destroy: unsafe extern "C" fn(*mut Handle) -> c_int = self.function("nvJitLinkDestroy");
        // SAFETY: the link was created, and is destroyed once.
        let status = unsafe { destroy(&raw mut self.handle) };
        assert!(status == SUCCESS && self.handle.is_null());
    }
}

pub(crate) const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// A kernel that stores the result of `next(5)`, a function that another text defines.
pub(crate) fn kernel() -> String {
    format!(
        "{HEADER}.extern .func (.param .b32 r) next(.param .b32 a);
.visible .entry put(.param .u64 p) {{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p];
    {{
        .param .b32 given; .param .b32 made;
        mov.u32 %r1, 5; st.param.b32 [given], %r1;
        call (made), next, (given);
        ld.param.b32 %r2, [made];
    }}
    st.global.u32 [%rd1], %r2; ret;
}}"
    )
}

/// The function `next`, which adds a number.
pub(crate) fn next(number: u32) -> String {
    format!(
        "{HEADER}.visible .func (.param .b32 r) next(.param .b32 a) {{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a]; add.s32 %r2, %r1, {number}; st.param.b32 [r], %r2; ret;
}}"
    )
}

/// The number that the kernel of an image stores.
pub(crate) fn run(image: Ptx) -> u32 {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let put = context.load_module(image).unwrap().load_function("put").unwrap();
    let mut out = stream.alloc_zeros::<u32>(1).unwrap();
    let mut launch = stream.launch_builder(&put);
    launch.arg(&mut out);
    // SAFETY: the argument matches the kernel's parameter, and has room for the one number that the kernel stores.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    stream.clone_dtoh(&out).unwrap()[0]
}

pub(crate) type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;

pub(crate) fn version() -> (c_uint, c_uint) {
    let version: Version = function("nvJitLinkVersion");
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both pointers are valid for writes.
    assert_eq!(unsafe { version(&raw mut major, &raw mut minor) }, SUCCESS);
    (major, minor)
}
