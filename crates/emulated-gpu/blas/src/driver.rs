//! The emulated driver, by its public C API.
//!
//! The library that is loaded already is asked for: `dlopen("libcuda.so")` answers with it. A real
//! driver is refused, because its addresses are none of the host's and NVIDIA's own libraries
//! belong to it.

#![allow(unsafe_code, reason = "the driver's functions are C")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::{Access, Rejection, filled};

/// What the emulated device's name begins with.
const EMULATED: &str = "Emulated GPU";
/// `CUDA_ERROR_INVALID_VALUE`
const INVALID_VALUE: c_int = 1;
/// `CUDA_ERROR_OUT_OF_MEMORY`
pub(crate) const OUT_OF_MEMORY: c_int = 2;
/// `CUDA_ERROR_INVALID_HANDLE`
const INVALID_HANDLE: c_int = 400;
/// `CUDA_ERROR_NOT_FOUND`
const NOT_FOUND: c_int = 500;
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const MULTIPROCESSORS: c_int = 16;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and its value for device memory.
const MEMORY_TYPE: c_int = 2;
const DEVICE_MEMORY: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_CONTEXT`.
const CONTEXT: c_int = 1;
/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`.
const IS_MANAGED: c_int = 8;

/// A `CUstream` or `cudaStream_t`: an address, or one of CUDA's small numbers for special streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct StreamHandle(pub usize);

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its first byte.
    pub base: u64,
    /// Its bytes.
    pub size: u64,
}

impl Range {
    /// The first byte after it.
    #[must_use]
    pub fn end(self) -> u64 {
        self.base.saturating_add(self.size)
    }
}

/// `EmulatedGpuWork` of the emulated driver's `emulated_gpu.h`.
pub(crate) type WorkFunction = extern "C" fn(*mut c_void, *const c_void) -> c_int;
/// `EmulatedGpuRelease`
pub(crate) type ReleaseFunction = extern "C" fn(*mut c_void);
/// `emulatedGpuAccess`
pub(crate) type AskDoor = unsafe extern "C" fn(*const c_void, *const Access, usize) -> c_int;
/// `emulatedGpuLaunchWork`
type LaunchWork = unsafe extern "C" fn(
    StreamHandle,
    *const c_char,
    WorkFunction,
    *mut c_void,
    ReleaseFunction,
) -> c_int;

/// The functions of the driver that are used.
#[derive(Debug)]
pub struct Driver {
    ctx_get_current: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    ctx_set_current: unsafe extern "C" fn(*mut c_void) -> c_int,
    primary_ctx_retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    mem_get_address_range: unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int,
    pointer_get_attribute: unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int,
    memcpy: unsafe extern "C" fn(u64, u64, usize) -> c_int,
    memcpy_to_host: unsafe extern "C" fn(*mut c_void, u64, usize, StreamHandle) -> c_int,
    stream_is_capturing: unsafe extern "C" fn(StreamHandle, *mut c_int) -> c_int,
    stream_synchronize: unsafe extern "C" fn(StreamHandle) -> c_int,
    launch_work: LaunchWork,
    pub(crate) ask_door: AskDoor,
    /// The compute capability of its cards, as 90 for 9.0.
    pub capability: u32,
    /// How many multiprocessors they have.
    pub multiprocessors: u32,
}

/// The emulated driver.
///
/// # Errors
/// When no driver is loaded or can be, or it is not the emulated one.
pub fn driver() -> Result<&'static Driver, Rejection> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    // Only success is remembered: a program may load the driver later.
    let driver = Driver::open()?;
    Ok(DRIVER.get_or_init(|| driver))
}

/// The driver's library: the one that is loaded, or else what the library path has, where some have it under
/// its whole name alone.
///
/// # Errors
/// When there is none.
pub fn driver_library() -> Result<Library, libloading::Error> {
    let open = |name: &str| {
        // SAFETY: loading a driver runs its initialisers, which is what every CUDA program does.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
    };
    open("libcuda.so").or_else(|_| open("libcuda.so.1"))
}

