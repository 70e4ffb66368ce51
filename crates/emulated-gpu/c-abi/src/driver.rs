//! The emulated driver's functions, looked up by name in the loaded `libcuda.so`, or in one on the library path.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::Fault;

/// A function of the emulated driver that NVIDIA's driver lacks.
const EMULATED_ONLY: &str = "emulatedGpuLaunchWork";

/// The reason for a failed driver call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The function could not be called.
    #[error(transparent)]
    NotCalled(#[from] Fault),
    /// The `CUresult` that the function returned.
    #[error("CUDA error {0}")]
    Code(c_int),
}

/// The emulated driver's library: the one already loaded by the process, or one on the library path, where some
/// installations only have `libcuda.so.1`.
///
/// # Errors
/// [`Fault::NoDriver`] if no driver can be loaded, [`Fault::RealDriver`] if the loaded driver is not the emulated one.
pub fn driver_library() -> Result<&'static Library, Fault> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let open = |name: &str| {
        // SAFETY: loading a driver runs its initialisers, as in every CUDA program.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
    };
    let library = open("libcuda.so").or_else(|_| open("libcuda.so.1")).map_err(|error| {
        let why = std::error::Error::source(&error).map(ToString::to_string);
        Fault::NoDriver(why.unwrap_or_else(|| error.to_string()))
    })?;
    symbol(&library, EMULATED_ONLY).ok_or(Fault::RealDriver)?;
    // A failure is not cached, because the program may load the driver later.
    Ok(LIBRARY.get_or_init(|| library))
}

fn symbol(library: &Library, name: &str) -> Option<usize> {
    // SAFETY: the function's address is only converted to a number; the callers use the right type.
    unsafe { library.get::<usize>(name) }.ok().map(|symbol| symbol.as_raw_ptr() as usize)
}

/// A driver function, looked up on the first call.
#[derive(Debug)]
pub struct Function {
    name: &'static str,
    /// The function's address; 0 until the first call.
    address: AtomicUsize,
}

impl Function {
    /// The function with this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// The function's address, which is looked up on the first call.
    ///
    /// # Errors
    /// The errors of [`driver_library`]; [`Fault::MissingFunction`] if the driver lacks the function.
    pub fn address(&self) -> Result<usize, Fault> {
        match self.address.load(Ordering::Relaxed) {
            0 => {}
            address => return Ok(address),
        }
        let address = symbol(driver_library()?, self.name);
        let address = address.ok_or(Fault::MissingFunction(self.name))?;
        self.address.store(address, Ordering::Relaxed);
        Ok(address)
    }
}

/// Declares driver functions with their C signatures. They return `Result<(), E>`, where `E` implements
/// `From<`[`DriverError`]`>`. Functions in `safe` take only numbers, references, and handles, which the driver
/// validates. Functions in `unsafe` take addresses, which must be null or valid according to the function's
/// documentation.
#[macro_export]
macro_rules! driver_functions {
    (@body $error:ty, $name:ident($($argument:ident: $type:ty),*)) => {{
        static FUNCTION: $crate::Function = $crate::Function::new(stringify!($name));
        // SAFETY: the type is that of the function in NVIDIA's cuda.h, or in emulated_gpu.h.
        let function = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> std::ffi::c_int>(
                FUNCTION.address().map_err($crate::DriverError::NotCalled)?,
            )
        };
        // SAFETY: the type is right; the driver validates handles, references are valid during the call, and the caller
        // guarantees that addresses are valid.
        match unsafe { function($($argument),*) } {
            0 => Ok(()),
            code => Err(<$error>::from($crate::DriverError::Code(code))),
        }
    }};
    (
        $error:ty;
        safe { $($name:ident($($argument:ident: $type:ty),* $(,)?);)* }
        unsafe { $($other:ident($($parameter:ident: $kind:ty),* $(,)?);)* }
    ) => {
        $(
            #[allow(non_snake_case, reason = "the driver's name")]
            pub(crate) fn $name($($argument: $type),*) -> std::result::Result<(), $error> {
                $crate::driver_functions!(@body $error, $name($($argument: $type),*))
            }
        )*
        $(
            /// # Safety
            /// The caller must meet the requirements in NVIDIA's documentation of the function.
            #[allow(non_snake_case, reason = "the driver's name")]
            pub(crate) unsafe fn $other($($parameter: $kind),*) -> std::result::Result<(), $error> {
                $crate::driver_functions!(@body $error, $other($($parameter: $kind),*))
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    driver_functions! {
        DriverError;
        safe { cuInit(flags: u32); }
        unsafe {}
    }

    #[test]
    fn calls_without_a_driver_report_the_reason() {
        // The call fails, because this process has not loaded the emulated driver.
        let error = cuInit(0).unwrap_err();
        assert!(
            matches!(&error, DriverError::NotCalled(Fault::NoDriver(_) | Fault::RealDriver)),
            "{error}"
        );
    }
}
