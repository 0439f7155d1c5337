//! Everything else in NVIDIA's header: there to be found, and not supported.
//!
//! A driver answers like this on a card without the feature. The arguments are left
//! alone, so they may be anything.

/// Functions whose first argument is a device.
macro_rules! unsupported_on_device {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: crate::handle::Handle) -> crate::abi::Code {
            crate::gate::device(stringify!($name), handle, |_| {
                Err(crate::abi::Code::NOT_SUPPORTED)
            })
        }
    )*};
}

/// Functions that concern no device.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> crate::abi::Code {
            crate::gate::system(stringify!($name), |_| Err(crate::abi::Code::NOT_SUPPORTED))
        }
    )*};
}

// Everything else.
unsupported_on_device! {
    nvmlDeviceGetAPIRestriction
    nvmlDeviceGetAccountingStats_v2
    nvmlDeviceGetAdaptiveClockInfoStatus
    nvmlDeviceGetAdaptiveTgpModeInfo_v1
    nvmlDeviceGetAddressingMode
    nvmlDeviceGetAutoBoostedClocksEnabled
    nvmlDeviceGetBoardPartNumber
    nvmlDeviceGetBridgeChipInfo
    nvmlDeviceGetCapabilities
    nvmlDeviceGetClkMonStatus
    nvmlDeviceGetClockOffsets
    nvmlDeviceGetCoolerInfo
    nvmlDeviceGetCpuAffinity
    nvmlDeviceGetCpuAffinityWithinScope
    nvmlDeviceGetCurrentClockFreqs
    nvmlDeviceGetDriverModel
    nvmlDeviceGetDriverModel_v2
    nvmlDeviceGetDynamicPstatesInfo
    nvmlDeviceGetEncoderCapacity
    nvmlDeviceGetEncoderSessions
    nvmlDeviceGetEncoderStats
    nvmlDeviceGetFBCSessions
    nvmlDeviceGetFBCStats
    nvmlDeviceGetFanControlPolicy_v2
    nvmlDeviceGetFanSpeedRPM
    nvmlDeviceGetGpcClkMinMaxVfOffset
    nvmlDeviceGetGpcClkVfOffset
    nvmlDeviceGetGpuOperationMode
    nvmlDeviceGetGspFirmwareMode
    nvmlDeviceGetGspFirmwareVersion
    nvmlDeviceGetHostname_v1
    nvmlDeviceGetIrqNum
    nvmlDeviceGetJpgUtilization
    nvmlDeviceGetMarginTemperature
    nvmlDeviceGetMemClkMinMaxVfOffset
    nvmlDeviceGetMemClkVfOffset
    nvmlDeviceGetMemoryAffinity
    nvmlDeviceGetMemoryBusWidth
    nvmlDeviceGetMemoryLimits_v1
    nvmlDeviceGetMinMaxClockOfPState
    nvmlDeviceGetMinMaxFanSpeed
    nvmlDeviceGetModuleId
    nvmlDeviceGetNumGpuCores
    nvmlDeviceGetNumaNodeId
    nvmlDeviceGetOfaUtilization
    nvmlDeviceGetPcieLinkMaxSpeed
    nvmlDeviceGetPdi
    nvmlDeviceGetPerformanceModes
    nvmlDeviceGetPlatformInfo
    nvmlDeviceGetPowerMizerMode_v1
    nvmlDeviceGetRunningProcessDetailList
    nvmlDeviceGetSupportedClocksEventReasons
    nvmlDeviceGetSupportedClocksThrottleReasons
    nvmlDeviceGetSupportedGraphicsClocks
    nvmlDeviceGetSupportedMemoryClocks
    nvmlDeviceGetSupportedPerformanceStates
    nvmlDeviceGetTargetFanSpeed
    nvmlDeviceGetThermalSettings
    nvmlDeviceOnSameBoard
    nvmlDevicePerfMetricsGetSamples_v1
    nvmlDeviceReadPRMCounters_v1
    nvmlDeviceReadWritePRM_v1
}

