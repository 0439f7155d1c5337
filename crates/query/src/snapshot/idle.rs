//! Since when holders are idle, from the record.
//!
//! The record is final up to some seconds before the last tick. Later work is known from what the
//! recorder last saw, and from the samples of the snapshot itself.

use gua_core::card::CardFacts;
use gua_core::snapshot::{
    CardIdentity, CardNow, HistoryNow, HistoryState, HolderNow, IdleCertainty, IdleDoubt, IdleNow,
    IdleSource, Snapshot, SnapshotSource,
};
use gua_core::span::Work;
use gua_core::state::State;
use gua_core::units::UnixMillis;
use gua_core::{Reason, Session};
use gua_store::Database;
use jiff::Timestamp;

use super::recorded::{SnapshotError, newest_run, parse};
use super::unlisted::{self, UnlistedIdle};
use crate::status::is_recording;

/// Adds to a snapshot since when holders are idle, and what record says so. Sessions are those of
/// processes of a boot.
pub fn add_idle_times(
    snapshot: &mut Snapshot,
    store: &Database,
    boot: &str,
    now: UnixMillis,
) -> Result<(), SnapshotError> {
    let path = Some(store.path().display().to_string());
    let Some(run) = newest_run(store)? else {
        add_no_history(snapshot, path, "nothing is recorded in it yet".to_owned());
        return Ok(());
    };
    let is_live = snapshot.source == SnapshotSource::Live;
    let seen = match store.last_seen()? {
        Some(seen) if is_live => {
            seen.cards.iter().map(|json| parse("a card", json)).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    let has_unlisted = |card: &CardNow| card.unlisted.is_some() && card.state == State::IdleHeld;
    let unlisted = match snapshot.cards.iter().any(has_unlisted) {
        true => unlisted::read(store, run.until)?,
        false => Vec::new(),
    };
    let state = if is_recording(&run, now) { HistoryState::Recording } else { HistoryState::Ended };
    let record = IdleRecord {
        state,
        is_moment: is_live,
        until: run.until.into(),
        sessions: store.open_sessions(boot)?,
        seen,
        unlisted,
    };
    record.add_to(snapshot);
    let recorded_until = Some(record.until);
    snapshot.history = Some(HistoryNow { path, state, reason: None, recorded_until });
    Ok(())
}

/// Notes in a snapshot that there is no record, and why.
pub fn add_no_history(snapshot: &mut Snapshot, path: Option<String>, reason: String) {
    let record = IdleRecord {
        state: HistoryState::None,
        is_moment: true,
        until: Timestamp::MIN,
        sessions: Vec::new(),
        seen: Vec::new(),
        unlisted: Vec::new(),
    };
    record.add_to(snapshot);
    let (state, reason) = (HistoryState::None, Some(reason));
    snapshot.history = Some(HistoryNow { path, state, reason, recorded_until: None });
}

/// What a record says of now.
struct IdleRecord {
    state: HistoryState,
    /// True if the snapshot is from one look, and not from the recorder.
    is_moment: bool,
    /// Time up to which it is final.
    until: Timestamp,
    sessions: Vec<Session>,
    /// Cards at the last tick, for a snapshot that is newer.
    seen: Vec<CardNow>,
    unlisted: Vec<UnlistedIdle>,
}

impl IdleRecord {
    fn add_to(&self, snapshot: &mut Snapshot) {
        let time = snapshot.time;
        for CardNow { card, state, holders, unlisted, .. } in &mut snapshot.cards {
            for holder in holders.iter_mut().filter(|holder| holder.state == State::IdleHeld) {
                let session = self.session(card, holder);
                let last = self.last_seen(card, holder);
                if *state == State::Active && !self.may_be_idle(holder, session, last) {
                    // What the recorder last saw counts, until it says otherwise.
                    let undecided = (Work::Unknown, State::Unknown(Reason::FirstLook));
                    (holder.work, holder.state) =
                        last.map_or(undecided, |last| (last.work, last.state));
                    holder.idle = IdleNow::default();
                    continue;
                }
                let own = holder.idle.idle_since.or(last.and_then(|it| it.idle.idle_since));
                holder.idle = self.idle(session.map(Begin::from), own, time);
            }
            if let Some(unlisted) = unlisted.as_mut().filter(|_| *state == State::IdleHeld) {
                let found = self.unlisted.iter().find(|it| it.is_on(card));
                unlisted.idle = self.idle(found.map(|it| it.begin), None, time);
            }
        }
    }

    /// Returns whether a holder that did nothing just now, on a card that others work on, is idle. A
    /// moment is short: while somebody records, the record must say so, too, or be older than it.
    fn may_be_idle(
        &self,
        holder: &HolderNow,
        session: Option<&Session>,
        last: Option<&HolderNow>,
    ) -> bool {
        let is_newer = holder.started.is_some_and(|started| started > self.until);
        !self.is_moment
            || self.state != HistoryState::Recording
            || session.is_some()
            || holder.idle.is_known()
            || last.map_or(is_newer, |last| last.work == Work::Idle)
    }

    /// Returns the idle time of who is idle now. `own` is since when, by samples.
    fn idle(&self, begin: Option<Begin>, own: Option<Timestamp>, now: Timestamp) -> IdleNow {
        let by_samples = |since| IdleNow::since(since, now, IdleSource::Samples);
        // It worked after the time up to which the record is final.
        if let Some(own) = own.filter(|own| *own > self.until) {
            return by_samples(own);
        }
        let Some(begin) = begin.filter(|_| self.state != HistoryState::None) else {
            let is_none = self.state == HistoryState::None;
            let doubt = if is_none { IdleDoubt::NoHistory } else { IdleDoubt::NotRecorded };
            return own.map_or(IdleNow::doubtful(doubt), by_samples);
        };
        let ended = Some(self.until).filter(|_| self.state == HistoryState::Ended);
        let idle = IdleNow::since(begin.since, ended.unwrap_or(now), IdleSource::Record);
        let doubt = match (ended, begin.is_seen) {
            (Some(_), _) => IdleDoubt::RecorderNotRunning,
            (None, false) => IdleDoubt::BeginningNotRecorded,
            (None, true) => return idle,
        };
        IdleNow {
            idle_certainty: Some(IdleCertainty::AtLeast),
            idle_doubt: Some(doubt),
            idle_recorded_until: ended,
            ..idle
        }
    }

    fn session(&self, card: &CardIdentity, holder: &HolderNow) -> Option<&Session> {
        let process = holder.process();
        let is_it = |session: &&Session| {
            // Of a process whose start is not known, an earlier one may have had the pid.
            (process.start_ticks.is_some() || session.process.start_ticks.is_none())
                && session.process.matches(process)
                && is_card(card, &session.card)
        };
        self.sessions.iter().find(is_it)
    }

    /// Returns a holder as the recorder last saw it, if it still runs.
    fn last_seen(&self, card: &CardIdentity, holder: &HolderNow) -> Option<&HolderNow> {
        if self.state != HistoryState::Recording {
            return None;
        }
        let card = self.seen.iter().find(|seen| is_same_card(card, &seen.card))?;
        let process = holder.process();
        card.holders.iter().find(|seen| seen.process().matches(process))
    }
}

/// Begin of an idle time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Begin {
    pub since: Timestamp,
    /// False if it may have begun earlier.
    pub is_seen: bool,
}

impl From<&Session> for Begin {
    fn from(session: &Session) -> Self {
        // Without a start time, an earlier process may have had the pid.
        let is_seen = session.is_begin_seen && session.process.start_ticks.is_some();
        Self { since: session.period.from.into(), is_seen }
    }
}

/// Returns true if both are one card: by UUID, or by place where that is not known.
fn is_same_card(one: &CardIdentity, other: &CardIdentity) -> bool {
    match (&one.uuid, &other.uuid) {
        (Some(one), Some(other)) => one == other,
        (None, None) => (one.index, one.mig_slot) == (other.index, other.mig_slot),
        _ => false,
    }
}

fn is_card(card: &CardIdentity, facts: &CardFacts) -> bool {
    let identity = CardIdentity {
        index: facts.index,
        mig_slot: facts.slot(),
        uuid: facts.uuid.clone().known(),
        ..CardIdentity::default()
    };
    is_same_card(card, &identity)
}
