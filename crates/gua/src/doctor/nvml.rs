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

/// Answer of a driver that started.
#[derive(Debug)]
pub(super) struct Answer {
    pub driver: DriverFacts,
    pub cards: Vec<CardLook>,
}

/// Versions as JSON has them; all are null without a driver.
#[derive(Debug, Default, Serialize)]
pub(super) struct DriverVersions {
    driver_version: Option<String>,
    nvml_version: Option<String>,
    cuda_version: Option<String>,
    gpu_count: Option<u32>,
}

impl Answer {
    pub fn versions(self) -> DriverVersions {
        DriverVersions {
            cuda_version: cuda(&self.driver).known(),
            driver_version: self.driver.version.known(),
            nvml_version: self.driver.nvml_version.known(),
            gpu_count: Some(self.driver.gpus),
        }
    }
}

/// Starts the library and reads everything of every card.
pub(super) fn check(machine: &Machine) -> (Finding, Option<Answer>) {
    let answer = ask(machine);
    let driver = answer.as_ref().map(|answer| &answer.driver);
    (judge(driver, machine.nvml.as_deref()), answer.ok())
}

fn ask(machine: &Machine) -> Result<Answer, OpenError> {
    let mut options = machine.probe_options(Wants::ALL);
    options.patience = PATIENCE;
    let look = Prober::open(options)?.first_look();
    Ok(Answer { driver: look.driver?, cards: look.cards })
}

fn judge(driver: Result<&DriverFacts, &OpenError>, library: Option<&Path>) -> Finding {
    let driver = match driver {
        Ok(driver) => driver,
        Err(error) => return Finding::error(error.to_string()).next(error.next_step()),
    };
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
