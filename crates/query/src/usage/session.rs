//! Sessions: stretches in which one process held a card without using it.

use std::collections::HashMap;

use gua_core::identity::{Told, User, Who};
use gua_core::{Period, Slices};
use gua_store::{Database, Owner, Person, StoreError, StoredProcess, StoredSession};
use jiff::Timestamp;
use serde::Serialize;

use super::account::bytes;
use super::remedy::{self, Viewer};
use super::request::UsageRequest;
use super::states::{float, hours, rounded};
use super::sums::CardTotals;

/// One process on one card, from when it stopped working until it went on or let go.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// Null if the uid has no name, or nobody is known.
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub card_uuid: Option<String>,
    pub card_index: Option<u32>,
    /// Slot of a MIG instance.
    pub card_slot: Option<u32>,
    pub pid: u32,
    pub program: Option<String>,
    /// Begin, at least that of the window.
    pub from: Timestamp,
    /// True if it was seen to begin in the window; else it began then or before.
    pub from_seen: bool,
    /// End, at most that of the window.
    pub to: Timestamp,
    /// True if it was seen to end; else it went on when recording or the window ended.
    pub to_seen: bool,
    /// Null if it went on when the window or the record ended.
    pub open: Option<bool>,
    /// Idle time within the window.
    pub idle_seconds: f64,
    /// Part of the idle time in which another process worked on the card.
    pub busy_card_seconds: f64,
    /// Share of the cards' idle-held time of the window.
    pub idle_held_gpu_hours: f64,
    /// Null if it was never known.
    pub peak_memory_bytes: Option<u64>,
    /// True if it had no more than the bare context of CUDA, no data.
    pub bare_context: Option<bool>,
    /// Commands that ask about it and that end it, while it is open.
    pub ask: Option<String>,
    pub end: Option<String>,
    /// Null if it was not read.
    pub identity: Option<Who>,
    /// Command line with its secrets masked; null unless the recorder was told to keep it.
    pub command: Option<String>,
}

impl Session {
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open == Some(true)
    }

    /// Returns true if somebody worked on the card for most of it.
    #[must_use]
    pub fn is_beside_work(&self) -> bool {
        self.busy_card_seconds * 2.0 > self.idle_seconds
    }
}

/// The few sessions with the largest parts of the idle-held time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargestSessions {
    /// Places in the list of sessions, the largest part first.
    pub sessions: Vec<usize>,
    pub idle_held_share: f64,
}

/// Number of sessions that are named beside the verdict.
pub const MOST_LARGEST: usize = 3;

impl LargestSessions {
    /// Returns the largest parts of all idle-held hours; `None` if there are none.
    #[must_use]
    pub fn new(sessions: &[Session], idle_held_hours: f64) -> Option<Self> {
        let mut places: Vec<_> = (0..).zip(sessions).collect();
        places.retain(|(_, session)| session.idle_held_gpu_hours > 0.0);
        places.sort_by(|(_, a), (_, b)| b.idle_held_gpu_hours.total_cmp(&a.idle_held_gpu_hours));
        places.truncate(MOST_LARGEST);
        let sum: f64 = places.iter().map(|(_, session)| session.idle_held_gpu_hours).sum();
        (!places.is_empty() && idle_held_hours > 0.0).then(|| Self {
            sessions: places.into_iter().map(|(place, _)| place).collect(),
            idle_held_share: rounded((sum / idle_held_hours).min(1.0)),
        })
    }
}

/// What sessions are read with.
#[derive(Debug)]
pub(super) struct SessionReader<'a> {
    pub store: &'a Database,
    pub request: &'a UsageRequest,
    pub window: Period,
    /// True if the record goes on up to now, and the window ends there.
    pub is_now: bool,
    /// Times that were not observed.
    pub gaps: &'a [Period],
    pub cards: &'a [CardTotals],
    /// Places of cards by their row ids.
    pub card_places: &'a HashMap<i64, usize>,
    pub people: &'a HashMap<i64, Person>,
}

