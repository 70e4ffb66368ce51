//! A probe of NVIDIA's driver for a usable GPU.
//!
//! The probe must leave the choice of the driver open. cudarc opens `libcuda.so` at its first call and keeps it, so no
//! function of cudarc is called here. The library is opened as `libcuda.so.1`, a name that neither cudarc nor the
//! emulated driver uses.
#![allow(unsafe_code, reason = "the driver is a C library")]

use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::{Library, Symbol};
use thiserror::Error;

use crate::library::reason;

/// The CUDA version of the oldest driver that loads the kernels' PTX. cudarc is built for this version, too.
const MIN_DRIVER: (i32, i32) = (12, 0);
/// The minimum compute capability: the `.target` of `kernels/*.ptx`.
const MIN_CAPABILITY: (i32, i32) = (5, 0);
/// The beginning of the emulated device's name.
pub(crate) const EMULATED: &str = "Emulated GPU";

/// Error of `cuInit`: there is no device that CUDA can use.
const NO_DEVICE: c_int = 100;
/// Error of `cuInit`: the library is the toolkit's stub, which only serves to link against.
const STUB_LIBRARY: c_int = 34;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const CAPABILITY_ATTRIBUTES: [c_int; 2] = [75, 76];

/// A usable NVIDIA GPU: the first that the driver shows. (The variable `CUDA_VISIBLE_DEVICES` selects the
/// devices that it shows.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedGpu {
    /// The card's name.
    pub name: String,
    /// The newest CUDA version that the driver supports, major and minor.
    pub driver: (i32, i32),
    /// The compute capability, major and minor.
    pub capability: (i32, i32),
}

/// The reason why no NVIDIA GPU can be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unusable {
    /// There is no driver.
    #[error("there is no NVIDIA driver ({0})")]
    NoLibrary(String),
    /// There is a driver, but no device.
    #[error("the NVIDIA driver finds no device")]
    NoDevice,
    /// The library is the toolkit's stub, and not a driver.
    #[error(
        "libcuda.so.1 is the CUDA toolkit's stub; remove the folder stubs from LD_LIBRARY_PATH"
    )]
    Stub,
    /// The driver is older than the kernels.
    #[error(
        "its driver is of CUDA {}, and the kernels need one of CUDA {} or later",
        dotted(.0), dotted(&MIN_DRIVER)
    )]
    OldDriver((i32, i32)),
    /// The card is older than the kernels.
    #[error(
        "{name} has compute capability {}, and the kernels need {} or later",
        dotted(capability), dotted(&MIN_CAPABILITY)
    )]
    OldDevice {
        /// The card.
        name: String,
        /// The card's compute capability.
        capability: (i32, i32),
    },
    /// A call failed.
    #[error("{call} failed with error {code}")]
    Failed {
        /// The driver's function.
        call: &'static str,
        /// The `CUresult` that the function returned.
        code: c_int,
    },
    /// The loader finds the emulated driver in place of a real one.
    #[error("the driver on the library path is the emulated one")]
    Emulated,
}

/// Formats a version, such as 12.4.
pub(crate) fn dotted((major, minor): &(i32, i32)) -> String {
    format!("{major}.{minor}")
}

/// Probes the driver.
///
/// # Errors
/// If the GPU can't be used. The error is the reason.
pub(crate) fn probe() -> Result<DetectedGpu, Unusable> {
    let driver = Driver::open()?;
    let found = driver.query();
    // A driver starts threads, so the library must never be unloaded.
    std::mem::forget(driver);
    found
}

/// The real driver's library, under its real name.
struct Driver(Library);

impl Driver {
    fn open() -> Result<Self, Unusable> {
        let name = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        // SAFETY: the driver's initialisers may run in any process that computes with CUDA.
        let library = unsafe { Library::new(name) };
        library.map(Self).map_err(|error| Unusable::NoLibrary(reason(&error)))
    }

