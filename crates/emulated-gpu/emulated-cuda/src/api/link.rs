//! Linking at run time: PTX texts go in, alone or out of fatbins, and one text comes out as the image to
//! load.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_emulator::Diagnostic;
use ptx_emulator::memory::OutOfMemory;
use ptx_emulator::room::filled;
use ptx_emulator::source::Source;
use tensor::file::MOST_TEXT_BYTES;

use crate::abi::{Handle, In, JitValue, Out, Text};
use crate::driver::driver;
use crate::error::{Code, Refusal, Result};
use crate::fatbin::is_fatbin;
use crate::ffi::{export, say};
use crate::host;
use crate::module::{ptx_of, text_of};
use crate::registry::fresh;

use super::module::JitOptions;

/// `CU_JIT_INPUT_PTX`
const PTX: u32 = 1;
/// `CU_JIT_INPUT_FATBINARY`
const FATBINARY: u32 = 2;
/// `CU_JIT_INPUT_LIBRARY`
const LIBRARY: u32 = 4;

/// What stands in for NVIDIA's library of device functions, libcudadevrt.a, which is machine code: how grids
/// wait for all their blocks.
const DEVICE_RUNTIME: &str = include_str!("../device_runtime.ptx");
/// How an archive of ar(1) begins.
const ARCHIVE: &[u8] = b"!<arch>\n";
/// What that library is made of, a name that stands in it.
const OF_DEVICE_RUNTIME: &[u8] = b"cuda_device_runtime";

/// Stands before the registers that a thread may have, in the first line of what a linker has made: who
/// copies the image copies it along.
const MAX_REGISTERS: &str = "// CU_JIT_MAX_REGISTERS ";

/// What has been given to a linker.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    work: Mutex<Work>,
    /// What was said when it was made.
    logs: JitOptions,
}

#[derive(Debug, Default)]
struct Work {
    texts: Vec<Source>,
    /// What was made of them, ending in NUL: the image that is handed out points here.
    image: Option<Vec<u8>>,
    /// How many registers what is linked may have.
    max_registers: Option<u32>,
}

impl Linker {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of a text, which goes to the log that was asked for.
    fn refuse(&self, Refusal { code, log }: Refusal) -> crate::error::Error {
        self.logs.write("", &log);
        if !self.logs.has_error_log() {
            say(&log);
        }
        code.because(log)
    }
}

/// How many registers a thread may have of a text that a linker has made.
pub(super) fn max_registers_of(text: &str) -> Option<u32> {
    text.strip_prefix(MAX_REGISTERS)?.lines().next()?.parse().ok()
}

fn linker(handle: Handle) -> Result<Arc<Linker>> {
    let missing = || Code::INVALID_HANDLE.because(format!("there is no linker {handle:#x}"));
    driver()?.linkers.get(handle).ok_or_else(missing)
}

/// The errors of a text as a log.
fn refusal(diagnostics: Vec<Diagnostic>) -> Refusal {
    let log = diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Refusal { code: Code::INVALID_PTX, log }
}

/// The PTX of what an archive stands for, which is machine code.
fn library(bytes: &[u8]) -> std::result::Result<String, Refusal> {
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    let is_device_runtime = bytes.starts_with(ARCHIVE) && has(OF_DEVICE_RUNTIME);
    is_device_runtime.then(|| DEVICE_RUNTIME.to_owned()).ok_or_else(|| Refusal {
        code: Code::NOT_SUPPORTED,
        log: "libraries are machine code, which the emulated GPU does not run; of NVIDIA's \
              libcudadevrt.a alone it has functions of its own, cudaCGGetIntrinsicHandle and \
              cudaCGSynchronize"
            .to_owned(),
    })
}

/// The PTX of what is to be linked.
fn ptx(mut bytes: Vec<u8>) -> std::result::Result<String, Refusal> {
    if bytes.first_chunk().is_some_and(|magic| is_fatbin(*magic)) {
        return ptx_of(&bytes);
    }
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    let size = bytes.len() as u64;
    let room = |_| Refusal { code: Code::OUT_OF_MEMORY, log: OutOfMemory { size }.to_string() };
    bytes.try_reserve(4).map_err(room)?;
    // It ends in NUL, as it would in memory; at least four bytes are looked at.
    bytes.extend([0; 4]);
    text_of(bytes.as_ptr() as usize)
}

