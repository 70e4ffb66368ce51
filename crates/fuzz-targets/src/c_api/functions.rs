//! The functions that are called, and what each of their arguments is.
//!
//! A word stands for an argument. A kind of object (`stream`, `graph`, …) is a handle of one that
//! was made before, is gone already, or never was; `+stream` is a place for a new one. `-layout` is
//! a descriptor that is gone after the call: its memory is the client's, so that nothing may be
//! asked of it any more. The other words are those of [`Word`](super::argument::Word).
//!
//! Left out: what waits for a value in memory, which waits for ever, what sends messages to files, and
//! what opens files that nobody closes.

/// `libcuda.so`
pub(super) const DRIVER: &str = "
cuDriverGetVersion out
cuArrayCreate_v2 +array arraydescription
cuArray3DCreate_v2 +array arraydescription
cuArrayDestroy array
cuArrayGetDescriptor_v2 out array
cuArray3DGetDescriptor_v2 out array
cuDeviceGetTexture1DLinearMaxWidth out int int int
cuMemcpyHtoA_v2 array size buffer size
cuMemcpyHtoAAsync_v2 array size buffer size stream
cuMemcpyAtoH_v2 buffer array size size
cuMemcpyAtoD_v2 device array size size
cuMemcpyDtoA_v2 array size device size
cuMemcpyAtoA_v2 array size array size size
cuModuleGetTexRef +reference module name
cuModuleGetSurfRef +reference module name
cuSurfObjectCreate +texture resourcedescription
cuSurfObjectDestroy texture
cuSurfObjectGetResourceDesc out texture
cuSurfRefGetArray +array reference
cuSurfRefSetArray reference array int
cuTexObjectCreate +texture resourcedescription texturedescription null
cuTexObjectDestroy texture
cuTexObjectGetResourceDesc out texture
cuTexObjectGetResourceViewDesc out texture
cuTexObjectGetTextureDesc out texture
cuTexRefCreate +reference
cuTexRefDestroy reference
cuTexRefGetAddress_v2 out reference
cuTexRefGetAddressMode out reference int
cuTexRefGetArray +array reference
cuTexRefGetFormat out out reference
cuTexRefSetAddress2D_v3 reference arraydescription device size
cuTexRefSetAddressMode reference int int
cuTexRefSetAddress_v2 out reference device size
cuTexRefSetArray reference array int
cuTexRefSetFilterMode reference int
cuTexRefSetFlags reference int
cuTexRefSetFormat reference int int
cuTexRefSetMaxAnisotropy reference int
cuGetErrorName int out
cuGetErrorString int out
cuGetExportTable out buffer
cuGetProcAddress_v2 text out int int out
cuInit int
cuCtxCreate_v2 +context int int
cuCtxCreate_v3 +context null zero int int
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
cuDeviceCanAccessPeer out int int
cuDeviceComputeCapability out out int
cuDeviceGet out int
cuDeviceGetAttribute out int int
cuDeviceGetByPCIBusId out text
cuDeviceGetCount out
cuDeviceGetDefaultMemPool +pool int
cuDeviceGetMemPool +pool int
cuDeviceSetMemPool zero pool
cuDeviceGetName out small int
cuDeviceGetPCIBusId out small int
cuDeviceGetProperties out int
cuDeviceGetUuid_v2 out int
cuDeviceGraphMemTrim int
cuDevicePrimaryCtxGetState int out out
cuDevicePrimaryCtxRetain +context int
cuDevicePrimaryCtxRelease int
cuDevicePrimaryCtxRelease_v2 int
cuDevicePrimaryCtxReset int
cuDevicePrimaryCtxReset_v2 int
cuDevicePrimaryCtxSetFlags int int
cuDevicePrimaryCtxSetFlags_v2 int int
cuDeviceTotalMem_v2 out int
cuEventCreate +event int
cuEventDestroy_v2 event
cuEventElapsedTime out event event
cuEventQuery event
cuEventRecord event stream
cuEventRecordWithFlags event stream int
cuEventRecord_ptsz event stream
cuEventSynchronize event
cuFuncGetAttribute out int function
cuFuncGetModule +module function
cuFuncGetName out function
cuFuncGetParamCount function out
cuKernelGetParamCount function out
cuFuncGetParamInfo function int out out
cuFuncIsLoaded out function
cuFuncLoad function
cuFuncSetAttribute function int int
cuFuncSetCacheConfig function int
cuFuncSetSharedMemConfig function int
cuGraphAddChildGraphNode +node graph nodes count graph
cuGraphConditionalHandleCreate +condition graph zero int count
cuGraphAddNode +node graph nodes count anynode
cuGraphAddNode_v2 +node graph nodes null count anynode
cuGraphNodeGetParams node out
cuGraphNodeSetParams node anynode
cuGraphExecNodeSetParams exec node anynode
cuGraphAddDependencies graph nodes nodes count
cuGraphAddEmptyNode +node graph nodes count
cuGraphAddEventRecordNode +node graph nodes count event
cuGraphAddEventWaitNode +node graph nodes count event
cuGraphAddHostNode +node graph nodes count hostnode
cuGraphAddKernelNode +node graph nodes count kernelnode
cuGraphAddKernelNode_v2 +node graph nodes count kernelnode
cuGraphAddMemFreeNode +node graph nodes count device
cuGraphMemFreeNodeGetParams node out
cuGraphAddMemcpyNode +node graph nodes count copy3d context
cuGraphAddMemsetNode +node graph nodes count setnode context
cuGraphChildGraphNodeGetGraph node +graph
cuGraphClone +graph graph
cuGraphCreate +graph int
cuGraphDebugDotPrint graph path int
cuGraphDestroy graph
cuGraphDestroyNode node
cuGraphEventRecordNodeGetEvent node +event
cuGraphEventRecordNodeSetEvent node event
cuGraphEventWaitNodeSetEvent node event
cuGraphExecDestroy exec
cuGraphExecEventRecordNodeSetEvent exec node event
cuGraphExecEventWaitNodeSetEvent exec node event
cuGraphExecGetFlags exec out
cuGraphExecHostNodeSetParams exec node hostnode
cuGraphExecKernelNodeSetParams_v2 exec node kernelnode
cuGraphExecMemcpyNodeSetParams exec node copy3d context
cuGraphExecMemsetNodeSetParams exec node setnode context
cuGraphExecUpdate exec graph out out
cuGraphExecUpdate_v2 exec graph out
cuGraphGetEdges graph out out room
cuGraphGetNodes graph out room
cuGraphGetRootNodes graph out room
cuGraphHostNodeGetParams node out
cuGraphHostNodeSetParams node hostnode
cuGraphInstantiateWithFlags +exec graph int
cuGraphInstantiateWithParams +exec graph zeros
cuGraphInstantiate_v2 +exec graph out out small
cuGraphKernelNodeGetParams node out
cuGraphKernelNodeSetParams_v2 node kernelnode
cuGraphLaunch exec stream
cuGraphMemcpyNodeGetParams node out
cuGraphMemcpyNodeSetParams node copy3d
cuGraphMemsetNodeGetParams node out
cuGraphMemsetNodeSetParams node setnode
cuGraphNodeFindInClone +node node graph
cuGraphNodeGetDependencies node out room
cuGraphNodeGetDependentNodes node out room
cuGraphNodeGetEnabled exec node out
cuGraphNodeGetType node out
cuGraphNodeSetEnabled exec node int
cuGraphRemoveDependencies graph nodes nodes count
cuGraphUpload exec stream
cuKernelGetAttribute out int kernel int
cuKernelGetFunction +function kernel
cuKernelGetLibrary +library kernel
cuKernelGetName out kernel
cuKernelGetParamInfo kernel int out out
cuKernelSetAttribute int int kernel int
cuKernelSetCacheConfig kernel int int
cuLaunchCooperativeKernel function grid grid grid block block block shared stream parameters
cuLaunchHostFunc stream hostfunction null
cuLaunchKernel function grid grid grid block block block shared stream parameters extra
cuLaunchKernel function one one one block one one shared stream parameters null
cuLaunchKernelEx config function parameters extra
cuLibraryEnumerateKernels +kernel one library
cuLibraryGetGlobal +device out library name
cuLibraryGetManaged +device out library name
cuLibraryGetKernel +kernel library name
cuLibraryGetKernelCount out library
cuLibraryGetModule +module library
cuLibraryLoadData +library image null null zero null null zero
cuLibraryLoadFromFile +library path null null zero null null zero
cuLibraryUnload library
cuLinkAddData_v2 linker int image imagesize text zero null null
cuLinkAddFile_v2 linker int path zero null null
cuLinkComplete linker out out
cuLinkCreate_v2 zero null null +linker
cuLinkDestroy linker
cuMemAdvise device size int int
cuMemAllocAsync +device size stream
cuMemAllocFromPoolAsync +device size pool stream
cuMemAllocHost_v2 +device size
cuMemAllocManaged +device size int
cuMemAllocPitch_v2 +device out size dim int
cuMemAlloc_v2 +device size
cuMemFreeAsync device stream
cuMemFreeHost device
cuMemFree_v2 device
cuMemGetAddressRange_v2 out out device
cuMemGetInfo_v2 out out
cuMemHostAlloc +device size int
cuMemHostGetDevicePointer_v2 +device device int
cuMemHostGetFlags out device
cuMemHostRegister_v2 buffer size int
cuMemHostUnregister buffer
cuMemHostUnregister device
cuMemPoolCreate +pool poolproperties
cuMemPoolDestroy pool
cuMemPoolGetAccess out pool location
cuMemPoolGetAttribute pool int out
cuMemPoolSetAccess pool access count
cuMemPoolSetAttribute pool int out
cuMemPoolTrimTo pool size
cuMemPrefetchAsync device size int stream
cuMemAddressFree spot span
cuMemAddressReserve +device span zero zero zero
cuMemCreate +memory piece properties zero
cuMemGetAccess out location spot
cuIpcGetMemHandle out spot
cuIpcOpenMemHandle_v2 +device one null null null null size size size size size size size size
cuIpcCloseMemHandle spot
cuIpcGetEventHandle out event
cuIpcOpenEventHandle +event null null null null null size size size size size size size size
cuMemGetAllocationGranularity out properties int
cuMemGetAllocationPropertiesFromHandle out memory
cuMemImportFromShareableHandle +memory count one
cuMemMap spot piece zero memory zero
cuMemRelease memory
cuMemRetainAllocationHandle +memory spot
cuMemSetAccess spot piece access count
cuMemUnmap spot piece
cuMemRangeGetAttribute out small int device size
cuMemcpy pointer pointer size
cuMemcpy2DAsync_v2 copy2d stream
cuMemcpy2DUnaligned_v2 copy2d
cuMemcpy2D_v2 copy2d
cuMemcpy3DAsync_v2 copy3d stream
cuMemcpy3D_v2 copy3d
cuMemcpyAsync pointer pointer size stream
cuMemcpyDtoDAsync_v2 device device size stream
cuMemcpyDtoD_v2 device device size
cuMemcpyDtoHAsync_v2 buffer device size stream
cuMemcpyDtoH_v2 buffer device size
cuMemcpyHtoDAsync_v2 device buffer size stream
cuMemcpyHtoD_v2 device buffer size
cuMemcpyPeer device context device context size
cuMemcpyPeerAsync device context device context size stream
cuMemsetD16_v2 device half size
cuMemsetD2D16Async device size half dim dim stream
cuMemsetD2D32_v2 device size int dim dim
cuMemsetD2D8_v2 device size byte dim dim
cuMemsetD32Async device int size stream
cuMemsetD32_v2 device int size
cuMemsetD8Async device byte size stream
cuMemsetD8_v2 device byte size
cuModuleEnumerateFunctions +function one module
cuModuleGetFunction +function module name
cuModuleGetFunctionCount out module
cuModuleGetGlobal_v2 +device out module name
cuModuleGetLoadingMode out
cuModuleLoad +module path
cuModuleLoadData +module image
cuModuleLoadDataEx +module image zero null null
cuModuleLoadFatBinary +module image
cuModuleUnload module
cuOccupancyAvailableDynamicSMemPerBlock out function int int
cuOccupancyMaxActiveBlocksPerMultiprocessor out function int size
cuOccupancyMaxActiveClusters out function config
cuOccupancyMaxPotentialBlockSize out out function null size int
cuPointerGetAttribute out int device
cuPointerSetAttribute zeros int device
cuProfilerStart
cuProfilerStop
cuStreamAddCallback stream callback null int
cuStreamAttachMemAsync stream device size int
cuStreamBeginCaptureToGraph stream graph nodes null count int
cuStreamBeginCapture stream
cuStreamBeginCapture_v2 stream int
cuStreamCopyAttributes stream stream
cuStreamCreate +stream int
cuStreamCreateWithPriority +stream int int
cuStreamDestroy_v2 stream
cuStreamEndCapture stream +graph
cuStreamGetCaptureInfo_v2 stream out out +graph out out
cuStreamGetCtx stream +context
cuStreamGetDevice stream out
cuStreamGetFlags stream out
cuStreamGetId stream out
cuStreamGetPriority stream out
cuStreamIsCapturing stream out
cuStreamQuery stream
cuStreamSynchronize stream
cuStreamUpdateCaptureDependencies stream nodes count int
cuStreamWaitEvent stream event int
cuStreamWriteValue32_v2 stream device int int
cuStreamWriteValue64_v2 stream device size int
cuThreadExchangeStreamCaptureMode mode
emulatedGpuDeclareAccess stream text ranges count
emulatedGpuGetCard int out small
emulatedGpuGetCardCount out
emulatedGpuGetCounts function out small
emulatedGpuResetCounts
emulatedGpuSetCounting int
emulatedGpuSetDevices int
";

