//! The process at the top of another's tree: what was started, of all that runs now.

use std::sync::Arc;

use super::{Ancestor, Evidence, Launcher, Source, Told};

/// Through these people come in; they start nothing of their own.
const DOORS: [&str; 3] = ["sshd", "sshd-session", "login"];

/// Returns the distinct names of all ancestors with the same uid, nearest first.
#[must_use]
pub(super) fn ancestor_names(evidence: &Evidence) -> Option<Arc<[Arc<str>]>> {
    let uid = evidence.uid?;
    let same = evidence.ancestors.iter().filter(|ancestor| ancestor.uid == Some(uid));
    let mut names: Vec<Arc<str>> = Vec::new();
    for name in same.flat_map(|ancestor| &ancestor.names) {
        if !names.contains(name) {
            names.push(Arc::clone(name));
        }
    }
    Some(names.into())
}

/// The top ancestor with the same uid and control groups. An orphan's new parent is none of
/// them: it is another user's, or in another group.
#[must_use]
pub(super) fn launcher(evidence: &Evidence) -> Option<Told<Launcher>> {
    let is_ours = |kin: &&Arc<Ancestor>| {
        kin.uid == evidence.uid && kin.cgroup == evidence.cgroup && !DOORS.contains(&&*kin.program)
    };
    let top = evidence.ancestors.iter().rev().find(is_ours)?;
    let value = Launcher { pid: top.pid, program: Arc::clone(&top.program) };
    Some(Told { value, source: Source::Ancestors })
}
