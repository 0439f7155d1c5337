//! Who may write the rules: whoever may, ends processes and runs commands by the recorder's hand.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::process::geteuid;

use crate::config::policy::{Action, Policy};
use crate::config::{Files, Settings};
use crate::failure::Failure;

/// What others than the owner may write.
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Links that lead to links, at most.
const MOST_LINKS: usize = 40;

/// Whether the rules can be followed: every way is set up, and nobody but root and us may have
/// written rules that act.
///
/// # Errors
/// When they cannot.
pub(in crate::commands) fn check(files: &Files, settings: &Settings) -> Result<(), Failure> {
    settings.check_ways()?;
    if !acts(&settings.settled().policy) {
        return Ok(());
    }
    files.all().try_for_each(|file| check_writers(&file.path))
}

fn acts(policy: &Policy) -> bool {
    policy.enabled && policy.rules.iter().any(|rule| rule.action != Action::Observe)
}

/// A file is as safe as itself and all the folders on the way to it: whoever may write one of
/// those puts another file in its place.
fn check_writers(path: &Path) -> Result<(), Failure> {
    for place in steps(path) {
        // One that is not there says nothing, and one that cannot be read was told before.
        let Ok(found) = fs::symlink_metadata(&place) else { continue };
        let Some(who) = writer(&found) else { continue };
        let (path, place) = (path.display(), place.display());
        return Err(Failure::Usage {
            what: format!(
                "the rules do more than observe, and {place} {who} (the config file is {path})"
            ),
            next: format!("Let only root or the recorder's user write it: chmod go-w {place}"),
        });
    }
    Ok(())
}

/// The file, and everything on the way to it, step by step: the folders, the links that are met,
/// and the same of what these lead to.
fn steps(path: &Path) -> Vec<PathBuf> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut left = backwards(&whole);
    let (mut at, mut steps, mut links) = (PathBuf::from("/"), vec![PathBuf::from("/")], 0);
    while let Some(next) = left.pop() {
        if next == ".." {
            at.pop();
            continue;
        }
        let folder = at.clone();
        at.push(next);
        steps.push(at.clone());
        if let Ok(target) = fs::read_link(&at).map(|target| folder.join(target)) {
            links += 1;
            // Beyond that nobody opens it.
            if links > MOST_LINKS {
                break;
            }
            left.extend(backwards(&target));
            at = PathBuf::from("/");
        }
    }
    steps
}

/// The parts of a path from the root on, the first one last.
fn backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter(|part| *part != Component::RootDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// Who else may write it.
fn writer(found: &Metadata) -> Option<String> {
    let (uid, gid, mode) = (found.uid(), found.gid(), found.mode());
    if uid != 0 && uid != geteuid().as_raw() {
        return Some(format!("belongs to uid {uid}"));
    }
    // In such a folder nobody takes away what is another's, and a link is its owner's alone.
    if (found.is_dir() && mode & STICKY != 0) || found.is_symlink() {
        return None;
    }
    match (mode & ALL_WRITE != 0, mode & GROUP_WRITES != 0 && gid != 0) {
        (true, _) => Some("can be written by anybody".to_owned()),
        (false, true) => Some(format!("can be written by the group {gid}")),
        (false, false) => None,
    }
}