// Settings.
unsupported_on_device! {
    nvmlDeviceClearAccountingPids
    nvmlDeviceClearCpuAffinity
    nvmlDeviceCreateGpuInstance
    nvmlDeviceCreateGpuInstanceWithPlacement
    nvmlDevicePowerSmoothingActivatePresetProfile
    nvmlDevicePowerSmoothingSetState
    nvmlDevicePowerSmoothingUpdatePresetProfileParam
    nvmlDeviceResetApplicationsClocks
    nvmlDeviceResetGpuLockedClocks
    nvmlDeviceResetMemoryLockedClocks
    nvmlDeviceSetAPIRestriction
    nvmlDeviceSetAccountingMode
    nvmlDeviceSetAdaptiveTgpMode_v1
    nvmlDeviceSetApplicationsClocks
    nvmlDeviceSetAutoBoostedClocksEnabled
    nvmlDeviceSetClockOffsets
    nvmlDeviceSetComputeMode
    nvmlDeviceSetConfComputeUnprotectedMemSize
    nvmlDeviceSetCpuAffinity
    nvmlDeviceSetDefaultAutoBoostedClocksEnabled
    nvmlDeviceSetDefaultFanSpeed_v2
    nvmlDeviceSetDramEncryptionMode
    nvmlDeviceSetDriverModel
    nvmlDeviceSetFanControlPolicy
    nvmlDeviceSetFanSpeed_v2
    nvmlDeviceSetGpcClkVfOffset
    nvmlDeviceSetGpuLockedClocks
    nvmlDeviceSetGpuOperationMode
    nvmlDeviceSetHostname_v1
    nvmlDeviceSetMemClkVfOffset
    nvmlDeviceSetMemoryLimits_v1
    nvmlDeviceSetMemoryLockedClocks
    nvmlDeviceSetMigMode
    nvmlDeviceSetPersistenceMode
    nvmlDeviceSetPowerManagementLimit
    nvmlDeviceSetPowerManagementLimit_v2
    nvmlDeviceSetPowerMizerMode_v1
    nvmlDeviceSetRusdSettings_v1
    nvmlDeviceSetTemperatureThreshold
    nvmlDeviceWorkloadPowerProfileClearRequestedProfiles
    nvmlDeviceWorkloadPowerProfileGetCurrentProfiles
    nvmlDeviceWorkloadPowerProfileGetProfilesInfo
    nvmlDeviceWorkloadPowerProfileSetRequestedProfiles
    nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1
    nvmlGpmSetStreamingEnabled
}

// Errors and repair.
unsupported_on_device! {
    nvmlDeviceClearEccErrorCounts
    nvmlDeviceGetBBXTimeData_v1
    nvmlDeviceGetBankRemapperStatus_v1
    nvmlDeviceGetDefaultEccMode
    nvmlDeviceGetDetailedEccErrors
    nvmlDeviceGetEccMode
    nvmlDeviceGetInforomConfigurationChecksum
    nvmlDeviceGetInforomImageVersion
    nvmlDeviceGetInforomVersion
    nvmlDeviceGetLastBBXFlushTime
    nvmlDeviceGetMemoryErrorCounter
    nvmlDeviceGetRemappedRows
    nvmlDeviceGetRemappedRows_v2
    nvmlDeviceGetRepairStatus
    nvmlDeviceGetRetiredPages
    nvmlDeviceGetRetiredPagesPendingStatus
    nvmlDeviceGetRetiredPages_v2
    nvmlDeviceGetRowRemapperHistogram
    nvmlDeviceGetSramEccErrorStatus
    nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts
    nvmlDeviceGetTotalEccErrors
    nvmlDeviceGetUnrepairableMemoryFlag_v1
    nvmlDeviceGetViolationStatus
    nvmlDeviceSetEccMode
    nvmlDeviceValidateInforom
}

// Links and topology.
unsupported_on_device! {
    nvmlDeviceFreezeNvLinkUtilizationCounter
    nvmlDeviceGetC2cModeInfoV
    nvmlDeviceGetGpuFabricInfo
    nvmlDeviceGetGpuFabricInfoV
    nvmlDeviceGetGpuFabricInfo_v4
    nvmlDeviceGetNvLinkCapability
    nvmlDeviceGetNvLinkErrorCounter
    nvmlDeviceGetNvLinkInfo
    nvmlDeviceGetNvLinkRemoteDeviceType
    nvmlDeviceGetNvLinkRemotePciInfo
    nvmlDeviceGetNvLinkRemotePciInfo_v2
    nvmlDeviceGetNvLinkState
    nvmlDeviceGetNvLinkTelemetrySamples_v1
    nvmlDeviceGetNvLinkUtilizationControl
    nvmlDeviceGetNvLinkUtilizationCounter
    nvmlDeviceGetNvLinkVersion
    nvmlDeviceGetNvlinkBwMode
    nvmlDeviceGetNvlinkSupportedBwModes
    nvmlDeviceGetP2PStatus
    nvmlDeviceGetTopologyCommonAncestor
    nvmlDeviceGetTopologyNearestGpus
    nvmlDeviceResetNvLinkErrorCounters
    nvmlDeviceResetNvLinkUtilizationCounter
    nvmlDeviceSetNvLinkDeviceLowPowerThreshold
    nvmlDeviceSetNvLinkUtilizationControl
    nvmlDeviceSetNvlinkBwMode
    nvmlDeviceSetNvlinkBwModeAsync_v1
}

