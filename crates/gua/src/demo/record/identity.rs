//! Identity of simulated processes, as the record keeps it.

use std::sync::Arc;

use gua_core::process::ProcessId;
use gua_core::units::UnixMillis;
use gua_store::{Person, ProcessEntry};
use scenario::{Process, Scenario};

use super::timeline::Timeline;
use crate::simulated::{identify, kinds};

/// Returns the identity of a process. The simulated host was booted in 1970, so that a process has the
/// same start in every scene.
pub(super) fn process_id(process: &Process, timeline: Timeline) -> ProcessId {
    if process.owner.gone {
        return ProcessId::unread(process.pid);
    }
    let ticks = timeline.micros(process.begin).div_euclid(10_000);
    ProcessId {
        pid: process.pid,
        start_ticks: Some(u64::try_from(ticks).unwrap_or(0)),
        uid: Some(process.owner.uid),
    }
}

/// Returns what the record keeps of a process.
pub(super) fn entry(process: &Process, scenario: &Scenario, timeline: Timeline) -> ProcessEntry {
    let id = process_id(process, timeline);
    let kinds = kinds(process);
    if process.owner.gone {
        return ProcessEntry { kinds, ..ProcessEntry::unread(id) };
    }
    let who = identify(process, scenario);
    let person = Person {
        user: who.user.as_ref().and_then(|user| user.value.name.clone()),
        uid: who.user.as_ref().map_or(id.uid, |user| Some(user.value.uid)),
        source: who.user.as_ref().map(|user| user.source),
    };
    ProcessEntry {
        id,
        started: Some(UnixMillis(timeline.micros(process.begin).div_euclid(1000))),
        program: Some(process.owner.program.as_str().into()),
        person,
        kinds,
        workload: Some(Arc::new(who)),
        command: None,
    }
}
