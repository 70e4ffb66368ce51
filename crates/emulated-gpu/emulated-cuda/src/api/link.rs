//! Linking at run time. The emulator links nothing with anything: one PTX text goes in, and the same
//! comes out as the image to load.

use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::source::Source;

use crate::abi::{Handle, In, Out, Text};
use crate::border::{export, say};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::host;
use crate::module::text_of;
use crate::registry::fresh;

use super::module::Logs;

/// `CU_JIT_INPUT_PTX`
const PTX: u32 = 1;

/// What has been given to a linker.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    /// The text, ending in NUL: the image that is handed out points here.
    text: Mutex<Option<Vec<u8>>>,
    logs: Logs,
}

fn add(linker: Handle, input: u32, name: String, text: Vec<u8>) -> Result {
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
    let mut image = text;
    while image.last() == Some(&0) {
        image.pop();
    }
    image.extend([0; 4]);
    let parsed = text_of(image.as_ptr() as usize).and_then(|text| {
        let checked = ptx_emulator::parse(&Source { name, text });
        checked.map_err(|diagnostics| crate::module::Refusal {
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
    *own = Some(image);
    Ok(())
}

export! {
    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: In<usize>, out: Out<Handle>) {
        out.required()?;
        let logs = Logs::of(count, options, values)?;
        let handle = fresh();
        driver()?.linkers.insert(handle, Arc::new(Linker { text: Mutex::default(), logs }));
        out.set(handle)
    }

    fn cuLinkAddData_v2(
        linker: Handle, input: u32, data: In<u8>, size: usize, name: Text, _count: u32,
        _options: In<u32>, _values: In<usize>,
    ) {
        let mut text = vec![0; size];
        if size == 0 || !host::gather(&[(data.address(), size)], &mut text) {
            return Err(Code::INVALID_VALUE.because("the text to link can't be read"));
        }
        add(linker, input, name.get().unwrap_or_else(|_| "linked".to_owned()), text)
    }

    fn cuLinkAddFile_v2(
        linker: Handle, input: u32, path: Text, _count: u32, _options: In<u32>, _values: In<usize>,
    ) {
        let path = path.get()?;
        let text = std::fs::read(&path)
            .map_err(|error| Code::FILE_NOT_FOUND.because(format!("{path}: {error}")))?;
        add(linker, input, path, text)
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
