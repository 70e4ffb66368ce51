//! What programs and libraries link to and the emulator has not: textures, surfaces and the arrays
//! that they read, memory of graphics libraries and of other processes, nodes of graphs that decide what
//! runs. To ask for it is an error; that a function is there is none, since who looks for all of them when
//! he starts (NVIDIA's runtime library, Warp) complains of those that are missing.

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
    "arrays" {
        "cuArrayCreate" 3020 cuArrayCreate_v2;
        "cuArrayGetDescriptor" 3020 cuArrayGetDescriptor_v2;
        "cuArrayDestroy" 2000 cuArrayDestroy;
        "cuArray3DCreate" 3020 cuArray3DCreate_v2;
        "cuArray3DGetDescriptor" 3020 cuArray3DGetDescriptor_v2;
        "cuMipmappedArrayCreate" 5000 cuMipmappedArrayCreate;
        "cuMipmappedArrayGetLevel" 5000 cuMipmappedArrayGetLevel;
        "cuMipmappedArrayDestroy" 5000 cuMipmappedArrayDestroy;
        "cuMemcpyHtoA" 3020 cuMemcpyHtoA_v2;
        "cuMemcpyAtoH" 3020 cuMemcpyAtoH_v2;
        "cuMemcpyDtoA" 3020 cuMemcpyDtoA_v2;
        "cuMemcpyAtoD" 3020 cuMemcpyAtoD_v2;
        "cuMemcpyAtoA" 3020 cuMemcpyAtoA_v2;
        "cuMemcpyHtoAAsync" 3020 cuMemcpyHtoAAsync_v2;
        "cuMemcpyAtoHAsync" 3020 cuMemcpyAtoHAsync_v2;
    }
    "textures" {
        "cuTexObjectCreate" 5000 cuTexObjectCreate;
        "cuTexObjectDestroy" 5000 cuTexObjectDestroy;
        "cuTexObjectGetResourceDesc" 5000 cuTexObjectGetResourceDesc;
        "cuTexObjectGetResourceViewDesc" 5000 cuTexObjectGetResourceViewDesc;
        "cuTexObjectGetTextureDesc" 5000 cuTexObjectGetTextureDesc;
    }
    "surfaces" {
        "cuSurfObjectCreate" 5000 cuSurfObjectCreate;
        "cuSurfObjectDestroy" 5000 cuSurfObjectDestroy;
        "cuSurfObjectGetResourceDesc" 5000 cuSurfObjectGetResourceDesc;
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
    "handles for other processes" {
        "cuIpcGetEventHandle" 4010 cuIpcGetEventHandle;
        "cuIpcOpenEventHandle" 4010 cuIpcOpenEventHandle;
        "cuIpcGetMemHandle" 4010 cuIpcGetMemHandle;
        "cuIpcOpenMemHandle" 4010 cuIpcOpenMemHandle_v2;
        "cuIpcCloseMemHandle" 4010 cuIpcCloseMemHandle;
    }
    "nodes of graphs that decide what runs, which alone need cuGraphAddNode," {
        "cuGraphAddNode" 12020 cuGraphAddNode;
        "cuGraphAddNode" 12030 cuGraphAddNode_v2;
        "cuGraphConditionalHandleCreate" 12030 cuGraphConditionalHandleCreate;
    }
}
