//! What a card does now: utilization, power, temperature, clocks, fans and modes.

use nvml_wrapper::enum_wrappers::device::{
    Clock, ClockId, PcieUtilCounter, PerformanceState, TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;

use crate::stage::{FROZEN, ORIGIN};

fn busy_and_idle() -> String {
    format!(
        "{FROZEN}
        [[card]]
        utilization = 50
        memory_utilization = 30
        encoder = 7
        decoder = 9
        fan = 41
        power = {{ idle = 100, full = 300, limit = 250 }}
        temperature = {{ idle = 30, full = 70 }}
        sm_clock = {{ idle = 210, full = 1410 }}
        [[card]]
        utilization = 0
        persistence = false
        "
    )
}

#[test]
fn what_follows_utilization_follows_it() {
    play!(&busy_and_idle(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let rates = card.utilization_rates().unwrap();
        assert_eq!((rates.gpu, rates.memory), (50, 30));
        let encoder = card.encoder_utilization().unwrap();
        assert_eq!((encoder.utilization, encoder.sampling_period), (7, 166_667));
        assert_eq!(card.decoder_utilization().unwrap().utilization, 9);
        assert_eq!(card.power_usage().unwrap(), 200_000);
        assert_eq!(card.power_management_limit().unwrap(), 250_000);
        assert_eq!(card.enforced_power_limit().unwrap(), 250_000);
        assert_eq!(card.power_management_limit_default().unwrap(), 300_000);
        assert_eq!(card.temperature(TemperatureSensor::Gpu).unwrap(), 50);
        assert_eq!(card.clock_info(Clock::SM).unwrap(), 810);
        assert_eq!(card.max_clock_info(Clock::SM).unwrap(), 1410);
        assert_eq!(card.clock(Clock::SM, ClockId::Current).unwrap(), 810);
        assert_eq!(card.fan_speed(0).unwrap(), 41);
        assert_eq!(card.num_fans().unwrap(), 1);
        assert_eq!(card.pcie_throughput(PcieUtilCounter::Receive).unwrap(), 1_000_000);
        assert_eq!(card.performance_state().unwrap(), PerformanceState::Zero);
        // A day at a constant 200 W before the origin.
        assert_eq!(card.total_energy_consumption().unwrap(), 86_400 * 200_000);
    });
}

#[test]
fn an_idle_card_is_at_rest() {
    play!(&busy_and_idle(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(1).unwrap();
        assert_eq!(card.utilization_rates().unwrap().gpu, 0);
        assert_eq!(card.power_usage().unwrap(), 58_000);
        assert_eq!(card.performance_state().unwrap(), PerformanceState::Eight);
        assert!(!card.is_in_persistent_mode().unwrap());
        assert!(matches!(card.fan_speed(0), Err(NvmlError::NotSupported)));
        assert_eq!(card.num_fans().unwrap(), 0);
        let threshold = card.temperature_threshold(TemperatureThreshold::Shutdown);
        assert_eq!(threshold.unwrap(), 92);
        assert!(matches!(
            card.total_ecc_errors(
                nvml_wrapper::enum_wrappers::device::MemoryError::Corrected,
                nvml_wrapper::enum_wrappers::device::EccCounter::Volatile,
            ),
            Err(NvmlError::NotSupported)
        ));
    });
}

#[test]
fn field_values_have_a_code_each() {
    play!(&busy_and_idle(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        // Power instant and average, total energy, memory temperature.
        let asked = [FieldId(186), FieldId(185), FieldId(83), FieldId(82)];
        let fields = card.field_values_for(&asked).unwrap();
        let values: Vec<_> = fields.into_iter().map(Result::unwrap).collect();
        assert!(values[..3].iter().all(|value| value.timestamp == ORIGIN.cast_signed()));
        let value = |i: usize| values[i].value.as_ref().unwrap();
        assert!(matches!(value(0), SampleValue::U32(200_000)));
        assert!(matches!(value(1), SampleValue::U32(200_000)));
        assert!(matches!(value(2), SampleValue::U64(17_280_000_000)));
        assert!(matches!(values[3].value, Err(NvmlError::NotSupported)));
    });
}
