//! Functions for devices, contexts (including green contexts), streams and events, and the emulator's own
//! functions.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuDriverGetVersion out
cuGetErrorName int out
cuGetErrorString int out
cuGetExportTable out buffer
cuGetProcAddress_v2 text out version int out
cuInit int
cuCtxCreate_v2 +context int ordinal
cuCtxCreate_v3 +context null zero int ordinal
cuCtxDestroy_v2 context
cuCtxAttach +context int
cuCtxDetach context
cuCtxEnablePeerAccess context int
cuCtxDisablePeerAccess context
cuCtxGetApiVersion context out
cuCtxGetCacheConfig out
cuCtxGetCurrent +context
cuCtxGetDevice out
cuCtxGetDevice_v2 out context
cuCtxGetFlags out
cuCtxGetId context out
cuCtxGetLimit out int
cuCtxGetSharedMemConfig out
cuCtxGetStreamPriorityRange out out
cuCtxPopCurrent_v2 +context
cuCtxPushCurrent_v2 context
cuCtxRecordEvent context event
cuCtxWaitEvent context event
cuCtxResetPersistingL2Cache
cuCtxSetCacheConfig int
cuCtxSetCurrent context
cuCtxSetFlags int
cuCtxSetLimit int limit
cuCtxSetSharedMemConfig int
cuCtxSynchronize
cuCtxSynchronize_v2 context
cuDeviceCanAccessPeer out ordinal ordinal
cuDeviceComputeCapability out out ordinal
cuDeviceGet out int
cuDeviceGetAttribute out int ordinal
cuDeviceGetByPCIBusId out cardtext
cuDeviceGetCount out
cuDeviceGetName out small ordinal
cuDeviceGetPCIBusId out small ordinal
cuDeviceGetProperties out ordinal
cuDeviceGetUuid_v2 out ordinal
cuDevicePrimaryCtxGetState ordinal out out
cuDevicePrimaryCtxRetain +context ordinal
cuDevicePrimaryCtxRelease ordinal
cuDevicePrimaryCtxRelease_v2 int
cuDevicePrimaryCtxReset int
cuDevicePrimaryCtxReset_v2 int
cuDevicePrimaryCtxSetFlags ordinal int
cuDevicePrimaryCtxSetFlags_v2 int int
cuDeviceTotalMem_v2 out ordinal
cuEventCreate +event int
cuEventDestroy_v2 event
cuEventElapsedTime out event event
cuEventQuery event
cuEventRecord event stream
cuEventRecordWithFlags event stream int
cuEventRecord_ptsz event stream
cuEventSynchronize event
cuProfilerStart
cuProfilerStop
cuStreamAddCallback stream callback null int
cuStreamAttachMemAsync stream device size int
cuStreamCopyAttributes stream stream
cuStreamCreate +stream int
cuStreamCreateWithPriority +stream int int
cuStreamDestroy_v2 stream
cuStreamGetCtx stream +context
cuStreamGetDevice stream out
cuStreamGetFlags stream out
cuStreamGetId stream out
cuStreamGetPriority stream out
cuStreamQuery stream
cuStreamSynchronize stream
cuStreamWaitEvent stream event int
cuStreamWriteValue32_v2 stream device int int
cuStreamWriteValue64_v2 stream device size int
emulatedGpuDeclareAccess stream text ranges count
emulatedGpuGetCard ordinal out small
emulatedGpuGetCardCount out
emulatedGpuGetCounts function out small
emulatedGpuResetCounts
emulatedGpuSetCounting int
emulatedGpuSetDevices int
cuGetProcAddress text out version int
cuCtxCreate_v4 +context out int ordinal
cuCtxFromGreenCtx +context green
cuCtxGetDevResource context out resourcetype
cuCtxGetExecAffinity out int
cuCoredumpGetAttribute digit out bytes
cuCoredumpGetAttributeGlobal digit out bytes
cuCoredumpSetAttribute digit value bytesofvalue
cuCoredumpSetAttributeGlobal digit value bytesofvalue
cuDevResourceGenerateDesc +description resources count
cuDevResourceGenerateDesc +description resources one
cuDevSmResourceSplit out count resource out int groups
cuDevSmResourceSplit zeros count resource out zero groups
cuDevSmResourceSplitByCount out few resource out int int
cuDevSmResourceSplitByCount zeros few resource out zero small
cuDeviceGetDevResource ordinal out resourcetype
cuDeviceGetExecAffinitySupport out int ordinal
cuDeviceGetP2PAttribute out digit ordinal ordinal
cuDeviceGetUuid out ordinal
cuEventElapsedTime_v2 out event event
cuEventRecordWithFlags_ptsz event stream int
cuFlushGPUDirectRDMAWrites int int
cuGreenCtxCreate +green description ordinal int
cuGreenCtxCreate +green description zero one
cuGreenCtxDestroy green
cuGreenCtxGetDevResource green out resourcetype
cuGreenCtxGetId green out
cuGreenCtxRecordEvent green event
cuGreenCtxStreamCreate +stream green int int
cuGreenCtxStreamCreate +stream green one int
cuGreenCtxWaitEvent green event
cuStreamAddCallback_ptsz stream callback null int
cuStreamGetCtx_v2 stream +context +green
cuStreamGetDevResource stream out resourcetype
cuStreamGetDevResource_ptsz stream out resourcetype
cuStreamGetGreenCtx stream +green
cuStreamGetGreenCtx_ptsz stream +green
cuStreamQuery_ptsz stream
cuStreamSynchronize_ptsz stream
cuStreamWaitEvent_ptsz stream event int
cuStreamWriteValue32_v2_ptsz stream device int int
";
