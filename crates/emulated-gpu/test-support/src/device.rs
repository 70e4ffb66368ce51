//! Loads emulated libraries into a test program, as clients do, and opens a stream on the first device.
#![allow(unsafe_code, reason = "the libraries are C")]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DeviceRepr};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Loads the emulated libraries of a test program. Afterwards, loading one of them by its name finds the emulated one.
/// Later calls return the libraries of the first one.
pub fn install<const N: usize>(paths: [PathBuf; N]) -> &'static [Library] {
    static LIBRARIES: OnceLock<Vec<Library>> = OnceLock::new();
    // SAFETY: loading the libraries has no side effects.
    let open = |path| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap();
    LIBRARIES.get_or_init(|| paths.map(open).into())
}

/// The first device, with a separate stream for the test.
#[derive(Debug)]
pub struct Device {
    /// The stream in which all copies are enqueued.
    pub stream: Arc<CudaStream>,
}

impl Device {
    /// Opens the device of the driver that is [installed](install).
    #[expect(clippy::new_without_default, reason = "it loads a driver")]
    pub fn new() -> Self {
        let context = CudaContext::new(0).unwrap();
        // cudarc's event tracking would make the first new stream wait for the whole context, and that fails while
        // another test captures a stream.
        // SAFETY: without events, cudarc doesn't order the work of several streams, but all work is
        // in one stream.
        unsafe { context.disable_event_tracking() };
        Self { stream: context.new_stream().unwrap() }
    }

    /// Allocates device memory with these values.
    pub fn put<T: DeviceRepr>(&self, values: &[T]) -> CudaSlice<T> {
        self.stream.clone_htod(values).unwrap()
    }

    /// Copies the values from device memory.
    pub fn get<T: DeviceRepr + Clone + Default>(&self, slice: &CudaSlice<T>) -> Vec<T> {
        self.stream.clone_dtoh(slice).unwrap()
    }

    /// The address of an allocation.
    pub fn address<T>(&self, slice: &CudaSlice<T>) -> u64 {
        slice.device_ptr(&self.stream).0
    }
}
