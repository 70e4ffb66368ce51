//! What the emulated driver is asked beside what `emulated_blas` asks: contexts, and memory.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::ffi::{Code, Error, Result};

/// A `CUcontext`.
pub(crate) type Context = usize;
/// A `CUevent`.
type Event = usize;
/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;

/// Functions of the driver.
#[derive(Debug)]
pub(crate) struct Contexts {
    current: unsafe extern "C" fn(*mut Context) -> c_int,
    device: unsafe extern "C" fn(*mut c_int) -> c_int,
    push: unsafe extern "C" fn(Context) -> c_int,
    pop: unsafe extern "C" fn(*mut Context) -> c_int,
    primary: unsafe extern "C" fn(*mut Context, c_int) -> c_int,
    count: unsafe extern "C" fn(*mut c_int) -> c_int,
    allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    free: unsafe extern "C" fn(u64) -> c_int,
    event_create: unsafe extern "C" fn(*mut Event, u32) -> c_int,
    event_record: unsafe extern "C" fn(Event, usize) -> c_int,
    event_destroy: unsafe extern "C" fn(Event) -> c_int,
    stream_wait: unsafe extern "C" fn(usize, Event, u32) -> c_int,
}

fn checked(code: c_int, what: &str) -> Result {
    if code == 0 {
        return Ok(());
    }
    Err(Error::new(Code::UnhandledCuda, format!("{what}: CUDA error {code}")))
}

/// The functions of the emulated driver.
///
/// # Errors
/// When no driver is loaded, or another one than the emulated.
pub(crate) fn contexts() -> Result<&'static Contexts> {
    static CONTEXTS: OnceLock<Contexts> = OnceLock::new();
    if let Some(contexts) = CONTEXTS.get() {
        return Ok(contexts);
    }
    // It says so where there is none, or a real one.
    emulated_blas::driver()?;
    let library = emulated_blas::driver_library()
        .map_err(|error| Error::new(Code::UnhandledCuda, format!("no CUDA driver: {error}")))?;
    // SAFETY: the signatures are those of NVIDIA's cuda.h.
    let contexts = unsafe {
        Contexts {
            current: symbol(&library, "cuCtxGetCurrent")?,
            device: symbol(&library, "cuCtxGetDevice")?,
            push: symbol(&library, "cuCtxPushCurrent_v2")?,
            pop: symbol(&library, "cuCtxPopCurrent_v2")?,
            primary: symbol(&library, "cuDevicePrimaryCtxRetain")?,
            count: symbol(&library, "cuDeviceGetCount")?,
            allocate: symbol(&library, "cuMemAlloc_v2")?,
            free: symbol(&library, "cuMemFree_v2")?,
            event_create: symbol(&library, "cuEventCreate")?,
            event_record: symbol(&library, "cuEventRecord")?,
            event_destroy: symbol(&library, "cuEventDestroy_v2")?,
            stream_wait: symbol(&library, "cuStreamWaitEvent")?,
        }
    };
    std::mem::forget(library);
    Ok(CONTEXTS.get_or_init(|| contexts))
}

/// # Safety
/// `T` has to be the type of the function of that name.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T> {
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|error| {
        Error::new(Code::UnhandledCuda, format!("libcuda.so is not the emulated driver: {error}"))
    })
}

impl Contexts {
    /// The calling thread's context and its device; the first device's primary one where there is
    /// none, as the CUDA runtime has it.
    pub(crate) fn current(&self) -> Result<(Context, i32)> {
        emulated_blas::driver()?.bind()?;
        let (mut context, mut device) = (0, 0);
        // SAFETY: both places live for the calls.
        unsafe {
            checked((self.current)(&raw mut context), "the thread's context")?;
            checked((self.device)(&raw mut device), "the context's device")?;
        }
        Ok((context, device))
    }

    /// The primary context of a device.
    pub(crate) fn primary(&self, device: i32) -> Result<Context> {
        let mut context = 0;
        // SAFETY: the place lives for the call.
        let code = unsafe { (self.primary)(&raw mut context, device) };
        checked(code, &format!("device {device}"))?;
        Ok(context)
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> Result<i32> {
        let mut count = 0;
        // SAFETY: the place lives for the call.
        checked(unsafe { (self.count)(&raw mut count) }, "the number of devices")?;
        Ok(count)
    }

    /// Does something where a context is current.
    pub(crate) fn within<T>(
        &self,
        context: Context,
        body: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // SAFETY: the driver checks the handle.
        checked(unsafe { (self.push)(context) }, "the communicator's context")?;
        let done = body();
        let mut popped = 0;
        // SAFETY: the place lives for the call; the driver has taken one more above.
        unsafe { (self.pop)(&raw mut popped) };
        done
    }

    /// Makes later work in the stream `to` wait for the work that is pending in the stream `from`.
    ///
    /// # Errors
    /// `ncclUnhandledCudaError` if one of them is no stream of the current context.
    pub(crate) fn order(&self, from: usize, to: usize) -> Result {
        let mut event = 0;
        // SAFETY: the place lives for the call; the driver checks the streams, and keeps the event as
        // long as it is waited for.
        unsafe {
            checked((self.event_create)(&raw mut event, DISABLE_TIMING), "an event")?;
            let recorded = checked((self.event_record)(event, from), "an event of a stream");
            let waits = recorded
                .and_then(|()| checked((self.stream_wait)(to, event, 0), "waiting for a stream"));
            (self.event_destroy)(event);
            waits
        }
    }

    /// Device memory.
    pub(crate) fn allocate(&self, size: usize) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the place lives for the call.
        checked(unsafe { (self.allocate)(&raw mut address, size) }, &format!("{size} bytes"))?;
        Ok(address)
    }

    /// Gives device memory back.
    ///
    /// # Errors
    /// `ncclUnhandledCudaError` if no allocation begins there.
    ///
    /// # Safety
    /// Nothing uses the memory any more.
    pub(crate) unsafe fn free(&self, address: *mut c_void) -> Result {
        // SAFETY: the caller's promise; the driver checks the address.
        checked(unsafe { (self.free)(address as u64) }, &format!("freeing {address:?}"))
    }
}
