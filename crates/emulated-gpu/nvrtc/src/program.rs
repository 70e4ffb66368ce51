//! Programs, from their creation to their destruction.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use c_abi::Registry;
use device_image::fatbin;

use crate::ffi::{Result, Status};
use crate::nvidia;
use crate::options::CompileOptions;

/// A program: its source, the requested names, and the outcome of its compilation.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: CString,
    pub(crate) name: CString,
    /// The names by which headers are included, and the headers.
    pub(crate) headers: Vec<(CString, CString)>,
    /// Name expressions, in the order in which they were added.
    pub(crate) expressions: Vec<CString>,
    /// A callback that can cancel the compilation.
    pub(crate) cancel_callback: Option<CancelCallback>,
    /// The outcome of the compilation; `None` before it.
    pub(crate) outcome: Option<Outcome>,
}

/// A callback of the caller that cancels a compilation by returning 1 (`nvrtcSetFlowCallback`). Its
/// arguments are `data`, which the caller chose, and null.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CancelCallback {
    pub(crate) function: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    pub(crate) data: usize,
}

/// The outcome of a compilation.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The messages.
    pub(crate) log: CString,
    /// The PTX and the mangled names, in the order of the name expressions; `None` if the
    /// compilation failed.
    pub(crate) compiled: Option<(CString, Vec<CString>)>,
    /// A fatbin in place of machine code, for a real architecture.
    pub(crate) image: Vec<u8>,
    /// LTO-IR and OptiX IR, if requested. Only NVIDIA's compiler makes them.
    pub(crate) lto: Vec<u8>,
    pub(crate) optix: Vec<u8>,
    /// The result of creating a precompiled header, and the size in bytes of the heap that it
    /// needs.
    pub(crate) pch_status: c_int,
    pub(crate) pch_heap: usize,
}

impl Default for Outcome {
    /// The outcome before a compilation: no output, and no precompiled header was requested.
    fn default() -> Self {
        Self {
            log: CString::default(),
            compiled: None,
            image: Vec::new(),
            lto: Vec::new(),
            optix: Vec::new(),
            pch_status: Status::NoPchCreateAttempted as c_int,
            pch_heap: 0,
        }
    }
}

/// Finds included files: first among the headers that were passed with a program, then on disk.
struct Headers<'a> {
    headers: HashMap<Cow<'a, str>, Cow<'a, str>>,
    folders: cuda_c::Folders,
}

impl cuda_c::Resolver for Headers<'_> {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let header = self.headers.get(include);
        let header = header.map(|text| (include.to_owned(), text.clone().into_owned()));
        header.or_else(|| self.folders.resolve(include, from))
    }
}

impl Program {
    /// Compiles the program. Errors in the source are in the log.
    pub(crate) fn compile(&mut self, options: &[CString]) -> Result {
        let (outcome, status) = match nvidia::library()? {
            Some(nvidia) => nvidia.compile(self, options),
            None if self.is_cancelled() => (Outcome::default(), Err(Status::Cancelled)),
            None => self.compile_here(options),
        };
        self.outcome = Some(outcome);
        status
    }

    /// Whether the caller's callback cancels the compilation.
    fn is_cancelled(&self) -> bool {
        self.cancel_callback.is_some_and(|flow| {
            // SAFETY: the program's user passed the function and its data as a callback.
            unsafe { (flow.function)(flow.data as *mut c_void, std::ptr::null_mut()) == 1 }
        })
    }

    /// Compiles with `cuda-c`.
    fn compile_here(&self, options: &[CString]) -> (Outcome, Result) {
        let options: Vec<Cow<'_, str>> =
            options.iter().map(|option| option.to_string_lossy()).collect();
        match CompileOptions::read(&options) {
            Ok(options) => self.compile_with(options),
            Err(reason) => {
                let log = to_c_string(format!("nvrtc: error: {reason}\n"));
                (Outcome { log, ..Outcome::default() }, Err(Status::InvalidOption))
            }
        }
    }

    fn compile_with(&self, asked: CompileOptions) -> (Outcome, Result) {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, text)| (name.to_string_lossy(), text.to_string_lossy()));
        let resolver =
            Headers { headers: headers.collect(), folders: cuda_c::Folders(asked.folders.clone()) };
        let name = self.name.to_string_lossy();
        let options = cuda_c::CompileOptions {
            name: &name,
            arch: asked.arch,
            fmad: asked.fmad,
            lines: true,
            defines: [("__CUDACC_RTC__".to_owned(), "1".to_owned())]
                .into_iter()
                .chain(asked.defines)
                .collect(),
            resolver: Some(&resolver),
            names: self
                .expressions
                .iter()
                .map(|name| name.to_string_lossy().into_owned())
                .collect(),
        };
        let log = |diagnostics: &[cuda_c::Diagnostic]| {
            to_c_string(diagnostics.iter().map(ToString::to_string).collect::<String>())
        };
        match cuda_c::compile(&self.source.to_string_lossy(), &options) {
            Ok(ptx) => {
                let log = if asked.warnings { log(&ptx.warnings) } else { CString::default() };
                let names = ptx.names.into_iter().map(to_c_string).collect();
                let ptx = to_c_string(ptx.text);
                let image = if asked.for_card {
                    fatbin::from_ptx(ptx.as_bytes(), asked.arch)
                } else {
                    Vec::new()
                };
                let made = Some((ptx, names));
                (Outcome { log, compiled: made, image, ..Outcome::default() }, Ok(()))
            }
            Err(diagnostics) => {
                let outcome = Outcome { log: log(&diagnostics), ..Outcome::default() };
                (outcome, Err(Status::Compilation))
            }
        }
    }

    /// The PTX.
    pub(crate) fn ptx(&self) -> Result<&CString> {
        let outcome = self.outcome.as_ref().ok_or(Status::InvalidProgram)?;
        Ok(&outcome.compiled.as_ref().ok_or(Status::InvalidProgram)?.0)
    }

    /// A part of the output other than the PTX; empty if it was not requested.
    pub(crate) fn output_part(&self, part: impl FnOnce(&Outcome) -> &Vec<u8>) -> Result<&[u8]> {
        self.ptx()?;
        Ok(self.outcome.as_ref().map_or(&[], |outcome| part(outcome)))
    }

    /// The mangled name of a name expression.
    pub(crate) fn lowered(&self, expression: &CStr) -> Result<&CString> {
        let outcome = self.outcome.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let compiled = outcome.compiled.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let place = self.expressions.iter().position(|other| other.as_c_str() == expression);
        place.and_then(|place| compiled.1.get(place)).ok_or(Status::NameExpressionNotValid)
    }
}

/// Makes a C string. PTX and messages have no zeros, but the source that they quote may.
fn to_c_string(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// All existing programs. A handle that isn't in this registry is refused.
static PROGRAMS: Registry<Mutex<Program>> = Registry::new(0);

/// Stores a program, and returns its handle.
pub(crate) fn insert(program: Program) -> usize {
    PROGRAMS.insert(Mutex::new(program))
}

/// Calls `work` with the program of a handle. Other programs can be compiled at the same time.
pub(crate) fn with_program<T>(
    handle: usize,
    work: impl FnOnce(&mut Program) -> Result<T>,
) -> Result<T> {
    let program = PROGRAMS.get(handle).ok_or(Status::InvalidProgram)?;
    let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut program)
}

/// Destroys a program.
pub(crate) fn remove(handle: usize) -> Result {
    PROGRAMS.remove(handle).map(drop).ok_or(Status::InvalidProgram)
}
