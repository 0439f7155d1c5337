//! A pretend machine to track on, in a process of its own.
//!
//! The simulated library takes its scenario from the environment, which belongs to a whole
//! process. So a test starts its own binary again, for itself alone, on a machine that was made
//! for it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nvidia_ml::install;
use nvidia_ml::machine::{Machine as Truth, start_from_env};

/// Set inside: the scenario's path.
const INSIDE: &str = "TRACK_TEST_INSIDE";

/// The machine, from the inside.
pub struct Machine {
    scenario: PathBuf,
}

/// Runs `check` on a machine that behaves as the scenario says. Once a test.
pub fn on(scenario: &str, check: impl FnOnce(&Machine)) {
    if let Some(path) = env::var_os(INSIDE) {
        return check(&Machine { scenario: path.into() });
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scenario.toml");
    fs::write(&path, scenario).unwrap();
    let installed = install::install(dir.path(), &path).unwrap();
    let this_test = std::thread::current().name().unwrap().to_owned();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &this_test, "--nocapture"])
        .envs(installed.envs())
        .env(INSIDE, &path)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("1 passed"), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
}

impl Machine {
    /// Changes what the machine does from now on.
    #[allow(dead_code, reason = "not every test binary changes its machine")]
    pub fn becomes(&self, scenario: &str) {
        install::replace_scenario(&self.scenario, scenario).unwrap();
    }

    /// The machine as the simulated library plays it, to hold figures against.
    #[allow(dead_code, reason = "not every test binary holds figures against it")]
    pub fn truth(&self) -> Truth {
        let scenario = scenario::parse::from_file(&self.scenario).unwrap();
        Truth::new(scenario, start_from_env().unwrap())
    }
}
