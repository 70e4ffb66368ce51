//! NVRTC, NVIDIA's compiler as a library: CUDA C to PTX, without a GPU and without a toolkit.
//!
//! cudarc has bindings of NVRTC too, but it loads the first library of that name, which may be
//! `emulated-nvrtc`, and doesn't return the library's path, which is needed to find the headers. In cudarc,
//! an unknown error code is undefined behaviour. This file only needs ten functions, which are the same in
//! every version.
#![allow(unsafe_code, reason = "NVRTC is a C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::{Library, Symbol};

use crate::{GpuError, Result, library};

/// `nvrtcProgram`, an opaque pointer.
type Program = *mut c_void;

/// Whether this is `emulated-nvrtc`, which has the name of NVIDIA's library.
fn is_emulated(library: &Library) -> bool {
    // SAFETY: the function is only looked up, and not called.
    unsafe { library.get::<unsafe extern "C" fn()>("emulatedNvrtc") }.is_ok()
}

/// NVRTC, loaded.
pub(crate) struct Nvrtc {
    library: Library,
    path: PathBuf,
}

impl Nvrtc {
    /// Finds and loads NVRTC.
    ///
    /// # Errors
    /// [`GpuError::NoCompiler`] if it isn't found.
    pub(crate) fn load() -> Result<Self> {
        let mut reason = String::new();
        for path in library::candidates("nvrtc") {
            // SAFETY: NVRTC's initialisers may run in any process.
            match unsafe { Library::new(&path) } {
                Ok(library) if is_emulated(&library) => {
                    reason = "it is emulated-nvrtc, which is the built-in compiler".into();
                }
                Ok(library) => return Ok(Self { library, path }),
                Err(error) => reason = library::reason(&error),
            }
        }
        let near = library::unloaded_file_hint("nvrtc");
        Err(GpuError::NoCompiler(format!("NVRTC is not found (last tried: {reason}){near}")))
    }

    /// Looks up a function. Every caller passes the type that `nvrtc.h` declares.
    fn symbol<T>(&self, name: &'static str) -> Result<Symbol<'_, T>> {
        // SAFETY: see above.
        unsafe { self.library.get(name) }.map_err(|error| {
            GpuError::NoCompiler(format!(
                "{} has no {name}: {}",
                host::shown(&self.path),
                library::reason(&error)
            ))
        })
    }

    /// The library's name and version, such as `NVRTC 12.9`.
    pub(crate) fn name(&self) -> Result<String> {
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        let version: Symbol<'_, Version> = self.symbol("nvrtcVersion")?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: nvrtc.h: `nvrtcVersion(int *major, int *minor)`.
        unsafe { version(&raw mut major, &raw mut minor) };
        Ok(format!("NVRTC {major}.{minor}"))
    }

    /// The supported architectures, such as 50 for compute capability 5.0, in ascending order.
    pub(crate) fn architectures(&self) -> Result<Vec<c_int>> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        let count: Symbol<'_, Count> = self.symbol("nvrtcGetNumSupportedArchs")?;
        let list: Symbol<'_, Count> = self.symbol("nvrtcGetSupportedArchs")?;
        let mut number = 0;
        // SAFETY: nvrtc.h: `nvrtcGetNumSupportedArchs(int *)`, and `nvrtcGetSupportedArchs(int *)`
        // fills an array of that length.
        unsafe {
            count(&raw mut number);
            let mut architectures = vec![0; usize::try_from(number).unwrap_or_default()];
            if !architectures.is_empty() {
                list(architectures.as_mut_ptr());
            }
            Ok(architectures)
        }
    }

    /// The folders of NVIDIA's headers, such as `mma.h`: in a toolkit, the folder next to the library's; in Python, the
    /// folders of two other wheels.
    pub(crate) fn headers(&self) -> Vec<PathBuf> {
        let above = |levels| self.path.ancestors().nth(levels).map(Path::to_owned);
        let toolkit = above(2).map(|folder| folder.join("include"));
        let wheels = ["cuda_runtime/include", "cuda_nvcc/include"]
            .map(|one| above(3).map(|all| all.join(one)));
        let folders = [toolkit].into_iter().chain(wheels).flatten();
        folders
            .filter(|folder| folder.join("mma.h").is_file() || folder.join("crt/mma.h").is_file())
            .collect()
    }

    /// Compiles a source to PTX.
    ///
    /// # Errors
    /// [`GpuError::Compile`] with the compiler's messages.
    pub(crate) fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<String> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;

        let text = |text: &str| {
            CString::new(text).map_err(|_| self.refused(name, "it holds a NUL character".into()))
        };
        let (name_text, source_text) = (text(name)?, text(source)?);
        let options: Vec<CString> =
            options.iter().map(|option| text(option)).collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

        let create: Symbol<'_, Create> = self.symbol("nvrtcCreateProgram")?;
        let compile: Symbol<'_, Compile> = self.symbol("nvrtcCompileProgram")?;
        let mut program = Compilation { nvrtc: self, program: ptr::null_mut() };
        // SAFETY: nvrtc.h: `nvrtcCreateProgram(nvrtcProgram *, src, name, 0, NULL, NULL)`, of two
        // C strings that live until the end of this function.
        let status = unsafe {
            create(
                &raw mut program.program,
                source_text.as_ptr(),
                name_text.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        if status != 0 {
            return Err(self.refused(name, format!("nvrtcCreateProgram: error {status}")));
        }
        // SAFETY: the program was made above, and the number of C strings is passed.
        let status =
            unsafe { compile(program.program, pointers.len() as c_int, pointers.as_ptr()) };
        if status != 0 {
            let log = program.text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
            return Err(self.refused(name, format!("{}\n(error {status})", log.trim_end())));
        }
        program.text("nvrtcGetPTXSize", "nvrtcGetPTX")
    }

    fn refused(&self, name: &str, log: String) -> GpuError {
        let compiler = self.name().unwrap_or_else(|_| "NVRTC".into());
        GpuError::Compile { name: name.into(), compiler, log }
    }
}

/// A program that is destroyed when this is dropped.
struct Compilation<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Compilation<'_> {
    /// Reads a text of the program, its PTX or its log. `size` names NVRTC's function that returns the text's size,
    /// `copy` the function that copies the text.
    fn text(&self, size: &'static str, copy: &'static str) -> Result<String> {
        type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
        type Copy = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        let (size, copy): (Symbol<'_, Size>, Symbol<'_, Copy>) =
            (self.nvrtc.symbol(size)?, self.nvrtc.symbol(copy)?);
        let mut bytes = 0;
        // SAFETY: nvrtc.h: `(nvrtcProgram, size_t *)`; `(nvrtcProgram, char *)` copies that number of bytes,
        // including the final NUL. The last byte of the buffer is always 0.
        unsafe {
            size(self.program, &raw mut bytes);
            let mut text = vec![0_u8; bytes + 1];
            copy(self.program, text.as_mut_ptr().cast());
            let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
            Ok(text.to_string_lossy().into_owned())
        }
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        if !self.program.is_null()
            && let Ok(destroy) = self.nvrtc.symbol::<Destroy>("nvrtcDestroyProgram")
        {
            // SAFETY: nvrtc.h: `nvrtcDestroyProgram(nvrtcProgram *)`, called once for an existing
            // program.
            unsafe { destroy(&raw mut self.program) };
        }
    }
}
