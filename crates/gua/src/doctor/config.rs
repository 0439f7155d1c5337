//! The config files: errors in them, and other users who could change them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::geteuid;
use serde::Serialize;

use super::finding::Finding;
use crate::config::{ConfigFile, FileError, Files, Presence, Whose};
use crate::render::words::shell_word;

const ROOT: u32 = 0;
const WRITABLE_BY_ALL: u32 = 0o002;

/// One of the config files that apply.
#[derive(Debug, Serialize)]
pub(super) struct ConfigFacts {
    path: String,
    /// `system` or `user`.
    whose: &'static str,
    /// Null if unknown, as the file would be in a folder of somebody else.
    exists: Option<bool>,
    /// True if gua can start with it: it has no error, or does not exist.
    usable: bool,
}

struct Found<'a> {
    file: &'a ConfigFile,
    read: Result<Presence, FileError>,
    /// Uid of the owner and mode of a file that exists.
    owner: Option<(u32, u32)>,
}

pub(super) fn check(files: &Files) -> (Finding, Vec<ConfigFacts>) {
    let find = |file| Found { file, read: files.check(file), owner: owner(file) };
    let found: Vec<_> = files.all().map(find).collect();
    (judge(&found, geteuid().as_raw()), found.iter().map(Found::facts).collect())
}

fn owner(file: &ConfigFile) -> Option<(u32, u32)> {
    // A device in the place of a file, such as /dev/null, is writable for all.
    let metadata = fs::metadata(&file.path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.uid(), metadata.mode()))
}

fn judge(found: &[Found<'_>], own_uid: u32) -> Finding {
    if let Some(error) = found.iter().find_map(|found| found.read.as_ref().err()) {
        return Finding::error(error.to_string()).next(error.next_step());
    }
    if let Some(exposed) = found.iter().find_map(|found| found.exposed(own_uid)) {
        return exposed;
    }
    if let Some(found) = found.iter().find(|it| matches!(it.read, Ok(Presence::OutOfReach))) {
        let path = found.path();
        return Finding::warning(format!(
            "{path}: the folder is somebody else's, so the file does not count"
        ))
        .next("Set HOME or GUA_HOME to a folder of yours.");
    }
    let here = found.iter().filter(|found| matches!(found.read, Ok(Presence::Here)));
    let paths: Vec<_> = here.map(Found::path).collect();
    if paths.is_empty() {
        return Finding::ok("no config file; the defaults count");
    }
    Finding::ok(paths.join(", "))
}

impl Found<'_> {
    fn path(&self) -> String {
        self.file.path.display().to_string()
    }

    /// Returns a warning if other users can change the file.
    fn exposed(&self, own_uid: u32) -> Option<Finding> {
        let (uid, mode) = self.owner?;
        let is_users = self.file.whose == Whose::User;
        let (why, step) = if mode & WRITABLE_BY_ALL != 0 {
            ("every user may change it".to_owned(), "chmod o-w")
        } else if uid == ROOT || is_users && uid == own_uid {
            return None;
        } else {
            let step = if is_users { "chown $USER" } else { "chown root" };
            (format!("it belongs to uid {uid}, who may change it for others"), step)
        };
        let path = self.path();
        let step = format!("`{step} {}`", shell_word(&path));
        Some(Finding::warning(format!("{path}: {why}")).next(step))
    }

    fn facts(&self) -> ConfigFacts {
        ConfigFacts {
            path: self.path(),
            whose: self.file.whose.word(),
            exists: match &self.read {
                Ok(presence) => presence.is_here(),
                Err(FileError::Missing(_)) => Some(false),
                Err(FileError::Unreadable { .. } | FileError::Wrong { .. }) => Some(true),
            },
            usable: self.read.is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    const OWN: u32 = 1000;

    fn file(whose: Whose) -> ConfigFile {
        ConfigFile { path: Arc::from(Path::new("/c.toml")), whose, is_named: false }
    }

    #[test]
    fn what_others_may_change_is_a_warning() {
        let cases = [
            (Whose::System, None, Verdict::Ok),
            (Whose::System, Some((0, 0o644)), Verdict::Ok),
            (Whose::System, Some((0, 0o666)), Verdict::Warning),
            (Whose::System, Some((OWN, 0o644)), Verdict::Warning),
            (Whose::User, Some((OWN, 0o600)), Verdict::Ok),
            (Whose::User, Some((0, 0o644)), Verdict::Ok),
            (Whose::User, Some((7, 0o644)), Verdict::Warning),
            (Whose::User, Some((OWN, 0o602)), Verdict::Warning),
        ];
        for (whose, owner, verdict) in cases {
            let read = Ok(if owner.is_some() { Presence::Here } else { Presence::Missing });
            let finding = judge(&[Found { file: &file(whose), read, owner }], OWN);
            assert_eq!(finding.verdict, verdict, "{whose:?} {owner:?}");
            assert_eq!(finding.next_step.is_some(), verdict == Verdict::Warning);
        }
    }

    #[test]
    fn what_cannot_be_used_is_an_error() {
        let path = || Arc::from(Path::new("/c.toml"));
        let unreadable =
            FileError::Unreadable { path: path(), error: io::ErrorKind::PermissionDenied.into() };
        for error in [FileError::Missing(path()), unreadable] {
            let file = file(Whose::User);
            let finding = judge(&[Found { file: &file, read: Err(error), owner: None }], OWN);
            assert_eq!(finding.verdict, Verdict::Error);
            assert!(finding.next_step.is_some());
        }
    }
}
