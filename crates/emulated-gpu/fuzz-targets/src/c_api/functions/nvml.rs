//! Functions of NVML, which describe the cards.

/// Functions of `libnvidia-ml.so.1`.
pub(super) const FUNCTIONS: &str = "
nvmlInit
nvmlInit_v2
nvmlInitWithFlags digit
nvmlShutdown
nvmlSystemGetCudaDriverVersion_v2 out
nvmlSystemGetDriverBranch versioned small
nvmlSystemGetDriverVersion out small
nvmlSystemGetNVMLVersion out small
nvmlSystemGetProcessName int out small
nvmlSystemGetTopologyGpuSet int room out
nvmlEventSetCreate out
nvmlGetExcludedDeviceCount out
nvmlUnitGetCount out
nvmlDeviceGetCount_v2 out
nvmlDeviceGetHandleByIndex_v2 ordinal +card
nvmlDeviceGetHandleByPciBusId_v2 cardtext +card
nvmlDeviceGetHandleBySerial cardtext +card
nvmlDeviceGetHandleByUUID cardtext +card
nvmlDeviceGetHandleByUUIDV cardidentifier +card
nvmlDeviceGetArchitecture card out
nvmlDeviceGetBrand card out
nvmlDeviceGetCudaComputeCapability card out out
nvmlDeviceGetIndex card out
nvmlDeviceGetName card out small
nvmlDeviceGetPciInfo_v2 card out
nvmlDeviceGetPciInfo_v3 card out
nvmlDeviceGetPciInfoExt card versioned
nvmlDeviceGetUUID card out small
nvmlDeviceGetComputeMode card out
nvmlDeviceGetSupportedEventTypes card out
nvmlDeviceGetP2PStatus card card digit out
nvmlDeviceClearCpuAffinity card
nvmlDeviceSetCpuAffinity card
nvmlDeviceGetCpuAffinity card small out
nvmlDeviceGetCpuAffinityWithinScope card small out digit
nvmlDeviceGetMemoryAffinity card small out digit
nvmlDeviceGetMemoryInfo card out
nvmlDeviceGetMemoryInfo_v2 card versioned
nvmlDeviceClearFieldValues card signed fields
nvmlDeviceGetFieldValues card signed fields
nvmlDeviceGetComputeRunningProcesses card room out
nvmlDeviceGetComputeRunningProcesses_v2 card out out
nvmlDeviceGetComputeRunningProcesses_v3 card room out
nvmlDeviceGetGraphicsRunningProcesses card room out
nvmlDeviceGetGraphicsRunningProcesses_v3 card out out
nvmlDeviceGetMPSComputeRunningProcesses card room out
nvmlDeviceGetMPSComputeRunningProcesses_v3 card room out
nvmlDeviceGetRunningProcessDetailList card details
nvmlDeviceClearEccErrorCounts card
nvmlDeviceGetUtilizationRates card out
nvmlDeviceGetTemperature card int out
nvmlDeviceGetClock card int int out
nvmlDeviceGetMemoryErrorCounter card int int int out
";
