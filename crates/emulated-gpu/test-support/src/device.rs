//! Emulated libraries in a test program, loaded the way programs do, and a stream on the first device.
#![allow(unsafe_code, reason = "the libraries are C")]

use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DeviceRepr};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Loads emulated libraries. From now on, a program that asks for one of them by its name gets it.
pub fn install<const N: usize>(paths: [PathBuf; N]) -> [Library; N] {
    // SAFETY: the libraries do nothing when they are loaded.
    paths.map(|path| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap())
}

/// A stream of the test's own on the first device.
#[derive(Debug)]
pub struct Device {
    /// The stream, in which all copies are.
    pub stream: Arc<CudaStream>,
}

impl Device {
    /// Opens the device of the driver that is [installed](install).
    #[expect(clippy::new_without_default, reason = "it loads a driver")]
    pub fn new() -> Self {
        let context = CudaContext::new(0).unwrap();
        // With events, a first stream would wait for the whole context, which is not allowed while
        // another test captures.
        // SAFETY: all work is in one stream.
        unsafe { context.disable_event_tracking() };
        Self { stream: context.new_stream().unwrap() }
    }

    /// Device memory that holds these values.
    pub fn put<T: DeviceRepr>(&self, values: &[T]) -> CudaSlice<T> {
        self.stream.clone_htod(values).unwrap()
    }

    /// The values in device memory.
    pub fn get<T: DeviceRepr + Clone + Default>(&self, slice: &CudaSlice<T>) -> Vec<T> {
        self.stream.clone_dtoh(slice).unwrap()
    }

    /// The address of an allocation.
    pub fn address<T>(&self, slice: &CudaSlice<T>) -> u64 {
        slice.device_ptr(&self.stream).0
    }
}