impl Driver {
    fn open() -> Result<Self, Rejection> {
        let library = driver_library().map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            let why = why.unwrap_or_else(|| error.to_string());
            Rejection::uninitialized(format!("no CUDA driver is loaded, and none is found: {why}"))
        })?;
        // SAFETY: the signatures are those of NVIDIA's cuda.h and of the emulated driver's
        // emulated_gpu.h.
        let driver = unsafe {
            let (capability, multiprocessors) = check_emulated(&library)?;
            Self {
                capability,
                multiprocessors,
                ctx_get_current: symbol(&library, "cuCtxGetCurrent")?,
                ctx_set_current: symbol(&library, "cuCtxSetCurrent")?,
                primary_ctx_retain: symbol(&library, "cuDevicePrimaryCtxRetain")?,
                mem_get_address_range: symbol(&library, "cuMemGetAddressRange_v2")?,
                pointer_get_attribute: symbol(&library, "cuPointerGetAttribute")?,
                memcpy: symbol(&library, "cuMemcpy")?,
                memcpy_to_host: symbol(&library, "cuMemcpyDtoHAsync_v2")?,
                stream_is_capturing: symbol(&library, "cuStreamIsCapturing")?,
                stream_synchronize: symbol(&library, "cuStreamSynchronize")?,
                launch_work: symbol(&library, "emulatedGpuLaunchWork")?,
                ask_door: symbol(&library, "emulatedGpuAccess")?,
            }
        };
        // Its functions are used from now on.
        std::mem::forget(library);
        Ok(driver)
    }

    /// Makes sure that the calling thread has a context, as the CUDA runtime, on which NVIDIA's
    /// libraries stand, does: the primary one of the first device where there is none.
    ///
    /// # Errors
    /// When the driver has none to give.
    pub fn bind(&self) -> Result<(), Rejection> {
        let mut context = std::ptr::null_mut();
        // SAFETY: each function gets places to write to that live for the call.
        let code = unsafe {
            match (self.ctx_get_current)(&raw mut context) {
                0 if context.is_null() => match (self.primary_ctx_retain)(&raw mut context, 0) {
                    0 => (self.ctx_set_current)(context),
                    code => code,
                },
                code => code,
            }
        };
        if code == 0 {
            return Ok(());
        }
        Err(Rejection::uninitialized(format!("the driver gives no context: CUDA error {code}")))
    }

    /// The allocation that holds an address.
    ///
    /// # Errors
    /// When the driver answers nothing any more, after a fault of earlier work.
    pub fn range_of(&self, address: u64) -> Result<Option<Range>, Rejection> {
        let (mut base, mut size) = (0, 0);
        // SAFETY: both places live for the call; any address may be asked for.
        match unsafe { (self.mem_get_address_range)(&raw mut base, &raw mut size, address) } {
            0 => Ok(Some(Range { base, size: size as u64 })),
            INVALID_VALUE | NOT_FOUND => Ok(None),
            code => Err(refused(code)),
        }
    }

    /// Whether memory belongs to no context: it is mapped (`cuMemMap`).
    pub(crate) fn is_mapped(&self, address: u64) -> bool {
        let mut context: *mut c_void = std::ptr::null_mut();
        let place = (&raw mut context).cast();
        // SAFETY: an attribute of this kind is written as a pointer.
        let code = unsafe { (self.pointer_get_attribute)(place, CONTEXT, address) };
        code == 0 && context.is_null()
    }

    /// Whether only the device may touch what an address points to.
    #[must_use]
    pub fn is_device_only(&self, address: u64) -> bool {
        let mut kind: c_uint = 0;
        // SAFETY: an attribute of this kind is written as an unsigned int.
        let code =
            unsafe { (self.pointer_get_attribute)((&raw mut kind).cast(), MEMORY_TYPE, address) };
        if code != 0 || kind != DEVICE_MEMORY {
            return false;
        }
        let mut managed: c_uint = 0;
        // SAFETY: as above; a driver that knows no managed memory leaves the 0.
        unsafe { (self.pointer_get_attribute)((&raw mut managed).cast(), IS_MANAGED, address) };
        managed == 0
    }

    /// Whether work put on a stream is recorded into a graph instead of being run.
    ///
    /// # Errors
    /// When the driver does not know the stream.
    pub fn is_capturing(&self, stream: StreamHandle) -> Result<bool, Rejection> {
        let mut status = 0;
        // SAFETY: the place lives for the call.
        match unsafe { (self.stream_is_capturing)(stream, &raw mut status) } {
            0 => Ok(status != 0),
            code => Err(Rejection::execution(format!(
                "the handle's stream can't be used: CUDA error {code}"
            ))),
        }
    }

    /// Whether there is a stream of that handle.
    #[must_use]
    pub fn knows(&self, stream: StreamHandle) -> bool {
        let mut status = 0;
        // SAFETY: the place lives for the call. Other errors, such as those of a capture that is
        // going on elsewhere, are told of streams that exist.
        unsafe { (self.stream_is_capturing)(stream, &raw mut status) != INVALID_HANDLE }
    }

    /// Waits for everything on a stream.
    ///
    /// # Errors
    /// What the driver reports of the work before.
    pub fn synchronize(&self, stream: StreamHandle) -> Result<(), Rejection> {
        // SAFETY: the driver checks the stream.
        match unsafe { (self.stream_synchronize)(stream) } {
            0 => Ok(()),
            code => Err(Rejection::execution(format!(
                "waiting for the stream failed: CUDA error {code}"
            ))),
        }
    }

    /// Reads an array of addresses from device memory, when all that a stream has to do is done.
    ///
    /// # Errors
    /// When it is not inside one allocation, and what the driver reports of the work before.
    pub fn addresses(
        &self,
        stream: StreamHandle,
        array: u64,
        count: usize,
    ) -> Result<Vec<u64>, Rejection> {
        let mut addresses = filled(0u64, count)?;
        let size = size_of_val(addresses.as_slice());
        // SAFETY: there is space for as many bytes as are told, until the stream has been waited for.
        let code =
            unsafe { (self.memcpy_to_host)(addresses.as_mut_ptr().cast(), array, size, stream) };
        self.synchronize(stream)?;
        if code == 0 { Ok(addresses) } else { Err(refused(code)) }
    }

    /// Reads an array of addresses from the host's memory, by the driver's door: it refuses what is
    /// neither an allocation of the device nor clear of all of them.
    ///
    /// # Errors
    /// When it is refused.
    ///
    /// # Safety
    /// Memory of the host's at `array` has that many addresses.
    pub unsafe fn addresses_of_host(
        &self,
        array: u64,
        count: usize,
    ) -> Result<Vec<u64>, Rejection> {
        let mut addresses = filled(0u64, count)?;
        let size = size_of_val(addresses.as_slice());
        // SAFETY: there is space for as many bytes as are told, and the caller's promise.
        match unsafe { (self.memcpy)(addresses.as_mut_ptr() as u64, array, size) } {
            0 => Ok(addresses),
            code => Err(refused(code)),
        }
    }

    /// Puts work on a stream.
    ///
    /// # Safety
    /// `work` is called with `data` once, or for a captured stream any number of times, and then
    /// `release`; where the driver refuses it, neither is.
    pub(crate) unsafe fn launch_work(
        &self,
        stream: StreamHandle,
        operation: &str,
        work: WorkFunction,
        data: *mut c_void,
        release: ReleaseFunction,
    ) -> Result<(), Rejection> {
        let operation = CString::new(operation).unwrap_or_default();
        // SAFETY: the caller's promise; the text lives for the call, which copies it.
        match unsafe { (self.launch_work)(stream, operation.as_ptr(), work, data, release) } {
            0 => Ok(()),
            code => Err(refused(code)),
        }
    }
}