// Instances.
unsupported_on_device! {
    nvmlDeviceGetGpuInstanceById
    nvmlDeviceGetGpuInstancePossiblePlacements
    nvmlDeviceGetGpuInstancePossiblePlacements_v2
    nvmlDeviceGetGpuInstanceProfileInfo
    nvmlDeviceGetGpuInstanceProfileInfoByIdV
    nvmlDeviceGetGpuInstanceProfileInfoV
    nvmlDeviceGetGpuInstanceRemainingCapacity
    nvmlDeviceGetGpuInstances
}

// Confidential computing.
unsupported_on_device! {
    nvmlDeviceGetConfComputeGpuAttestationReport
    nvmlDeviceGetConfComputeGpuCertificate
    nvmlDeviceGetConfComputeMemSizeInfo
    nvmlDeviceGetConfComputeProtectedMemoryUsage
    nvmlDeviceGetDramEncryptionMode
}

// Virtual GPUs.
unsupported_on_device! {
    nvmlDeviceGetActiveVgpus
    nvmlDeviceGetCreatableVgpus
    nvmlDeviceGetGridLicensableFeatures
    nvmlDeviceGetGridLicensableFeatures_v2
    nvmlDeviceGetGridLicensableFeatures_v3
    nvmlDeviceGetGridLicensableFeatures_v4
    nvmlDeviceGetHostVgpuMode
    nvmlDeviceGetPgpuMetadataString
    nvmlDeviceGetSupportedVgpus
    nvmlDeviceGetVgpuCapabilities
    nvmlDeviceGetVgpuHeterogeneousMode
    nvmlDeviceGetVgpuInstancesUtilizationInfo
    nvmlDeviceGetVgpuMetadata
    nvmlDeviceGetVgpuProcessUtilization
    nvmlDeviceGetVgpuProcessesUtilizationInfo
    nvmlDeviceGetVgpuSchedulerCapabilities
    nvmlDeviceGetVgpuSchedulerLog
    nvmlDeviceGetVgpuSchedulerLog_v2
    nvmlDeviceGetVgpuSchedulerState
    nvmlDeviceGetVgpuSchedulerState_v2
    nvmlDeviceGetVgpuTypeCreatablePlacements
    nvmlDeviceGetVgpuTypeSupportedPlacements
    nvmlDeviceGetVgpuUtilization
    nvmlDeviceGetVirtualizationMode
    nvmlDeviceSetVgpuCapabilities
    nvmlDeviceSetVgpuHeterogeneousMode
    nvmlDeviceSetVgpuSchedulerState
    nvmlDeviceSetVgpuSchedulerState_v2
    nvmlDeviceSetVirtualizationMode
    nvmlDeviceVgpuForceGspUnload
    nvmlVgpuTypeGetMaxInstances
}

// Everything else.
unsupported! {
    nvmlDeviceDiscoverGpus
    nvmlDeviceModifyDrainState
    nvmlDeviceQueryDrainState
    nvmlDeviceRemoveGpu
    nvmlDeviceRemoveGpu_v2
    nvmlSystemGetCPER_v1
    nvmlSystemGetDriverBranch
    nvmlSystemGetNvlinkBwMode
    nvmlSystemGetTopologyGpuSet
    nvmlSystemSetNvlinkBwMode
}

// Events.
unsupported! {
    nvmlEventSetGetContextCount_v1
    nvmlEventSetGetContextData_v1
    nvmlEventSetGetContextInfo_v1
    nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1
    nvmlEventSetRegisterGpuOperationalEvents_v1
    nvmlEventSetWait_v3
    nvmlSystemEventSetCreate
    nvmlSystemEventSetFree
    nvmlSystemEventSetWait
    nvmlSystemRegisterEvents
}

