//! What is meant: the typed options, the config files and the environment, settled once.

mod labels;
mod listen;
pub mod policy;
mod settings;
mod track;
mod window;

pub use labels::OUR_LABELS;
pub use listen::{Listen, TlsFiles, Token};
pub use settings::{
    Config, ConfigFile, Cost, FileError, Files, Flags, Identity, Listed, Metrics, Mistake, Origin,
    Presence, Recorder, RemoteWrite, Retention, Row, Settings, Surroundings, Thresholds, Whose,
};
pub use track::{Gpus, Target, Timeline, TimelineKind, Track};
pub use window::Window;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use probe::nvml::{Options, Patience, Wants};

use crate::cli;
use crate::env::Env;
use crate::failure::Failure;

/// Where the driver and the host are.
#[derive(Debug, Clone)]
pub struct Machine {
    pub nvml: Option<PathBuf>,
    pub host_root: Option<PathBuf>,
}

impl TryFrom<cli::Machine> for Machine {
    type Error = Failure;

    fn try_from(typed: cli::Machine) -> Result<Self, Failure> {
        // A variable that is set to nothing means nothing.
        let set = |path: Option<OsString>| path.filter(|path| !path.is_empty()).map(PathBuf::from);
        let host_root = set(typed.host_root).map(a_host_root).transpose()?;
        // A name without a slash is for the loader to find.
        let is_path = |path: &PathBuf| path.as_os_str().as_encoded_bytes().contains(&b'/');
        let nvml = set(typed.nvml).map(|path| if is_path(&path) { absolute(path) } else { path });
        Ok(Self { nvml, host_root: host_root.map(absolute) })
    }
}

/// A recorder in the background works from another folder.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Another folder would make every process look gone.
fn a_host_root(path: PathBuf) -> Result<PathBuf, Failure> {
    if path.join("proc/stat").exists() {
        return Ok(path);
    }
    Err(Failure::Usage {
        what: format!("the host root `{}` is no host's /: it has no proc/stat", path.display()),
        next: "Name the folder that the host's / is mounted on, such as /host, or leave \
               --host-root and GUA_HOST_ROOT out."
            .to_owned(),
    })
}

impl Machine {
    /// How to open the driver, reading `wants` at each look.
    #[must_use]
    pub fn probe_options(&self, wants: Wants) -> Options {
        Options {
            library: self.nvml.clone(),
            host_root: self.host_root.clone().unwrap_or_else(|| PathBuf::from("/")),
            wants,
            patience: Patience::default(),
        }
    }
}

/// Where our own files are: `GUA_HOME`, else `~/.gua`; `None` without a home.
#[must_use]
pub fn home(env: &Env) -> Option<PathBuf> {
    Surroundings::new(env).folder()
}

/// Where the recorder that packaging/ sets up as a service keeps its history.
pub const SERVICE_DATABASE: &str = "/var/lib/gua/gua.db";

/// Where cards are reserved: `GUA_RESERVATIONS`, else a folder that every user of the host finds.
/// Not in a home and not below TMPDIR, which differ from user to user.
#[must_use]
pub fn reservations(env: &Env) -> PathBuf {
    env.path("GUA_RESERVATIONS").unwrap_or_else(reservations_usual)
}

fn reservations_usual() -> PathBuf {
    let is_for_all = |path: &str| {
        const STICKY_FOR_ALL: u32 = 0o1777;
        let mode = std::fs::metadata(path).map(|found| found.permissions().mode());
        mode.is_ok_and(|mode| mode & STICKY_FOR_ALL == STICKY_FOR_ALL)
    };
    // Not every system lets users make something there.
    let shared = if is_for_all("/run/lock") { "/run/lock" } else { "/tmp" };
    PathBuf::from(shared).join("gua-reservations")
}

/// Where processes are exempted from the rules for a time: `GUA_SNOOZES`, else a folder that
/// every user of the host finds, beside the reservations.
#[must_use]
pub fn snoozes(env: &Env) -> PathBuf {
    let usual = || reservations_usual().with_file_name("gua-snoozes");
    env.path("GUA_SNOOZES").unwrap_or_else(usual)
}

/// What tells CUDA which cards there are.
pub const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Which cards this program was given, as a scheduler says it; `None` where nobody says so. An empty
/// list gives it none.
#[must_use]
pub fn visible_devices(env: &Env) -> Option<String> {
    let devices = env.get_even_if_empty(VISIBLE_DEVICES);
    devices.map(|devices| devices.to_string_lossy().into_owned())
}
