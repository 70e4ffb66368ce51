//! Several devices: each has separate contexts, memory, modules and pools, and access to another device's memory must
//! be enabled.

use std::collections::HashSet;
use std::ffi::c_void;
use std::time::Duration;

use emulated_gpu_test_support::ptx::entry;

use crate::capture::{THREAD_LOCAL, begin, end, instantiate};
use crate::support::*;

const PEER_ACCESS_UNSUPPORTED: u32 = 217;
const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
const PEER_ACCESS_NOT_ENABLED: u32 = 705;

/// Runs a test in a child process with three devices. Returns the child's standard error, or `None` in the child.
fn run_with_three_devices(test: &str) -> Option<String> {
    if is_child() {
        ok!(cuInit(0u32));
        return None;
    }
    let variables = [("EMULATED_GPU_DEVICES", "3"), ("EMULATED_GPU_MEMORY", "64M")];
    Some(child_stderr(test, &variables))
}

/// Creates a context on a device and makes it current.
fn context_on(device: i32) -> usize {
    output!(cuCtxCreate_v2(-> usize, 0u32, device => i32))
}

fn enter(context: usize) {
    ok!(cuCtxSetCurrent(context));
}

fn zeros(words: usize) -> u64 {
    let address = allocate(words * 4);
    ok!(cuMemsetD32_v2(address, 0u32, words));
    ok!(cuCtxSynchronize());
    address
}

fn device_of(address: u64) -> i32 {
    // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    let device = output!(cuPointerGetAttribute(-> i32, 9u32, address));
    device
}

/// Adds 1 to each of 32 words, on the current context's device.
fn increment(address: u64) -> u32 {
    let kernel = function(module(INCREMENT), "increment");
    let launched = launch(kernel, (1, 32), stream(1), &[address, 32]);
    if launched == 0 { cu!(cuCtxSynchronize()) } else { launched }
}

#[test]
fn devices_are_distinguishable() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let count = output!(cuDeviceGetCount(-> i32));
    assert_eq!(count, 3);
    let mut seen = HashSet::new();
    for ordinal in 0..3 {
        let (mut device, mut uuid, mut bus) = (-1, [0u8; 16], [0u8; 16]);
        ok!(cuDeviceGet(&raw mut device => *mut i32, ordinal => i32));
        ok!(cuDeviceGetUuid_v2(uuid.as_mut_ptr(), device => i32));
        ok!(cuDeviceGetPCIBusId(bus.as_mut_ptr(), 16 => i32, device => i32));
        assert!(seen.insert((uuid, bus)), "device {ordinal} is distinguishable");
        let again = output!(cuDeviceGetByPCIBusId(-> i32, bus.as_ptr()));
        assert_eq!(again, ordinal);
        let (mut can, context) = (-1, context_on(ordinal));
        ok!(cuCtxGetDevice(&raw mut device => *mut i32));
        assert_eq!(device, ordinal);
        for stream in [0, stream(1)] {
            device = -1;
            ok!(cuStreamGetDevice(stream, &raw mut device => *mut i32));
            assert_eq!(device, ordinal, "a stream is on its context's device");
        }
        for peer in 0..3 {
            ok!(cuDeviceCanAccessPeer(&raw mut can => *mut i32, ordinal => i32, peer => i32));
            assert_eq!(can, i32::from(peer != ordinal));
        }
        ok!(cuCtxDestroy_v2(context));
    }
    let mut none = 0;
    for device in [3, -1] {
        returns!(code::INVALID_DEVICE, cuDeviceGet(&raw mut none => *mut i32, device => i32));
        let mut context = 0usize;
        let made = cu!(cuDevicePrimaryCtxRetain(&raw mut context, device => i32));
        assert_eq!(made, code::INVALID_DEVICE);
    }
    // Each device has its own primary context, which is released separately.
    let mut primary = [0usize; 3];
    for (device, context) in primary.iter_mut().enumerate() {
        ok!(cuDevicePrimaryCtxRetain(std::ptr::from_mut(context), device as i32 => i32));
    }
    assert_eq!(primary.iter().collect::<HashSet<_>>().len(), 3);
    ok!(cuDevicePrimaryCtxRelease_v2(1 => i32));
    let (mut flags, mut active) = (0u32, -1);
    for device in 0..3 {
        ok!(cuDevicePrimaryCtxGetState(device => i32, &raw mut flags, &raw mut active => *mut i32));
        assert_eq!(active, i32::from(device != 1));
    }
}

