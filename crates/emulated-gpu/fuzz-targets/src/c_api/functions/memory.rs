//! Functions for memory: allocations, pools, mappings, sharing between processes, and queries about addresses.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuDeviceGetDefaultMemPool +pool ordinal
cuDeviceGetMemPool +pool ordinal
cuDeviceSetMemPool zero pool
cuMemAdvise device size digit ordinal
cuMemAllocAsync +device size stream
cuMemAllocFromPoolAsync +device size pool stream
cuMemAllocHost_v2 +device size
cuMemAllocManaged +device size int
cuMemAllocPitch_v2 +device out size dim int
cuMemAlloc_v2 +device size
cuMemFreeAsync device stream
cuMemFreeHost device
cuMemFree_v2 device
cuMemGetAddressRange_v2 out out device
cuMemGetInfo_v2 out out
cuMemHostAlloc +device size int
cuMemHostGetDevicePointer_v2 +device device int
cuMemHostGetFlags out device
cuMemHostRegister_v2 buffer size int
cuMemHostUnregister buffer
cuMemHostUnregister device
cuMemPoolCreate +pool poolproperties
cuMemPoolDestroy pool
cuMemPoolGetAccess out pool location
cuMemPoolGetAttribute pool digit out
cuMemPoolSetAccess pool access count
cuMemPoolSetAttribute pool digit value
cuMemPoolTrimTo pool size
cuMemPrefetchAsync device size ordinal stream
cuMemAddressFree spot span
cuMemAddressReserve +device span zero zero zero
cuMemCreate +memory piece properties zero
cuMemGetAccess out location spot
cuIpcGetMemHandle out spot
cuIpcOpenMemHandle_v2 +device one null null null null size size size size size size size size
cuIpcCloseMemHandle spot
cuIpcGetEventHandle out event
cuIpcOpenEventHandle +event null null null null null size size size size size size size size
cuMemGetAllocationGranularity out properties int
cuMemGetAllocationPropertiesFromHandle out memory
cuMemImportFromShareableHandle +memory count one
cuMemMap spot piece zero memory zero
cuMemRelease memory
cuMemRetainAllocationHandle +memory spot
cuMemSetAccess spot piece access count
cuMemUnmap spot piece
cuMemRangeGetAttribute out small digit device size
cuPointerGetAttribute out attribute device
cuPointerSetAttribute zeros digit device
cuMemAdvise_v2 device size digit place
cuMemAllocAsync_ptsz +device size stream
cuMemAllocFromPoolAsync_ptsz +device size pool stream
cuMemFreeAsync_ptsz device stream
cuMemPrefetchAsync_v2 device size place zero stream
cuMemPrefetchAsync_v2_ptsz device size place int stream
cuMemRangeGetAttributes places widths numbers count device size
cuPointerGetAttributes count numbers places device
cuPointerGetAttributes count numbers places pointer
";
