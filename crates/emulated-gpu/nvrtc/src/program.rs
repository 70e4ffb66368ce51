//! Programs, from their creation to their end.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use c_abi::Registry;
use device_image::fatbin;

use crate::ffi::{Result, Status};
use crate::nvidia;
use crate::options::Options;

/// A program: its source, what was asked of it, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: CString,
    pub(crate) name: CString,
    /// The names by which headers are included, and the headers.
    pub(crate) headers: Vec<(CString, CString)>,
    /// Name expressions, in the order in which they were added.
    pub(crate) expressions: Vec<CString>,
    /// Asked now and then whether to go on.
    pub(crate) flow: Option<Flow>,
    /// What the compilation came to; nothing before it.
    pub(crate) outcome: Option<Outcome>,
}

/// A function of the caller's that says whether a compilation is to end, by 1, and what it is told: the
/// caller's own number, and nothing (`nvrtcSetFlowCallback`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) function: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    pub(crate) data: usize,
}

/// What a compilation came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Messages.
    pub(crate) log: CString,
    /// The PTX and the names in it, in the order of the expressions; nothing where it failed.
    pub(crate) made: Option<(CString, Vec<CString>)>,
    /// What is given in place of machine code, where it was compiled for a card.
    pub(crate) image: Vec<u8>,
    /// What NVIDIA's linker and OptiX take, where that was asked for; only NVIDIA's compiler makes it.
    pub(crate) lto: Vec<u8>,
    pub(crate) optix: Vec<u8>,
    /// How making a precompiled header went, and the bytes of heap that it wants.
    pub(crate) pch_status: c_int,
    pub(crate) pch_heap: usize,
}

impl Default for Outcome {
    /// Nothing was made, and no precompiled header was asked for.
    fn default() -> Self {
        Self {
            log: CString::default(),
            made: None,
            image: Vec::new(),
            lto: Vec::new(),
            optix: Vec::new(),
            pch_status: Status::NoPchCreateAttempted as c_int,
            pch_heap: 0,
        }
    }
}

/// Finds the headers that came with a program, and files.
struct Headers<'a> {
    headers: HashMap<Cow<'a, str>, Cow<'a, str>>,
    folders: cuda_c::Folders,
}

impl cuda_c::Resolver for Headers<'_> {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let own = self.headers.get(include);
        let own = own.map(|text| (include.to_owned(), text.clone().into_owned()));
        own.or_else(|| self.folders.resolve(include, from))
    }
}

impl Program {
    /// Compiles. The log says what is wrong.
    pub(crate) fn compile(&mut self, options: &[CString]) -> Result {
        let (outcome, status) = match nvidia::library()? {
            Some(nvidia) => nvidia.compile(self, options),
            None if self.is_to_end() => (Outcome::default(), Err(Status::Cancelled)),
            None => self.compile_here(options),
        };
        self.outcome = Some(outcome);
        status
    }

    /// Whether the caller's function says so.
    fn is_to_end(&self) -> bool {
        self.flow.is_some_and(|flow| {
            // SAFETY: the caller gave both for this.
            unsafe { (flow.function)(flow.data as *mut c_void, std::ptr::null_mut()) == 1 }
        })
    }

    /// Compiles without NVIDIA.
    fn compile_here(&self, options: &[CString]) -> (Outcome, Result) {
        let options: Vec<Cow<'_, str>> = options.iter().map(|one| one.to_string_lossy()).collect();
        match Options::read(&options) {
            Ok(options) => self.compile_with(options),
            Err(reason) => {
                let log = text(format!("nvrtc: error: {reason}\n"));
                (Outcome { log, ..Outcome::default() }, Err(Status::InvalidOption))
            }
        }
    }

    fn compile_with(&self, asked: Options) -> (Outcome, Result) {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, text)| (name.to_string_lossy(), text.to_string_lossy()));
        let resolver =
            Headers { headers: headers.collect(), folders: cuda_c::Folders(asked.folders.clone()) };
        let name = self.name.to_string_lossy();
        let options = cuda_c::Options {
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
            text(diagnostics.iter().map(ToString::to_string).collect::<String>())
        };
        match cuda_c::compile(&self.source.to_string_lossy(), &options) {
            Ok(ptx) => {
                let log = if asked.warnings { log(&ptx.warnings) } else { CString::default() };
                let names = ptx.names.into_iter().map(text).collect();
                let ptx = text(ptx.text);
                let image = if asked.for_card {
                    fatbin::of_ptx(ptx.as_bytes(), asked.arch)
                } else {
                    Vec::new()
                };
                let made = Some((ptx, names));
                (Outcome { log, made, image, ..Outcome::default() }, Ok(()))
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
        Ok(&outcome.made.as_ref().ok_or(Status::InvalidProgram)?.0)
    }

    /// What was made beside the PTX; empty where it was not asked for.
    pub(crate) fn part(&self, part: impl FnOnce(&Outcome) -> &Vec<u8>) -> Result<&[u8]> {
        self.ptx()?;
        Ok(self.outcome.as_ref().map_or(&[], |outcome| part(outcome)))
    }

    /// What a name expression that was added is called in the PTX.
    pub(crate) fn lowered(&self, expression: &CStr) -> Result<&CString> {
        let outcome = self.outcome.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let made = outcome.made.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let place = self.expressions.iter().position(|other| other.as_c_str() == expression);
        place.and_then(|place| made.1.get(place)).ok_or(Status::NameExpressionNotValid)
    }
}

/// A C string; PTX and messages have no zeros in them, but what they quote may.
fn text(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// The programs that there are; what isn't here is no program, whatever a caller passes.
static PROGRAMS: Registry<Mutex<Program>> = Registry::new(0);

/// Keeps a program; its handle.
pub(crate) fn keep(program: Program) -> usize {
    PROGRAMS.insert(Mutex::new(program))
}

/// Does something with the program of a handle. Other programs can be compiled at the same time.
pub(crate) fn with<T>(handle: usize, work: impl FnOnce(&mut Program) -> Result<T>) -> Result<T> {
    let program = PROGRAMS.get(handle).ok_or(Status::InvalidProgram)?;
    let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut program)
}

/// Ends a program.
pub(crate) fn forget(handle: usize) -> Result {
    PROGRAMS.remove(handle).map(drop).ok_or(Status::InvalidProgram)
}
