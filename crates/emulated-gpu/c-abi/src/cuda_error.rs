//! CUDA's error codes, with the names and descriptions that the driver (CUDA Driver API, `CUresult`) and the runtime
//! (CUDA Runtime API, `cudaError_t`) give them, and errors with such a code. Codes common to both have the same
//! number.

use std::ffi::CStr;

use crate::{DriverError, Fault};

/// A `CUresult` or a `cudaError_t`, as the C ABI returns it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub u32);

/// The error of a failed call.
#[derive(Clone, Debug)]
pub struct Error {
    /// The code returned to the caller.
    pub code: Code,
    /// A message for people, if the code is not enough.
    pub why: Option<String>,
}

impl Code {
    /// Success.
    pub const SUCCESS: Self = Self(0);

    /// An error with this code and a message.
    pub fn because(self, why: impl Into<String>) -> Error {
        Error { code: self, why: Some(why.into()) }
    }
}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self { code, why: None }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::Null(_) => Code::INVALID_VALUE,
            Fault::Panic => Code::UNKNOWN,
            Fault::NoDriver(_) | Fault::RealDriver => Code::INSUFFICIENT_DRIVER,
            Fault::MissingFunction(_) => Code::NEWER_DRIVER,
        };
        code.because(fault.to_string())
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::NotCalled(fault) => fault.into(),
            DriverError::Code(code) => Code(code.unsigned_abs()).into(),
        }
    }
}

/// Returns an error from a function if a condition holds. Takes the name of a [`Code`] and the arguments of `format!`
/// for the message.
#[macro_export]
macro_rules! fail_if {
    ($condition:expr, $code:ident, $($why:tt)+) => {
        if $condition {
            return Err($crate::Code::$code.because(format!($($why)+)));
        }
    };
}

