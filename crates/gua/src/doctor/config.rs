//! The config files: whether they can be used, and whether somebody else could change them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::report::{Check, ConfigFacts, Finding, Verdict};
use crate::config::{ConfigFile, FileError, Files, Presence, Whose};
use crate::render::words::shell_word;

const ROOT: u32 = 0;
const WRITABLE_BY_ALL: u32 = 0o002;

/// One file as it was found.
#[derive(Debug)]
pub(super) struct Found {
    file: ConfigFile,
    read: Result<Presence, FileError>,
    /// `None` where that cannot be told, or nothing is there.
    owner: Option<Owner>,
}

/// Who could change a file.
#[derive(Debug, Clone, Copy)]
struct Owner {
    uid: u32,
    mode: u32,
}

pub(super) fn gather(files: &Files) -> Vec<Found> {
    let found = |file: &ConfigFile| Found {
        read: files.check(file),
        owner: owner(file),
        file: file.clone(),
    };
    files.all().map(found).collect()
}

fn owner(file: &ConfigFile) -> Option<Owner> {
    // A device, such as /dev/null in the place of a file, is for all.
    let of = fs::metadata(&file.path).ok().filter(fs::Metadata::is_file)?;
    Some(Owner { uid: of.uid(), mode: of.mode() })
}

pub(super) fn judge(found: &[Found], own_uid: u32) -> Finding {
    let finding = |verdict, detail: String| Finding::new(Check::Config, verdict, detail);
    if let Some(error) = found.iter().find_map(|found| found.read.as_ref().err()) {
        return finding(Verdict::Error, error.to_string()).next(error.next_step());
    }
    for found in found {
        if let Some((why, step)) = found.exposed(own_uid) {
            let path = found.file.path.display().to_string();
            let step = format!("`{step} {}`", shell_word(&path));
            return finding(Verdict::Warning, format!("{path}: {why}")).next(step);
        }
    }
    if let Some(found) = found.iter().find(|it| matches!(it.read, Ok(Presence::OutOfReach))) {
        let path = found.file.path.display();
        let detail = format!("{path}: the folder is somebody else's, so the file does not count");
        return finding(Verdict::Warning, detail)
            .next("Set HOME or GUA_HOME to a folder of yours.");
    }
    let here = found.iter().filter(|found| matches!(found.read, Ok(Presence::Here)));
    let paths: Vec<_> = here.map(|found| found.file.path.display().to_string()).collect();
    match paths.as_slice() {
        [] => finding(Verdict::Ok, "no config file; the defaults count".to_owned()),
        paths => finding(Verdict::Ok, paths.join(", ")),
    }
}

impl Found {
    /// How others could change what it says, and the command that ends that.
    fn exposed(&self, own_uid: u32) -> Option<(String, &'static str)> {
        let owner = self.owner?;
        let is_trusted = match self.file.whose {
            Whose::System => owner.uid == ROOT,
            Whose::User => owner.uid == ROOT || owner.uid == own_uid,
        };
        if owner.mode & WRITABLE_BY_ALL != 0 {
            return Some(("every user may change it".to_owned(), "chmod o-w"));
        }
        let why = || format!("it belongs to uid {}, who may change it for others", owner.uid);
        let step = match self.file.whose {
            Whose::System => "chown root",
            Whose::User => "chown $USER",
        };
        (!is_trusted).then(|| (why(), step))
    }
}

pub(super) fn facts(found: &[Found]) -> Vec<ConfigFacts> {
    let facts = |found: &Found| ConfigFacts {
        path: found.file.path.display().to_string(),
        whose: found.file.whose.word(),
        exists: match &found.read {
            Ok(presence) => presence.is_here(),
            Err(FileError::Missing(_)) => Some(false),
            Err(FileError::Unreadable { .. } | FileError::Wrong { .. }) => Some(true),
        },
        usable: found.read.is_ok(),
    };
    found.iter().map(facts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    const OWN: u32 = 1000;

    fn found(whose: Whose, owner: Option<(u32, u32)>) -> Found {
        Found {
            file: ConfigFile { path: Arc::from(Path::new("/c.toml")), whose, is_named: false },
            read: Ok(if owner.is_some() { Presence::Here } else { Presence::Missing }),
            owner: owner.map(|(uid, mode)| Owner { uid, mode }),
        }
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
            let finding = judge(&[found(whose, owner)], OWN);
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
            let found = Found { read: Err(error), ..found(Whose::User, None) };
            let finding = judge(&[found], OWN);
            assert_eq!(finding.verdict, Verdict::Error);
            assert!(finding.next_step.is_some());
        }
    }
}
