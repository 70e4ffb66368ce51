//! Modules, which are loaded PTX.

pub(crate) mod fatbin;
pub(crate) mod jit_options;
pub(crate) mod linker;

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use device_image::fatbin::extract_ptx;
use ptx_emulator::source::Source;
use ptx_emulator::texture::{Opaque, Sampling};

use crate::abi::error::{Code, Refusal, Result};
use crate::abi::host_memory;
use crate::abi::registry::{Registry, new_handle};
use crate::abi::{Handle, Pointer};
use crate::context::Context;
use crate::context::hardware::Hardware;
use crate::execution::function::Function;
use crate::execution::image::Image;

/// A module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) handle: Handle,
    /// The handle of the module's context; 0 for a library, which is loaded on each device that uses it.
    pub(crate) context: Handle,
    home: Weak<Context>,
    image: Arc<Image>,
    /// `CU_JIT_MAX_REGISTERS`
    max_registers: Option<u32>,
    functions: Mutex<HashMap<String, Arc<Function>>>,
}

/// The PTX of an image, for a card with this compute capability.
///
/// # Safety
/// The image is readable up to its end (a text's NUL), or the system can detect that it isn't.
///
/// # Errors
/// If the image can't be read, is machine code, or is a fatbin that is damaged or has no PTX; the log has the reason.
#[allow(unsafe_code, reason = "reads an image in the program's memory")]
pub(crate) unsafe fn text_of(image: usize, card: u32) -> Result<String, Refusal> {
    let refuse = |code, log: &str| Err(Refusal { code, log: log.to_owned() });
    let mut magic = [0u8; 4];
    // SAFETY: guaranteed by the caller.
    if !unsafe { host_memory::gather(&[(image, 4)], &mut magic) } {
        return refuse(Code::INVALID_VALUE, "the image is null, or its address can't be read");
    }
    if magic == *b"\x7fELF" {
        return refuse(
            Code::NO_BINARY_FOR_GPU,
            "the image is a cubin, which is machine code for NVIDIA's hardware; the emulated GPU \
             runs PTX: compile with --ptx, or pass --gpu-architecture=compute_90 to NVRTC; if nvJitLink \
             made it, set EMULATED_GPU_NVJITLINK",
        );
    }
    if fatbin::is_fatbin(magic) {
        // SAFETY: guaranteed by the caller.
        return Ok(extract_ptx(&unsafe { fatbin::read(image) }?, card)?);
    }
    // SAFETY: the text is readable, as the caller promises, and the system has read its first bytes.
    let bytes = unsafe { CStr::from_ptr(image as *const _) }.to_bytes().to_vec();
    match String::from_utf8(bytes) {
        Ok(text) if text.contains(".version") => Ok(text),
        Ok(_) => refuse(
            Code::INVALID_IMAGE,
            "the image is not PTX, because it has no .version directive",
        ),
        // The parser reports the first character that is not ASCII.
        Err(error) => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

impl Module {
    /// Loads a PTX text into a context, or as a library without one.
    ///
    /// # Errors
    /// `INVALID_PTX` with the diagnostics, `UNSUPPORTED_PTX_VERSION` if the text's version is too new,
    /// `OUT_OF_MEMORY` if the device has too little memory for its variables.
    pub(crate) fn load(
        text: String,
        name: Option<String>,
        context: Option<&Arc<Context>>,
        max_registers: Option<u32>,
        hardware: &Arc<Hardware>,
    ) -> Result<Self, Refusal> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let ordinal = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = name.unwrap_or_else(|| format!("module {ordinal}"));
        let is_too_new = has_unknown_version(&text);
        let device = context.map(|context| context.device);
        let image = Image::load(Source { name, text }, device, hardware);
        let image = image.map_err(|diagnostics| {
            let log: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            let code = if is_too_new {
                Code::UNSUPPORTED_PTX_VERSION
            } else if diagnostics.iter().all(|diagnostic| diagnostic.out_of_memory) {
                Code::OUT_OF_MEMORY
            } else {
                Code::INVALID_PTX
            };
            Refusal { code, log: log.join("\n") }
        })?;
        // NVIDIA's driver compiles PTX for its card with ptxas, which rejects a text for a newer card with this
        // message.
        let (target, card) = (image.loaded.target(), hardware.settings.capability);
        if target > card {
            let log = format!(
                "fatal   : SM version specified by .target is higher than default SM version assumed: \
                 the file needs sm_{target}, but the emulated card is sm_{card}; compile for \
                 compute_{card} or an older one"
            );
            return Err(Refusal { code: Code::INVALID_PTX, log });
        }
        Ok(Self {
            handle: new_handle(),
            context: context.map_or(0, |context| context.handle),
            home: context.map(Arc::downgrade).unwrap_or_default(),
            image: Arc::new(image),
            max_registers,
            functions: Mutex::default(),
        })
    }

    /// The function with this name. It is created and registered on the first call.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such kernel; the message lists the kernels that exist.
    pub(crate) fn function(
        &self,
        name: &str,
        registry: &Registry<Function>,
    ) -> Result<Arc<Function>> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(Arc::clone(function));
        }
        let kernel = self.image.loaded.kernel(name).ok_or_else(|| {
            let names = self.image.loaded.kernels().join(", ");
            Code::NOT_FOUND.because(format!(
                "there is no kernel `{name}`; the module has: {names} (C++ names are mangled; use \
                 extern \"C\")"
            ))
        })?;
        let (home, image) = (Weak::clone(&self.home), Arc::clone(&self.image));
        let function = Function::new(self.handle, home, image, kernel, self.max_registers);
        registry.insert(function.handle, Arc::clone(&function));
        functions.insert(name.to_owned(), Arc::clone(&function));
        Ok(function)
    }

    /// All kernels, in the order of the text.
    ///
    /// # Errors
    /// See [`function`](Self::function).
    pub(crate) fn all(&self, registry: &Registry<Function>) -> Result<Vec<Arc<Function>>> {
        self.image.loaded.kernels().iter().map(|name| self.function(name, registry)).collect()
    }

    /// The address and the size of a variable on a device.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such variable.
    pub(crate) fn variable(&self, name: &str, device: u32) -> Result<(Pointer, u64)> {
        let variable = self.image.loaded_on(device)?.variable(name);
        variable.ok_or_else(|| Code::NOT_FOUND.because(format!("there is no variable `{name}`")))
    }

    /// The handle of a texture or surface variable on a device, and the sampling that the text declares for it.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such variable.
    pub(crate) fn opaque(&self, name: &str, device: u32, kind: Opaque) -> Result<(u64, Sampling)> {
        let opaque = self.image.loaded_on(device)?.opaque(name, kind);
        let what = if kind == Opaque::Texture { "texture" } else { "surface" };
        opaque.ok_or_else(|| {
            Code::NOT_FOUND.because(format!("there is no {what} reference `{name}`"))
        })
    }
}

/// Whether the text's `.version` is newer than the supported ones.
fn has_unknown_version(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| *word != ".version").skip(1);
    let major = words.next().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major > 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_above_9_are_unknown() {
        assert!(has_unknown_version("// made\n.version 10.0\n.target sm_90"));
        assert!(!has_unknown_version(".version 8.8\n.target sm_52"));
        assert!(!has_unknown_version(".target sm_52"));
    }
}
