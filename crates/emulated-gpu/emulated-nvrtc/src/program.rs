//! Programs, from their creation to their end.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::image;
use crate::options::Options;
use crate::status::Status;

/// A program: its source, what was asked of it, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: String,
    pub(crate) name: String,
    /// Headers by the names by which they are included.
    pub(crate) headers: HashMap<String, String>,
    /// Name expressions, in the order in which they were added.
    pub(crate) expressions: Vec<CString>,
    /// What the compilation came to; nothing before it.
    pub(crate) outcome: Option<Outcome>,
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
}

/// Finds the headers that came with a program, and files.
struct Headers<'a> {
    headers: &'a HashMap<String, String>,
    folders: cuda_c::Folders,
}

impl cuda_c::Resolver for Headers<'_> {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let own = self.headers.get(include).map(|text| (include.to_owned(), text.clone()));
        own.or_else(|| self.folders.resolve(include, from))
    }
}

impl Program {
    /// Compiles. The log says what is wrong.
    pub(crate) fn compile(&mut self, options: &[String]) -> Result<(), Status> {
        let (outcome, status) = match Options::read(options) {
            Ok(options) => self.compile_with(options),
            Err(reason) => {
                let log = text(format!("nvrtc: error: {reason}\n"));
                (Outcome { log, made: None, image: Vec::new() }, Err(Status::InvalidOption))
            }
        };
        self.outcome = Some(outcome);
        status
    }

    fn compile_with(&self, asked: Options) -> (Outcome, Result<(), Status>) {
        let resolver =
            Headers { headers: &self.headers, folders: cuda_c::Folders(asked.folders.clone()) };
        let options = cuda_c::Options {
            name: &self.name,
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
        match cuda_c::compile(&self.source, &options) {
            Ok(ptx) => {
                let log = if asked.warnings { log(&ptx.warnings) } else { CString::default() };
                let names = ptx.names.into_iter().map(text).collect();
                let ptx = text(ptx.text);
                let image = if asked.for_card {
                    image::fatbin(ptx.as_bytes(), asked.arch)
                } else {
                    Vec::new()
                };
                (Outcome { log, made: Some((ptx, names)), image }, Ok(()))
            }
            Err(diagnostics) => {
                let outcome = Outcome { log: log(&diagnostics), made: None, image: Vec::new() };
                (outcome, Err(Status::Compilation))
            }
        }
    }

    /// The PTX.
    pub(crate) fn ptx(&self) -> Result<&CString, Status> {
        let outcome = self.outcome.as_ref().ok_or(Status::InvalidProgram)?;
        Ok(&outcome.made.as_ref().ok_or(Status::InvalidProgram)?.0)
    }

    /// What is given in place of machine code; nothing where it was compiled for no card.
    pub(crate) fn image(&self) -> Result<&[u8], Status> {
        self.ptx()?;
        Ok(self.outcome.as_ref().map_or(&[], |outcome| &outcome.image))
    }

    /// What a name expression that was added is called in the PTX.
    pub(crate) fn lowered(&self, expression: &CString) -> Result<&CString, Status> {
        let outcome = self.outcome.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let made = outcome.made.as_ref().ok_or(Status::NoLoweredNamesBeforeCompilation)?;
        let place = self.expressions.iter().position(|other| other == expression);
        place.and_then(|place| made.1.get(place)).ok_or(Status::NameExpressionNotValid)
    }
}

/// A C string; PTX and messages have no zeros in them, but what they quote may.
fn text(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

type Shared = Arc<Mutex<Program>>;

/// The programs that there are, by the numbers that callers have for pointers: what isn't here is no
/// program, whatever a caller passes.
#[derive(Debug)]
struct Registry {
    programs: Option<HashMap<usize, Shared>>,
    last: usize,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { programs: None, last: 0 });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a program; its handle.
pub(crate) fn keep(program: Program) -> usize {
    let mut registry = registry();
    // As far apart as pointers are, and never null.
    registry.last += 16;
    let handle = registry.last;
    registry.programs.get_or_insert_default().insert(handle, Arc::new(Mutex::new(program)));
    handle
}

/// Does something with the program of a handle.
pub(crate) fn with<T>(
    handle: usize,
    work: impl FnOnce(&mut Program) -> Result<T, Status>,
) -> Result<T, Status> {
    // Other programs can be compiled at the same time.
    let program = registry().programs.as_ref().and_then(|all| all.get(&handle).cloned());
    let program = program.ok_or(Status::InvalidProgram)?;
    let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut program)
}

/// Ends a program.
pub(crate) fn forget(handle: usize) -> Result<(), Status> {
    let program = registry().programs.as_mut().and_then(|all| all.remove(&handle));
    program.map(drop).ok_or(Status::InvalidProgram)
}
