//! GPM: means over the time between two samples.

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;

use crate::mig::divided;
use crate::stage::until;

#[test]
fn the_mean_is_that_of_the_place_that_was_sampled() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(card.gpm_support().unwrap());
        let ids = [GpmMetricId::GraphicsUtil, GpmMetricId::SmUtil, GpmMetricId::DramBwUtil];
        let means = |sample: &dyn Fn() -> nvml_wrapper::gpm::GpmSample<'static>| {
            let (one, two) = (sample(), sample());
            gpm_metrics_get(one.nvml(), &one, &two, &ids)
                .unwrap()
                .into_iter()
                .map(|metric| metric.map(|metric| metric.value))
                .collect::<Vec<_>>()
        };
        let nvml: &'static nvml_wrapper::Nvml = Box::leak(Box::new(stage.nvml()));
        let on = |uuid: &str| nvml.device_by_uuid(uuid).unwrap();
        let a = means(&|| on("MIG-a").gpm_sample().unwrap());
        assert!(matches!(a[..], [Ok(70.0), Ok(70.0), Err(NvmlError::NotSupported)]), "{a:?}");
        // By the parent and the number of the GPU instance, as the older way was.
        let parent = on("MIG-b").mig_parent_device().unwrap();
        let b = means(&|| parent.gpm_mig_sample(9).unwrap());
        assert!(matches!(b[..2], [Ok(30.0), Ok(30.0)]), "{b:?}");
        assert!(matches!(parent.gpm_mig_sample(3), Err(NvmlError::InvalidArg)));
    });
}

#[test]
fn the_mean_covers_exactly_the_time_between_the_samples() {
    let card = "[[card]]\ngpm = true\n\
                utilization = { duty = 25, period = \"1s\", high = 80, low = 0 }\n";
    let start = (nvidia_ml::machine::unix_micros_now() - 1_000_000_000).to_string();
    // Begun 1000 s ago, but slow enough to be still at its beginning.
    let slow = format!("[time]\nspeed = 1e-9\n{card}");
    play!(&slow, &[("NVML_SIM_START", &start)], |stage| {
        let nvml = stage.nvml();
        let device = nvml.device_by_index(0).unwrap();
        let one = device.gpm_sample().unwrap();
        stage.replace_scenario(card);
        let two = until("the clock to jump", || {
            let is_fast =
                device.total_energy_consumption().unwrap() > 86_400 * 126_400 + 58_000_000;
            is_fast.then(|| device.gpm_sample().unwrap())
        });
        let mean = |one, two| gpm_metrics_get(&nvml, one, two, &[GpmMetricId::SmUtil]);
        let percent = mean(&one, &two).unwrap().remove(0).unwrap().value;
        assert!((percent - 20.0).abs() < 0.1, "{percent}");
        assert!(matches!(mean(&two, &one), Err(NvmlError::InvalidArg)));
    });
}

#[test]
fn a_card_without_gpm_says_so() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(1).unwrap();
        assert!(!card.gpm_support().unwrap());
        assert!(matches!(card.gpm_sample(), Err(NvmlError::NotSupported)));
    });
}

#[test]
fn samples_are_only_what_was_allocated_and_taken() {
    play!(&divided(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let mut sample = std::ptr::null_mut();
        // SAFETY: as the header says, but for what the library has to check.
        unsafe {
            let lib = nvml.lib();
            assert_eq!(lib.nvmlGpmSampleAlloc(&raw mut sample), 0);
            let mut asked: nvml_wrapper_sys::bindings::nvmlGpmMetricsGet_t = std::mem::zeroed();
            asked.version = 1;
            asked.numMetrics = 1;
            (asked.sample1, asked.sample2) = (sample, sample);
            assert_eq!(lib.nvmlGpmMetricsGet(&raw mut asked), 2);
            assert_eq!(lib.nvmlGpmSampleGet(card.handle(), sample), 0);
            assert_eq!(lib.nvmlGpmMetricsGet(&raw mut asked), 0);
            assert_eq!(lib.nvmlGpmMetricsGet(std::ptr::null_mut()), 2);
            assert_eq!(lib.nvmlGpmSampleFree(sample), 0);
            assert_eq!(lib.nvmlGpmSampleFree(sample), 2);
            assert_eq!(lib.nvmlGpmSampleGet(card.handle(), sample), 2);
        }
    });
}