macro_rules! codes {
    (
        both { $($value:literal $name:ident $runtime:ident $text:literal;)* }
        driver { $($driver_value:literal $driver_name:ident $driver_text:literal;)* }
        runtime { $($runtime_value:literal $runtime_name:ident $runtime_only:ident $runtime_text:literal;)* }
    ) => {
        #[expect(missing_docs, reason = "each is the code of the same name")]
        impl Code {
            $(pub const $name: Self = Self($value);)*
            $(pub const $driver_name: Self = Self($driver_value);)*
            $(pub const $runtime_name: Self = Self($runtime_value);)*

            /// The driver's name (`CUDA_ERROR_…`) and description, if the driver has this code.
            #[must_use]
            pub fn driver_texts(self) -> Option<(&'static CStr, &'static CStr)> {
                in_c(match self.0 {
                    0 => ("CUDA_SUCCESS\0", "no error\0"),
                    $($value => (concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0")),)*
                    $($driver_value => (
                        concat!("CUDA_ERROR_", stringify!($driver_name), "\0"),
                        concat!($driver_text, "\0"),
                    ),)*
                    _ => return None,
                })
            }

            /// The runtime's name (`cudaError…`) and description, if the runtime has this code.
            #[must_use]
            pub fn runtime_texts(self) -> Option<(&'static CStr, &'static CStr)> {
                in_c(match self.0 {
                    0 => ("cudaSuccess\0", "no error\0"),
                    $($value => (concat!("cudaError", stringify!($runtime), "\0"), concat!($text, "\0")),)*
                    $($runtime_value => (
                        concat!("cudaError", stringify!($runtime_only), "\0"),
                        concat!($runtime_text, "\0"),
                    ),)*
                    _ => return None,
                })
            }
        }
    };
}

fn in_c((name, text): (&'static str, &'static str)) -> Option<(&'static CStr, &'static CStr)> {
    let c = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).ok();
    Some((c(name)?, c(text)?))
}

codes! {
    both {
        1 INVALID_VALUE InvalidValue "invalid argument";
        2 OUT_OF_MEMORY MemoryAllocation "out of memory";
        3 NOT_INITIALIZED InitializationError "initialization error";
        4 DEINITIALIZED CudartUnloading "driver shutting down";
        5 PROFILER_DISABLED ProfilerDisabled "profiler disabled while using external profiling tool";
        6 PROFILER_NOT_INITIALIZED ProfilerNotInitialized "profiler not initialized: call cudaProfilerInitialize()";
        7 PROFILER_ALREADY_STARTED ProfilerAlreadyStarted "profiler already started";
        8 PROFILER_ALREADY_STOPPED ProfilerAlreadyStopped "profiler already stopped";
        34 STUB_LIBRARY StubLibrary "CUDA driver is a stub library";
        46 DEVICE_UNAVAILABLE DevicesUnavailable "CUDA-capable device(s) is/are busy or unavailable";
        100 NO_DEVICE NoDevice "no CUDA-capable device is detected";
        101 INVALID_DEVICE InvalidDevice "invalid device ordinal";
        102 DEVICE_NOT_LICENSED DeviceNotLicensed "device doesn't have valid Grid license";
        200 INVALID_IMAGE InvalidKernelImage "device kernel image is invalid";
        201 INVALID_CONTEXT DeviceUninitialized "invalid device context";
        205 MAP_FAILED MapBufferObjectFailed "mapping of buffer object failed";
        206 UNMAP_FAILED UnmapBufferObjectFailed "unmapping of buffer object failed";
        207 ARRAY_IS_MAPPED ArrayIsMapped "array is mapped";
        208 ALREADY_MAPPED AlreadyMapped "resource already mapped";
        209 NO_BINARY_FOR_GPU NoKernelImageForDevice "no kernel image is available for execution on the device";
        210 ALREADY_ACQUIRED AlreadyAcquired "resource already acquired";
        211 NOT_MAPPED NotMapped "resource not mapped";
        212 NOT_MAPPED_AS_ARRAY NotMappedAsArray "resource not mapped as array";
        213 NOT_MAPPED_AS_POINTER NotMappedAsPointer "resource not mapped as pointer";
        214 ECC_UNCORRECTABLE ECCUncorrectable "uncorrectable ECC error encountered";
        215 UNSUPPORTED_LIMIT UnsupportedLimit "limit is not supported on this architecture";
        216 CONTEXT_ALREADY_IN_USE DeviceAlreadyInUse "exclusive-thread device already in use by a different thread";
        217 PEER_ACCESS_UNSUPPORTED PeerAccessUnsupported "peer access is not supported between these two devices";
        218 INVALID_PTX InvalidPtx "a PTX JIT compilation failed";
        219 INVALID_GRAPHICS_CONTEXT InvalidGraphicsContext "invalid OpenGL or DirectX context";
        220 NVLINK_UNCORRECTABLE NvlinkUncorrectable "uncorrectable NVLink error detected during the execution";
        221 JIT_COMPILER_NOT_FOUND JitCompilerNotFound "PTX JIT compiler library not found";
        222 UNSUPPORTED_PTX_VERSION UnsupportedPtxVersion "the provided PTX was compiled with an unsupported toolchain.";
        223 JIT_COMPILATION_DISABLED JitCompilationDisabled "PTX JIT compilation was disabled";
        224 UNSUPPORTED_EXEC_AFFINITY UnsupportedExecAffinity "the provided execution affinity is not supported";
        225 UNSUPPORTED_DEVSIDE_SYNC UnsupportedDevSideSync "the provided PTX contains unsupported call to cudaDeviceSynchronize";
        226 CONTAINED Contained "Invalid memory access or other issue contained to the process";
        300 INVALID_SOURCE InvalidSource "device kernel image is invalid";
        301 FILE_NOT_FOUND FileNotFound "file not found";
        302 SHARED_OBJECT_SYMBOL_NOT_FOUND SharedObjectSymbolNotFound "shared object symbol not found";
        303 SHARED_OBJECT_INIT_FAILED SharedObjectInitFailed "shared object initialization failed";
        304 OPERATING_SYSTEM OperatingSystem "OS call failed or operation not supported on this OS";
        400 INVALID_HANDLE InvalidResourceHandle "invalid resource handle";
        401 ILLEGAL_STATE IllegalState "the operation cannot be performed in the present state";
        402 LOSSY_QUERY LossyQuery "attempted introspection would be semantically lossy";
        500 NOT_FOUND SymbolNotFound "named symbol not found";
        600 NOT_READY NotReady "device not ready";
        700 ILLEGAL_ADDRESS IllegalAddress "an illegal memory access was encountered";
        701 LAUNCH_OUT_OF_RESOURCES LaunchOutOfResources "too many resources requested for launch";
        702 LAUNCH_TIMEOUT LaunchTimeout "the launch timed out and was terminated";
        703 LAUNCH_INCOMPATIBLE_TEXTURING LaunchIncompatibleTexturing "launch uses incompatible texturing mode";
        704 PEER_ACCESS_ALREADY_ENABLED PeerAccessAlreadyEnabled "peer access is already enabled";
        705 PEER_ACCESS_NOT_ENABLED PeerAccessNotEnabled "peer access has not been enabled";
        708 PRIMARY_CONTEXT_ACTIVE SetOnActiveProcess "cannot set while device is active in this process";
        709 CONTEXT_IS_DESTROYED ContextIsDestroyed "context is destroyed";
        710 ASSERT Assert "device-side assert triggered";
        711 TOO_MANY_PEERS TooManyPeers "peer mapping resources exhausted";
        712 HOST_MEMORY_ALREADY_REGISTERED HostMemoryAlreadyRegistered "part or all of the requested memory range is already mapped";
        713 HOST_MEMORY_NOT_REGISTERED HostMemoryNotRegistered "pointer does not correspond to a registered memory region";
        714 HARDWARE_STACK_ERROR HardwareStackError "hardware stack error";
        715 ILLEGAL_INSTRUCTION IllegalInstruction "an illegal instruction was encountered";
        716 MISALIGNED_ADDRESS MisalignedAddress "misaligned address";
        717 INVALID_ADDRESS_SPACE InvalidAddressSpace "operation not supported on global/shared address space";
        718 INVALID_PC InvalidPc "invalid program counter";
        719 LAUNCH_FAILED LaunchFailure "unspecified launch failure";
        720 COOPERATIVE_LAUNCH_TOO_LARGE CooperativeLaunchTooLarge "too many blocks in cooperative launch";
        721 TENSOR_MEMORY_LEAK TensorMemoryLeak "tensor memory not completely freed";
        800 NOT_PERMITTED NotPermitted "operation not permitted";
        801 NOT_SUPPORTED NotSupported "operation not supported";
        802 SYSTEM_NOT_READY SystemNotReady "system not yet initialized";
        803 SYSTEM_DRIVER_MISMATCH SystemDriverMismatch "system has unsupported display driver / cuda driver combination";
        804 COMPAT_NOT_SUPPORTED_ON_DEVICE CompatNotSupportedOnDevice "forward compatibility was attempted on non supported HW";
        900 STREAM_CAPTURE_UNSUPPORTED StreamCaptureUnsupported "operation not permitted when stream is capturing";
        901 STREAM_CAPTURE_INVALIDATED StreamCaptureInvalidated "operation failed due to a previous error during capture";
        902 STREAM_CAPTURE_MERGE StreamCaptureMerge "operation would result in a merge of separate capture sequences";
        903 STREAM_CAPTURE_UNMATCHED StreamCaptureUnmatched "capture was not ended in the same stream as it began";
        904 STREAM_CAPTURE_UNJOINED StreamCaptureUnjoined "capturing stream has unjoined work";
        905 STREAM_CAPTURE_ISOLATION StreamCaptureIsolation "dependency created on uncaptured work in another stream";
        906 STREAM_CAPTURE_IMPLICIT StreamCaptureImplicit "operation would make the legacy stream depend on a capturing blocking stream";
        907 CAPTURED_EVENT CapturedEvent "operation not permitted on an event last recorded in a capturing stream";
        908 STREAM_CAPTURE_WRONG_THREAD StreamCaptureWrongThread "attempt to terminate a thread-local capture sequence from another thread";
        909 TIMEOUT Timeout "wait operation timed out";
        910 GRAPH_EXEC_UPDATE_FAILURE GraphExecUpdateFailure "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
        911 EXTERNAL_DEVICE ExternalDevice "an async error has occured in external entity outside of CUDA";
        912 INVALID_CLUSTER_SIZE InvalidClusterSize "a kernel launch error has occurred due to cluster misconfiguration";
        913 FUNCTION_NOT_LOADED FunctionNotLoaded "function handle is not loaded";
        914 INVALID_RESOURCE_TYPE InvalidResourceType "the resource passed in is not of a valid type";
        915 INVALID_RESOURCE_CONFIGURATION InvalidResourceConfiguration "the resource configuration is not valid";
        999 UNKNOWN Unknown "unknown error";
    }
    driver {
        202 CONTEXT_ALREADY_CURRENT "context already current";
        917 STREAM_DETACHED "the stream is detached: its green context was destroyed";
    }
    runtime {
        9 INVALID_CONFIGURATION InvalidConfiguration "invalid configuration argument";
        10 VERSION_TRANSLATION VersionTranslation "the requested version of a structure is not known";
        12 INVALID_PITCH InvalidPitchValue "invalid pitch argument";
        13 INVALID_SYMBOL InvalidSymbol "invalid device symbol";
        16 INVALID_HOST_POINTER InvalidHostPointer "invalid host pointer";
        17 INVALID_DEVICE_POINTER InvalidDevicePointer "invalid device pointer";
        18 INVALID_TEXTURE InvalidTexture "invalid texture reference";
        19 INVALID_TEXTURE_BINDING InvalidTextureBinding "texture is not bound to a pointer";
        20 INVALID_CHANNEL_DESCRIPTOR InvalidChannelDescriptor "invalid channel descriptor";
        21 INVALID_DIRECTION InvalidMemcpyDirection "invalid copy direction for memcpy";
        22 ADDRESS_OF_CONSTANT AddressOfConstant "address of a constant is not available";
        23 TEXTURE_FETCH_FAILED TextureFetchFailed "fetch from texture failed";
        24 TEXTURE_NOT_BOUND TextureNotBound "cannot fetch from a texture that is not bound";
        25 SYNCHRONIZATION_ERROR SynchronizationError "incorrect use of __syncthreads()";
        26 INVALID_FILTER_SETTING InvalidFilterSetting "linear filtering not supported for non-float type";
        27 INVALID_NORM_SETTING InvalidNormSetting "read as normalized float not supported for 32-bit non float type";
        28 MIXED_DEVICE_EXECUTION MixedDeviceExecution "device emulation mode and device execution mode cannot be mixed";
        31 NOT_YET_IMPLEMENTED NotYetImplemented "feature not yet implemented";
        32 MEMORY_VALUE_TOO_LARGE MemoryValueTooLarge "memory size or pointer value too large to fit in 32 bit";
        35 INSUFFICIENT_DRIVER InsufficientDriver "CUDA driver version is insufficient for CUDA runtime version";
        36 NEWER_DRIVER CallRequiresNewerDriver "API call is not supported in the installed CUDA driver";
        37 INVALID_SURFACE InvalidSurface "invalid surface reference";
        43 DUPLICATE_VARIABLE_NAME DuplicateVariableName "duplicate global variable looked up by string name";
        44 DUPLICATE_TEXTURE_NAME DuplicateTextureName "duplicate texture looked up by string name";
        45 DUPLICATE_SURFACE_NAME DuplicateSurfaceName "duplicate surface looked up by string name";
        49 INCOMPATIBLE_DRIVER_CONTEXT IncompatibleDriverContext "incompatible driver context";
        52 MISSING_CONFIGURATION MissingConfiguration "__global__ function call is not configured";
        53 PRIOR_LAUNCH_FAILURE PriorLaunchFailure "unspecified launch failure in prior launch";
        65 LAUNCH_MAX_DEPTH_EXCEEDED LaunchMaxDepthExceeded "launch would exceed maximum depth of nested launches";
        66 LAUNCH_FILE_SCOPED_TEX LaunchFileScopedTex "launch failed because kernel uses unsupported, file-scoped textures";
        67 LAUNCH_FILE_SCOPED_SURF LaunchFileScopedSurf "launch failed because kernel uses unsupported, file-scoped surfaces";
        68 SYNC_DEPTH_EXCEEDED SyncDepthExceeded "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth";
        69 LAUNCH_PENDING_COUNT_EXCEEDED LaunchPendingCountExceeded "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount";
        98 INVALID_DEVICE_FUNCTION InvalidDeviceFunction "invalid device function";
        103 SOFTWARE_VALIDITY_NOT_ESTABLISHED SoftwareValidityNotEstablished "integrity checks failed";
        127 STARTUP_FAILURE StartupFailure "startup failure in cuda runtime";
        227 INSUFFICIENT_LOADER_VERSION InsufficientLoaderVersion "the loader is older than the driver needs";
        805 MPS_CONNECTION_FAILED MpsConnectionFailed "the connection to the MPS server failed";
        806 MPS_RPC_FAILURE MpsRpcFailure "a remote call to the MPS server failed";
        807 MPS_SERVER_NOT_READY MpsServerNotReady "the MPS server is not ready";
        808 MPS_MAX_CLIENTS_REACHED MpsMaxClientsReached "the MPS server has as many clients as it can have";
        809 MPS_MAX_CONNECTIONS_REACHED MpsMaxConnectionsReached "the MPS server has as many connections as it can have";
        810 MPS_CLIENT_TERMINATED MpsClientTerminated "the MPS client was ended";
        811 CDP_NOT_SUPPORTED CdpNotSupported "launches by kernels are not supported";
        812 CDP_VERSION_MISMATCH CdpVersionMismatch "launches by kernels are of another version";
        917 STREAM_WITHOUT_CONTEXT StreamDetached "the stream is detached from its context";
        918 GRAPH_RECAPTURE_FAILURE GraphRecaptureFailure "the graph could not be captured again";
        919 FABRIC_NOT_READY FabricNotReady "the fabric is not ready";
        10000 API_FAILURE_BASE ApiFailureBase "unknown error";
    }
}
