//! Linking at run time. The emulator links nothing with anything: one PTX text goes in, and the same
//! comes out as the image to load.

use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::OutOfMemory;
use ptx_emulator::room::filled;
use ptx_emulator::source::Source;

use crate::abi::{Handle, In, Out, Text};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::ffi::{export, say};
use crate::host;
use crate::module::text_of;
use crate::registry::fresh;

use super::module::JitOptions;

/// `CU_JIT_INPUT_PTX`
const PTX: u32 = 1;

/// What has been given to a linker.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    /// The text, ending in NUL: the image that is handed out points here.
    text: Mutex<Option<Vec<u8>>>,
    /// What was said when it was made, and how many registers what is linked may have.
    logs: JitOptions,
    max_registers: Mutex<Option<u32>>,
}

/// How many registers a thread may have of an image that a linker has made.
///
/// # Errors
/// Before `cuInit`.
pub(crate) fn max_registers_of(image: usize) -> Result<Option<u32>> {
    let made = driver()?.linkers.all().into_iter().find(|linker| {
        let text = linker.text.lock().unwrap_or_else(PoisonError::into_inner);
        text.as_ref().is_some_and(|text| text.as_ptr() as usize == image)
    });
    Ok(made.and_then(|linker| *linker.max_registers.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn add(
    linker: Handle,
    input: u32,
    name: String,
    options: JitOptions,
    text: impl FnOnce() -> Result<Vec<u8>>,
) -> Result {
    let missing = || Code::INVALID_HANDLE.because(format!("there is no linker {linker:#x}"));
    let linker = driver()?.linkers.get(linker).ok_or_else(missing)?;
    if input != PTX {
        return Err(Code::NOT_SUPPORTED
            .because("only PTX can be linked; cubin, fatbin and libraries can't"));
    }
    let mut own = linker.text.lock().unwrap_or_else(PoisonError::into_inner);
    if own.is_some() {
        return Err(Code::NOT_SUPPORTED
            .because("the emulator does not link texts with each other: put all of it into one"));
    }
    let mut image = text()?;
    while image.last() == Some(&0) {
        image.pop();
    }
    image.try_reserve(4).map_err(|_| OutOfMemory { size: image.len() as u64 })?;
    image.extend([0; 4]);
    let parsed = text_of(image.as_ptr() as usize).and_then(|text| {
        let checked = ptx_emulator::parse(&Source { name, text });
        checked.map_err(|diagnostics| crate::error::Refusal {
            code: Code::INVALID_PTX,
            log: diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        })
    });
    if let Err(refusal) = parsed {
        linker.logs.write("", &refusal.log);
        if !linker.logs.has_error_log() {
            say(&refusal.log);
        }
        return Err(refusal.code.because(refusal.log));
    }
    linker.logs.write("", "");
    if let Some(most) = options.max_registers() {
        *linker.max_registers.lock().unwrap_or_else(PoisonError::into_inner) = Some(most);
    }
    *own = Some(image);
    Ok(())
}

export! {
    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: In<usize>, out: Out<Handle>) {
        out.required()?;
        let logs = JitOptions::of(count, options, values)?;
        let handle = fresh();
        let max_registers = Mutex::new(logs.max_registers());
        let linker = Linker { text: Mutex::default(), logs, max_registers };
        driver()?.linkers.insert(handle, Arc::new(linker));
        out.set(handle)
    }

    fn cuLinkAddData_v2(
        linker: Handle, input: u32, data: In<u8>, size: usize, name: Text, count: u32,
        options: In<u32>, values: In<usize>,
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
        linker: Handle, input: u32, path: Text, count: u32, options: In<u32>, values: In<usize>,
    ) {
        let options = JitOptions::of(count, options, values)?;
        let path = path.get()?;
        add(linker, input, path.clone(), options, || super::module::read_file(&path))
    }

    fn cuLinkComplete(linker: Handle, image: Out<*const u8>, size: Out<usize>) {
        image.required()?;
        let missing = || Code::INVALID_HANDLE.because(format!("there is no linker {linker:#x}"));
        let linker = driver()?.linkers.get(linker).ok_or_else(missing)?;
        let text = linker.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = text.as_ref().ok_or_else(|| Code::INVALID_VALUE.because("nothing was added to the linker"))?;
        size.set_if_wanted(text.len());
        image.set(text.as_ptr())
    }

    fn cuLinkDestroy(linker: Handle) {
        let gone = driver()?.linkers.remove(linker);
        gone.map(|_| ()).ok_or_else(|| Code::INVALID_HANDLE.because("there is no such linker"))
    }
}
