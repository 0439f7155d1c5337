//! Since when holders are idle, by the looks of one program: for a view that stays open.

use std::collections::HashMap;

use gua_core::session::LONGEST_DOUBT_MS;
use gua_core::snapshot::{
    CardIdentity, HolderNow, IdleCertainty, IdleDoubt, IdleNow, IdleSource, Snapshot,
};
use gua_core::state::State;
use jiff::Timestamp;

/// Remembers since when holders have been idle, from look to look.
#[derive(Debug, Default)]
pub struct IdleWatch {
    holders: HashMap<HolderKey, Seen>,
    /// Time of the last look.
    last: Option<Timestamp>,
}

type HolderKey = (u32, Option<u32>, Option<String>, u32, Option<u64>);

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Begin of the idle time; `None` while the holder is not idle.
    since: Option<Timestamp>,
    /// True if it was not idle before.
    is_begin_seen: bool,
    /// When it was last known what it does.
    known: Timestamp,
}

impl IdleWatch {
    /// Adds a snapshot, and completes the idle times that the record does not have.
    pub fn add(&mut self, snapshot: &mut Snapshot) {
        let now = snapshot.time;
        let mut seen = HashMap::new();
        for card in &mut snapshot.cards {
            for holder in &mut card.holders {
                let key = key(&card.card, holder);
                let before = self.holders.remove(&key).or_else(|| self.begun(holder));
                let state = next(before, holder.state, now);
                if let Some(state) = state {
                    complete(&mut holder.idle, state, now);
                    seen.insert(key, state);
                }
            }
        }
        self.holders = seen;
        self.last = Some(now);
    }

    /// Returns what is known of a holder that has not been seen before, if its process has started since
    /// the last look: until then it was not idle.
    fn begun(&self, holder: &HolderNow) -> Option<Seen> {
        let started = holder.started.filter(|started| Some(*started) >= self.last)?;
        self.last.map(|_| Seen { since: None, is_begin_seen: false, known: started })
    }
}

fn key(card: &CardIdentity, holder: &HolderNow) -> HolderKey {
    (card.index, card.mig_slot, card.uuid.clone(), holder.pid, holder.start_ticks)
}

/// Returns what is known of a holder after a look.
fn next(before: Option<Seen>, state: State, now: Timestamp) -> Option<Seen> {
    match state {
        State::IdleHeld => {
            let is_near = |seen: &Seen| {
                now.as_millisecond() - seen.known.as_millisecond() <= LONGEST_DOUBT_MS
            };
            Some(match before.filter(is_near) {
                Some(seen) if seen.since.is_some() => Seen { known: now, ..seen },
                before => Seen { since: Some(now), is_begin_seen: before.is_some(), known: now },
            })
        }
        State::Active | State::TrulyIdle => {
            Some(Seen { since: None, is_begin_seen: false, known: now })
        }
        State::Unknown(_) => before,
    }
}

/// Completes an idle time of which the record says nothing.
fn complete(idle: &mut IdleNow, seen: Seen, now: Timestamp) {
    let Some(since) = seen.since.filter(|since| *since < now && !idle.is_known()) else { return };
    let own = IdleNow::since(since, now, IdleSource::Samples);
    *idle = match seen.is_begin_seen {
        true => own,
        false => IdleNow {
            idle_certainty: Some(IdleCertainty::AtLeast),
            idle_doubt: Some(idle.idle_doubt.unwrap_or(IdleDoubt::BeginningNotRecorded)),
            ..own
        },
    };
}
