//! Linking at run time (`cuLink…`): PTX texts, bare or in fatbins, are linked to one text, which is the image to
//! load.

use std::sync::{Arc, Mutex};

use ::host::file::MAX_TEXT_BYTES;
use device_image::fatbin::extract_ptx;
use device_image::{archive, linked};
use ptx_emulator::Diagnostic;
use ptx_emulator::memory::OutOfMemory;
use ptx_emulator::room::filled;
use ptx_emulator::source::Source;

use crate::abi::error::{Code, Refusal, Result, fail_if, out_of_memory};
use crate::abi::ffi::export;
use crate::abi::host_memory;
use crate::abi::registry::new_handle;
use crate::abi::{Handle, In, JitValue, Out, Text};
use crate::api::driver::driver;
use crate::module::fatbin::is_fatbin;
use crate::module::jit_options::JitOptions;
use crate::module::linker::{LinkState, Linker};
use crate::module::text_of;

/// `CU_JIT_INPUT_CUBIN`
const CUBIN: u32 = 0;
/// `CU_JIT_INPUT_PTX`
const PTX: u32 = 1;
/// `CU_JIT_INPUT_FATBINARY`
const FATBINARY: u32 = 2;
/// `CU_JIT_INPUT_LIBRARY`
const LIBRARY: u32 = 4;

fn linker(handle: Handle) -> Result<Arc<Linker>> {
    driver()?.linkers.find(handle, Code::INVALID_HANDLE, "linker")
}

/// Converts the errors of a text to a log.
fn refusal(diagnostics: Vec<Diagnostic>) -> Refusal {
    let log = diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Refusal { code: Code::INVALID_PTX, log }
}

/// The PTX that replaces an archive of machine code.
fn library(bytes: &[u8]) -> Result<String, Refusal> {
    let refusal =
        || Refusal { code: Code::NOT_SUPPORTED, log: archive::UNSUPPORTED_LIBRARY.to_owned() };
    archive::replacement_ptx(bytes).map(str::to_owned).ok_or_else(refusal)
}

/// Reads the PTX of an input: a text, a fatbin or an archive.
fn ptx(mut bytes: Vec<u8>, card: u32) -> Result<String, Refusal> {
    if bytes.first_chunk().is_some_and(|magic| is_fatbin(*magic)) {
        return Ok(extract_ptx(&bytes, card)?);
    }
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    let size = bytes.len() as u64;
    let out_of_memory =
        |_| Refusal { code: Code::OUT_OF_MEMORY, log: OutOfMemory { size }.to_string() };
    bytes.try_reserve(4).map_err(out_of_memory)?;
    // The bytes are extended, because the text must end in NUL, and at least four bytes are read.
    bytes.extend([0; 4]);
    // SAFETY: the text ends in NUL, and it isn't a fatbin.
    unsafe { text_of(bytes.as_ptr() as usize, card) }
}

fn add(
    handle: Handle,
    input: u32,
    name: String,
    options: JitOptions,
    bytes: impl FnOnce() -> Result<Vec<u8>>,
) -> Result {
    let linker = linker(handle)?;
    let unknown = || {
        Code::NOT_SUPPORTED.because(
            "only PTX can be linked, bare or in a fatbin; machine code (cubins and objects) and LLVM \
             bitcode can't",
        )
    };
    if !matches!(input, CUBIN | PTX | FATBINARY | LIBRARY) {
        return Err(unknown());
    }
    let mut work = linker.work();
    if work.image.is_some() {
        return Err(
            Code::INVALID_VALUE.because("the linker has already made its image; create a new one")
        );
    }
    let bytes = bytes()?;
    // The emulated NVRTC and nvJitLink return a fatbin in place of a cubin, so a fatbin is accepted as a cubin.
    if input == CUBIN && !bytes.first_chunk().is_some_and(|magic| is_fatbin(*magic)) {
        return Err(unknown());
    }
    let card = driver()?.hardware.settings.capability;
    let text = if input == LIBRARY { library(&bytes) } else { ptx(bytes, card) };
    let text = text.and_then(|text| {
        let source = Source { name, text };
        ptx_emulator::parse_part(&source).map(|_| source).map_err(refusal)
    });
    let source = text.map_err(|refusal| linker.log_error(refusal))?;
    let size: usize = work.texts.iter().map(|source| source.text.len()).sum();
    if (size + source.text.len()) as u64 > MAX_TEXT_BYTES {
        return Err(Code::INVALID_VALUE
            .because(format!("the texts to link have more than {MAX_TEXT_BYTES} bytes together")));
    }
    // SAFETY: the log buffers stay valid as long as the linker exists.
    unsafe { linker.logs.write("", "") };
    work.max_registers = options.max_registers().or(work.max_registers);
    work.texts.push(source);
    Ok(())
}

