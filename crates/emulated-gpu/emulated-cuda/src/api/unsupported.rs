//! What programs and libraries link to and the emulator has not: mipmaps, memory of graphics libraries, nodes of graphs that decide what runs, tensor maps, contexts of a part of the card. To ask
//! for it is an error; that a function is there is none, since whoever looks for all of them at its start
//! (NVIDIA's runtime library, Warp) complains of those that are missing, and one that looks at each call
//! (cudarc) ends there.

use std::ffi::c_void;

use crate::error::Code;
use crate::ffi::early;

use super::proc_address::Entry;

/// Functions that refuse, whatever their arguments are: the caller removes those (System V ABI,
/// "The Stack Frame"), so none need be declared. Each with the name and the version by which it is asked
/// for (those of `cudaTypedefs.h`).
macro_rules! refuse {
    ($($what:literal { $($name:literal $since:literal $symbol:ident;)* })*) => {
        $($(
            #[doc = concat!("Refused: ", $what, " are not emulated.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $symbol() -> Code {
                early(stringify!($symbol), || {
                    Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
                })
            }
        )*)*

        /// Their rows of the table of `cuGetProcAddress`.
        pub(super) fn rows() -> impl Iterator<Item = Entry> {
            [$($(Entry {
                name: $name,
                since: $since,
                function: $symbol as *const c_void,
                per_thread: $symbol as *const c_void,
            },)*)*]
            .into_iter()
        }
    };
}

refuse! {
    "mipmapped arrays" {
        "cuMipmappedArrayCreate" 5000 cuMipmappedArrayCreate;
        "cuMipmappedArrayGetLevel" 5000 cuMipmappedArrayGetLevel;
        "cuMipmappedArrayDestroy" 5000 cuMipmappedArrayDestroy;
        "cuTexRefSetMipmappedArray" 5000 cuTexRefSetMipmappedArray;
        "cuTexRefGetMipmappedArray" 5000 cuTexRefGetMipmappedArray;
        "cuTexRefSetMipmapFilterMode" 5000 cuTexRefSetMipmapFilterMode;
        "cuTexRefGetMipmapFilterMode" 5000 cuTexRefGetMipmapFilterMode;
        "cuTexRefSetMipmapLevelBias" 5000 cuTexRefSetMipmapLevelBias;
        "cuTexRefGetMipmapLevelBias" 5000 cuTexRefGetMipmapLevelBias;
        "cuTexRefSetMipmapLevelClamp" 5000 cuTexRefSetMipmapLevelClamp;
        "cuTexRefGetMipmapLevelClamp" 5000 cuTexRefGetMipmapLevelClamp;
    }
    "planes of arrays, and arrays whose memory is mapped later," {
        "cuArrayGetPlane" 11020 cuArrayGetPlane;
        "cuArrayGetSparseProperties" 11010 cuArrayGetSparseProperties;
        "cuArrayGetMemoryRequirements" 11060 cuArrayGetMemoryRequirements;
        "cuMipmappedArrayGetSparseProperties" 11010 cuMipmappedArrayGetSparseProperties;
        "cuMipmappedArrayGetMemoryRequirements" 11060 cuMipmappedArrayGetMemoryRequirements;
    }
    "arrays that are mapped piece by piece, memory by descriptors of the system's, and memory of many devices at once," {
        "cuMemMapArrayAsync" 11010 cuMemMapArrayAsync;
        "cuMemGetHandleForAddressRange" 11070 cuMemGetHandleForAddressRange;
        "cuMulticastCreate" 12010 cuMulticastCreate;
        "cuMulticastAddDevice" 12010 cuMulticastAddDevice;
        "cuMulticastBindMem" 12010 cuMulticastBindMem;
        "cuMulticastBindAddr" 12010 cuMulticastBindAddr;
        "cuMulticastUnbind" 12010 cuMulticastUnbind;
        "cuMulticastGetGranularity" 12010 cuMulticastGetGranularity;
    }
    "memory and semaphores of graphics libraries" {
        "cuImportExternalMemory" 10000 cuImportExternalMemory;
        "cuExternalMemoryGetMappedBuffer" 10000 cuExternalMemoryGetMappedBuffer;
        "cuDestroyExternalMemory" 10000 cuDestroyExternalMemory;
        "cuImportExternalSemaphore" 10000 cuImportExternalSemaphore;
        "cuSignalExternalSemaphoresAsync" 10000 cuSignalExternalSemaphoresAsync;
        "cuWaitExternalSemaphoresAsync" 10000 cuWaitExternalSemaphoresAsync;
        "cuDestroyExternalSemaphore" 10000 cuDestroyExternalSemaphore;
        "cuGraphicsGLRegisterBuffer" 3000 cuGraphicsGLRegisterBuffer;
        "cuGraphicsGLRegisterImage" 3000 cuGraphicsGLRegisterImage;
        "cuGraphicsMapResources" 3000 cuGraphicsMapResources;
        "cuGraphicsUnmapResources" 3000 cuGraphicsUnmapResources;
        "cuGraphicsResourceGetMappedPointer" 3020 cuGraphicsResourceGetMappedPointer_v2;
        "cuGraphicsSubResourceGetMappedArray" 3000 cuGraphicsSubResourceGetMappedArray;
        "cuGraphicsUnregisterResource" 3000 cuGraphicsUnregisterResource;
    }
    "nodes of graphs that decide what runs, which alone need cuGraphAddNode," {
        "cuGraphAddNode" 12020 cuGraphAddNode;
        "cuGraphAddNode" 12030 cuGraphAddNode_v2;
        "cuGraphConditionalHandleCreate" 12030 cuGraphConditionalHandleCreate;
    }
    "tensor maps, and the bulk copies by them," {
        "cuTensorMapEncodeTiled" 12000 cuTensorMapEncodeTiled;
        "cuTensorMapEncodeIm2col" 12000 cuTensorMapEncodeIm2col;
        "cuTensorMapEncodeIm2colWide" 12080 cuTensorMapEncodeIm2colWide;
        "cuTensorMapReplaceAddress" 12000 cuTensorMapReplaceAddress;
    }
    "contexts of some of the multiprocessors (green contexts)" {
        "cuGreenCtxCreate" 12040 cuGreenCtxCreate;
        "cuGreenCtxDestroy" 12040 cuGreenCtxDestroy;
        "cuGreenCtxGetDevResource" 12040 cuGreenCtxGetDevResource;
        "cuGreenCtxRecordEvent" 12040 cuGreenCtxRecordEvent;
        "cuGreenCtxWaitEvent" 12040 cuGreenCtxWaitEvent;
        "cuGreenCtxStreamCreate" 12050 cuGreenCtxStreamCreate;
        "cuCtxFromGreenCtx" 12040 cuCtxFromGreenCtx;
        "cuCtxGetDevResource" 12040 cuCtxGetDevResource;
        "cuDeviceGetDevResource" 12040 cuDeviceGetDevResource;
        "cuDevResourceGenerateDesc" 12040 cuDevResourceGenerateDesc;
        "cuDevSmResourceSplitByCount" 12040 cuDevSmResourceSplitByCount;
    }
}
