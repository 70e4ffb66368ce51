//! Modules: PTX that has been loaded.

pub(crate) mod fatbin;
pub(crate) mod jit_options;
pub(crate) mod linker;

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use device_image::fatbin::ptx_of;
use ptx_emulator::source::Source;
use ptx_emulator::texture::{Opaque, Sampling};

use crate::abi::error::{Code, Refusal, Result};
use crate::abi::host_memory;
use crate::abi::registry::{Registry, fresh};
use crate::abi::{Handle, Pointer};
use crate::context::Context;
use crate::context::hardware::Hardware;
use crate::execution::function::Function;
use crate::execution::image::Image;

/// A module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) handle: Handle,
    /// 0 of a library, which is loaded on each device that uses it.
    pub(crate) context: Handle,
    own: Weak<Context>,
    image: Arc<Image>,
    /// `CU_JIT_MAX_REGISTERS`
    max_registers: Option<u32>,
    functions: Mutex<HashMap<String, Arc<Function>>>,
}

/// The text of an image, for a card of this compute capability.
///
/// # Safety
/// Where the system can't tell that it is not there, it is, up to its end: a text's NUL.
///
/// # Errors
/// What it is instead.
#[allow(unsafe_code, reason = "reads an image of the program's")]
pub(crate) unsafe fn text_of(image: usize, card: u32) -> std::result::Result<String, Refusal> {
    let refuse = |code, log: &str| Err(Refusal { code, log: log.to_owned() });
    let mut magic = [0u8; 4];
    // SAFETY: the caller's promise.
    if !unsafe { host_memory::gather(&[(image, 4)], &mut magic) } {
        return refuse(Code::INVALID_VALUE, "the image is null, or no address that can be read");
    }
    if magic == *b"\x7fELF" {
        return refuse(
            Code::NO_BINARY_FOR_GPU,
            "the image is a cubin, which is machine code for NVIDIA's hardware; the emulated GPU \
             runs PTX: compile with --ptx, or give NVRTC --gpu-architecture=compute_90; where nvJitLink \
             made it, set EMULATED_GPU_NVJITLINK",
        );
    }
    if fatbin::is_fatbin(magic) {
        // SAFETY: the caller's promise.
        return Ok(ptx_of(&unsafe { fatbin::read(image) }?, card)?);
    }
    // SAFETY: the caller's promise, and it begins at an address that can be read.
    let bytes = unsafe { CStr::from_ptr(image as *const _) }.to_bytes().to_vec();
    match String::from_utf8(bytes) {
        Ok(text) if text.contains(".version") => Ok(text),
        Ok(_) => refuse(
            Code::INVALID_IMAGE,
            "the image is no PTX: it has no .version, and PTX begins with one",
        ),
        // The parser points at the first character that is not ASCII.
        Err(error) => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

impl Module {
    /// Loads a PTX text, into a context, or as a library, into none.
    ///
    /// # Errors
    /// The diagnostics, and `INVALID_PTX`, or `UNSUPPORTED_PTX_VERSION` where it is newer than what
    /// is known, or `OUT_OF_MEMORY` where the device has not the room for its variables.
    pub(crate) fn load(
        text: String,
        name: Option<String>,
        context: Option<&Arc<Context>>,
        max_registers: Option<u32>,
        hardware: &Arc<Hardware>,
    ) -> std::result::Result<Self, Refusal> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = name.unwrap_or_else(|| format!("module {number}"));
        let newer = is_newer(&text);
        let device = context.map(|context| context.device);
        let image = Image::load(Source { name, text }, device, hardware);
        let image = image.map_err(|diagnostics| {
            let log: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            let code = if newer {
                Code::UNSUPPORTED_PTX_VERSION
            } else if diagnostics.iter().all(|one| one.out_of_memory) {
                Code::OUT_OF_MEMORY
            } else {
                Code::INVALID_PTX
            };
            Refusal { code, log: log.join("\n") }
        })?;
        // The driver hands PTX to ptxas for its own card, which refuses it so.
        let (target, card) = (image.loaded.target(), hardware.settings.capability);
        if target > card {
            let log = format!(
                "fatal   : SM version specified by .target is higher than default SM version assumed: \
                 the file says sm_{target}, the emulated card is a sm_{card}; compile for \
                 compute_{card} or an older one"
            );
            return Err(Refusal { code: Code::INVALID_PTX, log });
        }
        Ok(Self {
            handle: fresh(),
            context: context.map_or(0, |context| context.handle),
            own: context.map(Arc::downgrade).unwrap_or_default(),
            image: Arc::new(image),
            max_registers,
            functions: Mutex::default(),
        })
    }

    /// The function of a name; always the same, and known from the first time on.
    ///
    /// # Errors
    /// `NOT_FOUND`, and what there is instead.
    pub(crate) fn function(&self, name: &str, known: &Registry<Function>) -> Result<Arc<Function>> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(Arc::clone(function));
        }
        let kernel = self.image.loaded.kernel(name).ok_or_else(|| {
            let names = self.image.loaded.kernels().join(", ");
            Code::NOT_FOUND.because(format!(
                "there is no kernel `{name}`; the module has: {names}. (C++ names are mangled: write \
                 extern \"C\")"
            ))
        })?;
        let (own, image) = (Weak::clone(&self.own), Arc::clone(&self.image));
        let function = Function::new(self.handle, own, image, kernel, self.max_registers);
        known.insert(function.handle, Arc::clone(&function));
        functions.insert(name.to_owned(), Arc::clone(&function));
        Ok(function)
    }

    /// Every kernel, in the order of the text.
    ///
    /// # Errors
    /// As of [`function`](Self::function).
    pub(crate) fn all(&self, known: &Registry<Function>) -> Result<Vec<Arc<Function>>> {
        self.image.loaded.kernels().iter().map(|name| self.function(name, known)).collect()
    }

    /// Address and size of a variable on a device.
    ///
    /// # Errors
    /// `NOT_FOUND`
    pub(crate) fn variable(&self, name: &str, device: u32) -> Result<(Pointer, u64)> {
        let found = self.image.on(device)?.variable(name);
        found.ok_or_else(|| Code::NOT_FOUND.because(format!("there is no variable `{name}`")))
    }

    /// The handle of a texture's or a surface's variable on a device, and how its text says that it is read.
    ///
    /// # Errors
    /// `NOT_FOUND`
    pub(crate) fn opaque(&self, name: &str, device: u32, kind: Opaque) -> Result<(u64, Sampling)> {
        let found = self.image.on(device)?.opaque(name, kind);
        let what = if kind == Opaque::Texture { "texture" } else { "surface" };
        found.ok_or_else(|| {
            Code::NOT_FOUND.because(format!("there is no {what} reference `{name}`"))
        })
    }
}

/// Whether a text says that it is of a version that is newer than any that is known.
fn is_newer(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| *word != ".version").skip(1);
    let major = words.next().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major > 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unknown_versions_are_newer() {
        assert!(is_newer("// made\n.version 10.0\n.target sm_90"));
        assert!(!is_newer(".version 8.8\n.target sm_52"));
        assert!(!is_newer(".target sm_52"));
    }
}
