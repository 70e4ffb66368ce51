//! Exported functions that are not emulated: references to mipmaps, memory of graphics libraries, tensor maps,
//! checkpoints. Calling one is an error. They are exported because some programs look all functions up when they
//! start and complain of missing ones (NVIDIA's runtime library, Warp), and others end at the first missing one
//! (cudarc).

use std::ffi::c_void;

use crate::abi::error::Code;
use crate::abi::ffi::{Entry, early};

/// Functions that refuse, whatever their arguments are: the caller removes those (System V ABI,
/// "The Stack Frame"), so none need be declared. Each with the version by which it is asked for (those of
/// `cudaTypedefs.h`).
macro_rules! refuse {
    ($($what:literal { $($since:literal $symbol:ident;)* })*) => {
        $($(
            #[doc = concat!("Refused: ", $what, " are not emulated.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $symbol() -> Code {
                early(stringify!($symbol), || {
                    Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
                })
            }
        )*)*

        /// The functions of this file.
        pub(crate) const ENTRIES: &[Entry] = &[$($(Entry {
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
    "planes of arrays, and arrays whose memory is mapped later," {
        11020 cuArrayGetPlane;
        11010 cuArrayGetSparseProperties;
        11060 cuArrayGetMemoryRequirements;
        11010 cuMipmappedArrayGetSparseProperties;
        11060 cuMipmappedArrayGetMemoryRequirements;
    }
    "arrays that are mapped piece by piece, memory by descriptors of the system's, and memory of many devices at once," {
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
    "tensor maps, and the bulk copies by them," {
        12000 cuTensorMapEncodeTiled;
        12000 cuTensorMapEncodeIm2col;
        12080 cuTensorMapEncodeIm2colWide;
        12000 cuTensorMapReplaceAddress;
    }
}
