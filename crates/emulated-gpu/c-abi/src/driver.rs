//! The emulated driver's functions, found by name in the `libcuda.so` that is loaded, or else on the library path.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::Fault;

/// A function that the emulated driver has and NVIDIA's has not.
const EMULATED: &str = "emulatedGpuLaunchWork";

/// Why a call of the driver's failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// It wasn't called.
    #[error(transparent)]
    NotCalled(#[from] Fault),
    /// The `CUresult` that it returned.
    #[error("CUDA error {0}")]
    Code(c_int),
}

/// The emulated driver's library. A process that has loaded one gets that; on the library path, some have it under
/// its whole name only.
///
/// # Errors
/// [`Fault::NoDriver`], [`Fault::RealDriver`]
pub fn driver_library() -> Result<&'static Library, Fault> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let open = |name: &str| {
        // SAFETY: loading a driver runs its initialisers, which is what every CUDA program does.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
    };
    let library = open("libcuda.so").or_else(|_| open("libcuda.so.1")).map_err(|error| {
        let why = std::error::Error::source(&error).map(ToString::to_string);
        Fault::NoDriver(why.unwrap_or_else(|| error.to_string()))
    })?;
    symbol(&library, EMULATED).ok_or(Fault::RealDriver)?;
    // Only success is remembered: a program may load the driver later.
    Ok(LIBRARY.get_or_init(|| library))
}

fn symbol(library: &Library, name: &str) -> Option<usize> {
    // SAFETY: a function's address is a number here; its type is known to whoever calls it.
    unsafe { library.get::<usize>(name) }.ok().map(|symbol| symbol.as_raw_ptr() as usize)
}

/// A function of the driver's, looked up when it is first called.
#[derive(Debug)]
pub struct Function {
    name: &'static str,
    /// 0 until then.
    address: AtomicUsize,
}

impl Function {
    /// The function of that name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Its address.
    ///
    /// # Errors
    /// Those of [`driver_library`], and [`Fault::MissingFunction`].
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

/// Declares functions of the driver, as its header has them, that return `Result<(), E>` with an `E` that is
/// `From<`[`DriverError`]`>`. Those in `safe` take no more than numbers, handles, which the driver looks up, and
/// references; those in `unsafe` take addresses, which are null or what the documentation of the function asks for.
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
        // SAFETY: the driver looks handles up, references live for the call, and for addresses the caller
        // vouches, where the function takes some.
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
            /// As NVIDIA's documentation of the function has it.
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
    fn without_a_driver_its_functions_say_why() {
        // Nothing has loaded the emulated driver into this process.
        let error = cuInit(0).unwrap_err();
        assert!(
            matches!(&error, DriverError::NotCalled(Fault::NoDriver(_) | Fault::RealDriver)),
            "{error}"
        );
    }
}