fn add(
    handle: Handle,
    input: u32,
    name: String,
    options: JitOptions,
    bytes: impl FnOnce() -> Result<Vec<u8>>,
) -> Result {
    let linker = linker(handle)?;
    if !matches!(input, PTX | FATBINARY | LIBRARY) {
        return Err(Code::NOT_SUPPORTED.because(
            "only PTX can be linked, alone or in a fatbin; machine code (cubins and objects) and LLVM's \
             code can't",
        ));
    }
    let mut work = linker.work();
    if work.image.is_some() {
        return Err(Code::INVALID_VALUE.because("the linker has made its image already"));
    }
    let bytes = bytes()?;
    let text = if input == LIBRARY { library(&bytes) } else { ptx(bytes) };
    let text = text.and_then(|text| {
        let source = Source { name, text };
        ptx_emulator::parse_part(&source).map(|_| source).map_err(refusal)
    });
    let source = text.map_err(|refusal| linker.refuse(refusal))?;
    let size: usize = work.texts.iter().map(|source| source.text.len()).sum();
    if (size + source.text.len()) as u64 > MOST_TEXT_BYTES {
        return Err(Code::INVALID_VALUE
            .because(format!("more than {MOST_TEXT_BYTES} bytes of texts are not linked")));
    }
    linker.logs.write("", "");
    work.max_registers = options.max_registers().or(work.max_registers);
    work.texts.push(source);
    Ok(())
}

/// Links what was added, once.
fn complete<'w>(linker: &Linker, work: &'w mut Work) -> Result<&'w [u8]> {
    if work.texts.is_empty() {
        return Err(Code::INVALID_VALUE.because("nothing was added to the linker"));
    }
    if work.image.is_none() {
        let linked = ptx_emulator::link(&work.texts).and_then(|text| {
            let source = Source { name: "linked".to_owned(), text };
            ptx_emulator::parse(&source).map(|_| source.text)
        });
        let text = linked.map_err(|diagnostics| linker.refuse(refusal(diagnostics)))?;
        let limit = work.max_registers.map(|most| format!("{MAX_REGISTERS}{most}\n"));
        let mut image = (limit.unwrap_or_default() + &text).into_bytes();
        image.extend([0; 4]);
        work.image = Some(image);
    }
    Ok(work.image.as_deref().unwrap_or_default())
}

export! {
    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<JitValue>, out: Out<Handle>) {
        out.required()?;
        let logs = JitOptions::of(count, options, values)?;
        let handle = fresh();
        let work = Work { max_registers: logs.max_registers(), ..Work::default() };
        let linker = Linker { work: Mutex::new(work), logs };
        driver()?.linkers.insert(handle, Arc::new(linker));
        out.set(handle)
    }

    fn cuLinkAddData_v2(
        linker: Handle, input: u32, data: In<u8>, size: usize, name: Text, count: u32,
        options: In<u32>, values: Out<JitValue>,
    ) {
        let options = JitOptions::of(count, options, values)?;
        let text = || {
            let wild = || Code::INVALID_VALUE
                .because(format!("the text to link: {size} bytes at {:#x} can't be read", data.address()));
            if size == 0 || !host::is_readable(data.address(), size) {
                return Err(wild());
            }
            let mut text = filled(0, size)?;
            if host::gather(&[(data.address(), size)], &mut text) { Ok(text) } else { Err(wild()) }
        };
        add(linker, input, name.get().unwrap_or_else(|_| "linked".to_owned()), options, text)
    }

    fn cuLinkAddFile_v2(
        linker: Handle, input: u32, path: Text, count: u32, options: In<u32>, values: Out<JitValue>,
    ) {
        let options = JitOptions::of(count, options, values)?;
        let path = path.get()?;
        add(linker, input, path.clone(), options, || super::module::read_file(&path))
    }

    fn cuLinkComplete(linker: Handle, image: Out<*const u8>, size: Out<usize>) {
        image.required()?;
        let linker = self::linker(linker)?;
        let mut work = linker.work();
        let text = complete(&linker, &mut work)?;
        size.set_if_wanted(text.len());
        image.set(text.as_ptr())
    }

    fn cuLinkDestroy(linker: Handle) {
        let gone = driver()?.linkers.remove(linker);
        gone.map(|_| ()).ok_or_else(|| Code::INVALID_HANDLE.because("there is no such linker"))
    }
}
