//! The rules of the config, for a recorder that follows them: read again when a file changes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::proc::Host;
use rustix::process::geteuid;

use super::trust;
use crate::config::{Config, Files, Machine};
use crate::failure::Failure;
use crate::policy::input::{LiveFacts, step_ms};
use crate::policy::{DriverLook, PolicyRunner, Rules, RunnerPlaces, Settled, SnoozePlace};
use gua_recorder::boot_id;

/// How often it is looked whether a file has changed, at most: ticks may come faster, and an end
/// reads them all once more.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);

/// Returns the rules of the config, for a recorder.
pub(in crate::commands) fn runner(
    machine: &Machine,
    files: &Files,
    config: &Config,
    host: &Host,
    hostname: String,
    database: &Path,
    snoozes: PathBuf,
) -> PolicyRunner {
    let snoozes = SnoozePlace { folder: snoozes, keeper: geteuid().as_raw() };
    let facts = LiveFacts::new(host.root().to_owned(), snoozes.clone());
    let last_look = files.clone();
    let read_config = Arc::new(move || read(&last_look));
    let thresholds = config.thresholds.into();
    let look = DriverLook { machine: machine.clone(), snoozes, thresholds, read_config };
    let places = RunnerPlaces { host: hostname, boot: boot_id(), database: database.to_owned() };
    let interval_ms = i64::try_from(config.recorder.interval.as_millis()).ok();
    let recorder = (step_ms(interval_ms), config.thresholds.into());
    let rules = Box::new(ConfigRules::new(files.clone()));
    PolicyRunner::new(settled(config), rules, places, facts, recorder, move || {
        Box::new(look.clone())
    })
}

pub(super) fn settled(config: &Config) -> Settled {
    Settled {
        policy: config.policy.clone(),
        notify: config.notify.clone(),
        thresholds: config.thresholds.into(),
    }
}

/// What the files say, where that can be followed.
fn read(files: &Files) -> Result<Settled, Failure> {
    let settings = files.settings()?;
    trust::check(files, &settings)?;
    Ok(settled(&settings.settled()))
}

/// The config files, and what they looked like when they were read.
#[derive(Debug)]
struct ConfigRules {
    files: Files,
    stamps: Vec<Option<Stamp>>,
    looked: Instant,
}

/// What changes when a file does, or who may write it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Its owner and its mode, too.
    changed: (i64, i64),
    /// The same of the folders that it is in; what else is in them does not matter.
    folders: Vec<(u32, u32, u32)>,
}

impl ConfigRules {
    fn new(files: Files) -> Self {
        let stamps = stamps(&files);
        Self { files, stamps, looked: Instant::now() }
    }
}

fn writers(folder: &Path) -> Option<(u32, u32, u32)> {
    let found = fs::metadata(folder).ok()?;
    Some((found.uid(), found.gid(), found.mode()))
}

fn stamps(files: &Files) -> Vec<Option<Stamp>> {
    let paths: Vec<PathBuf> = files.all().map(|file| file.path.to_path_buf()).collect();
    let stamp = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some(Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            folders: path.ancestors().skip(1).filter_map(writers).collect(),
        })
    };
    paths.iter().map(stamp).collect()
}

impl Rules for ConfigRules {
    fn changed(&mut self) -> Option<Result<Settled, Failure>> {
        if self.looked.elapsed() < LOOK_AT_FILES {
            return None;
        }
        self.looked = Instant::now();
        let now = stamps(&self.files);
        if now == self.stamps {
            return None;
        }
        self.stamps = now;
        Some(read(&self.files))
    }
}
