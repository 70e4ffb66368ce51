//! What a program registers before its `main`: its fatbins, and which function and variable of the
//! host's stands for which of theirs. A fatbin is loaded, as a library of the driver's, when something
//! of it is first used.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use c_abi::Code;

use crate::driver;
use crate::ffi::Result;

/// A fatbin.
#[derive(Debug)]
struct Image {
    address: usize,
    /// The driver's library, 0 until it is loaded.
    library: usize,
}

/// A kernel.
#[derive(Debug)]
struct Kernel {
    image: usize,
    name: CString,
    /// The driver's, 0 until it is asked for.
    handle: usize,
}

/// A variable.
#[derive(Debug)]
struct Variable {
    image: usize,
    name: CString,
    /// Of a managed one, the pointer by which the host reaches it.
    pointer: Option<usize>,
}

#[derive(Debug, Default)]
struct Registry {
    images: HashMap<usize, Image>,
    /// By the address of the host's function.
    kernels: HashMap<usize, Kernel>,
    /// By the address of the host's variable.
    variables: HashMap<usize, Variable>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn library(&mut self, image: usize) -> Result<usize> {
        let image = self.images.get_mut(&image);
        let image = image.ok_or_else(|| {
            Code::INVALID_HANDLE.because("the program has unregistered the code that this is of")
        })?;
        if image.library == 0 {
            let mut library = 0;
            // SAFETY: who added the image vouches for it; the library's handle goes to a place for one.
            unsafe {
                driver::cuLibraryLoadData(&raw mut library, image.address, 0, 0, 0, 0, 0, 0)?;
            }
            image.library = library;
        }
        Ok(image.library)
    }

    /// Address and size of a variable, on the current device.
    fn find(&mut self, symbol: usize) -> Result<(usize, usize)> {
        let Some(Variable { image, name, .. }) = self.variables.get(&symbol) else {
            return Err(
                Code::INVALID_SYMBOL.because(format!("no variable is registered at {symbol:#x}"))
            );
        };
        let (image, name) = (*image, name.clone());
        let library = self.library(image)?;
        let (mut address, mut size) = (0, 0);
        let (to, bytes) = (&raw mut address, &raw mut size);
        // SAFETY: both are places for a number, and the name ends in NUL.
        unsafe { driver::cuLibraryGetGlobal(to, bytes, library, name.as_ptr())? };
        Ok((address, size))
    }
}

/// Takes in a fatbin, and gives the handle by which the program names it.
///
/// # Safety
/// A fatbin, or the structure around one, is there until it is removed.
pub(crate) unsafe fn add_image(address: usize) -> usize {
    // A place that nothing else has; it is given back with the handle.
    let handle = Box::into_raw(Box::new(address)) as usize;
    registry().images.insert(handle, Image { address, library: 0 });
    handle
}

/// Forgets a fatbin and what is of it.
pub(crate) fn remove_image(handle: usize) {
    let mut registry = registry();
    let Some(image) = registry.images.remove(&handle) else { return };
    registry.kernels.retain(|_, kernel| kernel.image != handle);
    registry.variables.retain(|_, variable| variable.image != handle);
    if image.library != 0 {
        // The program ends: what the driver says to it changes nothing.
        let _ = driver::cuLibraryUnload(image.library);
    }
    // SAFETY: `add_image` made it, and it was in the table until now.
    drop(unsafe { Box::from_raw(handle as *mut usize) });
}

/// Unloads every fatbin; what is used again is loaded again.
pub(crate) fn unload() -> Result {
    let mut registry = registry();
    for image in registry.images.values_mut() {
        if image.library != 0 {
            driver::cuLibraryUnload(std::mem::take(&mut image.library))?;
        }
    }
    for kernel in registry.kernels.values_mut() {
        kernel.handle = 0;
    }
    Ok(())
}

/// # Safety
/// It is null, or a text that ends in NUL.
unsafe fn text(name: *const c_char) -> Option<CString> {
    (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
}

/// # Safety
/// As [`text`].
pub(crate) unsafe fn add_kernel(image: usize, host: usize, name: *const c_char) {
    let Some(name) = text(name) else { return };
    registry().kernels.insert(host, Kernel { image, name, handle: 0 });
}

/// # Safety
/// As [`text`]; the pointer of a managed variable is one.
pub(crate) unsafe fn add_variable(
    image: usize,
    host: usize,
    name: *const c_char,
    pointer: Option<usize>,
) {
    let Some(name) = text(name) else { return };
    registry().variables.insert(host, Variable { image, name, pointer });
}

/// Whether a kernel is registered there.
pub(crate) fn is_kernel(host: usize) -> bool {
    registry().kernels.contains_key(&host)
}

/// The driver's kernel for a function of the host's; what isn't one may be the driver's already.
///
/// # Errors
/// When the fatbin can't be loaded, or has no kernel of that name.
pub(crate) fn kernel(host: usize) -> Result<usize> {
    let mut registry = registry();
    let Some(found) = registry.kernels.get(&host) else { return Ok(host) };
    if found.handle != 0 {
        return Ok(found.handle);
    }
    let (image, name) = (found.image, found.name.clone());
    let library = registry.library(image)?;
    let mut handle = 0;
    // SAFETY: the handle goes to a place for one, and the name ends in NUL.
    unsafe { driver::cuLibraryGetKernel(&raw mut handle, library, name.as_ptr())? };
    if let Some(found) = registry.kernels.get_mut(&host) {
        found.handle = handle;
    }
    Ok(handle)
}

/// Address and size of a variable, on the current device.
///
/// # Errors
/// `cudaErrorInvalidSymbol` where there is none.
pub(crate) fn variable(symbol: usize) -> Result<(usize, usize)> {
    registry().find(symbol)
}

/// Has the pointers of the managed variables of a fatbin point at them.
///
/// # Errors
/// When the fatbin can't be loaded, or there are several devices, of which each has its own.
pub(crate) fn init_managed(image: usize, devices: i32) -> Result {
    let mut registry = registry();
    let managed: Vec<(usize, usize)> = registry
        .variables
        .iter()
        .filter(|(_, variable)| variable.image == image)
        .filter_map(|(symbol, variable)| Some((*symbol, variable.pointer?)))
        .collect();
    if !managed.is_empty() && devices > 1 {
        return Err(Code::NOT_SUPPORTED.because(
            "__managed__ variables are not emulated on several devices: allocate with \
             cudaMallocManaged, or set EMULATED_GPU_DEVICES=1",
        ));
    }
    for (symbol, pointer) in managed {
        let (address, _) = registry.find(symbol)?;
        // SAFETY: the program registered the pointer, and waits for this call before it uses it.
        unsafe { (pointer as *mut usize).write_unaligned(address) };
    }
    Ok(())
}
