//! What the runtime exports and isn't emulated. To ask for it is an error, and said.

use c_abi::Code;

use crate::ffi::guard;

/// Functions that refuse, whatever their arguments are: the caller removes those (System V ABI,
/// "The Stack Frame"), so none need be declared.
macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {$($(
        #[doc = concat!("Refused: ", $what, " are not emulated.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code {
            guard(stringify!($name), || {
                Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
            })
        }
    )*)*};
}

refuse! {
    "sparse arrays, and planes of arrays,":
        cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
        cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties;
    "copies of arrays in a thread's own stream":
        cudaMemcpy2DArrayToArray_ptds cudaMemcpy2DFromArray_ptds cudaMemcpy2DToArray_ptds
        cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds cudaMemcpyFromArray_ptds
        cudaMemcpyToArray_ptds;
    "texture references, which CUDA 12 has not,":
        cudaBindTexture cudaBindTexture2D cudaUnbindTexture cudaGetTextureReference
        cudaBindTextureToArray;
    "memory, images and semaphores of graphics libraries, and pools of other processes":
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
    "parts of devices, and contexts of them":
        cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount
        cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaExecutionCtxDestroy
        cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId
        cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize
        cudaExecutionCtxWaitEvent cudaGreenCtxCreate cudaStreamGetDevResource
        cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate
        cudaSubgridWorksetCreate;
    "graphs that hold such nodes, or objects of the program's":
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
    "logs and notices of the driver's":
        cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
        cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback
        cudaLogsUnregisterCallback;
    "copies in batches, and with attributes":
        cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
        cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemPrefetchBatchAsync
        cudaMemPrefetchBatchAsync_ptsz cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
        cudaMemcpy3DPeer cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds
        cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
        cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyWithAttributesAsync
        cudaMemcpyWithAttributesAsync_ptsz;
    "such functions":
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
