//! Modules, and libraries, which are modules that don't belong to a context.

pub(crate) mod linker;

use std::io;
use std::sync::Arc;

use device_image::fatbin::extract_ptx;
use device_image::linked::max_registers_of;
use host::file::{MAX_TEXT_BYTES, open, read};

use crate::abi::error::{Code, Error, Refusal, Result};
use crate::abi::ffi::{export, report};
use crate::abi::{Handle, In, JitValue, Out, Text};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::context::Context;
use crate::module::fatbin;
use crate::module::jit_options::JitOptions;
use crate::module::{Module, text_of};
use crate::stream::capture;

/// Loads a PTX text, and writes errors to the log. Without a context, the text is loaded as a library, which stays
/// loaded when contexts are destroyed.
unsafe fn load(
    text: impl FnOnce(u32) -> Result<String, Refusal>,
    name: Option<String>,
    logs: JitOptions,
    context: Option<&Arc<Context>>,
) -> Result<Handle> {
    let driver = driver()?;
    let hardware = &driver.hardware;
    let loaded = text(hardware.settings.capability).and_then(|text| {
        // A linked image contains the options that were passed to the linker.
        let max = logs.max_registers().or_else(|| max_registers_of(&text));
        Module::load(text, name, context, max, hardware)
    });
    match loaded {
        Ok(module) => {
            logs.write("", "");
            let handle = module.handle;
            driver.modules.insert(handle, Arc::new(module));
            Ok(handle)
        }
        Err(Refusal { code, log }) => {
            logs.write("", &log);
            // CUDA's error code gives no details. If the caller passed no log buffer, the details are printed on
            // standard error.
            if !logs.has_error_log() {
                report(&log);
            }
            Err(Error { code, why: Some(log) })
        }
    }
}

/// Loads an image in memory.
unsafe fn load_image(
    image: In<u8>,
    options: JitOptions,
    context: Option<&Arc<Context>>,
) -> Result<Handle> {
    load(|card| text_of(image.address(), card), None, options, context)
}

unsafe fn load_file(
    path: Text,
    logs: JitOptions,
    context: Option<&Arc<Context>>,
) -> Result<Handle> {
    let path = path.get()?;
    let mut image = read_file(&path)?;
    if image.first_chunk().is_some_and(|magic| fatbin::is_fatbin(*magic)) {
        return load(|card| Ok(extract_ptx(&image, card)?), Some(path), logs, context);
    }
    // The image is extended, because a text must end in NUL, and at least four bytes are read.
    image.extend([0; 4]);
    load(|card| text_of(image.as_ptr() as usize, card), Some(path), logs, context)
}

/// Reads a file of PTX. Its size is limited, so that an endless device or a disk image gives an error.
pub(crate) fn read_file(path: &str) -> Result<Vec<u8>> {
    let bytes = open(path.as_ref()).and_then(|file| read(file, MAX_TEXT_BYTES));
    bytes.map_err(|error| {
        match error.kind() {
            io::ErrorKind::OutOfMemory => Code::OUT_OF_MEMORY,
            io::ErrorKind::FileTooLarge => Code::INVALID_IMAGE,
            _ => Code::FILE_NOT_FOUND,
        }
        .because(format!("{path}: {error}"))
    })
}

/// Loads an image (a fatbin or PTX) for the calling thread's context, and returns the module.
///
/// # Errors
/// The errors of `cuModuleLoadData`.
pub(crate) unsafe fn load_from_memory(image: In<u8>) -> Result<Handle> {
    load_image(image, JitOptions::default(), Some(&calling_thread::context()?))
}

/// Unloads a module. Pending work keeps the module's kernels and variables alive.
///
/// # Errors
/// `INVALID_HANDLE` if there is no such module; `STREAM_CAPTURE_UNSUPPORTED` if a capture forbids the call.
pub(crate) fn unload(module: Handle) -> Result {
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let driver = driver()?;
    driver.unload(&*driver.module(module)?);
    Ok(())
}