    /// Calls a function of the driver. Every caller passes the type that cuda.h declares.
    fn call<F>(&self, name: &'static str, call: impl FnOnce(&F) -> c_int) -> Result<(), Unusable> {
        // SAFETY: see above.
        let function: Result<Symbol<'_, F>, _> = unsafe { self.0.get(name) };
        let missing = |error| Unusable::NoLibrary(format!("it has no {name}: {}", reason(&error)));
        match call(&*function.map_err(missing)?) {
            0 => Ok(()),
            code => Err(Unusable::Failed { call: name, code }),
        }
    }

    fn query(&self) -> Result<DetectedGpu, Unusable> {
        type Init = unsafe extern "C" fn(c_uint) -> c_int;
        type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
        type Device = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;

        // SAFETY: cuda.h: `CUresult cuInit(unsigned int Flags)`.
        self.call("cuInit", |init: &Init| unsafe { init(0) }).map_err(|error| match error {
            Unusable::Failed { code: NO_DEVICE, .. } => Unusable::NoDevice,
            Unusable::Failed { code: STUB_LIBRARY, .. } => Unusable::Stub,
            other => other,
        })?;
        let (mut count, mut version, mut device) = (0, 0, 0);
        // SAFETY: cuda.h: `CUresult cuDeviceGetCount(int *count)`.
        self.call("cuDeviceGetCount", |get: &Number| unsafe { get(&raw mut count) })?;
        if count == 0 {
            return Err(Unusable::NoDevice);
        }
        // SAFETY: cuda.h: `CUresult cuDriverGetVersion(int *driverVersion)`.
        self.call("cuDriverGetVersion", |get: &Number| unsafe { get(&raw mut version) })?;
        // SAFETY: cuda.h: `CUresult cuDeviceGet(CUdevice *device, int ordinal)`, CUdevice an int.
        self.call("cuDeviceGet", |get: &Device| unsafe { get(&raw mut device, 0) })?;
        let mut text: [c_char; 256] = [0; 256];
        // SAFETY: the driver truncates the name to the 256 bytes that are passed, including its final 0.
        self.call("cuDeviceGetName", |get: &Name| unsafe { get(text.as_mut_ptr(), 256, device) })?;
        // SAFETY: the array was filled with 0, and the driver wrote a string into it.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
        let [major, minor] = CAPABILITY_ATTRIBUTES.map(|which| {
            let mut value = 0;
            // SAFETY: cuda.h: `CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice)`.
            let got = self.call("cuDeviceGetAttribute", |get: &Attribute| unsafe {
                get(&raw mut value, which, device)
            });
            got.map(|()| value)
        });
        let driver = (version / 1000, version % 1000 / 10);
        check_usable(DetectedGpu { name, driver, capability: (major?, minor?) })
    }
}

/// Checks whether a device is usable.
fn check_usable(found: DetectedGpu) -> Result<DetectedGpu, Unusable> {
    if found.name.starts_with(EMULATED) {
        Err(Unusable::Emulated)
    } else if found.driver < MIN_DRIVER {
        Err(Unusable::OldDriver(found.driver))
    } else if found.capability < MIN_CAPABILITY {
        Err(Unusable::OldDevice { name: found.name, capability: found.capability })
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_drivers_old_cards_and_the_emulated_driver_are_rejected() {
        let card = |name: &str, driver, capability| {
            check_usable(DetectedGpu { name: name.into(), driver, capability })
        };
        assert!(card("Some Card", (12, 0), (5, 0)).is_ok());
        assert!(card("Some Card", (13, 1), (12, 0)).is_ok());
        assert_eq!(card("Some Card", (11, 8), (9, 0)), Err(Unusable::OldDriver((11, 8))));
        assert_eq!(
            card("Old Card", (12, 0), (3, 7)),
            Err(Unusable::OldDevice { name: "Old Card".into(), capability: (3, 7) })
        );
        assert_eq!(card("Emulated GPU (2 threads)", (12, 9), (9, 0)), Err(Unusable::Emulated));
    }
}