/// `libcublas.so`
pub(super) const CUBLAS: &str = "
cublasCreate_v2 +cublas
cublasDestroy_v2 cublas
cublasGetAtomicsMode cublas out
cublasGetMathMode cublas out
cublasGetPointerMode_v2 cublas out
cublasGetProperty int out
cublasGetStream_v2 cublas out
cublasGetVersion_v2 cublas out
cublasSetAtomicsMode cublas int
cublasSetMathMode cublas int
cublasSetPointerMode_v2 cublas int
cublasSetSmCountTarget cublas int
cublasSetStream_v2 cublas stream
cublasSetWorkspace_v2 cublas device size
cublasSasum_v2 cublas dim device dim buffer
cublasDasum_v2_64 cublas dim device dim buffer
cublasSgemm_v2 cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasDgemm_v2_64 cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasHgemm cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasGemmEx cublas int int dim dim dim buffer device type dim device type dim buffer device type dim compute int
cublasSgemmStridedBatched cublas int int dim dim dim buffer device dim dim device dim dim buffer device dim dim dim
cublasSgemmBatched cublas int int dim dim dim buffer device dim device dim buffer device dim dim
cublasHgemmBatched_64 cublas int int dim dim dim buffer device dim device dim buffer device dim dim
cublasGemmBatchedEx cublas int int dim dim dim buffer device type dim device type dim buffer device type dim dim compute int
cublasGemmStridedBatchedEx cublas int int dim dim dim buffer device type dim dim device type dim dim buffer device type dim dim dim compute int
cublasSgemmGroupedBatched cublas ints ints dims dims dims buffer device dims device dims buffer device dims count dims
cublasGemmGroupedBatchedEx cublas ints ints dims dims dims buffer device type dims device type dims buffer device type dims count dims compute
cublasSgemv_v2 cublas int dim dim buffer device dim device dim buffer device dim
cublasSgemvStridedBatched cublas int dim dim buffer device dim dim device dim dim buffer device dim dim dim
cublasDgemv_v2_64 cublas int dim dim buffer device dim device dim buffer device dim
";

