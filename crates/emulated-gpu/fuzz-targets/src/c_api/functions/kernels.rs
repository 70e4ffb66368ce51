//! Functions for modules, libraries, linking, kernels and launches.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuFuncGetAttribute out digit function
cuFuncGetModule +module function
cuFuncGetName out function
cuFuncGetParamCount function out
cuKernelGetParamCount function out
cuFuncGetParamInfo function int out out
cuFuncIsLoaded out function
cuFuncLoad function
cuFuncSetAttribute function digit int
cuFuncSetCacheConfig function int
cuFuncSetSharedMemConfig function int
cuKernelGetAttribute out digit kernel ordinal
cuKernelGetFunction +function kernel
cuKernelGetLibrary +library kernel
cuKernelGetName out kernel
cuKernelGetParamInfo kernel int out out
cuKernelSetAttribute digit int kernel ordinal
cuKernelSetCacheConfig kernel int int
cuLaunchCooperativeKernel function grid grid grid block block block shared stream parameters
cuLaunchHostFunc stream hostfunction null
cuLaunchKernel function grid grid grid block block block shared stream parameters extra
cuLaunchKernel function one one one block one one shared stream parameters null
cuLaunchKernelEx config function parameters extra
cuLibraryEnumerateKernels +kernel one library
cuLibraryGetGlobal +device out library name
cuLibraryGetManaged +device out library name
cuLibraryGetKernel +kernel library name
cuLibraryGetKernelCount out library
cuLibraryGetModule +module library
cuLibraryLoadData +library image null null zero null null zero
cuLibraryLoadFromFile +library path null null zero null null zero
cuLibraryUnload library
cuLinkAddData_v2 linker int image imagesize text zero null null
cuLinkAddFile_v2 linker int path zero null null
cuLinkComplete linker out out
cuLinkCreate_v2 zero null null +linker
cuLinkDestroy linker
cuModuleEnumerateFunctions +function one module
cuModuleGetFunction +function module name
cuModuleGetFunctionCount out module
cuModuleGetGlobal_v2 +device out module name
cuModuleGetLoadingMode out
cuModuleLoad +module path
cuModuleLoadData +module image
cuModuleLoadDataEx +module image zero null null
cuModuleLoadFatBinary +module image
cuModuleUnload module
cuOccupancyAvailableDynamicSMemPerBlock out function int int
cuOccupancyMaxActiveBlocksPerMultiprocessor out function int size
cuOccupancyMaxActiveClusters out function config
cuOccupancyMaxPotentialBlockSize out out function null size int
cuLaunchCooperativeKernel_ptsz function one one one block one one shared stream parameters
cuLaunchHostFunc_ptsz stream hostfunction null
cuLaunchKernelEx_ptsz config function parameters extra
cuLaunchKernel_ptsz function one one one block one one shared stream parameters null
cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags out function int size int
cuOccupancyMaxPotentialBlockSize out out function sharedbytes size int
cuOccupancyMaxPotentialBlockSizeWithFlags out out function sharedbytes size int int
cuOccupancyMaxPotentialClusterSize out function config
";
