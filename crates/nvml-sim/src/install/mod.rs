//! The library, `nvidia-smi` and a pretend root, laid into a directory.
//!
//! ```no_run
//! use std::path::Path;
//! use std::process::Command;
//!
//! let installed = nvidia_ml::install::install(Path::new("/tmp/lab"), Path::new("lab.toml"))?;
//! Command::new("gpustat").envs(installed.envs()).status()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod elf;
mod library;
mod process;
mod root;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};

use scenario::parse::Refused;

use crate::{functions, machine};

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Scenario(#[from] Refused),
    #[error("{name} was not found next to {}; build it with `cargo build -p nvml-sim`", exe.display())]
    NotBuilt { name: &'static str, exe: PathBuf },
    #[error("{} is not a shared library: {reason}", path.display())]
    NotALibrary { path: PathBuf, reason: &'static str },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Adds the path to an I/O error.
trait At<T> {
    fn at(self, path: &Path) -> Result<T, InstallError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, InstallError> {
        self.map_err(|source| InstallError::Io { path: path.to_owned(), source })
    }
}

/// What was installed where.
#[derive(Debug, Clone)]
pub struct Installed {
    /// `DIR/lib/libnvidia-ml.so.1`, a copy of its own.
    pub library: PathBuf,
    /// `DIR/bin`, with `nvidia-smi` in it where that has been built.
    pub bin: PathBuf,
    /// `DIR/root`, which stands for the host's `/`.
    pub root: PathBuf,
    /// The scenario file, which may be changed while it is played.
    pub scenario: PathBuf,
    /// The scenario's `t = 0`, in µs since the Unix epoch.
    pub start_unix_micros: i64,
}

/// Installs for a scenario that begins now, or when `NVML_SIM_START` says.
///
/// # Errors
/// When the scenario is refused, the library has not been built, or a file cannot be
/// written.
pub fn install(dir: &Path, scenario: &Path) -> Result<Installed, InstallError> {
    let start = machine::start_from_env().unwrap_or_else(machine::unix_micros_now);
    install_at(dir, scenario, start)
}

/// Installs for a scenario whose `t = 0` is at a given time.
///
/// # Errors
/// As [`install`].
pub fn install_at(
    dir: &Path,
    scenario: &Path,
    start_unix_micros: i64,
) -> Result<Installed, InstallError> {
    let meant = functions::scenario_from_file(scenario)?;
    let dir = absolute(dir).at(dir)?;
    let installed = Installed {
        library: dir.join("lib/libnvidia-ml.so.1"),
        bin: dir.join("bin"),
        root: dir.join("root"),
        scenario: absolute(scenario).at(scenario)?,
        start_unix_micros,
    };
    library::install(&installed.library, &meant.driver)?;
    fs::create_dir_all(&installed.bin).at(&installed.bin)?;
    library::install_nvidia_smi(&installed.bin)?;
    root::write(&installed.root, &meant, start_unix_micros)?;
    Ok(installed)
}

impl Installed {
    /// The environment in which a program sees the pretend machine.
    #[must_use]
    pub fn envs(&self) -> Vec<(&'static str, OsString)> {
        let lib = self.library.parent().unwrap_or(&self.library);
        vec![
            ("LD_LIBRARY_PATH", in_front_of("LD_LIBRARY_PATH", lib)),
            ("PATH", in_front_of("PATH", &self.bin)),
            ("NVML_SIM_SCENARIO", self.scenario.clone().into()),
            ("NVML_SIM_START", self.start_unix_micros.to_string().into()),
            ("GUA_HOST_ROOT", self.root.clone().into()),
        ]
    }

    /// Changes what is played, as [`replace_scenario`] does. The pretend root, and which
    /// functions the library has, stay as they were installed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn becomes(&self, text: &str) -> io::Result<()> {
        replace_scenario(&self.scenario, text)
    }
}

/// Puts another text in the place of a scenario file in one step, so that nobody who is
/// playing it reads half of one.
///
/// # Errors
/// When the file cannot be written.
pub fn replace_scenario(path: &Path, text: &str) -> io::Result<()> {
    let next = path.with_added_extension("next");
    fs::write(&next, text)?;
    fs::rename(&next, path)
}

/// A directory followed by what a search path already has.
fn in_front_of(variable: &str, dir: &Path) -> OsString {
    let mut paths = dir.as_os_str().to_owned();
    if let Some(rest) = env::var_os(variable).filter(|rest| !rest.is_empty()) {
        paths.push(OsStr::new(":"));
        paths.push(rest);
    }
    paths
}
