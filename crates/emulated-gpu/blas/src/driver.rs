//! The emulated driver, through its public C API.

#![allow(unsafe_code, reason = "the driver's functions are C")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use c_abi::{DriverError, driver_functions};

use crate::{Access, Rejection, Result, filled};

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
/// The pointer attribute `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
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

/// An allocation of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address of the first byte.
    pub base: u64,
    /// The size in bytes.
    pub size: u64,
}

impl Allocation {
    /// The address after the last byte.
    #[must_use]
    pub fn end(self) -> u64 {
        self.base.saturating_add(self.size)
    }
}

/// The type `EmulatedGpuWork` of the emulated driver's `emulated_gpu.h`.
pub(crate) type WorkFunction = extern "C" fn(*mut c_void, *const c_void) -> c_int;
/// `EmulatedGpuRelease`
pub(crate) type ReleaseFunction = extern "C" fn(*mut c_void);
/// `emulatedGpuAccess`
pub(crate) type AccessFunction = unsafe extern "C" fn(*const c_void, *const Access, usize) -> c_int;

driver_functions! {
    DriverError;
    safe {
        cuInit(flags: c_uint);
        cuDeviceGet(device: &mut c_int, number: c_int);
        cuDeviceGetAttribute(value: &mut c_int, attribute: c_int, device: c_int);
        cuCtxGetCurrent(context: &mut usize);
        cuCtxSetCurrent(context: usize);
        cuDevicePrimaryCtxRetain(context: &mut usize, device: c_int);
        cuMemGetAddressRange_v2(base: &mut u64, size: &mut usize, address: u64);
        cuStreamIsCapturing(stream: StreamHandle, status: &mut c_int);
        cuStreamSynchronize(stream: StreamHandle);
    }
    unsafe {
        cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64);
        cuMemcpy(to: u64, from: u64, bytes: usize);
        cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: StreamHandle);
        emulatedGpuLaunchWork(
            stream: StreamHandle,
            name: *const c_char,
            work: WorkFunction,
            data: *mut c_void,
            release: ReleaseFunction,
        );
    }
}

/// The driver, loaded and initialised.
#[derive(Debug)]
pub struct Driver {
    pub(crate) access_function: AccessFunction,
    /// The compute capability of the emulated cards; 90 means 9.0.
    pub capability: u32,
    /// The number of multiprocessors per card.
    pub multiprocessors: u32,
}

/// The emulated driver, which is loaded at the first call.
///
/// # Errors
/// If no driver can be loaded, or it is not the emulated one.
pub fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    // A failure is not cached, because the program may load the driver later.
    let driver = Driver::open()?;
    Ok(DRIVER.get_or_init(|| driver))
}

impl Driver {
    fn open() -> Result<Self> {
        static ACCESS_FUNCTION: c_abi::Function = c_abi::Function::new("emulatedGpuAccess");
        let (mut device, mut major, mut minor, mut multiprocessors) = (0, 0, 0, 0);
        // The attributes of card 0 are enough, because all emulated cards are identical.
        cuInit(0)
            .and_then(|()| cuDeviceGet(&mut device, 0))
            .and_then(|()| cuDeviceGetAttribute(&mut major, CAPABILITY_MAJOR, device))
            .and_then(|()| cuDeviceGetAttribute(&mut minor, CAPABILITY_MINOR, device))
            .and_then(|()| cuDeviceGetAttribute(&mut multiprocessors, MULTIPROCESSORS, device))
            .map_err(|error| match error {
                DriverError::NotCalled(fault) => fault.into(),
                DriverError::Code(_) => Rejection::uninitialized(format!(
                    "the CUDA driver has no usable device: {error}"
                )),
            })?;
        let address = ACCESS_FUNCTION.address()?;
        Ok(Self {
            // SAFETY: the type is that of the function in emulated_gpu.h.
            access_function: unsafe { std::mem::transmute::<usize, AccessFunction>(address) },
            capability: (10 * major + minor).unsigned_abs(),
            multiprocessors: multiprocessors.unsigned_abs(),
        })
    }

    /// Makes sure that the calling thread has a context. If it has none, the first device's primary
    /// context becomes current, as in the CUDA runtime, on which NVIDIA's libraries are built.
    ///
    /// # Errors
    /// If the driver provides no context.
    pub fn ensure_context(&self) -> Result {
        let mut context = 0;
        cuCtxGetCurrent(&mut context)
            .and_then(|()| {
                if context != 0 {
                    return Ok(());
                }
                cuDevicePrimaryCtxRetain(&mut context, 0)?;
                cuCtxSetCurrent(context)
            })
            .map_err(|error| {
                Rejection::uninitialized(format!("the CUDA driver provides no context: {error}"))
            })
    }

    /// The allocation that contains an address.
    ///
    /// # Errors
    /// If the context has been ended by a fault of earlier work.
    pub fn allocation_of(&self, address: u64) -> Result<Option<Allocation>> {
        let (mut base, mut size) = (0, 0);
        match cuMemGetAddressRange_v2(&mut base, &mut size, address) {
            Ok(()) => Ok(Some(Allocation { base, size: size as u64 })),
            Err(DriverError::Code(INVALID_VALUE | NOT_FOUND)) => Ok(None),
            Err(error) => Err(driver_error(error)),
        }
    }