// Instances.
unsupported! {
    nvmlComputeInstanceDestroy
    nvmlComputeInstanceGetInfo
    nvmlComputeInstanceGetInfo_v2
    nvmlGpuInstanceCreateComputeInstance
    nvmlGpuInstanceCreateComputeInstanceWithPlacement
    nvmlGpuInstanceDestroy
    nvmlGpuInstanceGetComputeInstanceById
    nvmlGpuInstanceGetComputeInstancePossiblePlacements
    nvmlGpuInstanceGetComputeInstanceProfileInfo
    nvmlGpuInstanceGetComputeInstanceProfileInfoV
    nvmlGpuInstanceGetComputeInstanceRemainingCapacity
    nvmlGpuInstanceGetComputeInstances
    nvmlGpuInstanceGetInfo
}

// Units.
unsupported! {
    nvmlUnitGetDevices
    nvmlUnitGetFanSpeedInfo
    nvmlUnitGetLedState
    nvmlUnitGetPsuInfo
    nvmlUnitGetTemperature
    nvmlUnitGetUnitInfo
    nvmlUnitSetLedState
}

// Confidential computing.
unsupported! {
    nvmlSystemGetConfComputeCapabilities
    nvmlSystemGetConfComputeGpusReadyState
    nvmlSystemGetConfComputeKeyRotationThresholdInfo
    nvmlSystemGetConfComputeSettings
    nvmlSystemGetConfComputeState
    nvmlSystemSetConfComputeGpusReadyState
    nvmlSystemSetConfComputeKeyRotationThresholdInfo
}

// Virtual GPUs.
unsupported! {
    nvmlGetVgpuCompatibility
    nvmlGetVgpuDriverCapabilities
    nvmlGetVgpuVersion
    nvmlGpuInstanceGetActiveVgpus
    nvmlGpuInstanceGetCreatableVgpus
    nvmlGpuInstanceGetVgpuHeterogeneousMode
    nvmlGpuInstanceGetVgpuSchedulerLog
    nvmlGpuInstanceGetVgpuSchedulerLog_v2
    nvmlGpuInstanceGetVgpuSchedulerState
    nvmlGpuInstanceGetVgpuSchedulerState_v2
    nvmlGpuInstanceGetVgpuTypeCreatablePlacements
    nvmlGpuInstanceSetVgpuHeterogeneousMode
    nvmlGpuInstanceSetVgpuSchedulerState
    nvmlGpuInstanceSetVgpuSchedulerState_v2
    nvmlSetVgpuVersion
    nvmlVgpuInstanceClearAccountingPids
    nvmlVgpuInstanceGetAccountingMode
    nvmlVgpuInstanceGetAccountingPids
    nvmlVgpuInstanceGetAccountingStats
    nvmlVgpuInstanceGetEccMode
    nvmlVgpuInstanceGetEncoderCapacity
    nvmlVgpuInstanceGetEncoderSessions
    nvmlVgpuInstanceGetEncoderStats
    nvmlVgpuInstanceGetFBCSessions
    nvmlVgpuInstanceGetFBCStats
    nvmlVgpuInstanceGetFbUsage
    nvmlVgpuInstanceGetFrameRateLimit
    nvmlVgpuInstanceGetGpuInstanceId
    nvmlVgpuInstanceGetGpuPciId
    nvmlVgpuInstanceGetLicenseInfo
    nvmlVgpuInstanceGetLicenseInfo_v2
    nvmlVgpuInstanceGetLicenseStatus
    nvmlVgpuInstanceGetMdevUUID
    nvmlVgpuInstanceGetMetadata
    nvmlVgpuInstanceGetPlacementId
    nvmlVgpuInstanceGetRuntimeStateSize
    nvmlVgpuInstanceGetType
    nvmlVgpuInstanceGetUUID
    nvmlVgpuInstanceGetVmDriverVersion
    nvmlVgpuInstanceGetVmID
    nvmlVgpuInstanceSetEncoderCapacity
    nvmlVgpuTypeGetBAR1Info
    nvmlVgpuTypeGetCapabilities
    nvmlVgpuTypeGetClass
    nvmlVgpuTypeGetDeviceID
    nvmlVgpuTypeGetFbReservation
    nvmlVgpuTypeGetFrameRateLimit
    nvmlVgpuTypeGetFramebufferSize
    nvmlVgpuTypeGetGpuInstanceProfileId
    nvmlVgpuTypeGetGspHeapSize
    nvmlVgpuTypeGetLicense
    nvmlVgpuTypeGetMaxInstancesPerGpuInstance
    nvmlVgpuTypeGetMaxInstancesPerVm
    nvmlVgpuTypeGetName
    nvmlVgpuTypeGetNumDisplayHeads
    nvmlVgpuTypeGetResolution
}
