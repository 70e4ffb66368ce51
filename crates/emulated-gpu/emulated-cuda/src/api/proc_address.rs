//! `cuGetProcAddress`: functions by name and version.

mod graphs;
mod interprocess;
mod textures;
mod virtual_memory;

use std::ffi::c_void;

use crate::abi::{Out, Text};
use crate::error::{Code, Result};
use crate::ffi::export;

use super::{
    context, copy, device, emulated_gpu, event, export_table, fill, function, graph,
    initialisation, link, memory, module, pointer, pool, stream, unsupported,
};

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM`, `…_PER_THREAD_DEFAULT_STREAM`
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// A function that can be asked for.
pub(crate) struct Entry {
    /// Its name, without the `_v2` of its symbol.
    pub(crate) name: &'static str,
    /// The CUDA version that brought it in this form.
    pub(crate) since: i32,
    pub(crate) function: *const c_void,
    /// The form in which stream 0 is the thread's own.
    pub(crate) per_thread: *const c_void,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Function(*const c_void),
    /// There is none of that name.
    Nothing,
    /// There is, in later versions.
    Newer,
}

macro_rules! table {
    (@per_thread $function:path) => { $function as *const c_void };
    (@per_thread $function:path, $per_thread:path) => { $per_thread as *const c_void };
    ($(#[$meta:meta])* $rows:ident: $($name:literal $since:literal $function:path $(, $per_thread:path)?;)*) => {
        $(#[$meta])*
        pub(super) fn $rows() -> impl Iterator<Item = Entry> {
            [$(Entry {
                name: $name,
                since: $since,
                function: $function as *const c_void,
                per_thread: $crate::api::proc_address::table!(@per_thread $function $(, $per_thread)?),
            },)*]
            .into_iter()
        }
    };
}

pub(super) use table;

table! {
    /// Every function but those of graphs, by name and version (the versions are those of
    /// `cudaTypedefs.h`).
    rows:
    "cuCtxAttach" 2000 context::cuCtxAttach;
    "cuCtxCreate" 3020 context::cuCtxCreate_v2;
    "cuCtxCreate" 11040 context::cuCtxCreate_v3;
    "cuCtxCreate" 12050 context::cuCtxCreate_v4;
    "cuCtxDestroy" 4000 context::cuCtxDestroy_v2;
    "cuCtxDetach" 2000 context::cuCtxDetach;
    "cuCtxDisablePeerAccess" 4000 context::cuCtxDisablePeerAccess;
    "cuCtxEnablePeerAccess" 4000 context::cuCtxEnablePeerAccess;
    "cuCtxGetApiVersion" 3020 context::cuCtxGetApiVersion;
    "cuCtxGetCacheConfig" 3020 context::cuCtxGetCacheConfig;
    "cuCtxGetCurrent" 4000 context::cuCtxGetCurrent;
    "cuCtxGetDevice" 2000 context::cuCtxGetDevice;
    "cuCtxGetDevice" 13000 context::cuCtxGetDevice_v2;
    "cuCtxGetExecAffinity" 11040 context::cuCtxGetExecAffinity;
    "cuCtxGetFlags" 7000 context::cuCtxGetFlags;
    "cuCtxGetId" 12000 context::cuCtxGetId;
    "cuCtxGetLimit" 3010 context::cuCtxGetLimit;
    "cuCtxGetSharedMemConfig" 4020 context::cuCtxGetSharedMemConfig;
    "cuCtxGetStreamPriorityRange" 5050 context::cuCtxGetStreamPriorityRange;
    "cuCtxPopCurrent" 4000 context::cuCtxPopCurrent_v2;
    "cuCtxPushCurrent" 4000 context::cuCtxPushCurrent_v2;
    "cuCtxRecordEvent" 12050 context::cuCtxRecordEvent;
    "cuCtxResetPersistingL2Cache" 11000 context::cuCtxResetPersistingL2Cache;
    "cuCtxSetCacheConfig" 3020 context::cuCtxSetCacheConfig;
    "cuCtxSetCurrent" 4000 context::cuCtxSetCurrent;
    "cuCtxSetFlags" 12010 context::cuCtxSetFlags;
    "cuCtxSetLimit" 3010 context::cuCtxSetLimit;
    "cuCtxSetSharedMemConfig" 4020 context::cuCtxSetSharedMemConfig;
    "cuCtxSynchronize" 2000 context::cuCtxSynchronize;
    "cuCtxSynchronize" 13000 context::cuCtxSynchronize_v2;
    "cuCtxWaitEvent" 12050 context::cuCtxWaitEvent;
    "cuDeviceCanAccessPeer" 4000 device::cuDeviceCanAccessPeer;
    "cuDeviceComputeCapability" 2000 device::cuDeviceComputeCapability;
    "cuDeviceGet" 2000 device::cuDeviceGet;
    "cuDeviceGetAttribute" 2000 device::cuDeviceGetAttribute;
    "cuDeviceGetByPCIBusId" 4010 device::cuDeviceGetByPCIBusId;
    "cuDeviceGetCount" 2000 device::cuDeviceGetCount;
    "cuDeviceGetDefaultMemPool" 11020 pool::cuDeviceGetDefaultMemPool;
    "cuDeviceGetExecAffinitySupport" 11040 device::cuDeviceGetExecAffinitySupport;
    "cuDeviceGetMemPool" 11020 pool::cuDeviceGetMemPool;
    "cuDeviceGetName" 2000 device::cuDeviceGetName;
    "cuDeviceGetP2PAttribute" 8000 device::cuDeviceGetP2PAttribute;
    "cuDeviceGetPCIBusId" 4010 device::cuDeviceGetPCIBusId;
    "cuDeviceGetProperties" 2000 device::cuDeviceGetProperties;
    "cuDeviceGetUuid" 9020 device::cuDeviceGetUuid;
    "cuDeviceGetUuid" 11040 device::cuDeviceGetUuid_v2;
    "cuDeviceGraphMemTrim" 11040 graph::cuDeviceGraphMemTrim;
    "cuDevicePrimaryCtxGetState" 7000 context::cuDevicePrimaryCtxGetState;
    "cuDevicePrimaryCtxRelease" 7000 context::cuDevicePrimaryCtxRelease;
    "cuDevicePrimaryCtxRelease" 11000 context::cuDevicePrimaryCtxRelease_v2;
    "cuDevicePrimaryCtxReset" 7000 context::cuDevicePrimaryCtxReset;
    "cuDevicePrimaryCtxReset" 11000 context::cuDevicePrimaryCtxReset_v2;
    "cuDevicePrimaryCtxRetain" 7000 context::cuDevicePrimaryCtxRetain;
    "cuDevicePrimaryCtxSetFlags" 7000 context::cuDevicePrimaryCtxSetFlags;
    "cuDevicePrimaryCtxSetFlags" 11000 context::cuDevicePrimaryCtxSetFlags_v2;
    "cuDeviceSetMemPool" 11020 pool::cuDeviceSetMemPool;
    "cuDeviceTotalMem" 3020 device::cuDeviceTotalMem_v2;
    "cuDriverGetVersion" 2020 initialisation::cuDriverGetVersion;
    "cuEventCreate" 2000 event::cuEventCreate;
    "cuEventDestroy" 4000 event::cuEventDestroy_v2;
    "cuEventElapsedTime" 2000 event::cuEventElapsedTime;
    "cuEventElapsedTime" 12080 event::cuEventElapsedTime_v2;
    "cuEventQuery" 2000 event::cuEventQuery;
    "cuEventRecord" 2000 event::cuEventRecord, event::cuEventRecord_ptsz;
    "cuEventRecordWithFlags" 11010 event::cuEventRecordWithFlags, event::cuEventRecordWithFlags_ptsz;
    "cuEventSynchronize" 2000 event::cuEventSynchronize;
    "cuFlushGPUDirectRDMAWrites" 11030 context::cuFlushGPUDirectRDMAWrites;
    "cuFuncGetAttribute" 2020 function::cuFuncGetAttribute;
    "cuFuncGetModule" 11000 function::cuFuncGetModule;
    "cuFuncGetName" 12030 function::cuFuncGetName;
    "cuFuncGetParamCount" 13020 function::cuFuncGetParamCount;
    "cuFuncGetParamInfo" 12040 function::cuFuncGetParamInfo;
    "cuFuncIsLoaded" 12040 function::cuFuncIsLoaded;
    "cuFuncLoad" 12040 function::cuFuncLoad;
    "cuFuncSetAttribute" 9000 function::cuFuncSetAttribute;
    "cuFuncSetCacheConfig" 3000 function::cuFuncSetCacheConfig;
    "cuFuncSetSharedMemConfig" 4020 function::cuFuncSetSharedMemConfig;
    "cuGetErrorName" 6000 initialisation::cuGetErrorName;
    "cuGetErrorString" 6000 initialisation::cuGetErrorString;
    "cuGetExportTable" 3000 export_table::cuGetExportTable;
    "cuGetProcAddress" 11030 cuGetProcAddress;
    "cuGetProcAddress" 12000 cuGetProcAddress_v2;
    "cuInit" 2000 initialisation::cuInit;
    "cuKernelGetAttribute" 12000 function::cuKernelGetAttribute;
    "cuKernelGetFunction" 12000 function::cuKernelGetFunction;
    "cuKernelGetParamCount" 13020 function::cuKernelGetParamCount;
    "cuKernelGetLibrary" 12050 function::cuKernelGetLibrary;
    "cuKernelGetName" 12030 function::cuKernelGetName;
    "cuKernelGetParamInfo" 12040 function::cuKernelGetParamInfo;
    "cuKernelSetAttribute" 12000 function::cuKernelSetAttribute;
    "cuKernelSetCacheConfig" 12000 function::cuKernelSetCacheConfig;
    "cuLaunchCooperativeKernel" 9000 function::cuLaunchCooperativeKernel, function::cuLaunchCooperativeKernel_ptsz;
    "cuLaunchHostFunc" 10000 function::cuLaunchHostFunc, function::cuLaunchHostFunc_ptsz;
    "cuLaunchKernel" 4000 function::cuLaunchKernel, function::cuLaunchKernel_ptsz;
    "cuLaunchKernelEx" 11060 function::cuLaunchKernelEx, function::cuLaunchKernelEx_ptsz;
    "cuLibraryEnumerateKernels" 12040 module::cuLibraryEnumerateKernels;
    "cuLibraryGetGlobal" 12000 module::cuLibraryGetGlobal;
    "cuLibraryGetManaged" 12000 module::cuLibraryGetManaged;
    "cuLibraryGetKernel" 12000 module::cuLibraryGetKernel;
    "cuLibraryGetKernelCount" 12040 module::cuLibraryGetKernelCount;
    "cuLibraryGetModule" 12000 module::cuLibraryGetModule;
    "cuLibraryLoadData" 12000 module::cuLibraryLoadData;
    "cuLibraryLoadFromFile" 12000 module::cuLibraryLoadFromFile;
    "cuLibraryUnload" 12000 module::cuLibraryUnload;
    "cuLinkAddData" 5050 link::cuLinkAddData_v2;
    "cuLinkAddFile" 5050 link::cuLinkAddFile_v2;
    "cuLinkComplete" 5050 link::cuLinkComplete;
    "cuLinkCreate" 5050 link::cuLinkCreate_v2;
    "cuLinkDestroy" 5050 link::cuLinkDestroy;
    "cuMemAdvise" 8000 memory::cuMemAdvise;
    "cuMemAdvise" 12020 memory::cuMemAdvise_v2;
    "cuMemAlloc" 3020 memory::cuMemAlloc_v2;
    "cuMemAllocAsync" 11020 pool::cuMemAllocAsync, pool::cuMemAllocAsync_ptsz;
    "cuMemAllocFromPoolAsync" 11020 pool::cuMemAllocFromPoolAsync, pool::cuMemAllocFromPoolAsync_ptsz;
    "cuMemAllocHost" 3020 memory::cuMemAllocHost_v2;
    "cuMemAllocManaged" 6000 memory::cuMemAllocManaged;
    "cuMemAllocPitch" 3020 memory::cuMemAllocPitch_v2;
    "cuMemFree" 3020 memory::cuMemFree_v2;
    "cuMemFreeAsync" 11020 pool::cuMemFreeAsync, pool::cuMemFreeAsync_ptsz;
    "cuMemFreeHost" 2000 memory::cuMemFreeHost;
    "cuMemGetAddressRange" 3020 memory::cuMemGetAddressRange_v2;
    "cuMemGetInfo" 3020 memory::cuMemGetInfo_v2;
    "cuMemHostAlloc" 2020 memory::cuMemHostAlloc;
    "cuMemHostGetDevicePointer" 3020 memory::cuMemHostGetDevicePointer_v2;
    "cuMemHostGetFlags" 2030 memory::cuMemHostGetFlags;
    "cuMemHostRegister" 6050 memory::cuMemHostRegister_v2;
    "cuMemHostUnregister" 4000 memory::cuMemHostUnregister;
    "cuMemPoolCreate" 11020 pool::cuMemPoolCreate;
    "cuMemPoolDestroy" 11020 pool::cuMemPoolDestroy;
    "cuMemPoolGetAccess" 11020 pool::cuMemPoolGetAccess;
    "cuMemPoolGetAttribute" 11020 pool::cuMemPoolGetAttribute;
    "cuMemPoolSetAccess" 11020 pool::cuMemPoolSetAccess;
    "cuMemPoolSetAttribute" 11020 pool::cuMemPoolSetAttribute;
    "cuMemPoolTrimTo" 11020 pool::cuMemPoolTrimTo;
    "cuMemPrefetchAsync" 8000 memory::cuMemPrefetchAsync, memory::cuMemPrefetchAsync_ptsz;
    "cuMemPrefetchAsync" 12020 memory::cuMemPrefetchAsync_v2, memory::cuMemPrefetchAsync_v2_ptsz;
    "cuMemRangeGetAttribute" 8000 pointer::cuMemRangeGetAttribute;
    "cuMemRangeGetAttributes" 8000 pointer::cuMemRangeGetAttributes;
    "cuMemcpy" 4000 copy::cuMemcpy, copy::cuMemcpy_ptds;
    "cuMemcpy2D" 3020 copy::cuMemcpy2D_v2, copy::cuMemcpy2D_v2_ptds;
    "cuMemcpy2DAsync" 3020 copy::cuMemcpy2DAsync_v2, copy::cuMemcpy2DAsync_v2_ptsz;
    "cuMemcpy2DUnaligned" 3020 copy::cuMemcpy2DUnaligned_v2, copy::cuMemcpy2DUnaligned_v2_ptds;
    "cuMemcpy3D" 3020 copy::cuMemcpy3D_v2, copy::cuMemcpy3D_v2_ptds;
    "cuMemcpy3DAsync" 3020 copy::cuMemcpy3DAsync_v2, copy::cuMemcpy3DAsync_v2_ptsz;
    "cuMemcpy3DPeer" 4000 copy::cuMemcpy3DPeer, copy::cuMemcpy3DPeer_ptds;
    "cuMemcpy3DPeerAsync" 4000 copy::cuMemcpy3DPeerAsync, copy::cuMemcpy3DPeerAsync_ptsz;
    "cuMemcpyBatchAsync" 12080 copy::cuMemcpyBatchAsync, copy::cuMemcpyBatchAsync_ptsz;
    "cuMemcpyBatchAsync" 13000 copy::cuMemcpyBatchAsync_v2, copy::cuMemcpyBatchAsync_v2_ptsz;
    "cuMemcpyAsync" 4000 copy::cuMemcpyAsync, copy::cuMemcpyAsync_ptsz;
    "cuMemcpyDtoD" 3020 copy::cuMemcpyDtoD_v2, copy::cuMemcpyDtoD_v2_ptds;
    "cuMemcpyDtoDAsync" 3020 copy::cuMemcpyDtoDAsync_v2, copy::cuMemcpyDtoDAsync_v2_ptsz;
    "cuMemcpyDtoH" 3020 copy::cuMemcpyDtoH_v2, copy::cuMemcpyDtoH_v2_ptds;
    "cuMemcpyDtoHAsync" 3020 copy::cuMemcpyDtoHAsync_v2, copy::cuMemcpyDtoHAsync_v2_ptsz;
    "cuMemcpyHtoD" 3020 copy::cuMemcpyHtoD_v2, copy::cuMemcpyHtoD_v2_ptds;
    "cuMemcpyHtoDAsync" 3020 copy::cuMemcpyHtoDAsync_v2, copy::cuMemcpyHtoDAsync_v2_ptsz;
    "cuMemcpyPeer" 4000 copy::cuMemcpyPeer, copy::cuMemcpyPeer_ptds;
    "cuMemcpyPeerAsync" 4000 copy::cuMemcpyPeerAsync, copy::cuMemcpyPeerAsync_ptsz;
    "cuMemsetD16" 3020 fill::cuMemsetD16_v2, fill::cuMemsetD16_v2_ptds;
    "cuMemsetD16Async" 3020 fill::cuMemsetD16Async, fill::cuMemsetD16Async_ptsz;
    "cuMemsetD2D16" 3020 fill::cuMemsetD2D16_v2, fill::cuMemsetD2D16_v2_ptds;
    "cuMemsetD2D16Async" 3020 fill::cuMemsetD2D16Async, fill::cuMemsetD2D16Async_ptsz;
    "cuMemsetD2D32" 3020 fill::cuMemsetD2D32_v2, fill::cuMemsetD2D32_v2_ptds;
    "cuMemsetD2D32Async" 3020 fill::cuMemsetD2D32Async, fill::cuMemsetD2D32Async_ptsz;
    "cuMemsetD2D8" 3020 fill::cuMemsetD2D8_v2, fill::cuMemsetD2D8_v2_ptds;
    "cuMemsetD2D8Async" 3020 fill::cuMemsetD2D8Async, fill::cuMemsetD2D8Async_ptsz;
    "cuMemsetD32" 3020 fill::cuMemsetD32_v2, fill::cuMemsetD32_v2_ptds;
    "cuMemsetD32Async" 3020 fill::cuMemsetD32Async, fill::cuMemsetD32Async_ptsz;
    "cuMemsetD8" 3020 fill::cuMemsetD8_v2, fill::cuMemsetD8_v2_ptds;
    "cuMemsetD8Async" 3020 fill::cuMemsetD8Async, fill::cuMemsetD8Async_ptsz;
    "cuModuleEnumerateFunctions" 12040 module::cuModuleEnumerateFunctions;
    "cuModuleGetFunction" 2000 module::cuModuleGetFunction;
    "cuModuleGetFunctionCount" 12040 module::cuModuleGetFunctionCount;
    "cuModuleGetGlobal" 3020 module::cuModuleGetGlobal_v2;
    "cuModuleGetLoadingMode" 11070 module::cuModuleGetLoadingMode;
    "cuModuleLoad" 2000 module::cuModuleLoad;
    "cuModuleLoadData" 2000 module::cuModuleLoadData;
    "cuModuleLoadDataEx" 2010 module::cuModuleLoadDataEx;
    "cuModuleLoadFatBinary" 2000 module::cuModuleLoadFatBinary;
    "cuModuleUnload" 2000 module::cuModuleUnload;
    "cuOccupancyAvailableDynamicSMemPerBlock" 10020 function::cuOccupancyAvailableDynamicSMemPerBlock;
    "cuOccupancyMaxActiveBlocksPerMultiprocessor" 6050 function::cuOccupancyMaxActiveBlocksPerMultiprocessor;
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 function::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    "cuOccupancyMaxActiveClusters" 11070 function::cuOccupancyMaxActiveClusters;
    "cuOccupancyMaxPotentialBlockSize" 6050 function::cuOccupancyMaxPotentialBlockSize;
    "cuOccupancyMaxPotentialBlockSizeWithFlags" 7000 function::cuOccupancyMaxPotentialBlockSizeWithFlags;
    "cuOccupancyMaxPotentialClusterSize" 11070 function::cuOccupancyMaxPotentialClusterSize;
    "cuPointerGetAttribute" 4000 pointer::cuPointerGetAttribute;
    "cuPointerGetAttributes" 7000 pointer::cuPointerGetAttributes;
    "cuPointerSetAttribute" 6000 pointer::cuPointerSetAttribute;
    "cuProfilerStart" 4000 context::cuProfilerStart;
    "cuProfilerStop" 4000 context::cuProfilerStop;
    "cuStreamAddCallback" 5000 stream::cuStreamAddCallback, stream::cuStreamAddCallback_ptsz;
    "cuStreamAttachMemAsync" 6000 memory::cuStreamAttachMemAsync, memory::cuStreamAttachMemAsync_ptsz;
    "cuStreamBeginCapture" 10000 stream::cuStreamBeginCapture, stream::cuStreamBeginCapture_ptsz;
    "cuStreamBeginCapture" 10010 stream::cuStreamBeginCapture_v2, stream::cuStreamBeginCapture_v2_ptsz;
    "cuStreamBeginCaptureToGraph" 12030 stream::cuStreamBeginCaptureToGraph, stream::cuStreamBeginCaptureToGraph_ptsz;
    "cuStreamCopyAttributes" 11000 stream::cuStreamCopyAttributes, stream::cuStreamCopyAttributes_ptsz;
    "cuStreamCreate" 2000 stream::cuStreamCreate;
    "cuStreamCreateWithPriority" 5050 stream::cuStreamCreateWithPriority;
    "cuStreamDestroy" 4000 stream::cuStreamDestroy_v2;
    "cuStreamEndCapture" 10000 stream::cuStreamEndCapture, stream::cuStreamEndCapture_ptsz;
    "cuStreamGetCaptureInfo" 10010 stream::cuStreamGetCaptureInfo, stream::cuStreamGetCaptureInfo_ptsz;
    "cuStreamGetCaptureInfo" 11030 stream::cuStreamGetCaptureInfo_v2, stream::cuStreamGetCaptureInfo_v2_ptsz;
    "cuStreamGetCaptureInfo" 12030 stream::cuStreamGetCaptureInfo_v3, stream::cuStreamGetCaptureInfo_v3_ptsz;
    "cuStreamGetCtx" 9020 stream::cuStreamGetCtx, stream::cuStreamGetCtx_ptsz;
    "cuStreamGetCtx" 12050 stream::cuStreamGetCtx_v2, stream::cuStreamGetCtx_v2_ptsz;
    "cuStreamGetDevice" 12080 stream::cuStreamGetDevice, stream::cuStreamGetDevice_ptsz;
    "cuStreamGetFlags" 5050 stream::cuStreamGetFlags, stream::cuStreamGetFlags_ptsz;
    "cuStreamGetId" 12000 stream::cuStreamGetId, stream::cuStreamGetId_ptsz;
    "cuStreamGetPriority" 5050 stream::cuStreamGetPriority, stream::cuStreamGetPriority_ptsz;
    "cuStreamIsCapturing" 10000 stream::cuStreamIsCapturing, stream::cuStreamIsCapturing_ptsz;
    "cuStreamQuery" 2000 stream::cuStreamQuery, stream::cuStreamQuery_ptsz;
    "cuStreamSynchronize" 2000 stream::cuStreamSynchronize, stream::cuStreamSynchronize_ptsz;
    "cuStreamUpdateCaptureDependencies" 11030 stream::cuStreamUpdateCaptureDependencies, stream::cuStreamUpdateCaptureDependencies_ptsz;
    "cuStreamUpdateCaptureDependencies" 12030 stream::cuStreamUpdateCaptureDependencies_v2, stream::cuStreamUpdateCaptureDependencies_v2_ptsz;
    "cuStreamWaitEvent" 3020 stream::cuStreamWaitEvent, stream::cuStreamWaitEvent_ptsz;
    "cuStreamWaitValue32" 8000 stream::cuStreamWaitValue32_v2, stream::cuStreamWaitValue32_v2_ptsz;
    "cuStreamWaitValue64" 9000 stream::cuStreamWaitValue64_v2, stream::cuStreamWaitValue64_v2_ptsz;
    "cuStreamWriteValue32" 8000 stream::cuStreamWriteValue32_v2, stream::cuStreamWriteValue32_v2_ptsz;
    "cuStreamWriteValue64" 9000 stream::cuStreamWriteValue64_v2, stream::cuStreamWriteValue64_v2_ptsz;
    "cuThreadExchangeStreamCaptureMode" 10010 context::cuThreadExchangeStreamCaptureMode;
    "emulatedGpuAccess" 0 emulated_gpu::emulatedGpuAccess;
    "emulatedGpuDeclareAccess" 0 emulated_gpu::emulatedGpuDeclareAccess, emulated_gpu::emulatedGpuDeclareAccess_ptsz;
    "emulatedGpuGetCounts" 0 emulated_gpu::emulatedGpuGetCounts;
    "emulatedGpuLaunchWork" 0 emulated_gpu::emulatedGpuLaunchWork, emulated_gpu::emulatedGpuLaunchWork_ptsz;
    "emulatedGpuResetCounts" 0 emulated_gpu::emulatedGpuResetCounts;
    "emulatedGpuSetCounting" 0 emulated_gpu::emulatedGpuSetCounting;
    "emulatedGpuSetDevices" 0 emulated_gpu::emulatedGpuSetDevices;
}

/// Every function.
fn all() -> impl Iterator<Item = Entry> {
    let own = rows().chain(graphs::rows()).chain(textures::rows());
    let own = own.chain(virtual_memory::rows()).chain(interprocess::rows());
    own.chain(unsupported::rows())
}

fn look_up(name: &str, version: i32, flags: u64) -> Found {
    let mut named = all().filter(|entry| entry.name == name).peekable();
    if named.peek().is_none() {
        return Found::Nothing;
    }
    let newest = named.filter(|entry| entry.since <= version).max_by_key(|entry| entry.since);
    match newest {
        Some(entry) if flags == PER_THREAD => Found::Function(entry.per_thread),
        Some(entry) => Found::Function(entry.function),
        None => Found::Newer,
    }
}

fn get(symbol: Text, out: Out<*const c_void>, version: i32, flags: u64) -> Result<Found> {
    out.required()?;
    let name = symbol.get()?;
    if !matches!(flags, 0 | LEGACY | PER_THREAD) {
        return Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x}")));
    }
    let found = look_up(&name, version, flags);
    out.set(if let Found::Function(function) = found { function } else { std::ptr::null() })?;
    Ok(found)
}

export! {
    early fn cuGetProcAddress(symbol: Text, out: Out<*const c_void>, version: i32, flags: u64) {
        match get(symbol, out, version, flags)? {
            Found::Function(_) => Ok(()),
            _ => {
                let name = symbol.get()?;
                Err(Code::NOT_FOUND
                    .because(format!("there is no function {name} of version {version} or before")))
            }
        }
    }

    early fn cuGetProcAddress_v2(
        symbol: Text, out: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>,
    ) {
        // CUdriverProcAddressQueryResult
        let status_of = |found| match found {
            Found::Function(_) => 0,
            Found::Nothing => 1,
            Found::Newer => 2,
        };
        status.set_if_wanted(status_of(get(symbol, out, version, flags)?));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
