//! Holding sessions: stretches in which one process held a card and did not work.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde::Serialize;

use super::remedy::{self, Hand};
use super::times::{hours, rounded, seconds};
use crate::calendar::nearest;
use crate::classify::Kib;
use crate::ledger::{Beginning, Period, Spell};
use crate::report::identity::{self, Identity};
use crate::store::{self, CardRow};

/// One process on one card, from when it stopped working until it went on or let go.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// Null where the uid has no name, or where nobody is known.
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub card_uuid: Option<String>,
    /// Null where the record does not name the card.
    pub card_index: Option<u32>,
    /// Of a MIG instance.
    pub card_slot: Option<u32>,
    pub pid: u32,
    pub program: Option<String>,
    pub from: Timestamp,
    /// Whether it was seen to begin; else it began then or before.
    pub from_seen: bool,
    pub to: Timestamp,
    /// Whether it was seen to end; else it was on when nobody recorded any more.
    pub to_seen: bool,
    /// Null where it was on when the window or the record ended: it may have gone on.
    pub open: Option<bool>,
    pub idle_seconds: f64,
    /// What of it somebody else worked on the card: idle memory on a busy card.
    pub busy_card_seconds: f64,
    /// What of it is known only of the card: the driver did not tell what the process did.
    pub as_the_card_seconds: f64,
    /// Its part of the idle-held time of the window.
    pub idle_held_gpu_hours: f64,
    /// Null where the driver never told.
    pub peak_memory_bytes: Option<u64>,
    /// Whether it had no more than the bare context of CUDA, no data.
    pub bare_context: Option<bool>,
    /// What to type to ask about it, and to end it, while it is on.
    pub ask: Option<String>,
    pub end: Option<String>,
    /// Null where nobody looked for it, as in older histories.
    pub identity: Option<Identity>,
    /// How it was started, with its secrets masked. Null unless the recorder was told to keep that.
    pub command: Option<String>,
}

/// What sessions are seen by.
#[derive(Debug, Clone, Copy)]
pub struct Onlooker<'a> {
    pub cards: &'a [CardRow],
    pub window: Period,
    /// When somebody recorded, in order and without overlaps.
    pub observed: &'a [Period],
    /// Whether the record reaches up to now.
    pub is_live: bool,
    /// Who is going to type what is told.
    pub hand: Hand,
    /// Who holds no more than this has only the bare context of CUDA.
    pub context: Kib,
}

impl Session {
    /// As it is told.
    #[must_use]
    pub fn new(found: &store::Session, by: &Onlooker<'_>) -> Self {
        let store::Session { holder, spell, .. } = found;
        let card = by.cards.iter().find(|card| card.id == holder.card);
        let open = by.open(found);
        Self {
            user: holder.identity.user.as_ref().map(ToString::to_string),
            uid: holder.identity.uid,
            card_uuid: card.and_then(|card| card.uuid.clone()),
            card_index: card.map(|card| card.number),
            card_slot: card.and_then(|card| card.slot),
            pid: holder.pid,
            program: holder.program.clone(),
            from: nearest(spell.from),
            from_seen: spell.beginning == Beginning::Seen,
            to: nearest(spell.to),
            to_seen: open == Some(false) && !by.observed.iter().any(|it| it.to == spell.to),
            open,
            idle_seconds: seconds(spell.idle_millis),
            busy_card_seconds: seconds(spell.busy_millis),
            as_the_card_seconds: seconds(spell.as_the_card_millis),
            idle_held_gpu_hours: hours(spell.share.millis()),
            peak_memory_bytes: spell.peak.map(|peak| peak.0 << 10),
            bare_context: spell.peak.map(|_| found.is_bare_context(by.context)),
            ask: open.filter(|open| *open).and_then(|_| remedy::ask(&holder.identity, by.hand)),
            end: open.filter(|open| *open).and_then(|_| remedy::end(holder, by.hand)),
            identity: identity::written(
                &holder.identity,
                holder.workload.as_ref().map(|workload| &workload.who),
            ),
            command: holder.workload.as_ref().and_then(|workload| workload.command.clone()),
        }
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open == Some(true)
    }

    /// Whether somebody worked on the card for most of it.
    #[must_use]
    pub fn is_on_a_busy_card(&self) -> bool {
        self.busy_card_seconds * 2.0 > self.idle_seconds
    }

    /// Whether most of it is known only of the card.
    #[must_use]
    pub fn is_as_the_card(&self) -> bool {
        self.as_the_card_seconds * 2.0 > self.idle_seconds
    }
}

impl Onlooker<'_> {
    fn open(&self, found: &store::Session) -> Option<bool> {
        let Spell { to, .. } = found.spell;
        match (found.is_open, self.is_live) {
            (true, true) => Some(true),
            (true, false) => None,
            (false, _) => (to < self.window.to).then_some(false),
        }
    }
}

/// Those that are still on first, then what may be, then the ended ones; the longest first.
pub(super) fn in_order(sessions: &mut [Session]) {
    sessions.sort_by(|a, b| {
        let rank = |session: &Session| match session.open {
            Some(true) => 0_u8,
            None => 1,
            Some(false) => 2,
        };
        let place = |session: &Session| (session.from, session.card_index, session.pid);
        let longest = b.idle_seconds.total_cmp(&a.idle_seconds);
        rank(a).cmp(&rank(b)).then(longest).then_with(|| place(a).cmp(&place(b)))
    });
}

/// How few sessions make up how much of the idle-held time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Culprits {
    /// Places in the list of sessions, the largest part first.
    pub sessions: Vec<usize>,
    pub idle_held_share: f64,
}

/// So many are named.
pub const MOST_CULPRITS: usize = 3;

/// The sessions with the largest parts of all idle-held hours.
pub(super) fn culprits(sessions: &[Session], idle_held_hours: f64) -> Option<Culprits> {
    let mut places: Vec<_> =
        (0..).zip(sessions).filter(|(_, s)| s.idle_held_gpu_hours > 0.0).collect();
    places.sort_by_key(|(place, session)| (Reverse(micros(session.idle_held_gpu_hours)), *place));
    places.truncate(MOST_CULPRITS);
    let theirs: f64 = places.iter().map(|(_, session)| session.idle_held_gpu_hours).sum();
    let is_told = !places.is_empty() && idle_held_hours > 0.0;
    is_told.then(|| Culprits {
        sessions: places.into_iter().map(|(place, _)| place).collect(),
        idle_held_share: rounded((theirs / idle_held_hours).min(1.0)),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "only for their order")]
fn micros(hours: f64) -> i64 {
    (hours * 1e6) as i64
}
