//! Bindings to the emulated driver's functions. Addresses are passed as integers.

use crate::ffi::Error;

c_abi::driver_functions! {
    Error;
    safe {
        cuInit(flags: u32);
        cuDriverGetVersion(out: &mut i32);
        cuDeviceGetCount(out: &mut i32);
        cuDeviceGetAttribute(out: &mut i32, which: i32, device: i32);
        cuDeviceGetUuid_v2(out: &mut [u8; 16], device: i32);
        cuDeviceTotalMem_v2(out: &mut usize, device: i32);
        cuDevicePrimaryCtxRetain(out: &mut usize, device: i32);
        cuDevicePrimaryCtxReset_v2(device: i32);
        cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
        cuDevicePrimaryCtxGetState(device: i32, flags: &mut u32, active: &mut i32);
        cuCtxGetCurrent(out: &mut usize);
        cuCtxSetCurrent(context: usize);
        cuCtxGetDevice(out: &mut i32);
        cuCtxEnablePeerAccess(context: usize, flags: u32);
        cuCtxDisablePeerAccess(context: usize);
        cuStreamSynchronize(stream: usize);
        cuArrayDestroy(array: usize);
        cuMipmappedArrayDestroy(mipmap: usize);
        cuLibraryUnload(library: usize);
        cuFuncGetAttribute(out: &mut i32, which: i32, kernel: usize);
        cuFuncSetAttribute(kernel: usize, which: i32, value: i32);
        cuFuncSetCacheConfig(kernel: usize, config: i32);
        cuFuncSetSharedMemConfig(kernel: usize, config: i32);
    }
    unsafe {
        cuDeviceGetName(text: *mut u8, len: i32, device: i32);
        cuStreamCreate(out: usize, flags: u32);
        cuEventCreate(out: usize, flags: u32);
        cuGetProcAddress_v2(name: usize, out: usize, version: i32, flags: u64, status: usize);
        cuMemAlloc_v2(out: usize, bytes: usize);
        cuMemAllocPitch_v2(out: usize, pitch: usize, width: usize, height: usize, element: u32);
        cuMemFree_v2(address: usize);
        cuMemHostAlloc(out: usize, bytes: usize, flags: u32);
        cuMemFreeHost(address: usize);
        cuMemcpy(to: usize, from: usize, bytes: usize);
        cuMemcpyAsync(to: usize, from: usize, bytes: usize, stream: usize);
        cuMemcpyHtoD_v2(to: usize, from: usize, bytes: usize);
        cuMemcpyDtoH_v2(to: usize, from: usize, bytes: usize);
        cuMemcpyDtoD_v2(to: usize, from: usize, bytes: usize);
        cuMemcpyHtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize);
        cuMemcpyDtoHAsync_v2(to: usize, from: usize, bytes: usize, stream: usize);
        cuMemcpyDtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize);
        cuMemcpyPeer(to: usize, there: usize, from: usize, here: usize, bytes: usize);
        cuMemcpyPeerAsync(to: usize, there: usize, from: usize, here: usize, bytes: usize, stream: usize);
        cuArray3DCreate_v2(out: usize, description: usize);
        cuArray3DGetDescriptor_v2(out: usize, array: usize);
        cuMipmappedArrayCreate(out: usize, description: usize, levels: u32);
        cuMipmappedArrayGetLevel(out: usize, mipmap: usize, level: u32);
        cuDeviceGetTexture1DLinearMaxWidth(out: usize, format: u32, channels: u32, device: i32);
        cuTexObjectCreate(out: usize, resource: usize, texture: usize, view: usize);
        cuTexObjectGetResourceDesc(out: usize, texture: u64);
        cuTexObjectGetTextureDesc(out: usize, texture: u64);
        cuTexObjectGetResourceViewDesc(out: usize, texture: u64);
        cuSurfObjectCreate(out: usize, resource: usize);
        cuSurfObjectGetResourceDesc(out: usize, surface: u64);
        cuMemcpy3D_v2(copy: usize);
        cuMemcpy3DAsync_v2(copy: usize, stream: usize);
        cuMemsetD8_v2(at: usize, value: u8, count: usize);
        cuMemsetD8Async(at: usize, value: u8, count: usize, stream: usize);
        cuMemsetD2D8_v2(at: usize, pitch: usize, value: u8, width: usize, height: usize);
        cuMemsetD2D8Async(at: usize, pitch: usize, value: u8, width: usize, height: usize, stream: usize);
        cuPointerGetAttribute(out: usize, which: i32, address: usize);
        cuLibraryLoadData(
            out: *mut usize, image: usize, options: usize, values: usize, count: u32, library_options: usize, library_values: usize, library_count: u32,
        );
        cuLibraryGetKernel(out: *mut usize, library: usize, name: *const std::ffi::c_char);
        cuLibraryGetGlobal(
            out: *mut usize, bytes: *mut usize, library: usize, name: *const std::ffi::c_char,
        );
        cuLaunchKernelEx(config: usize, kernel: usize, arguments: usize, extra: usize);
        cuLaunchCooperativeKernel(
            kernel: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32, stream: usize, arguments: usize,
        );
        cuFuncGetName(out: usize, kernel: usize);
        cuFuncGetParamInfo(kernel: usize, index: usize, offset: usize, size: usize);
        cuKernelGetFunction(out: usize, kernel: usize);
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out: usize, kernel: usize, block: i32, shared: usize, flags: u32,
        );
        cuOccupancyAvailableDynamicSMemPerBlock(out: usize, kernel: usize, blocks: i32, block: i32);
        cuOccupancyMaxPotentialClusterSize(out: usize, kernel: usize, config: usize);
        cuOccupancyMaxActiveClusters(out: usize, kernel: usize, config: usize);
        cuGraphAddNode_v2(out: usize, graph: usize, before: usize, edges: usize, count: usize, node: usize,);
        cuGraphNodeSetParams(node: usize, parameters: usize);
        cuGraphExecNodeSetParams(graph: usize, node: usize, parameters: usize);
        cuGraphConditionalHandleCreate(out: usize, graph: usize, context: usize, default: u32, flags: u32,);
        cuGraphAddKernelNode(out: usize, graph: usize, before: usize, count: usize, node: usize);
        cuGraphKernelNodeSetParams(node: usize, parameters: usize);
        cuGraphExecKernelNodeSetParams(graph: usize, node: usize, parameters: usize);
        cuGraphAddMemcpyNode(
            out: usize, graph: usize, before: usize, count: usize, copy: usize, context: usize,
        );
        cuGraphExecMemcpyNodeSetParams(graph: usize, node: usize, copy: usize, context: usize);
        cuGraphMemcpyNodeSetParams(node: usize, copy: usize);
        cuGraphAddMemsetNode(
            out: usize, graph: usize, before: usize, count: usize, fill: usize, context: usize,
        );
        cuGraphExecMemsetNodeSetParams(graph: usize, node: usize, fill: usize, context: usize);
    }
}
