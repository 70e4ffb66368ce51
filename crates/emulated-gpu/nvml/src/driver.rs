//! The emulated driver, which knows the cards: the `libcuda.so` that is loaded, or else the one on the library path.

use std::ffi::{c_int, c_uint};
use std::io::Write;
use std::sync::{Once, OnceLock};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::card::Card;
use crate::status::{Result, Status};

/// The functions of the driver that are used. None of them does what `cuInit` does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    version: unsafe extern "C" fn(*mut c_int) -> c_uint,
    count: unsafe extern "C" fn(*mut c_uint) -> c_uint,
    card: unsafe extern "C" fn(c_uint, *mut Card, usize) -> c_uint,
}

/// Says something on standard error, the first time.
fn say(line: &str) {
    static SAID: Once = Once::new();
    // Where that is full or closed, there is nobody to tell.
    SAID.call_once(|| {
        let _ = writeln!(std::io::stderr().lock(), "emulated NVML: {line}");
    });
}

/// The emulated driver.
///
/// # Errors
/// `LIBRARY_NOT_FOUND` where there is no driver, `DRIVER_NOT_LOADED` where it is not the emulated one.
pub(crate) fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    // Only success is remembered: a program may load the driver later.
    let driver = open()?;
    Ok(DRIVER.get_or_init(|| driver))
}

fn open() -> Result<Driver> {
    let open = |name: &str| {
        // SAFETY: loading a driver runs its initialisers, which is what every CUDA program does.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
    };
    let library = open("libcuda.so").or_else(|_| open("libcuda.so.1")).map_err(|error| {
        say(&format!(
            "no CUDA driver is loaded, and none is found ({error}); crates/emulated-gpu/emulate puts the emulated \
             one on the library path"
        ));
        Status::LibraryNotFound
    })?;
    // SAFETY: the types are those of NVIDIA's cuda.h and of the emulated driver's emulated_gpu.h.
    let found = unsafe {
        let version = library.get(b"cuDriverGetVersion").map(|symbol| *symbol);
        let count = library.get(b"emulatedGpuGetCardCount").map(|symbol| *symbol);
        let card = library.get(b"emulatedGpuGetCard").map(|symbol| *symbol);
        version.ok().zip(count.ok()).zip(card.ok())
    };
    let Some(((version, count), card)) = found else {
        say(
            "the CUDA driver that is loaded is not the emulated one, or an older one; this library is \
             for that alone: use NVIDIA's libnvidia-ml.so.1",
        );
        return Err(Status::DriverNotLoaded);
    };
    // Its functions are used from now on.
    std::mem::forget(library);
    Ok(Driver { version, count, card })
}

impl Driver {
    /// CUDA's version, as 13050 for 13.5.
    pub(crate) fn version(&self) -> Result<c_int> {
        let mut version = 0;
        // SAFETY: the place lives for the call.
        match unsafe { (self.version)(&raw mut version) } {
            0 => Ok(version),
            _ => Err(Status::Unknown),
        }
    }

    /// The same, as "13.5".
    pub(crate) fn version_text(&self) -> Result<String> {
        let version = self.version()?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// How many cards there are.
    ///
    /// # Errors
    /// `UNKNOWN` where the environment says what the driver doesn't understand.
    pub(crate) fn count(&self) -> Result<c_uint> {
        let mut count = 0;
        // SAFETY: the place lives for the call.
        match unsafe { (self.count)(&raw mut count) } {
            0 => Ok(count),
            _ => {
                say(
                    "the driver does not understand a variable of the environment, EMULATED_GPU_…; \
                     cuInit says which",
                );
                Err(Status::Unknown)
            }
        }
    }

    /// A card by its number.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where there are not that many.
    pub(crate) fn card(&self, number: c_uint) -> Result<Card> {
        let mut card = Card::default();
        // SAFETY: the place lives for the call, and has the size that is told.
        match unsafe { (self.card)(number, &raw mut card, size_of::<Card>()) } {
            0 => Ok(card),
            _ => Err(Status::InvalidArgument),
        }
    }
}
