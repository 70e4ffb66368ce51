//! Modules, and libraries, which are modules that belong to no context.

use std::io;
use std::sync::Arc;

use device_image::linked::max_registers_of;
use tensor::file::{MOST_TEXT_BYTES, open, read};

use crate::abi::{Handle, In, JitValue, Out, Text};
use crate::capture;
use crate::context;
use crate::driver::driver;
use crate::error::{Code, Error, Refusal, Result};
use crate::fatbin;
use crate::ffi::{export, say};
use crate::module::{Module, ptx_of, text_of};

/// `CU_JIT_MAX_REGISTERS`
const MAX_REGISTERS: u32 = 0;
/// `CUjit_option`s that carry a log back.
const INFO_LOG: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;

/// Where the caller wants the log of loading, and how much space there is.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    buffer: Out<u8>,
    size: usize,
    /// Where in the list the size stands: it is overwritten with what was used.
    size_at: Option<usize>,
}

/// What the options say: the logs that are wanted, and how many registers a thread may have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JitOptions {
    info: Log,
    error: Log,
    values: Out<JitValue>,
    max_registers: Option<u32>,
}

impl JitOptions {
    /// Reads the options; others than those about logs and registers have no effect here.
    ///
    /// # Errors
    /// `INVALID_VALUE` for options that are null.
    pub(crate) fn of(count: u32, options: In<u32>, values: Out<JitValue>) -> Result<Self> {
        let mut logs = Self { values, ..Self::default() };
        let (names, values) =
            (options.list(count as usize)?, values.read_only().list(count as usize)?);
        for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
            let number = value.address() & 0xffff_ffff;
            match name {
                // A number too; 0 asks for no limit.
                MAX_REGISTERS => {
                    logs.max_registers = Some(number as u32).filter(|&most| most > 0);
                }
                INFO_LOG => logs.info.buffer = value,
                ERROR_LOG => logs.error.buffer = value,
                // The size is a number, passed as if it were a pointer.
                INFO_LOG_SIZE => (logs.info.size, logs.info.size_at) = (number, Some(at)),
                ERROR_LOG_SIZE => (logs.error.size, logs.error.size_at) = (number, Some(at)),
                _ => {}
            }
        }
        Ok(logs)
    }

    /// How many registers a thread may have.
    pub(crate) fn max_registers(&self) -> Option<u32> {
        self.max_registers
    }

    /// Whether somebody will read what went wrong.
    pub(crate) fn has_error_log(&self) -> bool {
        !self.error.buffer.is_null() && self.error.size > 1
    }

    /// Writes both logs.
    pub(crate) fn write(&self, info: &str, error: &str) {
        for (log, text) in [(self.info, info), (self.error, error)] {
            let fits = text.len().min(log.size.saturating_sub(1));
            if !log.buffer.is_null() && log.size > 0 {
                log.buffer.set_all(text.bytes().take(fits).chain([0]));
            }
            if let Some(at) = log.size_at {
                self.values.cast::<usize>().offset(at).set_if_wanted(fits);
            }
        }
    }
}

/// A library belongs to no context, may be loaded without one, and stays when contexts go.
const NO_CONTEXT: Handle = 0;

/// Loads a text, and tells whoever wants to know what is wrong with it.
fn load(
    text: std::result::Result<String, Refusal>,
    name: Option<String>,
    logs: JitOptions,
    context: Handle,
) -> Result<Arc<Module>> {
    let loaded = text.and_then(|text| {
        // What a linker made has the linker's options.
        let most = logs.max_registers.or_else(|| max_registers_of(&text));
        Module::load(text, name, context, most)
    });
    match loaded {
        Ok(module) => {
            logs.write("", "");
            Ok(module)
        }
        Err(Refusal { code, log }) => {
            logs.write("", &log);
            // CUDA's code says only that something is wrong. Whoever passed no buffer for the log
            // wants to know as well.
            if !logs.has_error_log() {
                say(&log);
            }
            Err(Error { code, why: Some(log) })
        }
    }
}

/// Loads a text in memory.
fn load_image(image: In<u8>, options: JitOptions, context: Handle) -> Result<Arc<Module>> {
    load(text_of(image.address()), None, options, context)
}

fn load_file(path: Text, logs: JitOptions, context: Handle) -> Result<Arc<Module>> {
    let path = path.get()?;
    let mut image = read_file(&path)?;
    if image.first_chunk().is_some_and(|magic| fatbin::is_fatbin(*magic)) {
        return load(ptx_of(&image), Some(path), logs, context);
    }
    // It ends in NUL, as it would in memory; at least four bytes are looked at.
    image.extend([0; 4]);
    load(text_of(image.as_ptr() as usize), Some(path), logs, context)
}

/// The bytes of a file of PTX: not those of a device that has no end, or of a disk's image.
pub(super) fn read_file(path: &str) -> Result<Vec<u8>> {
    let bytes = open(path.as_ref()).and_then(|file| read(file, MOST_TEXT_BYTES));
    bytes.map_err(|error| {
        match error.kind() {
            io::ErrorKind::OutOfMemory => Code::OUT_OF_MEMORY,
            io::ErrorKind::FileTooLarge => Code::INVALID_IMAGE,
            _ => Code::FILE_NOT_FOUND,
        }
        .because(format!("{path}: {error}"))
    })
}

