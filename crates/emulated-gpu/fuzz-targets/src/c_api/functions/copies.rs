//! Functions that copy and fill memory.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuMemcpyHtoA_v2 array size buffer size
cuMemcpyHtoAAsync_v2 array size buffer size stream
cuMemcpyAtoH_v2 buffer array size size
cuMemcpyAtoD_v2 device array size size
cuMemcpyDtoA_v2 array size device size
cuMemcpyAtoA_v2 array size array size size
cuMemcpy pointer pointer size
cuMemcpy2DAsync_v2 copy2d stream
cuMemcpy2DUnaligned_v2 copy2d
cuMemcpy2D_v2 copy2d
cuMemcpy3DAsync_v2 copy3d stream
cuMemcpy3D_v2 copy3d
cuMemcpyAsync pointer pointer size stream
cuMemcpyDtoDAsync_v2 device device size stream
cuMemcpyDtoD_v2 device device size
cuMemcpyDtoHAsync_v2 buffer device size stream
cuMemcpyDtoH_v2 buffer device size
cuMemcpyHtoDAsync_v2 device buffer size stream
cuMemcpyHtoD_v2 device buffer size
cuMemcpyPeer device context device context size
cuMemcpyPeerAsync device context device context size stream
cuMemsetD16_v2 device half size
cuMemsetD2D16Async device size half dim dim stream
cuMemsetD2D32_v2 device size int dim dim
cuMemsetD2D8_v2 device size byte dim dim
cuMemsetD32Async device int size stream
cuMemsetD32_v2 device int size
cuMemsetD8Async device byte size stream
cuMemsetD8_v2 device byte size
cuMemcpy3DPeer copy3dpeer
cuMemcpy3DPeerAsync copy3dpeer stream
cuMemcpy3D_v2_ptds copy3d
cuMemcpyAtoHAsync_v2 buffer array size size stream
cuMemcpyAtoH_v2_ptds buffer array size size
cuMemcpyBatchAsync pointers pointers sizes count copyattributes firsts count out stream
cuMemcpyBatchAsync pointers pointers sizes one copyattributes firsts one out stream
cuMemcpyBatchAsync_ptsz pointers pointers sizes count copyattributes firsts count out stream
cuMemcpyBatchAsync_v2 pointers pointers sizes count copyattributes firsts count stream
cuMemcpyDtoHAsync_v2_ptsz buffer device size stream
cuMemcpyHtoDAsync_v2_ptsz device buffer size stream
cuMemcpyPeer_ptds device context device context size
cuMemcpy_ptds pointer pointer size
cuMemsetD16Async device half size stream
cuMemsetD2D16_v2 device size half dim dim
cuMemsetD2D32Async device size int dim dim stream
cuMemsetD2D8Async device size byte dim dim stream
cuMemsetD2D8_v2_ptds device size byte dim dim
cuMemsetD32Async_ptsz device int size stream
";