fn refused(code: c_int) -> Rejection {
    if code == OUT_OF_MEMORY {
        return Rejection::out_of_memory("the driver has no memory left for the work");
    }
    Rejection::execution(format!(
        "the driver does not take the work: CUDA error {code}, perhaps of earlier work"
    ))
}

/// # Safety
/// `T` has to be the type of the function of that name.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, Rejection> {
    // SAFETY: the caller's promise.
    match unsafe { library.get::<T>(name.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(error) => Err(Rejection::uninitialized(format!(
            "the loaded libcuda.so is not the emulated driver: {error}"
        ))),
    }
}

/// The compute capability and the multiprocessors of its first card; all emulated ones have the same.
///
/// # Safety
/// The library has to be a CUDA driver.
unsafe fn check_emulated(library: &Library) -> Result<(u32, u32), Rejection> {
    let mut name = [0 as c_char; 256];
    let (mut major, mut minor, mut multiprocessors) = (0, 0, 0);
    // SAFETY: the signatures are those of NVIDIA's cuda.h, and `name` has the length that is told.
    let name = unsafe {
        let init: unsafe extern "C" fn(c_uint) -> c_int = symbol(library, "cuInit")?;
        let get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int = symbol(library, "cuDeviceGet")?;
        let get_name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int =
            symbol(library, "cuDeviceGetName")?;
        let attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int =
            symbol(library, "cuDeviceGetAttribute")?;
        let mut device = 0;
        for code in [
            init(0),
            get(&raw mut device, 0),
            get_name(name.as_mut_ptr(), name.len() as c_int - 1, device),
            attribute(&raw mut major, CAPABILITY_MAJOR, device),
            attribute(&raw mut minor, CAPABILITY_MINOR, device),
            attribute(&raw mut multiprocessors, MULTIPROCESSORS, device),
        ] {
            if code != 0 {
                return Err(Rejection::uninitialized(format!(
                    "the CUDA driver has no device: CUDA error {code}"
                )));
            }
        }
        CStr::from_ptr(name.as_ptr()).to_string_lossy()
    };
    if name.starts_with(EMULATED) {
        return Ok(((10 * major + minor).unsigned_abs(), multiprocessors.unsigned_abs()));
    }
    Err(Rejection::uninitialized(format!(
        "the CUDA driver's device is \"{name}\", which is no emulated one: load NVIDIA's library \
         with a real GPU"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Status, driver};

    #[test]
    fn without_an_emulated_driver_there_is_none() {
        // Nothing has loaded the emulated driver into this process.
        let refused = driver().unwrap_err();
        assert_eq!(refused.status, Status::NotInitialized);
    }

    #[test]
    fn a_range_ends_after_its_last_byte() {
        assert_eq!(Range { base: 16, size: 4 }.end(), 20);
        assert_eq!(Range { base: u64::MAX, size: 4 }.end(), u64::MAX);
    }
}
