//! The fatbins, kernels and variables that a program registers before its `main`, in tables by the host addresses that
//! the program uses for them. A fatbin is loaded as a driver library when something in it is first used.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use c_abi::Code;

use crate::driver;
use crate::ffi::Result;

/// A registered fatbin.
#[derive(Debug)]
struct Image {
    address: usize,
    /// The handle of the driver library; 0 until the fatbin is loaded.
    library: usize,
}

/// A registered kernel.
#[derive(Debug)]
struct Kernel {
    image: usize,
    name: CString,
    /// The driver's handle; 0 until the first use.
    handle: usize,
}

/// A registered variable.
#[derive(Debug)]
struct Variable {
    image: usize,
    name: CString,
    /// For a managed variable, the pointer through which the host accesses it.
    pointer: Option<usize>,
}

#[derive(Debug, Default)]
struct Registry {
    images: HashMap<usize, Image>,
    /// The kernels by the addresses of their host functions.
    kernels: HashMap<usize, Kernel>,
    /// The variables by the addresses of their host variables.
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
            Code::INVALID_HANDLE.because("the program has unregistered the fatbin of this symbol")
        })?;
        if image.library == 0 {
            let mut library = 0;
            // SAFETY: the caller of `add_image` guarantees that the image is valid; `library` is writable for the
            // handle.
            unsafe {
                driver::cuLibraryLoadData(&raw mut library, image.address, 0, 0, 0, 0, 0, 0)?;
            }
            image.library = library;
        }
        Ok(image.library)
    }

    /// Address and size of a variable on the current device.
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
        // SAFETY: both pointers point to writable numbers, and the name is NUL-terminated.
        unsafe { driver::cuLibraryGetGlobal(to, bytes, library, name.as_ptr())? };
        Ok((address, size))
    }
}

/// Registers a fatbin and returns the handle that the program uses for it.
///
/// # Safety
/// `address` must be that of a fatbin or of its wrapper structure, which must stay valid until [`remove_image`].
pub(crate) unsafe fn add_image(address: usize) -> usize {
    // The handle is the address of an allocation, so that it is unique. `remove_image` frees the allocation.
    let handle = Box::into_raw(Box::new(address)) as usize;
    registry().images.insert(handle, Image { address, library: 0 });
    handle
}

/// Removes a fatbin with its kernels and variables.
pub(crate) fn remove_image(handle: usize) {
    let mut registry = registry();
    let Some(image) = registry.images.remove(&handle) else { return };
    registry.kernels.retain(|_, kernel| kernel.image != handle);
    registry.variables.retain(|_, variable| variable.image != handle);
    if image.library != 0 {
        // The program is exiting, so an error would have no effect.
        let _ = driver::cuLibraryUnload(image.library);
    }
    // SAFETY: `add_image` allocated it, and the table contained it until now.
    drop(unsafe { Box::from_raw(handle as *mut usize) });
}

/// Unloads every fatbin; the next use loads it again.
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
/// `name` must be null or NUL-terminated.
unsafe fn read_text(name: *const c_char) -> Option<CString> {
    (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
}

/// # Safety
/// See [`read_text`].
pub(crate) unsafe fn add_kernel(image: usize, host: usize, name: *const c_char) {
    let Some(name) = read_text(name) else { return };
    registry().kernels.insert(host, Kernel { image, name, handle: 0 });
}

/// # Safety
/// See [`read_text`]; the pointer of a managed variable must be writable.
pub(crate) unsafe fn add_variable(
    image: usize,
    host: usize,
    name: *const c_char,
    pointer: Option<usize>,
) {
    let Some(name) = read_text(name) else { return };
    registry().variables.insert(host, Variable { image, name, pointer });
}

/// Whether a kernel is registered at this address.
pub(crate) fn is_kernel(host: usize) -> bool {
    registry().kernels.contains_key(&host)
}

/// The driver's handle of a kernel. An address that is not registered is returned unchanged, since it may be a driver
/// handle.
///
/// # Errors
/// If the fatbin can't be loaded or has no kernel of that name.
pub(crate) fn kernel(host: usize) -> Result<usize> {
    let mut registry = registry();
    let Some(found) = registry.kernels.get(&host) else { return Ok(host) };
    if found.handle != 0 {
        return Ok(found.handle);
    }
    let (image, name) = (found.image, found.name.clone());
    let library = registry.library(image)?;
    let mut handle = 0;
    // SAFETY: `handle` is writable for the handle, and the name ends in NUL.
    unsafe { driver::cuLibraryGetKernel(&raw mut handle, library, name.as_ptr())? };
    if let Some(found) = registry.kernels.get_mut(&host) {
        found.handle = handle;
    }
    Ok(handle)
}

/// Address and size of a variable on the current device.
///
/// # Errors
/// `cudaErrorInvalidSymbol` if no variable is registered at this address.
pub(crate) fn variable(symbol: usize) -> Result<(usize, usize)> {
    registry().find(symbol)
}

/// Sets the host pointers to the managed variables of a fatbin.
///
/// # Errors
/// If the fatbin can't be loaded, or if there are several devices, each of which would have its own copy.
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
            "__managed__ variables are not emulated on several devices; allocate with \
             cudaMallocManaged, or set EMULATED_GPU_DEVICES=1",
        ));
    }
    for (symbol, pointer) in managed {
        let (address, _) = registry.find(symbol)?;
        // SAFETY: the program registered the pointer and does not use it before this call returns.
        unsafe { (pointer as *mut usize).write_unaligned(address) };
    }
    Ok(())
}