#[test]
fn memory_is_on_the_device_of_its_context() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let contexts = [0, 1, 2].map(context_on);
    enter(contexts[1]);
    let before = free_memory();
    let memory = allocate(40 << 20);
    assert_eq!((device_of(memory), before - free_memory()), (1, 40 << 20));
    let mut more = 0u64;
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut more, 40 << 20 => usize));
    // Another device has separate memory.
    enter(contexts[2]);
    assert_eq!(free_memory(), before);
    let other = allocate(40 << 20);
    assert_eq!(device_of(other), 2);
    // Freed memory returns to its device, whichever context is current.
    ok!(cuMemFree_v2(memory));
    enter(contexts[1]);
    assert_eq!(free_memory(), before);
    ok!(cuMemFree_v2(other));
    // Copies go from any device to any other, and to the host.
    enter(contexts[0]);
    let on_first = zeros(32);
    enter(contexts[1]);
    let on_second = zeros(32);
    assert_eq!(increment(on_second), 0);
    ok!(cuMemcpyPeer(on_first, contexts[0], on_second, contexts[1], 128usize));
    assert_eq!(read(on_first, 32), [1; 32]);
    enter(contexts[2]);
    ok!(cuMemcpyDtoD_v2(on_second, on_first, 128usize));
    assert_eq!(read(on_second, 32), [1; 32]);
}

#[test]
fn peer_access_must_be_enabled() {
    if let Some(printed) = run_with_three_devices(&test_name!()) {
        for part in [
            "which is on another device",
            "it is on device 1, but is accessed from device 0",
            "cuCtxEnablePeerAccess",
        ] {
            assert!(printed.contains(part), "no `{part}` in:\n{printed}");
        }
        return;
    }
    let contexts = [0, 1].map(context_on);
    let on_second = zeros(32);
    enter(contexts[0]);
    let enable = |peer| cu!(cuCtxEnablePeerAccess(peer, 0u32));
    assert_eq!(enable(contexts[0]), code::INVALID_VALUE);
    let second = context_on(0);
    enter(contexts[0]);
    assert_eq!(enable(second), PEER_ACCESS_UNSUPPORTED);
    assert_eq!(enable(contexts[1]), 0);
    assert_eq!(enable(contexts[1]), PEER_ACCESS_ALREADY_ENABLED);
    assert_eq!(increment(on_second), 0);
    assert_eq!(read(on_second, 32), [1; 32]);
    // Access is for one direction and one context.
    let on_first = zeros(32);
    enter(contexts[1]);
    returns!(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[0]));
    assert_eq!(increment(on_first), code::ILLEGAL_ADDRESS);
    enter(second);
    assert_eq!(increment(on_second), code::ILLEGAL_ADDRESS);
    // Pinned and managed memory is accessible to every device.
    enter(contexts[0]);
    for shared in [pinned(128), managed(128)] {
        ok!(cuMemsetD32_v2(shared, 0u32, 32usize));
        let third = context_on(2);
        assert_eq!(increment(shared), 0);
        assert_eq!(read(shared, 32), [1; 32]);
        ok!(cuCtxDestroy_v2(third));
        enter(contexts[0]);
    }
    ok!(cuCtxDisablePeerAccess(contexts[1]));
    assert_eq!(increment(on_second), code::ILLEGAL_ADDRESS);
}

#[repr(C)]
struct Access {
    kind: i32,
    device: i32,
    flags: i32,
}

#[test]
fn a_pool_controls_access_to_its_memory() {
    if let Some(printed) = run_with_three_devices(&test_name!()) {
        assert!(printed.contains("cuMemPoolSetAccess"), "{printed}");
        return;
    }
    let contexts = [0, 1].map(context_on);
    let (mut pool, mut address) = (0usize, 0u64);
    ok!(cuDeviceGetMemPool(&raw mut pool, 1 => i32));
    let first = output!(cuDeviceGetDefaultMemPool(-> usize, 0 => i32));
    assert_ne!(pool, first);
    returns!(code::INVALID_VALUE, cuDeviceSetMemPool(0 => i32, pool));
    let second_stream = stream(1);
    ok!(cuMemAllocAsync(&raw mut address, 128usize, second_stream));
    ok!(cuMemsetD32Async(address, 0u32, 32usize, second_stream));
    ok!(cuStreamSynchronize(second_stream));
    assert_eq!(device_of(address), 1);
    let set = |device, flags| {
        let access = Access { kind: 1, device, flags };
        cu!(cuMemPoolSetAccess(pool, &raw const access => *const Access, 1usize))
    };
    let access_of = |device| {
        let (location, mut flags) = ([1i32, device], 9u32);
        ok!(cuMemPoolGetAccess(&raw mut flags, pool, location.as_ptr() => *const i32));
        flags
    };
    assert_eq!((access_of(0), access_of(1)), (0, 3));
    assert_eq!(set(1, 0), code::INVALID_VALUE, "the pool's device always has access");
    enter(contexts[0]);
    // The pool's access setting also applies to existing allocations.
    assert_eq!(set(0, 3), 0);
    assert_eq!((access_of(0), access_of(2)), (3, 0));
    assert_eq!(increment(address), 0);
    assert_eq!(read(address, 32), [1; 32]);
    // Peer access doesn't apply to pools.
    assert_eq!(set(0, 0), 0);
    ok!(cuCtxEnablePeerAccess(contexts[1], 0u32));
    assert_eq!(increment(address), code::ILLEGAL_ADDRESS);
}

