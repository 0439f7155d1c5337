//! Who the processes are that hold cards: each is read once, and again until its workload is known.

use std::collections::HashMap;
use std::time::Duration;

use gua_core::Poll;
use gua_core::identity::Source;
use gua_core::process::{Presence, ProcessFacts, ProcessId};
use gua_store::{Person, ProcessEntry};
use probe::proc::Host;
use probe::who::masked;

/// Time for which a process is known after it was last seen: spans and sessions are stored later.
const KEPT: Duration = Duration::from_secs(600);

/// The processes of recent polls.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    entries: HashMap<ProcessId, ProcessEntry>,
    /// Time since boot at which each was last seen.
    seen: HashMap<ProcessId, Duration>,
}

impl Processes {
    /// Adds the processes of a poll, and how they use their cards.
    pub fn add(&mut self, poll: &Poll) {
        for card in poll.cards.iter().flatten() {
            for (holder, process) in card.reading.holders.seen.iter().zip(&card.processes) {
                let id = process.id;
                let entry = self.entries.entry(id).or_insert_with(|| ProcessEntry::unread(id));
                entry.kinds = entry.kinds.and(holder.kinds);
                self.seen.insert(id, poll.clocks.since_boot);
            }
        }
    }

    /// Returns the processes of the newest poll of which something is not known yet.
    pub fn incomplete(&self, now: Duration) -> Vec<ProcessId> {
        let is_incomplete = |entry: &&ProcessEntry| {
            entry.id.start_ticks.is_some()
                && (entry.workload.is_none() || entry.program.is_none())
                && self.seen.get(&entry.id) == Some(&now)
        };
        self.entries.values().filter(is_incomplete).map(|entry| entry.id).collect()
    }

    /// Replaces what is known of a process that holds a card.
    pub fn set(&mut self, entry: ProcessEntry) {
        if let Some(known) = self.entries.get_mut(&entry.id) {
            let kinds = known.kinds.and(entry.kinds);
            *known = ProcessEntry { kinds, ..entry };
        }
    }

    pub const fn all(&self) -> &HashMap<ProcessId, ProcessEntry> {
        &self.entries
    }

    /// Forgets those that were last seen long ago. Everything of them is stored.
    pub fn forget_before(&mut self, now: Duration) {
        self.seen.retain(|_, seen| now.saturating_sub(*seen) <= KEPT);
        self.entries.retain(|id, _| self.seen.contains_key(id));
    }
}

/// Reads what the host says of a process. The command line only if asked for: it may hold secrets,
/// which are masked.
#[must_use]
pub fn read_process(host: &mut Host, id: ProcessId, with_command: bool) -> ProcessEntry {
    let facts = match host.process(id.pid) {
        Presence::Here(facts) if is_same(&facts, id) => facts,
        _ => return ProcessEntry::unread(id),
    };
    let command = with_command.then(|| host.command(id.pid).known()).flatten();
    ProcessEntry {
        started: facts.started.known(),
        program: Some(facts.program.clone()),
        person: person(&facts),
        workload: facts.who.clone().known(),
        command: command.map(|words| masked(&words).into()),
        ..ProcessEntry::unread(id)
    }
}

fn is_same(facts: &ProcessFacts, id: ProcessId) -> bool {
    id.start_ticks == Some(facts.start_ticks) && id.uid == facts.uid.known()
}

/// Returns the person behind a process, else its owner. If a person was looked for and not found, it is
/// nobody: the owner of a process in a container may be anybody's root.
fn person(facts: &ProcessFacts) -> Person {
    match facts.who.as_ref().known() {
        Some(who) => who.user.as_ref().map_or_else(Person::default, |user| Person {
            user: user.value.name.clone(),
            uid: Some(user.value.uid),
            source: Some(user.source),
        }),
        None => {
            let uid = facts.uid.known();
            let user = facts.user.as_ref().known().and_then(Clone::clone);
            Person { user, uid, source: uid.map(|_| Source::Uid) }
        }
    }
}
