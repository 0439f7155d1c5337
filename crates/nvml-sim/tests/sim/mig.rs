//! Cards divided into instances.

use nvml_wrapper::enum_wrappers::device::{Sampling, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use crate::stage::FROZEN;

pub fn divided() -> String {
    format!(
        "{FROZEN}
        [[card]]
        name = \"NVIDIA H100 80GB HBM3\"
        compute_capability = \"9.0\"
        gpm = true
        [[card.mig]]
        slot = 0
        uuid = \"MIG-a\"
        profile = \"3g.40gb\"
        memory = \"40GiB\"
        gpu_instance = 2
        utilization = 70
        [[card.mig]]
        slot = 4
        uuid = \"MIG-b\"
        profile = \"1g.10gb\"
        memory = \"10GiB\"
        gpu_instance = 9
        compute_instance = 1
        [[card]]
        [[process]]
        pid = 50
        card = 0
        slot = 4
        memory = \"2GiB\"
        sm = 30
        begin = \"-1h\"
        "
    )
}

#[test]
fn slots_may_be_empty_and_the_rest_is_found_past_them() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let found: Vec<Option<String>> = (0..card.mig_device_count().unwrap())
            .map(|slot| match card.mig_device_by_index(slot) {
                Ok(instance) => Some(instance.uuid().unwrap()),
                Err(NvmlError::NotFound) => None,
                Err(other) => panic!("{other:?}"),
            })
            .collect();
        let uuid = |name: &str| Some(name.to_owned());
        assert_eq!(found, [uuid("MIG-a"), None, None, None, uuid("MIG-b"), None, None]);
        assert!(matches!(card.mig_device_by_index(7), Err(NvmlError::InvalidArg)));
        assert_eq!(card.mig_mode().unwrap().current, 1);
        let whole = nvml.device_by_index(1).unwrap();
        assert_eq!(whole.mig_mode().unwrap().current, 0);
        assert_eq!(whole.mig_device_count().unwrap(), 0);
        assert!(whole.mig_device_by_index(0).is_err());
    });
}

#[test]
fn an_instance_knows_what_it_is() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let instance = nvml.device_by_uuid("MIG-b").unwrap();
        assert_eq!(instance.name().unwrap(), "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
        assert_eq!(instance.index().unwrap(), 4);
        assert!(instance.mig_is_mig_device_handle().unwrap());
        assert!(!card.mig_is_mig_device_handle().unwrap());
        let parent = instance.mig_parent_device().unwrap();
        assert_eq!(parent.uuid().unwrap(), card.uuid().unwrap());
        assert!(matches!(card.mig_parent_device(), Err(NvmlError::InvalidArg)));
        let attributes = instance.attributes().unwrap();
        assert_eq!((attributes.gpu_instance_slice_count, attributes.memory_size_mb), (1, 10_240));
        assert!(matches!(card.attributes(), Err(NvmlError::NotSupported)));
        let (mut gpu, mut compute) = (0, 0);
        // SAFETY: as the header says.
        unsafe {
            assert_eq!(nvml.lib().nvmlDeviceGetGpuInstanceId(instance.handle(), &raw mut gpu), 0);
            let handle = instance.handle();
            assert_eq!(nvml.lib().nvmlDeviceGetComputeInstanceId(handle, &raw mut compute), 0);
        }
        assert_eq!((gpu, compute), (9, 1));
    });
}

#[test]
fn memory_and_processes_are_told_on_the_instance_only() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let (empty, held) =
            (nvml.device_by_uuid("MIG-a").unwrap(), nvml.device_by_uuid("MIG-b").unwrap());
        let seen = |process: &nvml_wrapper::struct_wrappers::device::ProcessInfo| {
            (
                process.pid,
                process.used_gpu_memory.clone(),
                process.gpu_instance_id,
                process.compute_instance_id,
            )
        };
        let on_card = card.running_compute_processes().unwrap();
        assert_eq!(seen(&on_card[0]), (50, UsedGpuMemory::Unavailable, Some(9), Some(1)));
        let on_instance = held.running_compute_processes().unwrap();
        assert_eq!(seen(&on_instance[0]), (50, UsedGpuMemory::Used(2 << 30), Some(9), Some(1)));
        assert!(empty.running_compute_processes().unwrap().is_empty());
        let memory = held.memory_info().unwrap();
        assert_eq!((memory.total, memory.used), (10 << 30, 2 << 30));
        assert_eq!(empty.memory_info().unwrap().used, 0);
        // nvitop fails on instances without this.
        assert_eq!(held.bar1_memory_info().unwrap().total, 16 << 30);
    });
}

#[test]
fn utilization_is_not_supported_and_sensors_belong_to_the_card() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let instance = nvml.device_by_uuid("MIG-b").unwrap();
        for device in [&card, &instance] {
            assert!(matches!(device.utilization_rates(), Err(NvmlError::NotSupported)));
            assert!(matches!(device.encoder_utilization(), Err(NvmlError::NotSupported)));
            let samples = device.samples(Sampling::GpuUtilization, None);
            assert!(matches!(samples, Err(NvmlError::NotSupported)));
        }
        assert!(matches!(card.process_utilization_stats(None), Err(NvmlError::NotSupported)));
        assert!(matches!(instance.process_utilization_stats(None), Err(NvmlError::NotFound)));
        assert!(card.power_usage().is_ok());
        assert!(card.samples(Sampling::Power, None).is_ok());
        assert!(card.temperature(TemperatureSensor::Gpu).is_ok());
        assert!(matches!(instance.power_usage(), Err(NvmlError::NotSupported)));
        assert!(matches!(
            instance.temperature(TemperatureSensor::Gpu),
            Err(NvmlError::NotSupported)
        ));
    });
}
