//! Graphs: their memory, their user objects, and graphs built node by node.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys::CUDA_MEMSET_NODE_PARAMS as MemsetNode;

use crate::capture::{THREAD_LOCAL, begin, end, instantiate, nodes};
use crate::support::*;

/// A node that writes a number `count` times.
pub(crate) fn words(target: u64, value: u32, count: usize) -> MemsetNode {
    MemsetNode { dst: target, pitch: 0, value, elementSize: 4, width: count, height: 1 }
}

#[test]
fn memory_of_a_graph_lives_with_it() {
    let _context = own_context();
    let stream = stream(1);
    let result = allocate(4);
    begin(stream, THREAD_LOCAL);
    let block = output!(cuMemAllocAsync(-> u64, 4usize, stream));
    ok!(cuMemsetD32Async(block, 3u32, 1usize, stream));
    ok!(cuMemcpyDtoDAsync_v2(result, block, 4usize, stream));
    ok!(cuMemFreeAsync(block, stream));
    // Memory that was not allocated in the graph can't be freed in it.
    returns!(code::INVALID_VALUE, cuMemFreeAsync(result, stream));
    let (code, graph) = end(stream);
    assert_eq!(code, 0);
    let executable = instantiate(graph);
    for _ in 0..2 {
        ok!(cuMemsetD32Async(result, 0u32, 1usize, stream));
        ok!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        assert_eq!(read(result, 1), [3]);
    }
}

/// A graph waits for an event's last record before the launch. Later records may depend on the graph itself.
#[test]
fn a_graph_does_not_wait_for_later_records() {
    static RELEASED: AtomicBool = AtomicBool::new(false);
    extern "C" fn block_stream(_: *mut c_void) {
        while !RELEASED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let event = || output!(cuEventCreate(-> usize, 2u32));
    let (awaited, after) = (event(), event());
    let (mut graph, mut node) = (0usize, 0usize);
    ok!(cuGraphCreate(&raw mut graph, 0u32));
    ok!(cuGraphAddEventWaitNode(&raw mut node, graph, std::ptr::null::<usize>(), 0usize, awaited));
    let executable = instantiate(graph);
    // The graph is launched while the stream is still busy; the event was never recorded, so there is nothing to wait
    // for.
    let block_stream = block_stream as extern "C" fn(*mut c_void);
    ok!(cuLaunchHostFunc(first, block_stream => extern "C" fn(*mut c_void), 0usize));
    ok!(cuGraphLaunch(executable, first));
    ok!(cuEventRecord(after, first));
    ok!(cuStreamWaitEvent(second, after, 0u32));
    ok!(cuEventRecord(awaited, second));
    RELEASED.store(true, Ordering::SeqCst);
    ok!(cuCtxSynchronize());
    // The second launch waits for the record in the second stream.
    ok!(cuGraphLaunch(executable, first));
    ok!(cuCtxSynchronize());
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
}

#[test]
fn graphs_are_built_node_by_node() {
    /// `CUDA_KERNEL_NODE_PARAMS`
    #[repr(C)]
    struct Kernel {
        function: usize,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        parameters: *const *const u64,
        extra: usize,
        kernel: usize,
        context: usize,
    }
    let context = context();
    let stream = stream(1);
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let block = allocate(16);
    let graph = output!(cuGraphCreate(-> usize, 0u32));
    let none = std::ptr::null::<usize>();
    let set = words(block, 10, 4);
    let first = output!(cuGraphAddMemsetNode(
        -> usize, graph, none, 0 => usize, &raw const set => *const MemsetNode, context
    ));
    let values = [block, 4u64];
    let pointers = [&raw const values[0], &raw const values[1]];
    let mut kernel = Kernel {
        function: increment,
        grid: [1; 3],
        block: [4, 1, 1],
        shared: 0,
        parameters: pointers.as_ptr(),
        extra: 0,
        kernel: 0,
        context: 0,
    };
    let second = output!(cuGraphAddKernelNode_v2(
        -> usize, graph, &raw const first, 1 => usize, &raw const kernel => *const Kernel
    ));
    // The reverse edge would close a cycle.
    returns!(code::INVALID_VALUE, cuGraphAddDependencies(
        graph, &raw const second, &raw const first, 1 => usize
    ));
    let executable = instantiate(graph);
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 4), [11; 4]);
    // Sets other parameters, but only in the executable graph.
    let fewer = [block, 2u64];
    let pointers = [&raw const fewer[0], &raw const fewer[1]];
    kernel.parameters = pointers.as_ptr();
    ok!(cuGraphExecKernelNodeSetParams_v2(executable, second, &raw const kernel => *const Kernel));
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 4), [11, 11, 10, 10]);
    // The graph still has the old parameters.
    ok!(cuGraphKernelNodeGetParams_v2(second, &raw mut kernel => *mut Kernel));
    // SAFETY: the driver's list has two parameters of 8 bytes.
    let parameters = unsafe { [**kernel.parameters, **kernel.parameters.add(1)] };
    assert_eq!((kernel.function, parameters), (increment, values));
    // A node can be disabled.
    ok!(cuGraphNodeSetEnabled(executable, second, 0u32));
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 4), [10; 4]);
    // The clone has separate nodes, which can be looked up by those of the original.
    let clone = output!(cuGraphClone(-> usize, graph));
    let node = output!(cuGraphNodeFindInClone(-> usize, second, clone));
    assert_eq!(nodes(clone)[1], node);
    ok!(cuGraphDestroyNode(first));
    assert_eq!((nodes(graph).len(), nodes(clone).len()), (1, 2));
    let executable = instantiate(clone);
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 4), [11; 4]);
    ok!(cuCtxDestroy_v2(context));
}

