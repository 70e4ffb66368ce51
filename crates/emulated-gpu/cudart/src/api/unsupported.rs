//! Functions that the runtime exports but does not emulate. They return `cudaErrorNotSupported` and print a message.

use c_abi::Code;

use crate::ffi::guard;

/// Defines functions that fail for all arguments. They declare no parameters: in the System V ABI the caller removes
/// the arguments ("The Stack Frame").
macro_rules! unsupported {
    ($($what:literal: $($name:ident)*;)*) => {$($(
        #[doc = concat!("Not supported: ", $what, " are not emulated.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code {
            guard(stringify!($name), || {
                Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
            })
        }
    )*)*};
}

unsupported! {
    "sparse arrays and planes of arrays":
        cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
        cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties;
    "array copies on the per-thread default stream":
        cudaMemcpy2DArrayToArray_ptds cudaMemcpy2DFromArray_ptds cudaMemcpy2DToArray_ptds
        cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds cudaMemcpyFromArray_ptds
        cudaMemcpyToArray_ptds;
    "texture references (removed in CUDA 12)":
        cudaBindTexture cudaBindTexture2D cudaUnbindTexture cudaGetTextureReference
        cudaBindTextureToArray;
    "graphics interoperability, external memory and semaphores, and pools of other processes":
        cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaDeviceGetNvSciSyncAttributes
        cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect
        cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect
        cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
        cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
        cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
        cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray
        cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync
        cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice
        cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
        cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
        cudaGraphExecExternalSemaphoresSignalNodeSetParams
        cudaGraphExecExternalSemaphoresWaitNodeSetParams
        cudaGraphExternalSemaphoresSignalNodeGetParams
        cudaGraphExternalSemaphoresSignalNodeSetParams
        cudaGraphExternalSemaphoresWaitNodeGetParams
        cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphicsEGLRegisterImage
        cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsMapResources
        cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
        cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
        cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
        cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
        cudaGraphicsVDPAURegisterVideoSurface cudaImportExternalMemory
        cudaImportExternalSemaphore cudaMemPoolExportPointer
        cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle
        cudaMemPoolImportPointer cudaSignalExternalSemaphoresAsync
        cudaSignalExternalSemaphoresAsync_ptsz cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
        cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz;
    "device partitions and their contexts":
        cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount
        cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaExecutionCtxDestroy
        cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId
        cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize
        cudaExecutionCtxWaitEvent cudaGreenCtxCreate cudaStreamGetDevResource
        cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate
        cudaSubgridWorksetCreate;
    "these graph nodes, their attributes and user objects":
        cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute cudaGraphAddMemAllocNode
        cudaGraphAddMemFreeNode cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol
        cudaGraphExecChildGraphNodeSetParams cudaGraphExecGetId
        cudaGraphExecMemcpyNodeSetParamsFromSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol
        cudaGraphGetId cudaGraphKernelNodeCopyAttributes
        cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams
        cudaGraphKernelNodeSetAttribute cudaGraphMemAllocNodeGetParams
        cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams
        cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
        cudaGraphNodeGetContainingGraph cudaGraphNodeGetLocalId cudaGraphNodeGetParams
        cudaGraphNodeGetToolsId cudaGraphReleaseUserObject
        cudaGraphRetainUserObject cudaStreamBeginRecaptureToGraph
        cudaStreamBeginRecaptureToGraph_ptsz cudaUserObjectCreate cudaUserObjectRelease
        cudaUserObjectRetain;
    "driver logs and notifications":
        cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
        cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback
        cudaLogsUnregisterCallback;
    "batched copies and copies with attributes":
        cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
        cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemPrefetchBatchAsync
        cudaMemPrefetchBatchAsync_ptsz cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
        cudaMemcpy3DPeer cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds
        cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
        cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyWithAttributesAsync
        cudaMemcpyWithAttributesAsync_ptsz;
    "functions like this one":
        __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable
        cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities
        cudaGetExportTable cudaKernelSetAttributeForDevice cudaLaunchHostFunc_v2
        cudaLaunchHostFunc_v2_ptsz cudaLibraryGetManaged cudaLibraryGetUnifiedFunction
        cudaMemGetDefaultMemPool cudaMemGetLocationInfo cudaMemGetMemPool cudaMemSetMemPool
        cudaMemcpy2D_ptds cudaMemcpy3D_ptds cudaMemcpyFromSymbol_ptds cudaMemcpyToSymbol_ptds
        cudaMemset2D_ptds cudaMemset3D_ptds cudaSetValidDevices cudaStreamGetAttribute
        cudaStreamGetAttribute_ptsz cudaStreamSetAttribute cudaStreamSetAttribute_ptsz
        __cudaRegisterTexture __cudaRegisterSurface cudaLaunchCooperativeKernelMultiDevice;
}
