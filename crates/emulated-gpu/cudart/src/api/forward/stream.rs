//! Device, stream and event functions with the same arguments, codes and handles in both APIs. Pointers and handles
//! are forwarded as plain integers.

use crate::context::{bind, start};
use crate::ffi::forward;

// Device queries, which need no context.
forward! {
    start:
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

// The current device.
forward! {
    bind:
    cudaDeviceSynchronize = cuCtxSynchronize();
    cudaThreadSynchronize = cuCtxSynchronize();
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
}

// Streams and events.
forward! {
    bind:
    cudaStreamCreateWithFlags = cuStreamCreate(out: usize, flags: u32);
    cudaStreamCreateWithPriority = cuStreamCreateWithPriority(out: usize, flags: u32, priority: i32);
    cudaStreamDestroy = cuStreamDestroy_v2(stream: usize);
    cudaThreadExchangeStreamCaptureMode = cuThreadExchangeStreamCaptureMode(mode: usize);
    cudaEventCreateWithFlags = cuEventCreate(out: usize, flags: u32);
    cudaEventDestroy = cuEventDestroy_v2(event: usize);
    cudaEventQuery = cuEventQuery(event: usize);
    cudaEventSynchronize = cuEventSynchronize(event: usize);
    cudaEventElapsedTime = cuEventElapsedTime(out: usize, from: usize, to: usize);
}

// Streams and events, with variants in which stream 0 is the per-thread default stream.
forward! {
    bind:
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
}

// Functions that forward to a later version of the driver's function.
forward! {
    bind:
    cudaStreamBeginCapture = cuStreamBeginCapture_v2, cudaStreamBeginCapture_ptsz = cuStreamBeginCapture_v2_ptsz
        (stream: usize, mode: i32);
    cudaStreamGetCaptureInfo = cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo_ptsz = cuStreamGetCaptureInfo_v3_ptsz
        (stream: usize, status: usize, id: usize, graph: usize, before: usize, edges: usize, count: usize);
    cudaStreamUpdateCaptureDependencies = cuStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies_ptsz = cuStreamUpdateCaptureDependencies_v2_ptsz
        (stream: usize, before: usize, edges: usize, count: usize, flags: u32);
}

// Versions of these functions that CUDA 12 exports under names that end in the version.
forward! {
    bind:
    cudaStreamGetCaptureInfo_v2 = cuStreamGetCaptureInfo_v2(stream: usize, status: usize, id: usize, graph: usize, before: usize, count: usize);
    cudaStreamGetCaptureInfo_v3 = cuStreamGetCaptureInfo_v3(stream: usize, status: usize, id: usize, graph: usize, before: usize, edges: usize, count: usize);
    cudaStreamUpdateCaptureDependencies_v2 = cuStreamUpdateCaptureDependencies_v2(stream: usize, before: usize, edges: usize, count: usize, flags: u32);
}
