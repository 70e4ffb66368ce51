//! Memory, library, texture and surface functions with the same arguments, codes and handles in both APIs. Pointers
//! and handles are forwarded as plain integers.

use crate::context::bind;
use crate::ffi::forward;

// Memory and memory pools.
forward! {
    bind:
    cudaMemGetInfo = cuMemGetInfo_v2(free: usize, total: usize);
    cudaMallocManaged = cuMemAllocManaged(out: usize, bytes: usize, flags: u32);
    cudaHostRegister = cuMemHostRegister_v2(address: usize, bytes: usize, flags: u32);
    cudaHostUnregister = cuMemHostUnregister(address: usize);
    cudaHostGetDevicePointer = cuMemHostGetDevicePointer_v2(out: usize, address: usize, flags: u32);
    cudaHostGetFlags = cuMemHostGetFlags(out: usize, address: usize);
    cudaMemRangeGetAttribute = cuMemRangeGetAttribute(out: usize, bytes: usize, which: i32, address: usize, count: usize);
    cudaMemRangeGetAttributes = cuMemRangeGetAttributes(out: usize, bytes: usize, which: usize, number: usize, address: usize, count: usize);
    cudaMemAdvise = cuMemAdvise_v2(address: usize, bytes: usize, advice: i32, location: u64);
    cudaMemAdvise_v2 = cuMemAdvise_v2(address: usize, bytes: usize, advice: i32, location: u64);
    cudaMemPoolCreate = cuMemPoolCreate(out: usize, properties: usize);
    cudaMemPoolDestroy = cuMemPoolDestroy(pool: usize);
    cudaMemPoolTrimTo = cuMemPoolTrimTo(pool: usize, keep: usize);
    cudaMemPoolSetAttribute = cuMemPoolSetAttribute(pool: usize, which: i32, value: usize);
    cudaMemPoolGetAttribute = cuMemPoolGetAttribute(pool: usize, which: i32, value: usize);
    cudaMemPoolSetAccess = cuMemPoolSetAccess(pool: usize, list: usize, count: usize);
    cudaMemPoolGetAccess = cuMemPoolGetAccess(out: usize, pool: usize, location: usize);
}

// Stream-ordered memory.
forward! {
    bind:
    cudaMallocAsync = cuMemAllocAsync, cudaMallocAsync_ptsz = cuMemAllocAsync_ptsz
        (out: usize, bytes: usize, stream: usize);
    cudaFreeAsync = cuMemFreeAsync, cudaFreeAsync_ptsz = cuMemFreeAsync_ptsz(address: usize, stream: usize);
    cudaMallocFromPoolAsync = cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync_ptsz = cuMemAllocFromPoolAsync_ptsz
        (out: usize, bytes: usize, pool: usize, stream: usize);
}

// The driver's second version, which takes the location as a structure of two 32-bit numbers.
forward! {
    bind:
    cudaMemPrefetchAsync = cuMemPrefetchAsync_v2, cudaMemPrefetchAsync_ptsz = cuMemPrefetchAsync_v2_ptsz
        (address: usize, bytes: usize, location: u64, flags: u32, stream: usize);
}

// `cudaMemPrefetchAsync` under the name that CUDA 12 uses.
forward! {
    bind:
    cudaMemPrefetchAsync_v2 = cuMemPrefetchAsync_v2(address: usize, bytes: usize, location: u64, flags: u32, stream: usize);
}

// Libraries.
forward! {
    bind:
    cudaLibraryLoadData = cuLibraryLoadData(out: usize, image: usize, options: usize, values: usize, count: u32, library_options: usize, library_values: usize, library_count: u32);
    cudaLibraryLoadFromFile = cuLibraryLoadFromFile(out: usize, path: usize, options: usize, values: usize, count: u32, library_options: usize, library_values: usize, library_count: u32);
    cudaLibraryUnload = cuLibraryUnload(library: usize);
    cudaLibraryGetKernel = cuLibraryGetKernel(out: usize, library: usize, name: usize);
    cudaLibraryGetGlobal = cuLibraryGetGlobal(address: usize, bytes: usize, library: usize, name: usize);
    cudaLibraryGetKernelCount = cuLibraryGetKernelCount(out: usize, library: usize);
    cudaLibraryEnumerateKernels = cuLibraryEnumerateKernels(out: usize, max: u32, library: usize);
}

// Textures and surfaces.
forward! {
    bind:
    cudaDestroyTextureObject = cuTexObjectDestroy(texture: u64);
    cudaDestroySurfaceObject = cuSurfObjectDestroy(surface: u64);
}
