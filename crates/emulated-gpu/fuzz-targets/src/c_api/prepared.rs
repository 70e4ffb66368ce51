//! The objects that exist when a case begins. Without them nearly all calls would fail at once, because
//! functions need objects in certain states.

use super::argument::{Arena, Bytes};
use super::library::Api;
use super::objects::Objects;

/// A sequence of calls that succeed in this order. For each call: a line as in the list of functions, and the bytes
/// that choose its arguments. If the call creates a handle, the first byte is for the memory of that handle.
type Calls = &'static [(&'static str, &'static [u8])];

/// The calls that create an object of each kind that most functions need.
const BASIC_OBJECTS: Calls = &[
    ("cuStreamCreate +stream zero", &[4]),
    ("cuEventCreate +event zero", &[4]),
    ("cuMemAlloc_v2 +device page", &[4]),
    ("cuMemAllocManaged +device page one", &[4]),
    ("cuMemAllocHost_v2 +device page", &[4]),
    ("cuModuleLoadData +module goodimage", &[4]),
    // "copy"
    ("cuModuleGetFunction +function module name", &[4, 4, 9]),
    ("cuGraphCreate +graph zero", &[4]),
    ("cuCtxGetCurrent +context", &[4]),
    ("cublasCreate_v2 +cublas", &[4]),
    ("cublasLtCreate +cublaslt", &[4]),
    ("nvmlInit_v2", &[]),
    ("nvmlDeviceGetHandleByIndex_v2 zero +card", &[4]),
    ("nvmlDeviceGetHandleByIndex_v2 one +card", &[4]),
];

/// The calls that create a graph with one node of each type, without dependencies, its executable graph, and a user
/// object.
const GRAPHS: Calls = &[
    ("cuGraphAddEmptyNode +node graph null zero", &[4, 4]),
    ("cuGraphAddHostNode +node graph null zero hostnode", &[4, 4, 0]),
    ("cuGraphAddEventRecordNode +node graph null zero event", &[4, 4, 4]),
    ("cuGraphAddEventWaitNode +node graph null zero event", &[4, 4, 4]),
    // A node that fills the first allocation with 16 words of 4 bytes, which are 7.
    (
        "cuGraphAddMemsetNode +node graph null zero setnode context",
        &[4, 4, 7, 2, 2, 0, 0, 16, 1, 4],
    ),
    // A node that copies 16 bytes from the first allocation to the second.
    (
        "cuGraphAddMemcpyNode +node graph null zero copy3d context",
        &[4, 4, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 16, 1, 1, 4],
    ),
    // A node that launches a block of 32 threads, with the address of the first allocation as argument.
    (
        "cuGraphAddKernelNode_v2 +node graph null zero kernelnode",
        &[4, 4, 4, 0, 1, 0, 1, 2, 0, 2, 0, 2, 0, 2, 0, 100, 0, 0],
    ),
    ("cuGraphInstantiateWithFlags +exec graph zero", &[4, 4]),
    ("cuUserObjectCreate +user buffer hostfunction one one", &[4, 0, 0]),
    ("cuGraphRetainUserObject graph user one zero", &[4, 4]),
    ("cuGraphCreate +graph zero", &[4]),
    ("cuGraphAddMemAllocNode +node graph null zero allocationnode", &[4, 5, 0, 64]),
    ("cuGraphAddChildGraphNode +node graph null zero graph", &[4, 5, 4]),
];

/// The calls that create an array of 16 × 16 32-bit texels, with a texture and a surface.
const TEXTURES: Calls = &[
    ("cuArray3DCreate_v2 +array arraydescription", &[4, 16, 16, 0, 1, 200, 7, 0]),
    ("cuMipmappedArrayCreate +mipmap arraydescription digit", &[4, 16, 16, 0, 1, 200, 7, 0, 3]),
    (
        "cuTexObjectCreate +texture resourcedescription texturedescription null",
        &[4, 0, 4, 0, 1, 1, 1, 0, 0, 0],
    ),
    ("cuSurfObjectCreate +texture resourcedescription", &[4, 0, 4, 0]),
    ("cuTexRefCreate +reference", &[4]),
    // "t"
    ("cuModuleGetTexRef +reference module name", &[4, 4, 6]),
];

/// The calls that create a context of the second device with memory, and a green context of the first device with eight
/// multiprocessors.
const CONTEXTS: Calls = &[
    ("cuDevicePrimaryCtxRetain +context one", &[4]),
    ("cuCtxPushCurrent_v2 context", &[5]),
    ("cuMemAlloc_v2 +device page", &[4]),
    ("cuCtxPopCurrent_v2 null", &[]),
    (
        "cuDevResourceGenerateDesc +description resources one",
        &[4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    ),
    ("cuGreenCtxCreate +green description zero one", &[4, 4]),
    ("cuGreenCtxStreamCreate +stream green one zero", &[4, 4]),
];

/// The calls that create a memory pool, and map memory at reserved addresses.
const MEMORY: Calls = &[
    ("cuMemPoolCreate +pool poolproperties", &[4, 0, 0, 0]),
    ("cuMemAddressReserve +device span zero zero zero", &[4, 0]),
    ("cuMemCreate +memory piece properties zero", &[4, 0, 0, 0, 0, 0]),
    // The index 4 selects the fourth address that was returned.
    ("cuMemMap spot piece zero memory zero", &[5, 0, 0, 4]),
    ("cuMemSetAccess spot piece access one", &[5, 0, 0, 0]),
];

/// The calls that load a library and get its kernel.
const LIBRARIES: Calls = &[
    ("cuLibraryLoadData +library image null null zero null null zero", &[4, 0]),
    // "copy"
    ("cuLibraryGetKernel +kernel library name", &[4, 4, 9]),
];

/// The objects that each thread has to itself: the descriptors for a product of 4 × 4 matrices of
/// 32-bit numbers.
const PER_THREAD: Calls = &[
    ("cublasLtMatmulDescCreate +descriptor compute type", &[4, 0, 0]),
    ("cublasLtMatrixLayoutCreate +layout type dim dim dim", &[4, 0, 4, 4, 4]),
    ("cublasLtMatmulPreferenceCreate +preference", &[4]),
];

fn run_calls(api: &Api, calls: Calls, objects: &Objects, arena: &mut Arena) {
    for (line, bytes) in calls {
        let code = api.call(&api.function(line), Bytes::new(bytes), objects, arena);
        assert_eq!(code, 0, "{line} on a fresh context");
    }
}

/// Creates the objects that the first byte of a case selects: none, or those that most functions need, with further
/// sets.
pub(super) fn prepare(api: &Api, first: u8, objects: &Objects) {
    if first & 4 != 0 {
        return;
    }
    let mut arena = Arena::default();
    run_calls(api, BASIC_OBJECTS, objects, &mut arena);
    for (bit, set) in [(8, MEMORY), (16, GRAPHS), (32, TEXTURES), (64, CONTEXTS), (128, LIBRARIES)]
    {
        if first & bit != 0 {
            run_calls(api, set, objects, &mut arena);
        }
    }
}

/// Creates the private objects of a thread.
pub(super) fn prepare_thread(api: &Api, first: u8, objects: &Objects, arena: &mut Arena) {
    if first & 4 == 0 && first & 128 != 0 {
        run_calls(api, PER_THREAD, objects, arena);
    }
}
