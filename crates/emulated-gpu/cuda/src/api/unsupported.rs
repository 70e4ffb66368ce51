//! Exported functions that are not emulated and always return `NOT_SUPPORTED`: references to mipmaps, memory of
//! graphics libraries, tensor maps, checkpoints and others. They are exported because some clients resolve every
//! function when they start: NVIDIA's runtime library and Warp report a missing function, and cudarc stops at the first
//! missing function.

use std::ffi::c_void;

use crate::abi::error::Code;
use crate::abi::ffi::{EntryPoint, call_before_init};

/// Declares functions that fail for all arguments. The arguments need no declaration, because the caller removes them
/// (System V ABI, "The Stack Frame"). Each declaration begins with the version with which `cuGetProcAddress` finds it
/// (as in `cudaTypedefs.h`).
macro_rules! refuse {
    ($($what:literal { $($since:literal $symbol:ident;)* })*) => {
        $($(
            #[doc = concat!("Not supported: ", $what, " are not emulated.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $symbol() -> Code {
                call_before_init(stringify!($symbol), || {
                    Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
                })
            }
        )*)*

        /// The functions of this file.
        pub(crate) const ENTRIES: &[EntryPoint] = &[$($(EntryPoint {
            symbol: stringify!($symbol),
            since: $since,
            function: $symbol as *const c_void,
            per_thread: $symbol as *const c_void,
        },)*)*];
    };
}

refuse! {
    "texture references of mipmapped arrays" {
        5000 cuTexRefSetMipmappedArray;
        5000 cuTexRefGetMipmappedArray;
        5000 cuTexRefSetMipmapFilterMode;
        5000 cuTexRefGetMipmapFilterMode;
        5000 cuTexRefSetMipmapLevelBias;
        5000 cuTexRefGetMipmapLevelBias;
        5000 cuTexRefSetMipmapLevelClamp;
        5000 cuTexRefGetMipmapLevelClamp;
    }
    "array planes and sparse or deferred-mapping arrays" {
        11020 cuArrayGetPlane;
        11010 cuArrayGetSparseProperties;
        11060 cuArrayGetMemoryRequirements;
        11010 cuMipmappedArrayGetSparseProperties;
        11060 cuMipmappedArrayGetMemoryRequirements;
    }
    "sparse mappings, exports of address ranges and multicast objects" {
        11010 cuMemMapArrayAsync;
        11070 cuMemGetHandleForAddressRange;
        12010 cuMulticastCreate;
        12010 cuMulticastAddDevice;
        12010 cuMulticastBindMem;
        12010 cuMulticastBindAddr;
        12010 cuMulticastUnbind;
        12010 cuMulticastGetGranularity;
    }
    "memory and semaphores of graphics libraries" {
        10000 cuImportExternalMemory;
        10000 cuExternalMemoryGetMappedBuffer;
        10000 cuDestroyExternalMemory;
        10000 cuImportExternalSemaphore;
        10000 cuSignalExternalSemaphoresAsync;
        10000 cuWaitExternalSemaphoresAsync;
        10000 cuDestroyExternalSemaphore;
        3000 cuGraphicsGLRegisterBuffer;
        3000 cuGraphicsGLRegisterImage;
        3000 cuGraphicsMapResources;
        3000 cuGraphicsUnmapResources;
        3020 cuGraphicsResourceGetMappedPointer_v2;
        3000 cuGraphicsSubResourceGetMappedArray;
        3000 cuGraphicsUnregisterResource;
    }
    "checkpoints of processes" {
        12080 cuCheckpointProcessGetRestoreThreadId;
        12080 cuCheckpointProcessGetState;
        12080 cuCheckpointProcessLock;
        12080 cuCheckpointProcessCheckpoint;
        12080 cuCheckpointProcessRestore;
        12080 cuCheckpointProcessUnlock;
    }
    "tensor maps and their bulk copies" {
        12000 cuTensorMapEncodeTiled;
        12000 cuTensorMapEncodeIm2col;
        12080 cuTensorMapEncodeIm2colWide;
        12000 cuTensorMapReplaceAddress;
    }
}
