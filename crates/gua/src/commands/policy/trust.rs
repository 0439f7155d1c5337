//! Who may write the rules: whoever may, ends processes and runs commands by the recorder's hand.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use crate::config::policy::{Action, Policy};
use crate::config::{Files, Settings};
use crate::failure::Failure;

/// What anybody may write.
const OTHERS_WRITE: u32 = 0o002;

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

fn check_writers(path: &Path) -> Result<(), Failure> {
    // One that is not there says nothing, and one that cannot be read was told before.
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    let is_ours = found.uid() == 0 || found.uid() == geteuid().as_raw();
    let who = match (found.mode() & OTHERS_WRITE == 0, is_ours) {
        (true, true) => return Ok(()),
        (false, _) => "can be written by anybody".to_owned(),
        (true, false) => format!("belongs to uid {}", found.uid()),
    };
    let path = path.display();
    Err(Failure::Usage {
        what: format!("the rules do more than observe, and the config file {path} {who}"),
        next: format!("Let only root or the recorder's user write it: chmod go-w {path}"),
    })
}