/// `libcublasLt.so`
pub(super) const CUBLASLT: &str = "
cublasLtCreate +cublaslt
cublasLtDestroy cublaslt
cublasLtGetProperty int out
cublasLtHeuristicsCacheGetCapacity out
cublasLtHeuristicsCacheSetCapacity size
cublasLtMatmul cublaslt descriptor buffer device layout device layout buffer device layout device layout null device size stream
cublasLtMatmul cublaslt descriptor buffer device layout device layout buffer device layout device layout algorithm device size stream
cublasLtMatmulAlgoCapGetAttribute algorithm int out small out
cublasLtMatmulAlgoCheck cublaslt descriptor layout layout layout layout algorithm out
cublasLtMatmulAlgoConfigGetAttribute algorithm int out small out
cublasLtMatmulAlgoConfigSetAttribute algorithm int value small
cublasLtMatmulAlgoGetHeuristic cublaslt descriptor layout layout layout layout preference one out out
cublasLtMatmulAlgoGetIds cublaslt compute type type type type type small out out
cublasLtMatmulAlgoInit cublaslt compute type type type type type int algorithm
cublasLtMatmulDescCreate +descriptor compute type
cublasLtMatmulDescDestroy -descriptor
cublasLtMatmulDescGetAttribute descriptor int out small out
cublasLtMatmulDescSetAttribute descriptor int value width
cublasLtMatmulPreferenceCreate +preference
cublasLtMatmulPreferenceDestroy -preference
cublasLtMatmulPreferenceGetAttribute preference int out small out
cublasLtMatmulPreferenceSetAttribute preference int value width
cublasLtMatrixLayoutCreate +layout type dim dim dim
cublasLtMatrixLayoutDestroy -layout
cublasLtMatrixLayoutGetAttribute layout int out small out
cublasLtMatrixLayoutSetAttribute layout int value width
";
