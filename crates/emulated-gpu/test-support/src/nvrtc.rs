//! NVRTC, loaded from NVIDIA's wheels, with six functions of its C interface.
#![allow(unsafe_code, reason = "NVRTC is a C library")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

type Program = *mut c_void;
type Texts = *const *const c_char;
type Create =
    unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Texts, Texts) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, Texts) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Copy = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// The loaded library.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    /// The include options for its headers.
    includes: Vec<String>,
}

impl Nvrtc {
    /// Loads NVRTC from a `site-packages` folder with NVIDIA's wheels; `None` if it isn't there.
    pub fn of_wheels(packages: &Path) -> Option<Self> {
        let library = packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        let folders = ["cuda_runtime/include", "cuda_cccl/include", "cuda_nvcc/include"];
        let includes: Vec<PathBuf> =
            folders.iter().map(|folder| packages.join("nvidia").join(folder)).collect();
        Self::load(library.as_os_str(), &includes)
    }

    /// Loads NVRTC from this file, with these include folders.
    pub fn load(library: &OsStr, includes: &[PathBuf]) -> Option<Self> {
        // SAFETY: NVRTC's initialisers can run in any process.
        let library = unsafe { Library::new(library) }.ok()?;
        let includes = includes.iter().map(|folder| format!("-I{}", folder.display())).collect();
        Some(Self { library, includes })
    }

    /// Compiles to PTX, or returns the compiler's log.
    pub fn compile(&self, source: &str, options: &[&str]) -> Result<String, String> {
        let source = CString::new(source).map_err(|error| error.to_string())?;
        let all = self.includes.iter().map(String::as_str).chain(options.iter().copied());
        let all: Vec<CString> = all.filter_map(|option| CString::new(option).ok()).collect();
        let pointers: Vec<*const c_char> = all.iter().map(|option| option.as_ptr()).collect();
        let mut program: Program = ptr::null_mut();
        // SAFETY: the names and types are those of nvrtc.h; the texts live until the end of this function, and
        // the program is destroyed once.
        unsafe {
            let get = |error: libloading::Error| error.to_string();
            let create = self.library.get::<Create>("nvrtcCreateProgram").map_err(get)?;
            let compile = self.library.get::<Compile>("nvrtcCompileProgram").map_err(get)?;
            let destroy = self.library.get::<Destroy>("nvrtcDestroyProgram").map_err(get)?;
            let name = c"kernel.cu".as_ptr();
            create(&raw mut program, source.as_ptr(), name, 0, ptr::null(), ptr::null());
            let status = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let text = if status == 0 {
                self.text(program, "nvrtcGetPTXSize", "nvrtcGetPTX")
            } else {
                self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
            };
            destroy(&raw mut program);
            if status == 0 { text } else { Err(text?) }
        }
    }

    fn text(&self, program: Program, size: &str, copy: &str) -> Result<String, String> {
        let mut bytes = 0;
        // SAFETY: as above; the second function copies as many bytes as the first one returns.
        unsafe {
            let get = |error: libloading::Error| error.to_string();
            self.library.get::<Size>(size).map_err(get)?(program, &raw mut bytes);
            let mut text = vec![0_u8; bytes + 1];
            self.library.get::<Copy>(copy).map_err(get)?(program, text.as_mut_ptr().cast());
            let text = CStr::from_bytes_until_nul(&text).map_err(|error| error.to_string())?;
            Ok(text.to_string_lossy().into_owned())
        }
    }
}
