//! Features that the emulated card lacks: sensors, clocks, power, links, error correction, accounting, partitions,
//! and all settings. The functions return `NVML_ERROR_NOT_SUPPORTED`, as for hardware without them, instead of
//! made-up values.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::out::versioned;
use crate::session::{Handle, initialised};

/// Checks the handle, and the last argument, which is the pointer to the result. Then returns `NotSupported`.
fn answer(device: Handle, arguments: &[usize]) -> Result {
    device.number()?;
    match arguments.last() {
        Some(0) => Err(Status::InvalidArgument),
        _ => Err(Status::NotSupported),
    }
}

/// Declares functions with a card, further arguments, and a pointer to the first result, which are listed. Further
/// arguments need no declaration, because the caller removes them and they are not read.
macro_rules! unsupported {
    ($($arguments:tt {$($name:ident)*})*) => {$($(
        unsupported! { @one $name $arguments }
    )*)*};
    (@one $name:ident ($($argument:ident),*)) => {
        export! {
            #[doc = concat!("`", stringify!($name), "`: not supported.")]
            fn $name(device: Handle $(, $argument: usize)*) {
                answer(device, &[$($argument),*])
            }
        }
    };
}

/// `nvmlSystemDriverBranchInfo_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DriverBranchInfo {
    version: c_uint,
    branch: [u8; 80],
}

export! {
    /// Not supported: it would return the driver's release branch, but the emulated driver has none.
    fn nvmlSystemGetDriverBranch(branch: Out<'_, DriverBranchInfo>, _len: c_uint) {
        initialised()?;
        versioned::<1, _>(branch)?;
        Err(Status::NotSupported)
    }

    /// Not supported: it would create a set of events to wait for, but there are no events.
    fn nvmlEventSetCreate(set: Out<'_, usize>) {
        initialised()?;
        set.required()?;
        Err(Status::NotSupported)
    }
}

