//! A process of its own for each test, on a pretend machine of its own.
//!
//! What the library knows is per process and comes from the environment. So a test runs
//! itself a second time, as the only test of a child process that has that environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use nvidia_ml::install::{self, Installed};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use tempfile::TempDir;

const TEST: &str = "NVML_SIM_TEST";
const LIBRARY: &str = "NVML_SIM_TEST_LIBRARY";

/// The time at which frozen scenarios stand still, in µs of the Unix epoch.
pub const ORIGIN: u64 = 1_800_000_000_000_000;

/// The head of a scenario whose clock practically stands still at its origin.
pub const FROZEN: &str = "[time]\norigin = \"2027-01-15T08:00:00Z\"\nspeed = 1e-9\n";

/// Plays a test's body in a process of its own: `play!(SCENARIO, |stage| …)`.
macro_rules! play {
    ($scenario:expr, $body:expr) => {
        $crate::stage::play($crate::stage::path_of(&|| ()), $scenario, &[], $body)
    };
    ($scenario:expr, $envs:expr, $body:expr) => {
        $crate::stage::play($crate::stage::path_of(&|| ()), $scenario, $envs, $body)
    };
}

/// The path by which the harness knows the test that holds this closure.
pub fn path_of<T>(_closure: &T) -> &'static str {
    let path = std::any::type_name::<T>();
    let path = path.split_once("::").unwrap().1;
    path.trim_end_matches("::{{closure}}")
}

/// What the child process has.
pub struct Stage {
    pub library: PathBuf,
    pub scenario: PathBuf,
}

impl Stage {
    pub fn nvml(&self) -> Nvml {
        self.try_nvml().unwrap()
    }

    pub fn try_nvml(&self) -> Result<Nvml, NvmlError> {
        Nvml::builder().lib_path(self.library.as_os_str()).init()
    }

    /// Puts another scenario in the place of the one that is played, in one step.
    pub fn replace_scenario(&self, text: &str) {
        install::replace_scenario(&self.scenario, text).unwrap();
    }
}

/// What the child process left.
pub struct Played {
    pub dir: TempDir,
    pub stderr: String,
}

pub fn play(
    test: &str,
    scenario: &str,
    envs: &[(&str, &str)],
    body: impl FnOnce(&Stage),
) -> Played {
    if env::var(TEST).is_ok_and(|name| name == test) {
        body(&Stage {
            library: env::var_os(LIBRARY).unwrap().into(),
            scenario: env::var_os("NVML_SIM_SCENARIO").unwrap().into(),
        });
        // The rest of the test is the parent's.
        std::process::exit(0);
    }
    let dir = tempfile::tempdir().unwrap();
    let installed = install_into(dir.path(), scenario);
    let output = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .envs(installed.envs())
        .env(LIBRARY, &installed.library)
        .env(TEST, test)
        .envs(envs.iter().map(|(name, value)| (name, in_dir(dir.path(), value))))
        .output()
        .unwrap();
    let Output { status, stdout, stderr } = output;
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    assert!(status.success(), "{test} ended with {status}\n{stdout}\n{stderr}");
    assert!(!stdout.contains("0 passed"), "{test} was not found:\n{stdout}");
    Played { dir, stderr }
}

/// Writes a scenario into a directory and installs for it there.
pub fn install_into(dir: &Path, scenario: &str) -> Installed {
    let path = dir.join("scenario.toml");
    fs::write(&path, scenario).unwrap();
    install::install(dir, &path).unwrap()
}

/// `DIR` in a value stands for the test's directory.
fn in_dir(dir: &Path, value: &str) -> OsString {
    value.replace("DIR", dir.to_str().unwrap()).into()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Calls again and again until the answer is there, or gives up after a while.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = std::time::Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed().as_secs() < 20, "waited in vain: {what}");
        std::thread::yield_now();
    }
}