static DESTROYED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

unsafe extern "C" fn destroy(data: *mut std::ffi::c_void) {
    DESTROYED.fetch_add(data as usize, std::sync::atomic::Ordering::SeqCst);
}

#[test]
fn user_objects_are_destroyed_with_the_last_graph() {
    type Destructor = unsafe extern "C" fn(*mut std::ffi::c_void);
    let destroyed = || DESTROYED.load(std::sync::atomic::Ordering::SeqCst);
    let _context = own_context();
    let create = |data: usize| output!(cuUserObjectCreate(-> usize, data => usize, destroy => Destructor, 1 => u32, 1 => u32));
    let (mut graph, mut copy, mut ready, mut stream) = (0usize, 0usize, 0usize, 0usize);
    ok!(cuGraphCreate(&raw mut graph, 0u32));
    // The program's reference is moved to the graph.
    let object = create(1);
    ok!(cuGraphRetainUserObject(graph, object, 1u32, 1u32));
    returns!(code::INVALID_VALUE, cuUserObjectRelease(object, 1u32));
    ok!(cuGraphClone(&raw mut copy, graph));
    ok!(cuGraphInstantiateWithFlags(&raw mut ready, graph, 0u64));
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphReleaseUserObject(copy, object, 1u32));
    let twice = cu!(cuGraphReleaseUserObject(copy, object, 1u32));
    assert_eq!(twice, code::INVALID_VALUE);
    assert_eq!(destroyed(), 0);
    // A launch in flight also keeps the object alive.
    let gate = crate::support::gate(0);
    ok!(cuStreamCreate(&raw mut stream, 0u32));
    ok!(cuGraphLaunch(ready, stream));
    ok!(cuGraphExecDestroy(ready));
    assert_eq!(destroyed(), 0);
    gate.open();
    ok!(cuCtxSynchronize());
    while destroyed() == 0 {
        std::thread::yield_now();
    }
    // An object to which the program holds two references.
    let object = create(10);
    ok!(cuUserObjectRetain(object, 1u32));
    ok!(cuUserObjectRelease(object, 1u32));
    assert_eq!(destroyed(), 1);
    ok!(cuUserObjectRelease(object, 1u32));
    assert_eq!(destroyed(), 11);
    let mut none = 0usize;
    returns!(code::INVALID_VALUE, cuUserObjectCreate(
        &raw mut none => *mut usize, 1 => usize, destroy => Destructor, 1 => u32, 0 => u32
    ));
}

#[test]
fn memory_node_parameters_can_be_read_back() {
    let context = context();
    let mut graph = 0usize;
    let (mut allocation_node, mut free_node) = (0usize, 0usize);
    ok!(cuGraphCreate(&raw mut graph, 0u32));
    // CUDA_MEM_ALLOC_NODE_PARAMS: pinned memory (1) on device (1) 0, 400 bytes.
    let mut wanted = [0u64; 15];
    (wanted[0], wanted[1], wanted[13]) = (1, 1, 400);
    ok!(cuGraphAddMemAllocNode(
        &raw mut allocation_node, graph, 0 => usize, 0 => usize, wanted.as_mut_ptr()
    ));
    let address = wanted[14];
    let mut params = [9u64; 15];
    ok!(cuGraphMemAllocNodeGetParams(allocation_node, params.as_mut_ptr()));
    assert_eq!((params[0], params[1], params[13], params[14]), (1, 1, 400, address));
    // Fill the memory with bytes of 7.
    let set = MemsetNode { elementSize: 1, width: 400, ..words(address, 7, 1) };
    let fill = output!(cuGraphAddMemsetNode(
        -> usize, graph => usize, &raw const allocation_node => *const usize, 1 => usize,
        &raw const set => *const MemsetNode, context => usize
    ));
    ok!(cuGraphAddMemFreeNode(&raw mut free_node, graph, &raw const fill, 1usize, address));
    let mut freed_address = output!(cuGraphMemFreeNodeGetParams(free_node, -> u64));
    assert_eq!(freed_address, address);
    returns!(code::INVALID_VALUE, cuGraphMemFreeNodeGetParams(
        allocation_node => usize, &raw mut freed_address => *mut u64
    ));
    let outside_graph = crate::support::allocate(4);
    returns!(code::INVALID_VALUE, cuGraphAddMemFreeNode(
        &raw mut free_node => *mut usize, graph => usize, 0 => usize, 0 => usize, outside_graph => u64
    ));
    let ready = output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64));
    ok!(cuGraphLaunch(ready, 0usize));
    ok!(cuCtxSynchronize());
    assert_eq!(crate::support::read(address, 1), [0x0707_0707]);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn memory_that_a_graph_did_not_free_outlives_it() {
    let _context = own_context();
    let stream = stream(1);
    let (mut block, mut unused) = (0u64, 0u64);
    begin(stream, THREAD_LOCAL);
    ok!(cuMemAllocAsync(&raw mut block, 4usize, stream));
    ok!(cuMemsetD32Async(block, 5u32, 1usize, stream));
    let (_, graph) = end(stream);
    begin(stream, THREAD_LOCAL);
    ok!(cuMemAllocAsync(&raw mut unused, 4usize, stream));
    let (_, other) = end(stream);
    let ready = instantiate(graph);
    ok!(cuGraphLaunch(ready, stream));
    ok!(cuStreamSynchronize(stream));
    for graph in [graph, other] {
        ok!(cuGraphDestroy(graph));
    }
    ok!(cuGraphExecDestroy(ready));
    assert_eq!(read(block, 1), [5]);
    ok!(cuMemFreeAsync(block, stream));
    ok!(cuStreamSynchronize(stream));
    // The memory of a graph that was never launched was freed together with it.
    for address in [block, unused] {
        returns!(code::INVALID_VALUE, cuMemFreeAsync(address, stream));
    }
}