unsupported! {
    () {
        nvmlDeviceClearAccountingPids nvmlDeviceClearEccErrorCounts
        nvmlDeviceFreezeNvLinkUtilizationCounter nvmlDeviceRegisterEvents
        nvmlDeviceResetApplicationsClocks nvmlDeviceResetGpuLockedClocks
        nvmlDeviceResetMemoryLockedClocks nvmlDeviceResetNvLinkErrorCounters
        nvmlDeviceResetNvLinkUtilizationCounter nvmlDeviceSetAPIRestriction
        nvmlDeviceSetAccountingMode nvmlDeviceSetApplicationsClocks
        nvmlDeviceSetAutoBoostedClocksEnabled nvmlDeviceSetClockOffsets nvmlDeviceSetComputeMode
        nvmlDeviceSetDefaultAutoBoostedClocksEnabled nvmlDeviceSetDefaultFanSpeed_v2
        nvmlDeviceSetDramEncryptionMode nvmlDeviceSetDriverModel nvmlDeviceSetEccMode
        nvmlDeviceSetFanControlPolicy nvmlDeviceSetFanSpeed_v2 nvmlDeviceSetGpcClkVfOffset
        nvmlDeviceSetGpuLockedClocks nvmlDeviceSetGpuOperationMode nvmlDeviceSetMemClkVfOffset
        nvmlDeviceSetMemoryLockedClocks nvmlDeviceSetMigMode
        nvmlDeviceSetNvLinkDeviceLowPowerThreshold nvmlDeviceSetNvLinkUtilizationControl
        nvmlDeviceSetNvlinkBwMode nvmlDeviceSetPersistenceMode nvmlDeviceSetPowerManagementLimit
        nvmlDeviceSetPowerManagementLimit_v2 nvmlDeviceSetTemperatureThreshold
        nvmlDeviceSetVirtualizationMode nvmlDeviceValidateInforom
    }
    (out) {
        nvmlDeviceGetAccountingBufferSize nvmlDeviceGetAccountingMode nvmlDeviceGetAccountingPids
        nvmlDeviceGetAccountingStats_v2 nvmlDeviceGetAdaptiveClockInfoStatus
        nvmlDeviceGetAddressingMode nvmlDeviceGetAttributes nvmlDeviceGetAttributes_v2
        nvmlDeviceGetAutoBoostedClocksEnabled nvmlDeviceGetBAR1MemoryInfo nvmlDeviceGetBoardId
        nvmlDeviceGetBoardPartNumber nvmlDeviceGetBridgeChipInfo nvmlDeviceGetBusType
        nvmlDeviceGetC2cModeInfoV nvmlDeviceGetCapabilities nvmlDeviceGetClkMonStatus
        nvmlDeviceGetClockOffsets nvmlDeviceGetComputeInstanceId nvmlDeviceGetCoolerInfo
        nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth
        nvmlDeviceGetCurrentClockFreqs nvmlDeviceGetCurrentClocksEventReasons
        nvmlDeviceGetCurrentClocksThrottleReasons nvmlDeviceGetDecoderUtilization
        nvmlDeviceGetDefaultEccMode nvmlDeviceGetDeviceHandleFromMigDeviceHandle
        nvmlDeviceGetDramEncryptionMode nvmlDeviceGetDriverModel nvmlDeviceGetDriverModel_v2
        nvmlDeviceGetDynamicPstatesInfo nvmlDeviceGetEccMode nvmlDeviceGetEncoderSessions
        nvmlDeviceGetEncoderStats nvmlDeviceGetEncoderUtilization nvmlDeviceGetEnforcedPowerLimit
        nvmlDeviceGetFBCSessions nvmlDeviceGetFBCStats nvmlDeviceGetFanSpeed
        nvmlDeviceGetFanSpeedRPM nvmlDeviceGetGpcClkMinMaxVfOffset nvmlDeviceGetGpcClkVfOffset
        nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetGpuFabricInfo_v4
        nvmlDeviceGetGpuInstanceId nvmlDeviceGetGpuMaxPcieLinkGeneration
        nvmlDeviceGetGpuOperationMode nvmlDeviceGetGpuUptime_v1 nvmlDeviceGetGspFirmwareMode
        nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetInforomConfigurationChecksum
        nvmlDeviceGetInforomImageVersion nvmlDeviceGetIrqNum nvmlDeviceGetJpgUtilization
        nvmlDeviceGetLastBBXFlushTime nvmlDeviceGetMarginTemperature
        nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth
        nvmlDeviceGetMemClkMinMaxVfOffset nvmlDeviceGetMemClkVfOffset nvmlDeviceGetMemoryBusWidth
        nvmlDeviceGetMigMode nvmlDeviceGetMinMaxFanSpeed nvmlDeviceGetMinorNumber
        nvmlDeviceGetModuleId nvmlDeviceGetNumFans nvmlDeviceGetNumGpuCores nvmlDeviceGetNumaNodeId
        nvmlDeviceGetNvLinkInfo nvmlDeviceGetNvLinkInfo_v3 nvmlDeviceGetNvlinkBwMode
        nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetOfaUtilization
        nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieSpeed
        nvmlDeviceGetPdi nvmlDeviceGetPerformanceModes nvmlDeviceGetPerformanceState
        nvmlDeviceGetPlatformInfo nvmlDeviceGetPowerManagementDefaultLimit
        nvmlDeviceGetPowerManagementLimit nvmlDeviceGetPowerManagementLimitConstraints
        nvmlDeviceGetPowerManagementMode nvmlDeviceGetPowerSource nvmlDeviceGetPowerState
        nvmlDeviceGetPowerUsage nvmlDeviceGetProcessUtilization
        nvmlDeviceGetProcessesUtilizationInfo nvmlDeviceGetRemappedRows nvmlDeviceGetRemappedRows_v2
        nvmlDeviceGetRepairStatus nvmlDeviceGetRetiredPagesPendingStatus
        nvmlDeviceGetRowRemapperHistogram nvmlDeviceGetSerial nvmlDeviceGetSramEccErrorStatus
        nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts nvmlDeviceGetSupportedClocksEventReasons
        nvmlDeviceGetSupportedClocksThrottleReasons nvmlDeviceGetSupportedMemoryClocks
        nvmlDeviceGetSupportedPerformanceStates nvmlDeviceGetTemperatureV
        nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetUtilizationRates nvmlDeviceGetVbiosVersion
        nvmlDeviceGetVirtualizationMode
    }
    (one, out) {
        nvmlDeviceGetAPIRestriction nvmlDeviceGetAccountingStats nvmlDeviceGetApplicationsClock
        nvmlDeviceGetClockInfo nvmlDeviceGetDefaultApplicationsClock nvmlDeviceGetEncoderCapacity
        nvmlDeviceGetFanControlPolicy_v2 nvmlDeviceGetFanSpeed_v2 nvmlDeviceGetInforomVersion
        nvmlDeviceGetMaxClockInfo nvmlDeviceGetMaxCustomerBoostClock
        nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetNvLinkRemoteDeviceType
        nvmlDeviceGetNvLinkRemotePciInfo nvmlDeviceGetNvLinkRemotePciInfo_v2
        nvmlDeviceGetNvLinkState nvmlDeviceGetNvLinkVersion nvmlDeviceGetPcieThroughput
        nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPages_v2 nvmlDeviceGetSupportedGraphicsClocks
        nvmlDeviceGetTargetFanSpeed nvmlDeviceGetTemperature nvmlDeviceGetTemperatureThreshold
        nvmlDeviceGetThermalSettings nvmlDeviceGetTopologyCommonAncestor
        nvmlDeviceGetTopologyNearestGpus nvmlDeviceGetViolationStatus nvmlDeviceOnSameBoard
    }
    (one, two, out) {
        nvmlDeviceGetClock nvmlDeviceGetDetailedEccErrors nvmlDeviceGetMinMaxClockOfPState
        nvmlDeviceGetNvLinkCapability nvmlDeviceGetNvLinkErrorCounter
        nvmlDeviceGetNvLinkUtilizationControl nvmlDeviceGetNvLinkUtilizationCounter
        nvmlDeviceGetSamples nvmlDeviceGetTotalEccErrors
    }
    (one, two, three, out) {
        nvmlDeviceGetMemoryErrorCounter
    }
}
