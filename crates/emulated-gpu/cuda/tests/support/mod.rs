//! Loads the emulated driver into the test program as a CUDA program would, and calls its C functions.

#![allow(dead_code, unused_imports, unused_macros, reason = "test programs use parts of this")]

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

pub(crate) use emulated_gpu_test_support::child::{child, child_output, child_stderr, is_child};
pub(crate) use emulated_gpu_test_support::{
    call as cu, device, in_child, ok, output, returns, run_child, test_name,
};
use libloading::os::unix::Library;

/// Error codes that tests expect.
pub(crate) mod code {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const INVALID_VALUE: u32 = 1;
    pub(crate) const OUT_OF_MEMORY: u32 = 2;
    pub(crate) const NOT_INITIALIZED: u32 = 3;
    pub(crate) const PROFILER_DISABLED: u32 = 5;
    pub(crate) const INVALID_DEVICE: u32 = 101;
    pub(crate) const INVALID_IMAGE: u32 = 200;
    pub(crate) const INVALID_CONTEXT: u32 = 201;
    pub(crate) const MAP_FAILED: u32 = 205;
    pub(crate) const NO_BINARY_FOR_GPU: u32 = 209;
    pub(crate) const UNSUPPORTED_LIMIT: u32 = 215;
    pub(crate) const INVALID_PTX: u32 = 218;
    pub(crate) const UNSUPPORTED_PTX_VERSION: u32 = 222;
    pub(crate) const FILE_NOT_FOUND: u32 = 301;
    pub(crate) const INVALID_HANDLE: u32 = 400;
    pub(crate) const ILLEGAL_STATE: u32 = 401;
    pub(crate) const NOT_FOUND: u32 = 500;
    pub(crate) const NOT_READY: u32 = 600;
    pub(crate) const ILLEGAL_ADDRESS: u32 = 700;
    pub(crate) const LAUNCH_TIMEOUT: u32 = 702;
    pub(crate) const CONTEXT_IS_DESTROYED: u32 = 709;
    pub(crate) const HOST_MEMORY_ALREADY_REGISTERED: u32 = 712;
    pub(crate) const HOST_MEMORY_NOT_REGISTERED: u32 = 713;
    pub(crate) const MISALIGNED_ADDRESS: u32 = 716;
    pub(crate) const LAUNCH_FAILED: u32 = 719;
    pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: u32 = 720;
    pub(crate) const NOT_PERMITTED: u32 = 800;
    pub(crate) const NOT_SUPPORTED: u32 = 801;
    pub(crate) const CAPTURE_UNSUPPORTED: u32 = 900;
    pub(crate) const CAPTURE_INVALIDATED: u32 = 901;
    pub(crate) const CAPTURE_MERGE: u32 = 902;
    pub(crate) const CAPTURE_UNMATCHED: u32 = 903;
    pub(crate) const CAPTURE_UNJOINED: u32 = 904;
    pub(crate) const CAPTURE_ISOLATION: u32 = 905;
    pub(crate) const CAPTURE_IMPLICIT: u32 = 906;
    pub(crate) const CAPTURED_EVENT: u32 = 907;
    pub(crate) const CAPTURE_WRONG_THREAD: u32 = 908;
}

/// Loads the driver. After that, the loader resolves `libcuda.so` to it.
pub(crate) fn install() -> &'static Library {
    &device::install([emulated_cuda::library_path().unwrap()])[0]
}

/// A function of the driver.
pub(crate) fn symbol<F: Copy>(name: &str) -> F {
    // SAFETY: the callers pass the type from CUDA's documentation.
    *unsafe { install().get::<F>(name) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The value of an attribute of the first device (`CUdevice_attribute`).
pub(crate) fn attribute(which: i32) -> i32 {
    output!(cuDeviceGetAttribute(-> i32, which => i32, 0 => i32))
}

/// Creates a context and makes it current. Each test has a separate context, so that a fault doesn't affect other
/// tests.
pub(crate) fn context() -> usize {
    ok!(cuInit(0u32));
    output!(cuCtxCreate_v2(-> usize, 0u32, 0 => i32))
}

/// A [`context`] that is destroyed at the end of the test.
pub(crate) fn own_context() -> OwnContext {
    OwnContext(context())
}

pub(crate) struct OwnContext(usize);

impl Drop for OwnContext {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            ok!(cuCtxDestroy_v2(self.0));
        }
    }
}

