//! Functions with the same arguments, codes and handles in both APIs, which only forward to a driver function. Pointers
//! and handles are forwarded as plain integers. Functions with the same arguments share a row: variants in which
//! stream 0 is the per-thread default stream, and later versions under a second name.

use crate::context::{bind_context, start_driver};
use crate::ffi::forward;

/// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`, which are the driver's structures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterprocessHandle([u8; 64]);

// The rows for device queries, which need no context.
forward! {
    start_driver:
    cudaDeviceGetAttribute = cuDeviceGetAttribute(out: usize, which: i32, device: i32);
    cudaDeviceGetPCIBusId = cuDeviceGetPCIBusId(text: usize, len: i32, device: i32);
    cudaDeviceGetByPCIBusId = cuDeviceGetByPCIBusId(out: usize, text: usize);
    cudaDeviceCanAccessPeer = cuDeviceCanAccessPeer(out: usize, device: i32, peer: i32);
    cudaDeviceGetP2PAttribute = cuDeviceGetP2PAttribute(out: usize, which: i32, from: i32, to: i32);
    cudaDeviceGetDefaultMemPool = cuDeviceGetDefaultMemPool(out: usize, device: i32);
    cudaDeviceGetMemPool = cuDeviceGetMemPool(out: usize, device: i32);
    cudaDeviceSetMemPool = cuDeviceSetMemPool(device: i32, pool: usize);
    cudaDeviceGraphMemTrim = cuDeviceGraphMemTrim(device: i32);
}

