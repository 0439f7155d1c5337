//! The sizes and offsets of the structures here, under their names in NVIDIA's header.
//!
//! A test has a C compiler print the same lines from the header itself.

use std::fmt::Write;
use std::mem::offset_of;

use crate::abi::constants;
use crate::abi::structs;

/// One structure: its name in the header, its size where the header fixes it, and
/// where its fields are.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub name: &'static str,
    pub size: Option<usize>,
    pub fields: &'static [(&'static str, usize)],
}

macro_rules! layout {
    ($name:ident, $type:ident, $size:expr, $($field:ident = $ours:ident),*) => {
        Layout {
            name: stringify!($name),
            size: $size,
            fields: &[$((stringify!($field), offset_of!(structs::$type, $ours))),*],
        }
    };
}

macro_rules! layouts {
    ($($name:ident = $type:ident { $($field:ident = $ours:ident),* })*) => {
        &[$(layout!($name, $type, Some(size_of::<structs::$type>()), $($field = $ours),*)),*]
    };
}

/// All structures that a call here reads or writes.
pub const LAYOUTS: &[Layout] = layouts! {
    nvmlUtilization_t = Utilization { gpu = gpu, memory = memory }
    nvmlMemory_t = Memory { total = total, free = free, used = used }
    nvmlMemory_v2_t = MemoryV2 {
        version = version, total = total, reserved = reserved, free = free, used = used
    }
    nvmlBAR1Memory_t = Bar1Memory { bar1Total = total, bar1Free = free, bar1Used = used }
    nvmlPciInfo_t = PciInfo {
        busIdLegacy = bus_id_legacy, domain = domain, bus = bus, device = device,
        pciDeviceId = pci_device_id, pciSubSystemId = pci_sub_system_id, busId = bus_id
    }
    nvmlPciInfoExt_v1_t = PciInfoExt {
        version = version, domain = domain, bus = bus, device = device,
        pciDeviceId = pci_device_id, pciSubSystemId = pci_sub_system_id,
        baseClass = base_class, subClass = sub_class, busId = bus_id
    }
    nvmlUUID_v1_t = Uuid { version = version, type = kind, value = value }
    nvmlProcessInfo_v1_t = ProcessInfoV1 { pid = pid, usedGpuMemory = used_gpu_memory }
    nvmlProcessInfo_v2_t = ProcessInfoV2 {
        pid = pid, usedGpuMemory = used_gpu_memory,
        gpuInstanceId = gpu_instance_id, computeInstanceId = compute_instance_id
    }
    nvmlProcessUtilizationSample_t = ProcessUtilizationSample {
        pid = pid, timeStamp = time_stamp,
        smUtil = sm_util, memUtil = mem_util, encUtil = enc_util, decUtil = dec_util
    }
    nvmlProcessUtilizationInfo_v1_t = ProcessUtilizationInfo {
        timeStamp = time_stamp, pid = pid,
        smUtil = sm_util, memUtil = mem_util, encUtil = enc_util, decUtil = dec_util,
        jpgUtil = jpg_util, ofaUtil = ofa_util
    }
    nvmlProcessesUtilizationInfo_v1_t = ProcessesUtilizationInfo {
        version = version, processSamplesCount = process_samples_count,
        lastSeenTimeStamp = last_seen_time_stamp, procUtilArray = proc_util_array
    }
    nvmlAccountingStats_t = AccountingStats {
        gpuUtilization = gpu_utilization, memoryUtilization = memory_utilization,
        maxMemoryUsage = max_memory_usage, time = time, startTime = start_time,
        isRunning = is_running, reserved = reserved
    }
    nvmlSample_t = Sample { timeStamp = time_stamp, sampleValue = sample_value }
    nvmlFieldValue_t = FieldValue {
        fieldId = field_id, scopeId = scope_id, timestamp = timestamp,
        latencyUsec = latency_usec, valueType = value_type, nvmlReturn = nvml_return,
        value = value
    }
    nvmlTemperature_v1_t = Temperature {
        version = version, sensorType = sensor_type, temperature = temperature
    }
    nvmlDeviceAttributes_t = DeviceAttributes {
        multiprocessorCount = multiprocessor_count,
        sharedCopyEngineCount = shared_copy_engine_count,
        sharedDecoderCount = shared_decoder_count,
        sharedEncoderCount = shared_encoder_count,
        sharedJpegCount = shared_jpeg_count,
        sharedOfaCount = shared_ofa_count,
        gpuInstanceSliceCount = gpu_instance_slice_count,
        computeInstanceSliceCount = compute_instance_slice_count,
        memorySizeMB = memory_size_mb
    }
    nvmlGpmSupport_t = GpmSupport { version = version, isSupportedDevice = is_supported_device }
    nvmlGpmMetric_t = GpmMetric { metricId = metric_id, nvmlReturn = nvml_return, value = value }
    nvmlEventData_t = EventData {
        device = device, eventType = event_type, eventData = event_data,
        gpuInstanceId = gpu_instance_id, computeInstanceId = compute_instance_id
    }
};

/// Its size grows with every header that knows more metrics.
pub const GPM_METRICS_GET: Layout = layout!(
    nvmlGpmMetricsGet_t,
    GpmMetricsGet,
    None,
    version = version,
    numMetrics = num_metrics,
    sample1 = sample1,
    sample2 = sample2,
    metrics = metrics
);

/// `NAME SIZE`, `NAME.FIELD OFFSET` and `CONSTANT VALUE`, a line each.
#[must_use]
pub fn lines() -> String {
    let mut text = String::new();
    for layout in LAYOUTS.iter().chain([&GPM_METRICS_GET]) {
        // Writing to a string cannot fail.
        if let Some(size) = layout.size {
            let _ = writeln!(text, "{} {size}", layout.name);
        }
        for (field, offset) in layout.fields {
            let _ = writeln!(text, "{}.{field} {offset}", layout.name);
        }
    }
    for (name, value) in constants::ALL {
        let _ = writeln!(text, "{name} {value}");
    }
    text
}
