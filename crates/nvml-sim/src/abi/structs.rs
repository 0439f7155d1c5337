//! NVML's structures, field for field as in NVIDIA's header.
//!
//! Enumerations are plain integers here, because a caller may put any number there.

use std::ffi::{c_char, c_double, c_int, c_longlong, c_uint, c_ulonglong};
use std::ptr::null;

use crate::abi::Code;
use crate::handle::Handle;

/// `nvmlUtilization_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Utilization {
    pub gpu: c_uint,
    pub memory: c_uint,
}

/// `nvmlMemory_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub total: c_ulonglong,
    pub free: c_ulonglong,
    pub used: c_ulonglong,
}

/// `nvmlMemory_v2_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryV2 {
    pub version: c_uint,
    pub total: c_ulonglong,
    pub reserved: c_ulonglong,
    pub free: c_ulonglong,
    pub used: c_ulonglong,
}

/// `nvmlBAR1Memory_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bar1Memory {
    pub total: c_ulonglong,
    pub free: c_ulonglong,
    pub used: c_ulonglong,
}

/// What the first `nvmlDeviceGetPciInfo` fills in; the header no longer names it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PciInfoV1 {
    pub bus_id: [c_char; 16],
    pub domain: c_uint,
    pub bus: c_uint,
    pub device: c_uint,
    pub pci_device_id: c_uint,
}

/// What `nvmlDeviceGetPciInfo_v2` fills in; the header no longer names it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PciInfoV2 {
    pub v1: PciInfoV1,
    pub pci_sub_system_id: c_uint,
}

/// `nvmlPciInfo_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PciInfo {
    pub bus_id_legacy: [c_char; 16],
    pub domain: c_uint,
    pub bus: c_uint,
    pub device: c_uint,
    pub pci_device_id: c_uint,
    pub pci_sub_system_id: c_uint,
    pub bus_id: [c_char; 32],
}

/// `nvmlPciInfoExt_v1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PciInfoExt {
    pub version: c_uint,
    pub domain: c_uint,
    pub bus: c_uint,
    pub device: c_uint,
    pub pci_device_id: c_uint,
    pub pci_sub_system_id: c_uint,
    pub base_class: c_uint,
    pub sub_class: c_uint,
    pub bus_id: [c_char; 32],
}

/// `nvmlUUID_v1_t`, whose value is a union of 41 characters and 16 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Uuid {
    pub version: c_uint,
    pub kind: c_uint,
    pub value: [u8; 41],
}

/// `nvmlProcessInfo_v1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessInfoV1 {
    pub pid: c_uint,
    pub used_gpu_memory: c_ulonglong,
}

/// `nvmlProcessInfo_v2_t`, which is also what the third version of the lists holds.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessInfoV2 {
    pub pid: c_uint,
    pub used_gpu_memory: c_ulonglong,
    pub gpu_instance_id: c_uint,
    pub compute_instance_id: c_uint,
}

/// `nvmlProcessUtilizationSample_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessUtilizationSample {
    pub pid: c_uint,
    pub time_stamp: c_ulonglong,
    pub sm_util: c_uint,
    pub mem_util: c_uint,
    pub enc_util: c_uint,
    pub dec_util: c_uint,
}

/// `nvmlProcessUtilizationInfo_v1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessUtilizationInfo {
    pub time_stamp: c_ulonglong,
    pub pid: c_uint,
    pub sm_util: c_uint,
    pub mem_util: c_uint,
    pub enc_util: c_uint,
    pub dec_util: c_uint,
    pub jpg_util: c_uint,
    pub ofa_util: c_uint,
}

/// `nvmlProcessesUtilizationInfo_v1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcessesUtilizationInfo {
    pub version: c_uint,
    pub process_samples_count: c_uint,
    pub last_seen_time_stamp: c_ulonglong,
    pub proc_util_array: crate::pointer::Out<ProcessUtilizationInfo>,
}

/// `nvmlAccountingStats_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AccountingStats {
    pub gpu_utilization: c_uint,
    pub memory_utilization: c_uint,
    pub max_memory_usage: c_ulonglong,
    pub time: c_ulonglong,
    pub start_time: c_ulonglong,
    pub is_running: c_uint,
    pub reserved: [c_uint; 5],
}

/// `nvmlValue_t`, a union. All of its members start at its first byte, so the bits of
/// the one that is meant are kept here.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Value(pub c_ulonglong);

/// `nvmlSample_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub time_stamp: c_ulonglong,
    pub sample_value: Value,
}

/// `nvmlFieldValue_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FieldValue {
    pub field_id: c_uint,
    pub scope_id: c_uint,
    pub timestamp: c_longlong,
    pub latency_usec: c_longlong,
    pub value_type: c_uint,
    pub nvml_return: Code,
    pub value: Value,
}

/// `nvmlTemperature_v1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Temperature {
    pub version: c_uint,
    pub sensor_type: c_uint,
    pub temperature: c_int,
}

/// `nvmlDeviceAttributes_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DeviceAttributes {
    pub multiprocessor_count: c_uint,
    pub shared_copy_engine_count: c_uint,
    pub shared_decoder_count: c_uint,
    pub shared_encoder_count: c_uint,
    pub shared_jpeg_count: c_uint,
    pub shared_ofa_count: c_uint,
    pub gpu_instance_slice_count: c_uint,
    pub compute_instance_slice_count: c_uint,
    pub memory_size_mb: c_ulonglong,
}

/// `nvmlGpmSupport_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GpmSupport {
    pub version: c_uint,
    pub is_supported_device: c_uint,
}

/// `nvmlGpmMetric_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GpmMetric {
    pub metric_id: c_uint,
    pub nvml_return: Code,
    pub value: c_double,
    pub short_name: *const c_char,
    pub long_name: *const c_char,
    pub unit: *const c_char,
}

impl GpmMetric {
    /// A metric without a name of its own.
    #[must_use]
    pub const fn unnamed(metric_id: c_uint, nvml_return: Code, value: c_double) -> Self {
        Self { metric_id, nvml_return, value, short_name: null(), long_name: null(), unit: null() }
    }
}

/// The beginning of `nvmlGpmMetricsGet_t`. How many metrics follow it differs from
/// header to header, so only those that the caller says it filled in are touched.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GpmMetricsGet {
    pub version: c_uint,
    pub num_metrics: c_uint,
    pub sample1: crate::calls::gpm::SampleHandle,
    pub sample2: crate::calls::gpm::SampleHandle,
    pub metrics: [GpmMetric; 0],
}

/// `nvmlEventData_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EventData {
    pub device: Handle,
    pub event_type: c_ulonglong,
    pub event_data: c_ulonglong,
    pub gpu_instance_id: c_uint,
    pub compute_instance_id: c_uint,
}