/// The handle of the context that a module will belong to.
fn own_context() -> Result<Handle> {
    Ok(context::current()?.handle)
}

/// Loads a fatbin, or whatever else an image is, for the calling thread's context; gives the module.
///
/// # Errors
/// As `cuModuleLoadData`.
pub(super) fn load_from_memory(image: In<u8>) -> Result<Handle> {
    Ok(load_image(image, JitOptions::default(), own_context()?)?.handle)
}

/// Unloads a module. Work that stands in streams has its kernels, which keep the variables.
///
/// # Errors
/// `INVALID_HANDLE`, and what capturing forbids.
pub(super) fn unload(module: Handle) -> Result {
    capture::forbid_unsafe_call()?;
    driver()?.module(module)?.unload()
}

fn library(handle: Handle) -> Result<Arc<Module>> {
    driver()?.module(handle)
}

fn library_variable(address: Out<u64>, bytes: Out<usize>, handle: Handle, name: Text) -> Result {
    let name = name.get()?;
    // Without a context, as on the first device.
    let device = context::current().map_or(0, |context| context.device);
    let (at, size) = library(handle)?.variable(&name, device)?;
    address.set_if_wanted(at);
    bytes.set_if_wanted(size as usize);
    Ok(())
}

export! {
    2000 fn cuModuleLoad(out: Out<Handle>, path: Text) {
        out.required()?;
        out.set(load_file(path, JitOptions::default(), own_context()?)?.handle)
    }

    2000 fn cuModuleLoadData(out: Out<Handle>, image: In<u8>) {
        out.required()?;
        out.set(load_from_memory(image)?)
    }

    2010 fn cuModuleLoadDataEx(
        out: Out<Handle>, image: In<u8>, count: u32, options: In<u32>, values: Out<JitValue>,
    ) {
        out.required()?;
        let context = own_context()?;
        let logs = JitOptions::of(count, options, values)?;
        out.set(load_image(image, logs, context)?.handle)
    }

    2000 fn cuModuleLoadFatBinary(out: Out<Handle>, image: In<u8>) {
        out.required()?;
        out.set(load_image(image, JitOptions::default(), own_context()?)?.handle)
    }

    2000 fn cuModuleUnload(module: Handle) {
        unload(module)
    }

    11070 fn cuModuleGetLoadingMode(mode: Out<u32>) {
        // CU_MODULE_EAGER_LOADING, CU_MODULE_LAZY_LOADING. By the latter, code that this card can't run
        // is no error until it is used.
        mode.set(if driver()?.settings.eager { 1 } else { 2 })
    }

    2000 fn cuModuleGetFunction(out: Out<Handle>, module: Handle, name: Text) {
        out.required()?;
        context::current()?;
        let name = name.get()?;
        out.set(driver()?.module(module)?.function(&name)?.handle)
    }

    12040 fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) {
        count.required()?;
        count.set(driver()?.module(module)?.all()?.len() as u32)
    }

    12040 fn cuModuleEnumerateFunctions(out: Out<Handle>, most: u32, module: Handle) {
        out.required()?;
        let all = driver()?.module(module)?.all()?;
        out.set_all(all.iter().take(most as usize).map(|function| function.handle));
        Ok(())
    }

    3020 fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        let device = context::current()?.device;
        let name = name.get()?;
        let (at, size) = driver()?.module(module)?.variable(&name, device)?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(size as usize);
        Ok(())
    }

    12000 fn cuLibraryLoadData(
        out: Out<Handle>, image: In<u8>, options: In<u32>, values: Out<JitValue>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        out.required()?;
        let logs = JitOptions::of(count, options, values)?;
        out.set(load_image(image, logs, NO_CONTEXT)?.handle)
    }

    12000 fn cuLibraryLoadFromFile(
        out: Out<Handle>, path: Text, options: In<u32>, values: Out<JitValue>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        out.required()?;
        let logs = JitOptions::of(count, options, values)?;
        out.set(load_file(path, logs, NO_CONTEXT)?.handle)
    }

    12000 fn cuLibraryUnload(handle: Handle) {
        library(handle)?.unload()
    }

    12000 fn cuLibraryGetModule(out: Out<Handle>, handle: Handle) {
        out.required()?;
        out.set(library(handle)?.handle)
    }

    12000 fn cuLibraryGetKernel(out: Out<Handle>, handle: Handle, name: Text) {
        out.required()?;
        let name = name.get()?;
        out.set(library(handle)?.function(&name)?.handle)
    }

    12040 fn cuLibraryGetKernelCount(count: Out<u32>, handle: Handle) {
        count.required()?;
        count.set(library(handle)?.all()?.len() as u32)
    }

    12040 fn cuLibraryEnumerateKernels(out: Out<Handle>, most: u32, handle: Handle) {
        out.required()?;
        let all = library(handle)?.all()?;
        out.set_all(all.iter().take(most as usize).map(|function| function.handle));
        Ok(())
    }

    12000 fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, handle: Handle, name: Text) {
        library_variable(address, bytes, handle, name)
    }

    12000 fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, handle: Handle, name: Text) {
        library_variable(address, bytes, handle, name)
    }
}