pub(crate) fn stream(flags: u32) -> usize {
    output!(cuStreamCreate(-> usize, flags))
}

pub(crate) fn event() -> usize {
    output!(cuEventCreate(-> usize, 0u32))
}

/// Free and total memory of the current device, in bytes.
pub(crate) fn memory_info() -> (usize, usize) {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&raw mut free, &raw mut total));
    (free, total)
}

pub(crate) fn free_memory() -> usize {
    memory_info().0
}

pub(crate) fn allocate(bytes: usize) -> u64 {
    output!(cuMemAlloc_v2(-> u64, bytes))
}

/// Allocates pinned memory.
pub(crate) fn pinned(bytes: usize) -> u64 {
    output!(cuMemHostAlloc(-> usize, bytes, 0u32)) as u64
}

/// Allocates managed memory.
pub(crate) fn managed(bytes: usize) -> u64 {
    output!(cuMemAllocManaged(-> u64, bytes, 1u32))
}

/// A gate in a stream: a host function that waits until the gate is opened.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: AtomicBool,
    is_reached: AtomicBool,
}

pub(crate) unsafe extern "C" fn wait_at(gate: *mut c_void) {
    // SAFETY: gates are never freed.
    let gate = unsafe { &*gate.cast::<Gate>() };
    gate.is_reached.store(true, Ordering::SeqCst);
    while !gate.is_open.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Enqueues a gate.
pub(crate) fn gate(stream: usize) -> &'static Gate {
    let gate: &'static Gate = Box::leak(Box::default());
    let data = std::ptr::from_ref(gate).cast_mut().cast::<c_void>();
    ok!(cuLaunchHostFunc(stream, wait_at => unsafe extern "C" fn(*mut c_void), data));
    gate
}

impl Gate {
    pub(crate) fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }

    /// Waits until the stream has reached the gate.
    pub(crate) fn wait_until_reached(&self) {
        while !self.is_reached.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A word of memory that the host may access.
pub(crate) fn word(address: u64) -> &'static AtomicU32 {
    // SAFETY: the tests pass words of live memory that the host may access.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }
}

pub(crate) fn read(address: u64, count: usize) -> Vec<u32> {
    let mut host = vec![0u32; count];
    ok!(cuMemcpyDtoH_v2(host.as_mut_ptr(), address, count * 4));
    host
}

pub(crate) fn module(ptx: &str) -> usize {
    let text = CString::new(ptx).unwrap();
    output!(cuModuleLoadData(-> usize, text.as_ptr()))
}

pub(crate) fn function(module: usize, name: &str) -> usize {
    let name = CString::new(name).unwrap();
    output!(cuModuleGetFunction(-> usize, module, name.as_ptr()))
}

/// Launches blocks of threads. The kernel's parameters must have 8 bytes each.
pub(crate) fn launch(
    function: usize,
    (grid, block): (u32, u32),
    stream: usize,
    values: &[u64],
) -> u32 {
    let pointers: Vec<*const u64> = values.iter().map(std::ptr::from_ref).collect();
    cu!(cuLaunchKernel(
        function, grid, 1 => u32, 1 => u32, block, 1 => u32, 1 => u32, 0 => u32, stream,
        pointers.as_ptr(), std::ptr::null::<c_void>()
    ))
}

/// A kernel that adds 1 to each of n numbers at p. The parameters are p and n, with 8 bytes each.
pub(crate) const INCREMENT: &str = r"
.version 7.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 p, .param .u64 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r4;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra DONE;
    shl.b64 %rd4, %rd3, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r5, [%rd5];
    add.s32 %r5, %r5, 1;
    st.global.u32 [%rd5], %r5;
DONE:
    ret;
}
.visible .entry nothing() { ret; }
";
