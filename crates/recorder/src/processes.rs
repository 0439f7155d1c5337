//! Who the processes are that hold cards: each is read once, and again until its workload is known.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gua_core::process::{Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::SeenProcess;
use gua_core::{Poll, Reading, Reason};
use gua_store::ProcessEntry;
use probe::identity::masked;
use probe::proc::Host;

/// Time for which a process is known after it was last seen: spans and sessions are stored later.
const KEPT: Duration = Duration::from_secs(600);

/// The processes of recent polls.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    entries: HashMap<ProcessId, ProcessEntry>,
    seen: HashMap<ProcessId, LastSeen>,
}

#[derive(Debug)]
struct LastSeen {
    /// Time since boot.
    at: Duration,
    /// What the host says of it; `None` before it is read.
    process: Option<SeenProcess>,
}

impl Processes {
    /// Adds the processes of a poll, and how they use their cards.
    pub fn add(&mut self, poll: &Poll) {
        let at = poll.clocks.since_boot;
        for card in poll.cards.iter().flatten() {
            for (holder, process) in card.reading.holders.seen.iter().zip(&card.processes) {
                let id = process.id;
                let entry = self.entries.entry(id).or_insert_with(|| ProcessEntry::unread(id));
                entry.kinds = entry.kinds.and(holder.kinds);
                self.seen.entry(id).or_insert(LastSeen { at, process: None }).at = at;
            }
        }
    }

    /// Returns the processes of the newest poll that were not read yet, or of which something is missing.
    pub fn incomplete(&self, now: Duration) -> Vec<ProcessId> {
        let is_incomplete = |id: &ProcessId, seen: &LastSeen| {
            let is_unknown = id.start_ticks.is_some()
                && self.entries.get(id).is_some_and(|entry| entry.workload.is_none());
            seen.at == now && (seen.process.is_none() || is_unknown)
        };
        let seen = self.seen.iter().filter(|(id, seen)| is_incomplete(id, seen));
        seen.map(|(id, _)| *id).collect()
    }

    /// Sets what the host says of a process that holds a card.
    pub fn set(&mut self, id: ProcessId, process: SeenProcess) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Presence::Here(facts) = &process.presence
            && is_same(facts, id)
        {
            entry.started = facts.started.known();
            entry.program = Some(Arc::clone(&facts.program));
            entry.person = facts.person();
            entry.workload = facts.who.clone().known();
            entry.command = process.command.as_ref().known().map(|words| masked(words).into());
        }
        if let Some(seen) = self.seen.get_mut(&id) {
            // Arguments that are not masked are not stored.
            let command = Reading::Unknown(Reason::NotAsked);
            seen.process = Some(SeenProcess { command, ..process });
        }
    }

    pub const fn all(&self) -> &HashMap<ProcessId, ProcessEntry> {
        &self.entries
    }

    /// Returns what the host says of a process.
    pub fn seen(&self, id: ProcessId) -> SeenProcess {
        let seen = self.seen.get(&id).and_then(|seen| seen.process.clone());
        seen.unwrap_or(SeenProcess {
            pid: id.pid,
            presence: Presence::Hidden(Reason::NotAsked),
            command: Reading::Unknown(Reason::NotAsked),
        })
    }

    /// Forgets those that were last seen long ago. Everything of them is stored.
    pub fn forget_before(&mut self, now: Duration) {
        self.seen.retain(|_, seen| now.saturating_sub(seen.at) <= KEPT);
        self.entries.retain(|id, _| self.seen.contains_key(id));
    }
}

/// Reads what the host says of a process. The command line only if asked for: it may hold secrets,
/// which are masked before they are stored.
pub(crate) fn read_process(host: &mut Host, pid: u32, with_command: bool) -> SeenProcess {
    let presence = host.process(pid);
    let command = match &presence {
        Presence::Here(_) if with_command => host.command(pid),
        _ => Reading::Unknown(Reason::NotAsked),
    };
    SeenProcess { pid, presence, command }
}

fn is_same(facts: &ProcessFacts, id: ProcessId) -> bool {
    id.start_ticks == Some(facts.start_ticks) && id.uid == facts.uid.known()
}
