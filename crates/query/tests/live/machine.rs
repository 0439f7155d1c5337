//! A simulated machine, in a process of its own.
//!
//! The simulated library takes its scenario from the environment, which belongs to a whole process. So
//! a test starts its own binary again, for itself alone.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nvidia_ml::install;
use probe::nvml::{Options, Patience, Wants};

/// Set inside: the path of the scenario.
const INSIDE: &str = "GUA_QUERY_TEST_INSIDE";

/// The machine, from the inside.
pub struct Machine {
    scenario: PathBuf,
}

/// Runs `check` on a machine that behaves as the scenario says.
pub fn on(scenario: &str, check: impl FnOnce(&Machine)) {
    if let Some(path) = env::var_os(INSIDE) {
        check(&Machine { scenario: path.into() });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.toml");
    fs::write(&path, scenario).unwrap();
    let installed = install::install(folder.path(), &path).unwrap();
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
    pub fn options(&self) -> Options {
        Options {
            library: None,
            host_root: self.root(),
            wants: Wants::ALL,
            patience: Patience::default(),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.scenario.with_file_name("root")
    }

    /// Changes what the machine does from now on.
    pub fn becomes(&self, scenario: &str) {
        install::replace_scenario(&self.scenario, scenario).unwrap();
    }
}
