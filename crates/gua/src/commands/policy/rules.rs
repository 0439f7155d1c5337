//! The rules of the config, for a recorder that follows them: read again when a file changes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::trust;
use crate::config::{self, Config, Files, Machine};
use crate::failure::Failure;
use crate::policy::{DriverLook, Feed, Keeper, Places, Rules, Settled};
use crate::recorder;

/// Those who follow the rules of the config beside a recorder.
pub(in crate::commands) fn keeper(
    machine: &Machine,
    files: &Files,
    config: &Config,
    root: &Path,
    host: String,
    database: &Path,
) -> Keeper {
    let thresholds = config.thresholds;
    let feed = Feed::new(root.to_owned(), config::snoozes(), thresholds.worked);
    let look = DriverLook { machine: machine.clone(), thresholds: thresholds.into() };
    let places = Places { host, boot: recorder::boot_id(), database: database.to_owned() };
    let rules = Box::new(ConfigRules::new(files.clone()));
    Keeper::new(settled(config), rules, places, feed, move || Box::new(look.clone()))
}

fn settled(config: &Config) -> Settled {
    Settled { policy: config.policy.clone(), notify: config.notify.clone() }
}

/// The config files, and what they looked like when they were read.
#[derive(Debug)]
struct ConfigRules {
    files: Files,
    stamps: Vec<Option<Stamp>>,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    mode: u32,
}

impl ConfigRules {
    fn new(files: Files) -> Self {
        let stamps = stamps(&files);
        Self { files, stamps }
    }
}

fn stamps(files: &Files) -> Vec<Option<Stamp>> {
    let paths: Vec<PathBuf> = files.all().map(|file| file.path.to_path_buf()).collect();
    let stamp = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some(Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            mode: found.mode(),
        })
    };
    paths.iter().map(stamp).collect()
}

impl Rules for ConfigRules {
    fn changed(&mut self) -> Option<Result<Settled, Failure>> {
        let now = stamps(&self.files);
        if now == self.stamps {
            return None;
        }
        self.stamps = now;
        Some(self.files.settings().and_then(|settings| {
            trust::check(&self.files, &settings)?;
            Ok(settled(&settings.settled()))
        }))
    }
}