forward! {
    bind_context:
    // The current device.
    cudaDeviceSynchronize = cuCtxSynchronize, cudaThreadSynchronize = cuCtxSynchronize();
    cudaDeviceSetLimit = cuCtxSetLimit(limit: i32, value: usize);
    cudaDeviceGetLimit = cuCtxGetLimit(out: usize, limit: i32);
    cudaDeviceGetCacheConfig = cuCtxGetCacheConfig(out: usize);
    cudaDeviceSetCacheConfig = cuCtxSetCacheConfig(config: i32);
    cudaDeviceGetSharedMemConfig = cuCtxGetSharedMemConfig(out: usize);
    cudaDeviceSetSharedMemConfig = cuCtxSetSharedMemConfig(config: i32);
    cudaDeviceGetStreamPriorityRange = cuCtxGetStreamPriorityRange(least: usize, greatest: usize);
    cudaDeviceFlushGPUDirectRDMAWrites = cuFlushGPUDirectRDMAWrites(target: i32, scope: i32);
    cudaCtxResetPersistingL2Cache = cuCtxResetPersistingL2Cache();
    cudaProfilerStart = cuProfilerStart();
    cudaProfilerStop = cuProfilerStop();

    // Streams and events.
    cudaStreamCreateWithFlags = cuStreamCreate(out: usize, flags: u32);
    cudaStreamCreateWithPriority = cuStreamCreateWithPriority(out: usize, flags: u32, priority: i32);
    cudaStreamDestroy = cuStreamDestroy_v2(stream: usize);
    cudaThreadExchangeStreamCaptureMode = cuThreadExchangeStreamCaptureMode(mode: usize);
    cudaEventCreateWithFlags = cuEventCreate(out: usize, flags: u32);
    cudaEventDestroy = cuEventDestroy_v2(event: usize);
    cudaEventQuery = cuEventQuery(event: usize);
    cudaEventSynchronize = cuEventSynchronize(event: usize);
    cudaEventElapsedTime = cuEventElapsedTime(out: usize, from: usize, to: usize);

    // The rows for streams and events, with variants in which stream 0 is the per-thread default stream.
    cudaStreamQuery = cuStreamQuery, cudaStreamQuery_ptsz = cuStreamQuery_ptsz(stream: usize);
    cudaStreamSynchronize = cuStreamSynchronize, cudaStreamSynchronize_ptsz = cuStreamSynchronize_ptsz(stream: usize);
    cudaStreamWaitEvent = cuStreamWaitEvent, cudaStreamWaitEvent_ptsz = cuStreamWaitEvent_ptsz
        (stream: usize, event: usize, flags: u32);
    cudaStreamAddCallback = cuStreamAddCallback, cudaStreamAddCallback_ptsz = cuStreamAddCallback_ptsz
        (stream: usize, call: usize, data: usize, flags: u32);
    cudaStreamGetFlags = cuStreamGetFlags, cudaStreamGetFlags_ptsz = cuStreamGetFlags_ptsz(stream: usize, out: usize);
    cudaStreamGetPriority = cuStreamGetPriority, cudaStreamGetPriority_ptsz = cuStreamGetPriority_ptsz
        (stream: usize, out: usize);
    cudaStreamGetId = cuStreamGetId, cudaStreamGetId_ptsz = cuStreamGetId_ptsz(stream: usize, out: usize);
    cudaStreamGetDevice = cuStreamGetDevice, cudaStreamGetDevice_ptsz = cuStreamGetDevice_ptsz
        (stream: usize, out: usize);
    cudaStreamCopyAttributes = cuStreamCopyAttributes, cudaStreamCopyAttributes_ptsz = cuStreamCopyAttributes_ptsz
        (to: usize, from: usize);
    cudaStreamAttachMemAsync = cuStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz = cuStreamAttachMemAsync_ptsz
        (stream: usize, address: usize, bytes: usize, flags: u32);
    cudaStreamIsCapturing = cuStreamIsCapturing, cudaStreamIsCapturing_ptsz = cuStreamIsCapturing_ptsz
        (stream: usize, out: usize);
    cudaStreamEndCapture = cuStreamEndCapture, cudaStreamEndCapture_ptsz = cuStreamEndCapture_ptsz
        (stream: usize, out: usize);
    cudaStreamBeginCaptureToGraph = cuStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz = cuStreamBeginCaptureToGraph_ptsz
        (stream: usize, graph: usize, before: usize, edges: usize, count: usize, mode: i32);
    cudaEventRecord = cuEventRecord, cudaEventRecord_ptsz = cuEventRecord_ptsz(event: usize, stream: usize);
    cudaEventRecordWithFlags = cuEventRecordWithFlags, cudaEventRecordWithFlags_ptsz = cuEventRecordWithFlags_ptsz
        (event: usize, stream: usize, flags: u32);
    cudaLaunchHostFunc = cuLaunchHostFunc, cudaLaunchHostFunc_ptsz = cuLaunchHostFunc_ptsz
        (stream: usize, call: usize, data: usize);

    // Functions that forward to a later version of the driver's function.
    cudaStreamBeginCapture = cuStreamBeginCapture_v2, cudaStreamBeginCapture_ptsz = cuStreamBeginCapture_v2_ptsz
        (stream: usize, mode: i32);
    cudaStreamGetCaptureInfo = cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo_ptsz = cuStreamGetCaptureInfo_v3_ptsz
        (stream: usize, status: usize, id: usize, graph: usize, before: usize, edges: usize, count: usize);
    cudaStreamUpdateCaptureDependencies = cuStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies_ptsz = cuStreamUpdateCaptureDependencies_v2_ptsz
        (stream: usize, before: usize, edges: usize, count: usize, flags: u32);

    // Versions of these functions that CUDA 12 exports under names that end in the version.
    cudaStreamGetCaptureInfo_v2 = cuStreamGetCaptureInfo_v2(stream: usize, status: usize, id: usize, graph: usize, before: usize, count: usize);
    cudaStreamGetCaptureInfo_v3 = cuStreamGetCaptureInfo_v3(stream: usize, status: usize, id: usize, graph: usize, before: usize, edges: usize, count: usize);
    cudaStreamUpdateCaptureDependencies_v2 = cuStreamUpdateCaptureDependencies_v2(stream: usize, before: usize, edges: usize, count: usize, flags: u32);

    // The rows for memory and memory pools.
    cudaMemGetInfo = cuMemGetInfo_v2(free: usize, total: usize);
    cudaMallocManaged = cuMemAllocManaged(out: usize, bytes: usize, flags: u32);
    cudaHostRegister = cuMemHostRegister_v2(address: usize, bytes: usize, flags: u32);
    cudaHostUnregister = cuMemHostUnregister(address: usize);
    cudaHostGetDevicePointer = cuMemHostGetDevicePointer_v2(out: usize, address: usize, flags: u32);
    cudaHostGetFlags = cuMemHostGetFlags(out: usize, address: usize);
    cudaMemRangeGetAttribute = cuMemRangeGetAttribute(out: usize, bytes: usize, which: i32, address: usize, count: usize);
    cudaMemRangeGetAttributes = cuMemRangeGetAttributes(out: usize, bytes: usize, which: usize, number: usize, address: usize, count: usize);
    cudaMemAdvise = cuMemAdvise_v2, cudaMemAdvise_v2 = cuMemAdvise_v2
        (address: usize, bytes: usize, advice: i32, location: u64);
    cudaMemPoolCreate = cuMemPoolCreate(out: usize, properties: usize);
    cudaMemPoolDestroy = cuMemPoolDestroy(pool: usize);
    cudaMemPoolTrimTo = cuMemPoolTrimTo(pool: usize, keep: usize);
    cudaMemPoolSetAttribute = cuMemPoolSetAttribute(pool: usize, which: i32, value: usize);
    cudaMemPoolGetAttribute = cuMemPoolGetAttribute(pool: usize, which: i32, value: usize);
    cudaMemPoolSetAccess = cuMemPoolSetAccess(pool: usize, list: usize, count: usize);
    cudaMemPoolGetAccess = cuMemPoolGetAccess(out: usize, pool: usize, location: usize);

    // Stream-ordered memory.
    cudaMallocAsync = cuMemAllocAsync, cudaMallocAsync_ptsz = cuMemAllocAsync_ptsz
        (out: usize, bytes: usize, stream: usize);
    cudaFreeAsync = cuMemFreeAsync, cudaFreeAsync_ptsz = cuMemFreeAsync_ptsz(address: usize, stream: usize);
    cudaMallocFromPoolAsync = cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync_ptsz = cuMemAllocFromPoolAsync_ptsz
        (out: usize, bytes: usize, pool: usize, stream: usize);

    // Calls the second version of the driver's function, which takes the location as a structure of two 32-bit numbers.
    cudaMemPrefetchAsync = cuMemPrefetchAsync_v2, cudaMemPrefetchAsync_ptsz = cuMemPrefetchAsync_v2_ptsz
        (address: usize, bytes: usize, location: u64, flags: u32, stream: usize);

    // `cudaMemPrefetchAsync` under the name that CUDA 12 uses.
    cudaMemPrefetchAsync_v2 = cuMemPrefetchAsync_v2(address: usize, bytes: usize, location: u64, flags: u32, stream: usize);

    // Libraries.
    cudaLibraryLoadData = cuLibraryLoadData(out: usize, image: usize, options: usize, values: usize, count: u32, library_options: usize, library_values: usize, library_count: u32);
    cudaLibraryLoadFromFile = cuLibraryLoadFromFile(out: usize, path: usize, options: usize, values: usize, count: u32, library_options: usize, library_values: usize, library_count: u32);
    cudaLibraryUnload = cuLibraryUnload(library: usize);
    cudaLibraryGetKernel = cuLibraryGetKernel(out: usize, library: usize, name: usize);
    cudaLibraryGetGlobal = cuLibraryGetGlobal(address: usize, bytes: usize, library: usize, name: usize);
    cudaLibraryGetKernelCount = cuLibraryGetKernelCount(out: usize, library: usize);
    cudaLibraryEnumerateKernels = cuLibraryEnumerateKernels(out: usize, max: u32, library: usize);

    // Textures and surfaces.
    cudaDestroyTextureObject = cuTexObjectDestroy(texture: u64);
    cudaDestroySurfaceObject = cuSurfObjectDestroy(surface: u64);

    // Graphs and nodes.
    cudaGraphCreate = cuGraphCreate(out: usize, flags: u32);
    cudaGraphDestroy = cuGraphDestroy(graph: usize);
    cudaGraphClone = cuGraphClone(out: usize, graph: usize);
    cudaGraphInstantiate = cuGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags = cuGraphInstantiateWithFlags
        (out: usize, graph: usize, flags: u64);
    cudaGraphExecDestroy = cuGraphExecDestroy(graph: usize);
    cudaGraphExecGetFlags = cuGraphExecGetFlags(graph: usize, out: usize);
    cudaGraphExecUpdate = cuGraphExecUpdate_v2(exec: usize, graph: usize, out: usize);
    cudaGraphDebugDotPrint = cuGraphDebugDotPrint(graph: usize, path: usize, flags: u32);
    cudaGraphGetNodes = cuGraphGetNodes(graph: usize, out: usize, count: usize);
    cudaGraphGetRootNodes = cuGraphGetRootNodes(graph: usize, out: usize, count: usize);
    cudaGraphGetEdges = cuGraphGetEdges_v2, cudaGraphGetEdges_v2 = cuGraphGetEdges_v2
        (graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphAddDependencies = cuGraphAddDependencies_v2, cudaGraphAddDependencies_v2 = cuGraphAddDependencies_v2
        (graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphRemoveDependencies = cuGraphRemoveDependencies_v2, cudaGraphRemoveDependencies_v2 = cuGraphRemoveDependencies_v2
        (graph: usize, from: usize, to: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependencies = cuGraphNodeGetDependencies_v2, cudaGraphNodeGetDependencies_v2 = cuGraphNodeGetDependencies_v2
        (node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetDependentNodes = cuGraphNodeGetDependentNodes_v2, cudaGraphNodeGetDependentNodes_v2 = cuGraphNodeGetDependentNodes_v2
        (node: usize, out: usize, edges: usize, count: usize);
    cudaGraphNodeGetType = cuGraphNodeGetType(node: usize, out: usize);
    cudaGraphNodeFindInClone = cuGraphNodeFindInClone(out: usize, node: usize, clone: usize);
    cudaGraphNodeSetEnabled = cuGraphNodeSetEnabled(exec: usize, node: usize, enabled: u32);
    cudaGraphNodeGetEnabled = cuGraphNodeGetEnabled(exec: usize, node: usize, out: usize);
    cudaGraphDestroyNode = cuGraphDestroyNode(node: usize);
    cudaGraphAddEmptyNode = cuGraphAddEmptyNode(out: usize, graph: usize, before: usize, count: usize);
    cudaGraphAddChildGraphNode = cuGraphAddChildGraphNode(out: usize, graph: usize, before: usize, count: usize, child: usize);
    cudaGraphChildGraphNodeGetGraph = cuGraphChildGraphNodeGetGraph(node: usize, out: usize);
    cudaGraphAddHostNode = cuGraphAddHostNode(out: usize, graph: usize, before: usize, count: usize, call: usize);
    cudaGraphHostNodeGetParams = cuGraphHostNodeGetParams(node: usize, out: usize);
    cudaGraphHostNodeSetParams = cuGraphHostNodeSetParams(node: usize, call: usize);
    cudaGraphExecHostNodeSetParams = cuGraphExecHostNodeSetParams(exec: usize, node: usize, call: usize);
    cudaGraphAddEventRecordNode = cuGraphAddEventRecordNode(out: usize, graph: usize, before: usize, count: usize, event: usize);
    cudaGraphEventRecordNodeGetEvent = cuGraphEventRecordNodeGetEvent(node: usize, out: usize);
    cudaGraphEventRecordNodeSetEvent = cuGraphEventRecordNodeSetEvent(node: usize, event: usize);
    cudaGraphExecEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent(exec: usize, node: usize, event: usize);
    cudaGraphAddEventWaitNode = cuGraphAddEventWaitNode(out: usize, graph: usize, before: usize, count: usize, event: usize);
    cudaGraphEventWaitNodeGetEvent = cuGraphEventWaitNodeGetEvent(node: usize, out: usize);
    cudaGraphEventWaitNodeSetEvent = cuGraphEventWaitNodeSetEvent(node: usize, event: usize);
    cudaGraphExecEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent(exec: usize, node: usize, event: usize);
    cudaGraphMemsetNodeGetParams = cuGraphMemsetNodeGetParams(node: usize, out: usize);
    cudaGraphMemsetNodeSetParams = cuGraphMemsetNodeSetParams(node: usize, fill: usize);

    // The rows for launching, uploading and instantiating graphs in a stream.
    cudaGraphLaunch = cuGraphLaunch, cudaGraphLaunch_ptsz = cuGraphLaunch_ptsz(graph: usize, stream: usize);
    cudaGraphUpload = cuGraphUpload, cudaGraphUpload_ptsz = cuGraphUpload_ptsz(graph: usize, stream: usize);
    cudaGraphInstantiateWithParams = cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz = cuGraphInstantiateWithParams_ptsz
        (out: usize, graph: usize, parameters: usize);

    // The rows for memory and events that processes share.
    cudaIpcGetMemHandle = cuIpcGetMemHandle(out: usize, address: usize);
    cudaIpcOpenMemHandle = cuIpcOpenMemHandle_v2(out: usize, handle: InterprocessHandle, flags: u32);
    cudaIpcCloseMemHandle = cuIpcCloseMemHandle(address: usize);
    cudaIpcGetEventHandle = cuIpcGetEventHandle(out: usize, event: usize);
    cudaIpcOpenEventHandle = cuIpcOpenEventHandle(out: usize, handle: InterprocessHandle);
}