/// Links the added texts on the first call, and returns the image.
fn complete<'w>(linker: &Linker, work: &'w mut LinkState) -> Result<&'w [u8]> {
    fail_if!(work.texts.is_empty(), INVALID_VALUE, "nothing was added to the linker");
    if work.image.is_none() {
        let made = ptx_emulator::link(&work.texts).and_then(|text| {
            let source = Source { name: "linked".to_owned(), text };
            ptx_emulator::parse(&source).map(|_| source.text)
        });
        let text = made.map_err(|diagnostics| linker.log_error(refusal(diagnostics)))?;
        let text = match work.max_registers {
            Some(max) => linked::with_max_registers(&text, max),
            None => text,
        };
        let mut image = text.into_bytes();
        image.extend([0; 4]);
        work.image = Some(image);
    }
    Ok(work.image.as_deref().unwrap_or_default())
}

export! {
    5050 fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<JitValue>, out as required: Out<Handle>) {
        let logs = JitOptions::read(count, options, values)?;
        let handle = new_handle();
        let work = LinkState { max_registers: logs.max_registers(), ..LinkState::default() };
        let linker = Linker { work: Mutex::new(work), logs };
        driver()?.linkers.insert(handle, Arc::new(linker));
        out.set(handle)
    }

    5050 fn cuLinkAddData_v2(
        linker: Handle, input: u32, data: In<u8>, size: usize, name: Text, count: u32,
        options: In<u32>, values: Out<JitValue>,
    ) {
        let options = JitOptions::read(count, options, values)?;
        let text = || {
            let unreadable = || Code::INVALID_VALUE
                .because(format!("the text to link: {size} bytes at {:#x} can't be read", data.address()));
            if size == 0 || !host_memory::is_readable(data.address(), size) {
                return Err(unreadable());
            }
            let mut text = filled(0, size).map_err(out_of_memory)?;
            if host_memory::gather(&[(data.address(), size)], &mut text) { Ok(text) } else { Err(unreadable()) }
        };
        add(linker, input, name.get().unwrap_or_else(|_| "linked".to_owned()), options, text)
    }

    5050 fn cuLinkAddFile_v2(
        linker: Handle, input: u32, path: Text, count: u32, options: In<u32>, values: Out<JitValue>,
    ) {
        let options = JitOptions::read(count, options, values)?;
        let path = path.get()?;
        add(linker, input, path.clone(), options, || crate::api::module::read_file(&path))
    }

    5050 fn cuLinkComplete(linker: Handle, image as required: Out<*const u8>, size: Out<usize>) {
        let linker = self::linker(linker)?;
        let mut work = linker.work();
        let text = complete(&linker, &mut work)?;
        size.set_if_wanted(text.len());
        image.set(text.as_ptr())
    }

    5050 fn cuLinkDestroy(linker: Handle) {
        let gone = driver()?.linkers.remove(linker);
        gone.map(|_| ()).ok_or_else(|| Code::INVALID_HANDLE.because("there is no such linker"))
    }
}