/// Adds 1 to a variable, and writes its old value to the address in its parameter.
fn counter() -> String {
    let header = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .global .align 4 .u32 counter;\n";
    let count = ".reg .b32 %r; .reg .b64 %c; mov.u64 %c, counter;
        atom.global.add.u32 %r, [%c], 1; st.global.u32 [%p0], %r; ret;";
    header.to_owned() + &entry("count", 1, count)
}

#[test]
fn a_library_has_separate_variables_on_each_device() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let contexts = [0, 1].map(context_on);
    let text = std::ffi::CString::new(counter()).unwrap();
    let (mut library, mut kernel) = (0usize, 0usize);
    let none = std::ptr::null::<c_void>();
    ok!(cuLibraryLoadData(&raw mut library, text.as_ptr(), none, none, 0u32, none, none, 0u32));
    ok!(cuLibraryGetKernel(&raw mut kernel, library, c"count".as_ptr()));
    let mut variables = HashSet::new();
    for (times, context) in [(3u32, contexts[0]), (2, contexts[1])] {
        enter(context);
        let seen = zeros(1);
        for _ in 0..times {
            assert_eq!(launch(kernel, (1, 1), 0, &[seen]), 0);
        }
        ok!(cuCtxSynchronize());
        assert_eq!(read(seen, 1), [times - 1]);
        let address = output!(cuLibraryGetGlobal(
            -> u64, std::ptr::null_mut::<usize>(), library, c"counter".as_ptr()
        ));
        assert!(variables.insert(address));
        assert_eq!(read(address, 1), [times]);
    }
}

#[test]
fn work_of_one_device_can_wait_for_another() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let contexts = [0, 1].map(context_on);
    let on_second = zeros(32);
    let (slow, done) = (stream(1), crate::support::event());
    let gate = crate::support::gate(slow);
    let kernel = function(module(INCREMENT), "increment");
    assert_eq!(launch(kernel, (1, 32), slow, &[on_second, 32]), 0);
    ok!(cuEventRecord(done, slow));
    enter(contexts[0]);
    let (on_first, first_stream) = (zeros(32), stream(1));
    ok!(cuStreamWaitEvent(first_stream, done, 0u32));
    ok!(cuMemcpyPeerAsync(on_first, contexts[0], on_second, contexts[1], 128usize, first_stream));
    returns!(code::NOT_READY, cuStreamQuery(first_stream));
    gate.open();
    ok!(cuStreamSynchronize(first_stream));
    assert_eq!(read(on_first, 32), [1; 32]);
}

/// A graph that is launched in a legacy default stream is ordered with the default streams of other contexts if it has
/// kernels of these contexts.
#[test]
fn a_graph_waits_for_the_default_streams_of_its_kernels() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let contexts = [0, 1].map(context_on);
    let (on_second, after) = (zeros(32), zeros(32));
    let kernel = function(module(INCREMENT), "increment");
    let captured = stream(1);
    begin(captured, THREAD_LOCAL);
    assert_eq!(launch(kernel, (1, 32), captured, &[on_second, 32]), 0);
    let (ended, graph) = end(captured);
    assert_eq!(ended, 0);
    let executable = instantiate(graph);
    // The default stream waits for a blocking stream, which waits for the gate.
    let gate = crate::support::gate(stream(0));
    ok!(cuMemsetD32Async(on_second, 5u32, 32usize, 0usize));
    enter(contexts[0]);
    ok!(cuGraphLaunch(executable, 0usize));
    enter(contexts[1]);
    ok!(cuMemcpyDtoDAsync_v2(after, on_second, 128usize, 0usize));
    enter(contexts[0]);
    std::thread::sleep(Duration::from_millis(50));
    returns!(code::NOT_READY, cuStreamQuery(0usize));
    gate.open();
    ok!(cuStreamSynchronize(0usize));
    enter(contexts[1]);
    ok!(cuStreamSynchronize(0usize));
    assert_eq!((read(on_second, 32), read(after, 32)), (vec![6; 32], vec![6; 32]));
    // In another stream, the graph only waits for that stream.
    let gate = crate::support::gate(stream(0));
    ok!(cuMemsetD32Async(on_second, 0u32, 32usize, 0usize));
    enter(contexts[0]);
    let first_stream = stream(1);
    ok!(cuGraphLaunch(executable, first_stream));
    ok!(cuStreamSynchronize(first_stream));
    gate.open();
    enter(contexts[1]);
    assert_eq!(read(on_second, 32), [0; 32]);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
}

#[test]
fn a_copy_between_devices_waits_for_the_default_streams_of_both() {
    if run_with_three_devices(&test_name!()).is_some() {
        return;
    }
    let contexts = [0, 1].map(context_on);
    let on_second = zeros(32);
    let gate = crate::support::gate(stream(0));
    ok!(cuMemsetD32Async(on_second, 5u32, 32usize, 0usize));
    enter(contexts[0]);
    let on_first = zeros(32);
    ok!(cuMemcpyDtoDAsync_v2(on_first, on_second, 128usize, 0usize));
    std::thread::sleep(Duration::from_millis(50));
    returns!(code::NOT_READY, cuStreamQuery(0usize));
    gate.open();
    assert_eq!(read(on_first, 32), [5; 32]);
}