#[test]
fn a_graph_waits_for_an_event_of_an_earlier_graph() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let (data, result) = (allocate(4), allocate(4));
    let event = output!(cuEventCreate(-> usize, 0u32));
    // CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL: nodes of the graphs.
    begin(first, THREAD_LOCAL);
    ok!(cuMemsetD32Async(data, 7u32, 1usize, first));
    ok!(cuEventRecordWithFlags(event, first, 1u32));
    let (_, records) = end(first);
    begin(second, THREAD_LOCAL);
    ok!(cuStreamWaitEvent(second, event, 1u32));
    ok!(cuMemcpyDtoDAsync_v2(result, data, 4usize, second));
    let (_, waits) = end(second);
    let (records, waits) = (instantiate(records), instantiate(waits));
    for value in [7, 7] {
        ok!(cuMemsetD32_v2(data, 0u32, 1usize));
        ok!(cuMemsetD32_v2(result, 0u32, 1usize));
        ok!(cuCtxSynchronize());
        let gate = crate::support::gate(first);
        ok!(cuGraphLaunch(records, first));
        ok!(cuGraphLaunch(waits, second));
        returns!(code::NOT_READY, cuEventQuery(event));
        returns!(code::NOT_READY, cuStreamQuery(second));
        gate.open();
        ok!(cuCtxSynchronize());
        assert_eq!(read(result, 1), [value]);
    }
}

#[test]
fn memory_of_graphs_is_counted() {
    // Runs in a separate process, because graphs of other tests use memory too.
    in_child!(&[]);
    let _context = own_context();
    let stream = stream(1);
    // The four attributes: used, peak of used, reserved, peak of reserved.
    let counts = || {
        [0u32, 1, 2, 3].map(|attribute| {
            let mut value = 9u64;
            ok!(cuDeviceGetGraphMemAttribute(0 => i32, attribute, &raw mut value));
            value
        })
    };
    assert_eq!(counts(), [0; 4]);
    let mut block = 0u64;
    begin(stream, THREAD_LOCAL);
    ok!(cuMemAllocAsync(&raw mut block, 1000usize, stream));
    ok!(cuMemFreeAsync(block, stream));
    let (_, graph) = end(stream);
    assert_eq!(counts(), [0; 4], "nothing was launched yet");
    let ready = instantiate(graph);
    ok!(cuGraphLaunch(ready, stream));
    let size = counts()[0];
    assert!(size >= 1000);
    assert_eq!(counts(), [size; 4]);
    ok!(cuGraphLaunch(ready, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(counts(), [size; 4], "the second launch reuses the memory of the first");
    ok!(cuGraphExecDestroy(ready));
    ok!(cuGraphDestroy(graph));
    assert_eq!(counts(), [size; 4], "the memory stays reserved for other graphs");
    ok!(cuDeviceGraphMemTrim(0 => i32));
    assert_eq!(counts(), [0, size, 0, size]);
    let mut set = 0u64;
    ok!(cuDeviceSetGraphMemAttribute(0 => i32, 3u32, &raw mut set));
    assert_eq!(counts(), [0, size, 0, 0]);
    set = 1;
    for (attribute, set) in [(1, &raw mut set), (0, &raw mut set), (4, &raw mut set)] {
        let code = cu!(cuDeviceSetGraphMemAttribute(0 => i32, attribute => u32, set));
        assert_eq!(code, code::INVALID_VALUE);
    }
}
