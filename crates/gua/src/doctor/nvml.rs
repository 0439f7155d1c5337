//! The driver's library: loads and starts it, and reads the driver's versions.

use std::path::Path;
use std::time::Duration;

use probe::nvml::{DEFAULT_LIBRARY, DriverFacts, OpenError, Patience, Prober, Wants};
use probe::{CardLook, Reading};
use serde::Serialize;

use super::finding::{Finding, counted};
use crate::config::Machine;

/// Short, as a person waits for the answer.
const PATIENCE: Patience = Patience {
    open: Duration::from_secs(10),
    attach: Duration::from_secs(5),
    card: Duration::from_secs(2),
    look: Duration::from_secs(10),
};

/// Versions as JSON has them; all are null without a driver.
#[derive(Debug, Default, Serialize)]
pub(super) struct DriverVersions {
    driver_version: Option<String>,
    nvml_version: Option<String>,
    cuda_version: Option<String>,
    gpu_count: Option<u32>,
}

impl From<DriverFacts> for DriverVersions {
    fn from(driver: DriverFacts) -> Self {
        Self {
            cuda_version: cuda(&driver).known(),
            driver_version: driver.version.known(),
            nvml_version: driver.nvml_version.known(),
            gpu_count: Some(driver.gpus),
        }
    }
}

/// Starts the library and reads everything of every card; `None` if it does not start.
pub(super) fn check(machine: &Machine) -> (Finding, DriverVersions, Option<Vec<CardLook>>) {
    match look(machine) {
        Ok((driver, cards)) => {
            (judge(&driver, machine.nvml.as_deref()), driver.into(), Some(cards))
        }
        Err(error) => {
            let finding = Finding::error(error.to_string()).next(error.next_step());
            (finding, DriverVersions::default(), None)
        }
    }
}

fn look(machine: &Machine) -> Result<(DriverFacts, Vec<CardLook>), OpenError> {
    let mut options = machine.probe_options(Wants::ALL);
    options.patience = PATIENCE;
    let look = Prober::open(options)?.first_look();
    Ok((look.driver?, look.cards))
}

fn judge(driver: &DriverFacts, library: Option<&Path>) -> Finding {
    let library = library.unwrap_or(Path::new(DEFAULT_LIBRARY)).display();
    if driver.gpus == 0 {
        return Finding::error(format!("{library} works, but the driver counts no GPU")).next(
            "See `lspci | grep -i nvidia` and `dmesg | grep -i nvrm`; in a container, pass \
             the cards in.",
        );
    }
    Finding::ok(format!(
        "{library}: driver {}, NVML {}, CUDA {}, {}",
        shown(driver.version.as_ref()),
        shown(driver.nvml_version.as_ref()),
        shown(cuda(driver)),
        counted(driver.gpus as usize, "GPU"),
    ))
}

fn cuda(driver: &DriverFacts) -> Reading<String> {
    driver.cuda_version.map(|(major, minor)| format!("{major}.{minor}"))
}

fn shown(version: Reading<impl ToString>) -> String {
    match version {
        Reading::Known(version) => version.to_string(),
        Reading::Unknown(why) => format!("unknown ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
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
        let finding = judge(&driver(1), Some(Path::new("/opt/x.so")));
        assert_eq!(finding.verdict, Verdict::Ok);
        let expected =
            "/opt/x.so: driver 560.35.05, NVML unknown (not supported), CUDA 12.6, 1 GPU";
        assert_eq!(finding.detail, expected);
    }

    #[test]
    fn without_a_gpu_or_a_library_the_host_is_not_ready() {
        let nowhere = Machine { nvml: Some("/nowhere/libnvidia-ml.so.1".into()), host_root: None };
        let (not_found, versions, looks) = check(&nowhere);
        assert_eq!(not_found.detail, "/nowhere/libnvidia-ml.so.1 was not found");
        assert!(versions.gpu_count.is_none() && looks.is_none());
        for finding in [judge(&driver(0), None), not_found] {
            assert_eq!(finding.verdict, Verdict::Error);
            assert!(finding.next_step.is_some());
        }
    }
}
