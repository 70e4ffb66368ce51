//! What programs and libraries link to and the emulator has not: textures, surfaces and the arrays
//! that they read, memory of graphics libraries and of other processes. To ask for it is an error.

use crate::error::Code;
use crate::ffi::early;

/// Functions that refuse, whatever their arguments are: the caller removes those (System V ABI,
/// "The Stack Frame"), so none need be declared.
macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {$($(
        #[doc = concat!("Refused: ", $what, " are not emulated.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code {
            early(stringify!($name), || {
                Err(Code::NOT_SUPPORTED.because(concat!($what, " are not emulated")))
            })
        }
    )*)*};
}

refuse! {
    "arrays":
        cuArrayCreate_v2 cuArrayGetDescriptor_v2 cuArrayDestroy cuArray3DCreate_v2
        cuArray3DGetDescriptor_v2 cuMemcpyHtoA_v2 cuMemcpyAtoH_v2 cuMemcpyDtoA_v2 cuMemcpyAtoD_v2
        cuMemcpyAtoA_v2 cuMemcpyHtoAAsync_v2 cuMemcpyAtoHAsync_v2;
    "textures":
        cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
        cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc;
    "surfaces":
        cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc;
    "memory and semaphores of graphics libraries":
        cuImportExternalMemory cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory
        cuImportExternalSemaphore cuSignalExternalSemaphoresAsync cuWaitExternalSemaphoresAsync
        cuDestroyExternalSemaphore;
    "handles for other processes":
        cuIpcGetEventHandle cuIpcOpenEventHandle cuIpcGetMemHandle cuIpcOpenMemHandle_v2
        cuIpcCloseMemHandle;
}
