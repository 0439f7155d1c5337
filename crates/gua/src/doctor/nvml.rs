//! The driver's library: whether it loads and starts, and what the driver says of itself.

use std::path::Path;
use std::time::Duration;

use probe::nvml::{DEFAULT_LIBRARY, DriverFacts, OpenError, Patience, Prober, Wants};
use probe::{CardLook, Reading};

use super::report::{Check, DriverVersions, Finding, Verdict};
use crate::config::Machine;

/// A person waits for the answer, so a driver that hangs is given up soon.
const PATIENCE: Patience = Patience {
    open: Duration::from_secs(10),
    attach: Duration::from_secs(5),
    card: Duration::from_secs(2),
    look: Duration::from_secs(10),
};

/// What the driver answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub driver: DriverFacts,
    pub cards: Vec<CardLook>,
}

/// Starts the library and reads everything of every card.
pub(super) fn gather(machine: &Machine) -> Result<Answer, OpenError> {
    let mut options = machine.probe_options(Wants::ALL);
    options.patience = PATIENCE;
    let look = Prober::open(options)?.first_look();
    Ok(Answer { driver: look.driver?, cards: look.cards })
}

pub(super) fn versions(driver: &DriverFacts) -> DriverVersions {
    DriverVersions {
        driver_version: driver.version.clone().known(),
        nvml_version: driver.nvml_version.clone().known(),
        cuda_version: cuda(driver).known(),
        gpu_count: Some(driver.gpus),
    }
}

fn cuda(driver: &DriverFacts) -> Reading<String> {
    driver.cuda_version.map(|(major, minor)| format!("{major}.{minor}"))
}

/// Judges the start of the library that was asked for.
pub(super) fn judge(driver: Result<&DriverFacts, &OpenError>, library: Option<&Path>) -> Finding {
    let driver = match driver {
        Ok(driver) => driver,
        Err(error) => {
            return Finding::new(Check::Nvml, Verdict::Error, error.to_string())
                .next(error.next_step());
        }
    };
    let library = library.map_or_else(|| DEFAULT_LIBRARY.to_owned(), |p| p.display().to_string());
    if driver.gpus == 0 {
        let detail = format!("{library} works, but the driver counts no GPU");
        return Finding::new(Check::Nvml, Verdict::Error, detail).next(
            "See `lspci | grep -i nvidia` and `dmesg | grep -i nvrm`; in a container, pass \
             the cards in.",
        );
    }
    let plural = if driver.gpus == 1 { "" } else { "s" };
    let detail = format!(
        "{library}: driver {}, NVML {}, CUDA {}, {} GPU{plural}",
        shown(driver.version.clone()),
        shown(driver.nvml_version.clone()),
        shown(cuda(driver)),
        driver.gpus,
    );
    Finding::new(Check::Nvml, Verdict::Ok, detail)
}

fn shown(version: Reading<String>) -> String {
    match version {
        Reading::Known(version) => version,
        Reading::Unknown(why) => format!("unknown ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Why;

    fn driver(gpus: u32) -> DriverFacts {
        DriverFacts {
            version: Reading::Known("560.35.05".into()),
            nvml_version: Reading::Unknown(Why::NotSupported),
            cuda_version: Reading::Known((12, 6)),
            gpus,
        }
    }

    #[test]
    fn a_driver_is_shown_with_what_it_tells() {
        let finding = judge(Ok(&driver(1)), Some(Path::new("/opt/x.so")));
        assert_eq!(finding.verdict, Verdict::Ok);
        let expected =
            "/opt/x.so: driver 560.35.05, NVML unknown (not supported), CUDA 12.6, 1 GPU";
        assert_eq!(finding.detail, expected);
    }

    #[test]
    fn without_a_gpu_or_a_start_the_host_is_not_ready() {
        let none = judge(Ok(&driver(0)), None);
        let refused = judge(Err(&OpenError::DriverNotLoaded), None);
        assert_eq!(refused.detail, "the NVIDIA kernel driver is not loaded");
        for finding in [none, refused] {
            assert_eq!(finding.verdict, Verdict::Error);
            assert!(finding.next_step.is_some());
        }
    }
}
