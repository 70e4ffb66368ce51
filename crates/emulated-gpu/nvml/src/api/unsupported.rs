//! What the emulated card has not, as a card without it says: sensors, clocks, power, links, error correction,
//! accounting, parts, and all that could be set. Nothing of it is made up.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::out::versioned;
use crate::session::{Handle, initialised};

/// Finds the card, and that it has not what is asked for. The last argument is where the result would be.
fn answer(device: Handle, arguments: &[usize]) -> Result {
    device.number()?;
    match arguments.last() {
        Some(0) => Err(Status::InvalidArgument),
        _ => Err(Status::NotSupported),
    }
}

/// Declares functions by their arguments behind the card, up to the place of their first result. What else
/// a function has stands behind, where the caller leaves it and nobody looks.
macro_rules! unsupported {
    ($($arguments:tt {$($name:ident;)*})*) => {$($(
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
pub(crate) struct Branch {
    version: c_uint,
    branch: [u8; 80],
}

export! {
    /// The branch of the driver's releases, of which there is none.
    fn nvmlSystemGetDriverBranch(branch: Out<'_, Branch>, _len: c_uint) {
        initialised()?;
        // SAFETY: the caller has written such a structure there.
        unsafe { versioned::<1, _>(branch)? };
        Err(Status::NotSupported)
    }

    /// A set of events to wait for, of which there are none.
    fn nvmlEventSetCreate(set: Out<'_, usize>) {
        initialised()?;
        set.required()?;
        Err(Status::NotSupported)
    }
}

unsupported! {
    () {
        nvmlDeviceClearAccountingPids;
        nvmlDeviceClearEccErrorCounts;
        nvmlDeviceFreezeNvLinkUtilizationCounter;
        nvmlDeviceRegisterEvents;
        nvmlDeviceResetApplicationsClocks;
        nvmlDeviceResetGpuLockedClocks;
        nvmlDeviceResetMemoryLockedClocks;
        nvmlDeviceResetNvLinkErrorCounters;
        nvmlDeviceResetNvLinkUtilizationCounter;
        nvmlDeviceSetAPIRestriction;
        nvmlDeviceSetAccountingMode;
        nvmlDeviceSetApplicationsClocks;
        nvmlDeviceSetAutoBoostedClocksEnabled;
        nvmlDeviceSetClockOffsets;
        nvmlDeviceSetComputeMode;
        nvmlDeviceSetDefaultAutoBoostedClocksEnabled;
        nvmlDeviceSetDefaultFanSpeed_v2;
        nvmlDeviceSetDramEncryptionMode;
        nvmlDeviceSetDriverModel;
        nvmlDeviceSetEccMode;
        nvmlDeviceSetFanControlPolicy;
        nvmlDeviceSetFanSpeed_v2;
        nvmlDeviceSetGpcClkVfOffset;
        nvmlDeviceSetGpuLockedClocks;
        nvmlDeviceSetGpuOperationMode;
        nvmlDeviceSetMemClkVfOffset;
        nvmlDeviceSetMemoryLockedClocks;
        nvmlDeviceSetMigMode;
        nvmlDeviceSetNvLinkDeviceLowPowerThreshold;
        nvmlDeviceSetNvLinkUtilizationControl;
        nvmlDeviceSetNvlinkBwMode;
        nvmlDeviceSetPersistenceMode;
        nvmlDeviceSetPowerManagementLimit;
        nvmlDeviceSetPowerManagementLimit_v2;
        nvmlDeviceSetTemperatureThreshold;
        nvmlDeviceSetVirtualizationMode;
        nvmlDeviceValidateInforom;
    }
    (out) {
        nvmlDeviceGetAccountingBufferSize;
        nvmlDeviceGetAccountingMode;
        nvmlDeviceGetAccountingPids;
        nvmlDeviceGetAccountingStats_v2;
        nvmlDeviceGetAdaptiveClockInfoStatus;
        nvmlDeviceGetAddressingMode;
        nvmlDeviceGetAttributes;
        nvmlDeviceGetAttributes_v2;
        nvmlDeviceGetAutoBoostedClocksEnabled;
        nvmlDeviceGetBAR1MemoryInfo;
        nvmlDeviceGetBoardId;
        nvmlDeviceGetBoardPartNumber;
        nvmlDeviceGetBridgeChipInfo;
        nvmlDeviceGetBusType;
        nvmlDeviceGetC2cModeInfoV;
        nvmlDeviceGetCapabilities;
        nvmlDeviceGetClkMonStatus;
        nvmlDeviceGetClockOffsets;
        nvmlDeviceGetComputeInstanceId;
        nvmlDeviceGetCoolerInfo;
        nvmlDeviceGetCurrPcieLinkGeneration;
        nvmlDeviceGetCurrPcieLinkWidth;
        nvmlDeviceGetCurrentClockFreqs;
        nvmlDeviceGetCurrentClocksEventReasons;
        nvmlDeviceGetCurrentClocksThrottleReasons;
        nvmlDeviceGetDecoderUtilization;
        nvmlDeviceGetDefaultEccMode;
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle;
        nvmlDeviceGetDramEncryptionMode;
        nvmlDeviceGetDriverModel;
        nvmlDeviceGetDriverModel_v2;
        nvmlDeviceGetDynamicPstatesInfo;
        nvmlDeviceGetEccMode;
        nvmlDeviceGetEncoderSessions;
        nvmlDeviceGetEncoderStats;
        nvmlDeviceGetEncoderUtilization;
        nvmlDeviceGetEnforcedPowerLimit;
        nvmlDeviceGetFBCSessions;
        nvmlDeviceGetFBCStats;
        nvmlDeviceGetFanSpeed;
        nvmlDeviceGetFanSpeedRPM;
        nvmlDeviceGetGpcClkMinMaxVfOffset;
        nvmlDeviceGetGpcClkVfOffset;
        nvmlDeviceGetGpuFabricInfo;
        nvmlDeviceGetGpuFabricInfoV;
        nvmlDeviceGetGpuFabricInfo_v4;
        nvmlDeviceGetGpuInstanceId;
        nvmlDeviceGetGpuMaxPcieLinkGeneration;
        nvmlDeviceGetGpuOperationMode;
        nvmlDeviceGetGpuUptime_v1;
        nvmlDeviceGetGspFirmwareMode;
        nvmlDeviceGetGspFirmwareVersion;
        nvmlDeviceGetInforomConfigurationChecksum;
        nvmlDeviceGetInforomImageVersion;
        nvmlDeviceGetIrqNum;
        nvmlDeviceGetJpgUtilization;
        nvmlDeviceGetLastBBXFlushTime;
        nvmlDeviceGetMarginTemperature;
        nvmlDeviceGetMaxPcieLinkGeneration;
        nvmlDeviceGetMaxPcieLinkWidth;
        nvmlDeviceGetMemClkMinMaxVfOffset;
        nvmlDeviceGetMemClkVfOffset;
        nvmlDeviceGetMemoryBusWidth;
        nvmlDeviceGetMigMode;
        nvmlDeviceGetMinMaxFanSpeed;
        nvmlDeviceGetMinorNumber;
        nvmlDeviceGetModuleId;
        nvmlDeviceGetNumFans;
        nvmlDeviceGetNumGpuCores;
        nvmlDeviceGetNumaNodeId;
        nvmlDeviceGetNvLinkInfo;
        nvmlDeviceGetNvLinkInfo_v3;
        nvmlDeviceGetNvlinkBwMode;
        nvmlDeviceGetNvlinkSupportedBwModes;
        nvmlDeviceGetOfaUtilization;
        nvmlDeviceGetPcieLinkMaxSpeed;
        nvmlDeviceGetPcieReplayCounter;
        nvmlDeviceGetPcieSpeed;
        nvmlDeviceGetPdi;
        nvmlDeviceGetPerformanceModes;
        nvmlDeviceGetPerformanceState;
        nvmlDeviceGetPlatformInfo;
        nvmlDeviceGetPowerManagementDefaultLimit;
        nvmlDeviceGetPowerManagementLimit;
        nvmlDeviceGetPowerManagementLimitConstraints;
        nvmlDeviceGetPowerManagementMode;
        nvmlDeviceGetPowerSource;
        nvmlDeviceGetPowerState;
        nvmlDeviceGetPowerUsage;
        nvmlDeviceGetProcessUtilization;
        nvmlDeviceGetProcessesUtilizationInfo;
        nvmlDeviceGetRemappedRows;
        nvmlDeviceGetRemappedRows_v2;
        nvmlDeviceGetRepairStatus;
        nvmlDeviceGetRetiredPagesPendingStatus;
        nvmlDeviceGetRowRemapperHistogram;
        nvmlDeviceGetSerial;
        nvmlDeviceGetSramEccErrorStatus;
        nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts;
        nvmlDeviceGetSupportedClocksEventReasons;
        nvmlDeviceGetSupportedClocksThrottleReasons;
        nvmlDeviceGetSupportedMemoryClocks;
        nvmlDeviceGetSupportedPerformanceStates;
        nvmlDeviceGetTemperatureV;
        nvmlDeviceGetTotalEnergyConsumption;
        nvmlDeviceGetUtilizationRates;
        nvmlDeviceGetVbiosVersion;
        nvmlDeviceGetVirtualizationMode;
    }
    (one, out) {
        nvmlDeviceGetAPIRestriction;
        nvmlDeviceGetAccountingStats;
        nvmlDeviceGetApplicationsClock;
        nvmlDeviceGetClockInfo;
        nvmlDeviceGetDefaultApplicationsClock;
        nvmlDeviceGetEncoderCapacity;
        nvmlDeviceGetFanControlPolicy_v2;
        nvmlDeviceGetFanSpeed_v2;
        nvmlDeviceGetInforomVersion;
        nvmlDeviceGetMaxClockInfo;
        nvmlDeviceGetMaxCustomerBoostClock;
        nvmlDeviceGetMigDeviceHandleByIndex;
        nvmlDeviceGetNvLinkRemoteDeviceType;
        nvmlDeviceGetNvLinkRemotePciInfo;
        nvmlDeviceGetNvLinkRemotePciInfo_v2;
        nvmlDeviceGetNvLinkState;
        nvmlDeviceGetNvLinkVersion;
        nvmlDeviceGetPcieThroughput;
        nvmlDeviceGetRetiredPages;
        nvmlDeviceGetRetiredPages_v2;
        nvmlDeviceGetSupportedGraphicsClocks;
        nvmlDeviceGetTargetFanSpeed;
        nvmlDeviceGetTemperature;
        nvmlDeviceGetTemperatureThreshold;
        nvmlDeviceGetThermalSettings;
        nvmlDeviceGetTopologyCommonAncestor;
        nvmlDeviceGetTopologyNearestGpus;
        nvmlDeviceGetViolationStatus;
        nvmlDeviceOnSameBoard;
    }
    (one, two, out) {
        nvmlDeviceGetClock;
        nvmlDeviceGetDetailedEccErrors;
        nvmlDeviceGetMinMaxClockOfPState;
        nvmlDeviceGetNvLinkCapability;
        nvmlDeviceGetNvLinkErrorCounter;
        nvmlDeviceGetNvLinkUtilizationControl;
        nvmlDeviceGetNvLinkUtilizationCounter;
        nvmlDeviceGetSamples;
        nvmlDeviceGetTotalEccErrors;
    }
    (one, two, three, out) {
        nvmlDeviceGetMemoryErrorCounter;
    }
}