    /// Whether an address is in mapped memory (`cuMemMap`), which belongs to no context.
    pub(crate) fn is_mapped(&self, address: u64) -> bool {
        let mut context: *mut c_void = std::ptr::null_mut();
        let place = (&raw mut context).cast();
        // SAFETY: the value of this attribute is a pointer, and `place` has room for one.
        let code = unsafe { cuPointerGetAttribute(place, CONTEXT, address) };
        code.is_ok() && context.is_null()
    }

    /// Whether an address is in memory that the host can't access.
    #[must_use]
    pub fn is_device_only(&self, address: u64) -> bool {
        let mut kind: c_uint = 0;
        // SAFETY: the value of this attribute is an unsigned int, which is the type of `kind`.
        let code = unsafe { cuPointerGetAttribute((&raw mut kind).cast(), MEMORY_TYPE, address) };
        if code.is_err() || kind != DEVICE_MEMORY {
            return false;
        }
        let mut managed: c_uint = 0;
        // SAFETY: the value of this attribute is an unsigned int. A driver without managed memory
        // leaves the value 0.
        let _ = unsafe { cuPointerGetAttribute((&raw mut managed).cast(), IS_MANAGED, address) };
        managed == 0
    }

    /// Whether the stream is being captured, so that work is recorded into a graph instead of being
    /// run.
    ///
    /// # Errors
    /// If the stream does not exist.
    pub fn is_capturing(&self, stream: StreamHandle) -> Result<bool> {
        let mut status = 0;
        cuStreamIsCapturing(stream, &mut status).map_err(|error| {
            Rejection::execution(format!("the handle's stream can't be used: {error}"))
        })?;
        Ok(status != 0)
    }

    /// Whether the stream handle is valid.
    #[must_use]
    pub fn is_valid_stream(&self, stream: StreamHandle) -> bool {
        // Other errors, such as that of another capture in progress, are only returned for valid
        // streams.
        cuStreamIsCapturing(stream, &mut 0) != Err(DriverError::Code(INVALID_HANDLE))
    }

    /// Waits until all work on a stream has finished.
    ///
    /// # Errors
    /// The error of earlier work on the stream.
    pub fn synchronize(&self, stream: StreamHandle) -> Result {
        cuStreamSynchronize(stream).map_err(|error| {
            Rejection::execution(format!("waiting for the stream failed: {error}"))
        })
    }

    /// Reads an array of addresses from device memory, after all earlier work on a stream.
    ///
    /// # Errors
    /// If the array is not inside a single allocation; or the error of earlier work on the stream.
    pub fn addresses(&self, stream: StreamHandle, array: u64, count: usize) -> Result<Vec<u64>> {
        let mut addresses = filled(0u64, count)?;
        let size = size_of_val(addresses.as_slice());
        // SAFETY: `addresses` has `size` bytes, and lives until the stream is synchronized.
        let copied =
            unsafe { cuMemcpyDtoHAsync_v2(addresses.as_mut_ptr().cast(), array, size, stream) };
        self.synchronize(stream)?;
        copied.map_err(driver_error)?;
        Ok(addresses)
    }

    /// Reads an array of addresses from host memory through the driver, which refuses addresses
    /// that overlap a device allocation without being inside it.
    ///
    /// # Errors
    /// If the driver refuses the address.
    ///
    /// # Safety
    /// `array` points to `count` readable addresses in host memory.
    pub unsafe fn addresses_of_host(&self, array: u64, count: usize) -> Result<Vec<u64>> {
        let mut addresses = filled(0u64, count)?;
        let size = size_of_val(addresses.as_slice());
        // SAFETY: `addresses` has `size` bytes; the source is readable, as the caller promises.
        unsafe { cuMemcpy(addresses.as_mut_ptr() as u64, array, size) }.map_err(driver_error)?;
        Ok(addresses)
    }

    /// Enqueues work on a stream.
    ///
    /// # Safety
    /// `work` is called with `data` once, or any number of times if the stream is captured, and
    /// then `release` once. If the driver refuses the work, neither is called.
    pub(crate) unsafe fn launch_work(
        &self,
        stream: StreamHandle,
        operation: &str,
        work: WorkFunction,
        data: *mut c_void,
        release: ReleaseFunction,
    ) -> Result {
        let operation = CString::new(operation).unwrap_or_default();
        // SAFETY: the functions and `data` are valid, as the caller promises; the driver copies the
        // text during the call.
        unsafe { emulatedGpuLaunchWork(stream, operation.as_ptr(), work, data, release) }
            .map_err(driver_error)
    }
}

fn driver_error(error: DriverError) -> Rejection {
    match error {
        DriverError::NotCalled(fault) => fault.into(),
        DriverError::Code(OUT_OF_MEMORY) => {
            Rejection::out_of_memory("the driver is out of memory for the work")
        }
        DriverError::Code(_) => Rejection::execution(format!(
            "the driver refused the work: {error}, possibly because earlier work failed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Status, driver};

    #[test]
    fn without_the_emulated_driver_opening_fails() {
        // No test of this process has loaded the emulated driver.
        let refused = driver().unwrap_err();
        assert_eq!(refused.status, Status::NotInitialized);
    }

    #[test]
    fn an_allocation_ends_after_its_last_byte() {
        assert_eq!(Allocation { base: 16, size: 4 }.end(), 20);
        assert_eq!(Allocation { base: u64::MAX, size: 4 }.end(), u64::MAX);
    }
}