/// A session with its sums in the window, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Found {
    stored: StoredSession,
    open: Option<bool>,
    idle_ms: f64,
    beside_ms: f64,
    unused_ms: f64,
    peak_mib: Option<i64>,
}

impl SessionReader<'_> {
    /// Returns the sessions of the window in the order in which they are shown, and how many ended ones
    /// are left out.
    pub fn read(&self) -> Result<(Vec<Session>, usize), StoreError> {
        let mut stored = self.store.sessions(self.window)?;
        let mut ids: Vec<_> = stored.iter().map(|session| session.holder).collect();
        ids.sort_unstable();
        ids.dedup();
        let owners = self.store.owners(&ids)?;
        let owners: HashMap<_, _> = owners.iter().map(|owner| (owner.holder, owner)).collect();
        stored.retain(|it| owners.get(&it.holder).is_some_and(|owner| self.is_wanted(owner)));
        let mut found = self.with_sums(&stored)?;
        for it in &mut found {
            it.unused_ms *= owners.get(&it.stored.holder).map_or(1.0, |owner| self.weight(owner));
        }
        found.sort_by(|a, b| {
            let longest = b.idle_ms.total_cmp(&a.idle_ms);
            rank(a.open).cmp(&rank(b.open)).then(longest).then_with(|| key(a).cmp(&key(b)))
        });
        let left_out = self.leave_out(&mut found);
        let mut sessions = Vec::with_capacity(found.len());
        for found in &found {
            sessions.extend(self.session(found)?);
        }
        Ok((sessions, left_out))
    }

    /// Returns the part of a GPU that a holder's card is.
    fn weight(&self, owner: &Owner) -> f64 {
        let card = self.card_places.get(&owner.card).and_then(|place| self.cards.get(*place));
        card.and_then(|card| card.slices).map_or(1.0, Slices::weight)
    }

    fn is_wanted(&self, owner: &Owner) -> bool {
        let Some(process) = &owner.process else { return false };
        let person = self.people.get(&process.person);
        let (name, uid) = person.map_or((None, None), |it| (it.user.as_deref(), it.uid));
        self.request.is_about(name, uid)
    }

    /// Adds the sums in the window: a session within it has its own. One that it cuts has its idle time
    /// by the observed time there, as its times are exact, and the other sums of its holder's rows.
    fn with_sums(&self, stored: &[StoredSession]) -> Result<Vec<Found>, StoreError> {
        let mut found: Vec<_> = stored.iter().map(|session| self.whole(session)).collect();
        let begin = stored.iter().map(|session| session.period.from).min();
        let end = stored.iter().map(|session| session.period.to).max();
        let Some((from, to)) = begin.zip(end) else { return Ok(found) };
        let observed = self.store.observed(Period::new(from, to))?;
        for it in &mut found {
            it.unused_ms *= observed.weight(it.stored.period);
        }
        // Apart, as the sums are read in one pass from the first period to the last.
        for is_cut_at_begin in [true, false] {
            let is_cut = |Period { from, to }: Period| match is_cut_at_begin {
                true => from < self.window.from,
                false => from >= self.window.from && to > self.window.to,
            };
            let mut cut: Vec<_> = found.iter_mut().filter(|it| is_cut(it.stored.period)).collect();
            let periods: Vec<_> = cut
                .iter()
                .map(|it| (it.stored.holder, it.stored.period.overlap(&self.window)))
                .collect();
            if periods.is_empty() {
                continue;
            }
            for (it, sums) in cut.iter_mut().zip(self.store.holder_sums(&periods)?) {
                it.idle_ms *= observed.part(it.stored.period, self.window);
                it.beside_ms = sums.times.idle_beside_ms.min(it.idle_ms);
                it.unused_ms = sums.times.unused_share_ms;
                it.peak_mib = it.peak_mib.map(|_| sums.peak_mib);
            }
        }
        Ok(found)
    }

    fn whole(&self, stored: &StoredSession) -> Found {
        let open = match stored.is_open {
            true if self.is_now => Some(true),
            true => None,
            // It was on when the window ended: whether it went on, the window does not say.
            false => (stored.period.to < self.window.to).then_some(false),
        };
        Found {
            stored: *stored,
            open,
            idle_ms: float(stored.period.millis().saturating_sub(stored.doubt_ms)),
            beside_ms: float(stored.idle_beside_ms),
            unused_ms: float(stored.unused_share_ms),
            peak_mib: stored.peak_mib,
        }
    }

    /// Keeps as many sessions of each standing as are asked for, and those with the largest parts of the
    /// idle-held time. Returns how many ended ones are left out.
    fn leave_out(&self, found: &mut Vec<Found>) -> usize {
        let Some(most) = self.request.most_sessions else { return 0 };
        let mut largest: Vec<_> = found.iter().map(|it| (it.unused_ms, key(it))).collect();
        largest.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        largest.truncate(MOST_LARGEST);
        let mut counts = [0_usize; 3];
        let mut left_out = 0;
        found.retain(|it| {
            let is_large = largest.iter().any(|(_, large)| *large == key(it));
            let count = &mut counts[rank(it.open)];
            *count += 1;
            let is_kept = *count <= most || is_large;
            left_out += usize::from(!is_kept && it.open == Some(false));
            is_kept
        });
        left_out
    }

    /// Returns a session as it is shown; `None` if its holder is not known any more.
    fn session(&self, found: &Found) -> Result<Option<Session>, StoreError> {
        let Some(holder) = self.store.holder(found.stored.holder)? else { return Ok(None) };
        let Some(process) = holder.process else { return Ok(None) };
        let card = self.card_places.get(&holder.card).and_then(|place| self.cards.get(*place));
        let stored = &found.stored;
        let Period { from, to } = stored.period.overlap(&self.window);
        let is_open = found.open == Some(true);
        let viewer = match self.request.user {
            Some(_) => Viewer::Owner,
            None => Viewer::Uid(self.request.viewer_uid),
        };
        let peak = found.peak_mib.map(bytes);
        Ok(Some(Session {
            user: process.person.user.as_ref().map(ToString::to_string),
            uid: process.person.uid,
            card_uuid: card.and_then(|card| card.uuid.clone()),
            card_index: card.and_then(|card| card.index),
            card_slot: card.and_then(|card| card.slot),
            pid: process.pid,
            program: process.program.clone(),
            from: from.into(),
            from_seen: stored.is_begin_seen && stored.period.from >= self.window.from,
            to: to.into(),
            to_seen: found.open == Some(false) && !self.gaps.iter().any(|gap| gap.from == to),
            open: found.open,
            idle_seconds: found.idle_ms.round() / 1000.0,
            busy_card_seconds: found.beside_ms.round() / 1000.0,
            idle_held_gpu_hours: hours(found.unused_ms),
            peak_memory_bytes: peak,
            bare_context: peak.map(|peak| peak <= self.request.context.0),
            ask: is_open.then(|| remedy::ask(&process.person, viewer)).flatten(),
            end: is_open.then(|| remedy::end(&process, viewer)).flatten(),
            identity: identity(&process),
            command: process.workload.and_then(|workload| workload.command),
        }))
    }
}

/// Open sessions come first, then those that may be open.
const fn rank(open: Option<bool>) -> usize {
    match open {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    }
}

fn key(found: &Found) -> (i64, i64) {
    (found.stored.period.from.0, found.stored.holder)
}

/// Returns all that is known of who is behind a process; `None` if nothing is.
fn identity(process: &StoredProcess) -> Option<Who> {
    let Person { user, uid, source } = &process.person;
    let told = |(uid, source)| Told { value: User { uid, name: user.clone() }, source };
    let user = uid.zip(*source).map(told);
    let who = process.workload.as_ref().map(|workload| workload.who.clone());
    (who.is_some() || user.is_some()).then(|| Who { user, ..who.unwrap_or_default() })
}
