//! Processes that work on one thing together: those of one `torchrun` or of one Ray job.

use std::sync::Arc;

use super::environ::Name;
use super::labels::Labels;
use super::{Ancestor, Group, GroupKind, Told};

/// What `torchrun` says when nobody gave its run a name.
const NAMELESS: &str = "none";

/// A nameless run is known by the process that started its workers.
#[must_use]
pub(super) fn group(labels: &Labels, ancestors: &[Arc<Ancestor>]) -> Option<Told<Group>> {
    let told = |name, kind| {
        let Told { value: id, source } = labels.get(name)?;
        Some(Told { value: Group { kind, id }, source })
    };
    let mut group = told(Name::TorchelasticRun, GroupKind::Torchrun)
        .or_else(|| told(Name::RayJob, GroupKind::Ray))?;
    if *group.value.id == *NAMELESS {
        group.value.id = Arc::from(format!("pid {}", ancestors.first()?.pid));
    }
    Some(group)
}