fn library(handle: Handle) -> Result<Arc<Module>> {
    driver()?.module(handle)
}

export! {
    2000 fn cuModuleLoad(out as required: Out<Handle>, path: Text) {
        out.set(load_file(path, JitOptions::default(), Some(&calling_thread::context()?))?)
    }

    2000 fn cuModuleLoadData(out as required: Out<Handle>, image: In<u8>), 2000 cuModuleLoadFatBinary {
        out.set(load_from_memory(image)?)
    }

    2010 fn cuModuleLoadDataEx(
        out as required: Out<Handle>, image: In<u8>, count: u32, options: In<u32>, values: Out<JitValue>,
    ) {
        let context = calling_thread::context()?;
        let logs = JitOptions::read(count, options, values)?;
        out.set(load_image(image, logs, Some(&context))?)
    }

    2000 fn cuModuleUnload(module: Handle) {
        unload(module)
    }

    11070 fn cuModuleGetLoadingMode(mode: Out<u32>) {
        // The mode is CU_MODULE_EAGER_LOADING (1) or CU_MODULE_LAZY_LOADING (2). With lazy loading, code that this card
        // can't run gives an error only when it is used.
        mode.set(if driver()?.hardware.settings.eager { 1 } else { 2 })
    }

    2000 fn cuModuleGetFunction(out as required: Out<Handle>, module: Handle, name: Text) {
        calling_thread::context()?;
        let name = name.get()?;
        out.set(driver()?.module(module)?.function(&name, &driver()?.functions)?.handle)
    }

    12040 fn cuModuleGetFunctionCount(count as required: Out<u32>, module: Handle) {
        count.set(driver()?.module(module)?.all(&driver()?.functions)?.len() as u32)
    }

    12040 fn cuModuleEnumerateFunctions(out as required: Out<Handle>, max: u32, module: Handle) {
        let all = driver()?.module(module)?.all(&driver()?.functions)?;
        out.set_all(all.iter().take(max as usize).map(|function| function.handle));
        Ok(())
    }

    3020 fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        let device = calling_thread::context()?.device;
        let name = name.get()?;
        let (at, size) = driver()?.module(module)?.variable(&name, device)?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(size as usize);
        Ok(())
    }

    12000 fn cuLibraryLoadData(
        out as required: Out<Handle>, image: In<u8>, options: In<u32>, values: Out<JitValue>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        let logs = JitOptions::read(count, options, values)?;
        out.set(load_image(image, logs, None)?)
    }

    12000 fn cuLibraryLoadFromFile(
        out as required: Out<Handle>, path: Text, options: In<u32>, values: Out<JitValue>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        let logs = JitOptions::read(count, options, values)?;
        out.set(load_file(path, logs, None)?)
    }

    12000 fn cuLibraryUnload(handle: Handle) {
        driver()?.unload(&*library(handle)?);
        Ok(())
    }

    12000 fn cuLibraryGetModule(out as required: Out<Handle>, handle: Handle) {
        out.set(library(handle)?.handle)
    }

    12000 fn cuLibraryGetKernel(out as required: Out<Handle>, handle: Handle, name: Text) {
        let name = name.get()?;
        out.set(library(handle)?.function(&name, &driver()?.functions)?.handle)
    }

    12040 fn cuLibraryGetKernelCount(count as required: Out<u32>, handle: Handle) {
        count.set(library(handle)?.all(&driver()?.functions)?.len() as u32)
    }

    12040 fn cuLibraryEnumerateKernels(out as required: Out<Handle>, max: u32, handle: Handle) {
        let all = library(handle)?.all(&driver()?.functions)?;
        out.set_all(all.iter().take(max as usize).map(|function| function.handle));
        Ok(())
    }

    12000 fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, handle: Handle, name: Text),
    12000 cuLibraryGetManaged {
        let name = name.get()?;
        // Without a current context, the first device is used.
        let device = calling_thread::context().map_or(0, |context| context.device);
        let (at, size) = library(handle)?.variable(&name, device)?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(size as usize);
        Ok(())
    }
}
