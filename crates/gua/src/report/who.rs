//! Who holds what now, and since when without working?

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;
use probe::units::{Bytes, UnixMillis};
use serde::Serialize;

use super::now::{self, Card, Holder, Identity, Now};
use super::reservation::Reservation;
use super::unknowns::{Reason, Unknowns};
use super::{identity, status};
use crate::calendar::timestamp;
use crate::classify::State;
use crate::ledger::{Beginning, Spell};
use crate::store::{HolderKey, Idleness, RunRow};

/// Everybody who holds a card, longest idle first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Who {
    pub schema: &'static str,
    pub time: Timestamp,
    pub host: Option<String>,
    /// Why the driver cannot be read, while it cannot.
    pub driver_error: Option<String>,
    pub history: Record,
    pub holders: Vec<Held>,
    /// Cards that somebody holds, or may hold, who is not listed.
    pub unseen: Vec<Unseen>,
    /// Cards that somebody was given and may not hold yet; null where that cannot be read.
    pub reservations: Option<Vec<Given>>,
    /// How many were left out as nobody knows how long they have been idle.
    pub idle_now_left_out: usize,
    /// How many were left out as nobody knows whether they are idle.
    pub unknown_left_out: usize,
    /// How many cards were left out that somebody may hold of whom nobody knows who it is.
    pub unseen_left_out: usize,
}

/// A card that somebody was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Given {
    pub card: Identity,
    #[serde(flatten)]
    pub by: Reservation,
}

/// One line of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    Held(&'a Held),
    Unseen(&'a Unseen),
}

/// What the history says of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Null also where others may read the answer: it is nobody's matter there.
    pub path: Option<String>,
    pub state: Standing,
    /// Why there is nothing to read.
    pub reason: Option<String>,
    pub recorded_until: Option<Timestamp>,
    #[serde(skip)]
    idleness: Idleness,
}

/// Whether the record reaches up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Recording,
    /// It ends before now: nobody knows what happened since.
    Ended,
    /// There is none.
    None,
}

/// One process on one card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    pub card: Identity,
    /// What it does: it may sleep on a card that works.
    pub state: State,
    pub card_state: State,
    /// In words, for a state that is unknown.
    pub state_reason: Option<String>,
    /// Whether it has no more than the bare context of CUDA, no data. Null where its memory is.
    pub bare_context: Option<bool>,
    #[serde(flatten)]
    pub idle: Idle,
    #[serde(flatten)]
    pub holder: Holder,
    /// Who is behind it.
    pub identity: Option<identity::Identity>,
}

/// A card with somebody on it who is not listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unseen {
    pub card: Identity,
    pub state: State,
    pub state_reason: Option<String>,
    #[serde(flatten)]
    pub idle: Idle,
    /// Null where that cannot be told.
    pub memory_bytes: Option<u64>,
    /// Why the list is not complete, where it is not.
    pub holders_reason: Option<String>,
    pub unknown: Unknowns,
}

/// How long somebody has held a card without work on it. All null when it is not so now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct Idle {
    pub idle_since: Option<Timestamp>,
    pub idle_seconds: Option<f64>,
    /// Why it may be longer, or why it is not known at all.
    pub idle_doubt: Option<Doubt>,
    /// Where the record ends, when that is before now.
    pub idle_recorded_until: Option<Timestamp>,
}

/// What is not known of an idle time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// It is idle now; nothing is recorded.
    NoHistory,
    /// It is idle now, and was not at the last tick.
    NotRecorded,
    /// It is at least so long: what was before is not recorded.
    BeginningNotRecorded,
    /// It was so long when the record ended, and is idle now.
    RecorderNotRunning,
}

/// Whom to leave in.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Only who has held a card idle for so long.
    pub idle: Option<Duration>,
    /// Only these, by name or uid; everybody where there is none.
    pub users: Vec<String>,
    /// Who holds no more than this has only the bare context of CUDA.
    pub context: Bytes,
}

impl Record {
    /// There is none to read.
    #[must_use]
    pub fn none(path: Option<String>, reason: String) -> Self {
        Self {
            path,
            state: Standing::None,
            reason: Some(reason),
            recorded_until: None,
            idleness: Idleness::default(),
        }
    }

    /// What was read at a moment, of a history whose newest run is this one.
    #[must_use]
    pub fn new(
        path: Option<String>,
        idleness: Idleness,
        run: Option<&RunRow>,
        now: UnixMillis,
    ) -> Self {
        let Some(until) = idleness.until else {
            return Self::none(path, "nothing is recorded in it yet".to_owned());
        };
        let goes_on = status::is_live(run, Some(until), now);
        Self {
            path,
            state: if goes_on { Standing::Recording } else { Standing::Ended },
            reason: None,
            recorded_until: timestamp(until),
            idleness,
        }
    }

    /// Whether a holder that did nothing just now, on a card that others work on, may be called
    /// idle. A moment is short, so a record that reaches up to it must say so, too; where none does,
    /// the moment is all that there is.
    fn may_sleep(&self, found: Option<&Spell>) -> bool {
        found.is_some() || self.state != Standing::Recording
    }

    /// How long it was idle-held, for who is on an idle-held card now.
    fn idle(&self, found: Option<&Spell>, now: Timestamp) -> Idle {
        let nothing = |doubt| Idle { idle_doubt: Some(doubt), ..Idle::default() };
        let Some(found) = found.filter(|_| self.state != Standing::None) else {
            let is_none = self.state == Standing::None;
            return nothing(if is_none { Doubt::NoHistory } else { Doubt::NotRecorded });
        };
        let ended = self.recorded_until.filter(|_| self.state == Standing::Ended);
        let until = ended.unwrap_or(now);
        let Some(since) = timestamp(found.from) else { return nothing(Doubt::NotRecorded) };
        Idle {
            idle_since: Some(since),
            idle_seconds: Some(until.duration_since(since).as_secs_f64().max(0.0)),
            idle_doubt: match (ended, found.beginning) {
                (Some(_), _) => Some(Doubt::RecorderNotRunning),
                (None, Beginning::Unseen) => Some(Doubt::BeginningNotRecorded),
                (None, Beginning::Seen) => None,
            },
            idle_recorded_until: ended,
        }
    }
}

/// Answers from what `gua stat` shows and what is recorded.
#[must_use]
pub fn who(now: Now, record: Record, asked: &Asked) -> Who {
    let mut holders = Vec::new();
    let mut unseen = Vec::new();
    let reservations = given(&now, asked);
    for card in now.cards {
        unseen.extend(unseen_on(&card, &record, now.time));
        holders.extend(held(card, &record, asked.context, now.time));
    }
    holders.retain(|held| asked.is_by(held));
    // Nobody can say whose it is.
    let nobodys = if asked.users.is_empty() { 0 } else { unseen.len() };
    unseen.retain(|_| asked.users.is_empty());
    let held = holders.iter().map(|held| (held.state, held.idle));
    let (idle_now, unknown) =
        asked.in_doubt(held.chain(unseen.iter().map(|unseen| (unseen.state, unseen.idle))));
    holders.retain(|held| asked.is_long_enough(&held.idle));
    unseen.retain(|unseen| asked.is_long_enough(&unseen.idle));
    holders.sort_by_key(|held| (place(held.state, &held.idle, &held.card), held.holder.pid));
    unseen.sort_by_key(|unseen| place(unseen.state, &unseen.idle, &unseen.card));
    Who {
        schema: "gua.who/1",
        time: now.time,
        host: now.host,
        driver_error: now.driver_error,
        history: record,
        reservations,
        idle_now_left_out: idle_now,
        unknown_left_out: unknown,
        unseen_left_out: nobodys,
        holders,
        unseen,
    }
}

/// The cards that somebody was given; `None` where that cannot be read.
fn given(now: &Now, asked: &Asked) -> Option<Vec<Given>> {
    if now.cards.iter().any(|card| card.unknown.reason("reservations").is_some()) {
        return None;
    }
    let all = now.cards.iter().flat_map(|card| card.reservations.iter().map(move |by| (card, by)));
    // Who has held nothing yet is not idle.
    let asked_for = all.filter(|(_, by)| asked.idle.is_none() && asked.is_of(by));
    let given =
        |(card, by): (&Card, &Reservation)| Given { card: card.identity.clone(), by: by.clone() };
    Some(asked_for.map(given).collect())
}

impl Who {
    /// Everybody, seen or not, longest idle first.
    #[must_use]
    pub fn rows(&self) -> Vec<Row<'_>> {
        let held = self.holders.iter().map(Row::Held);
        let mut rows: Vec<_> = held.chain(self.unseen.iter().map(Row::Unseen)).collect();
        // Those that are alike stay as they are: who can be named first.
        rows.sort_by_key(|row| match row {
            Row::Held(held) => place(held.state, &held.idle, &held.card),
            Row::Unseen(unseen) => place(unseen.state, &unseen.idle, &unseen.card),
        });
        rows
    }
}

impl Asked {
    fn is_by(&self, held: &Held) -> bool {
        let owner = &held.holder.owner;
        // Who is behind it, where that is known, is not always whose process it is.
        let (name, uid) = match &held.identity {
            Some(identity) => match &identity.user {
                Some(user) => (user.value.name.as_deref(), Some(user.value.uid)),
                None => (None, None),
            },
            None => (owner.user.as_deref(), owner.uid),
        };
        self.has(name, uid)
    }

    fn is_of(&self, by: &Reservation) -> bool {
        self.has(by.user.as_deref(), Some(by.uid))
    }

    fn has(&self, name: Option<&str>, uid: Option<u32>) -> bool {
        let is =
            |user: &String| name == Some(user) || uid.is_some_and(|uid| *user == uid.to_string());
        self.users.is_empty() || self.users.iter().any(is)
    }

    /// How many may be idle for so long and are left out: idle now, since when is not known,
    /// and not known whether at all.
    fn in_doubt(&self, all: impl Iterator<Item = (State, Idle)>) -> (usize, usize) {
        if self.idle.is_none() {
            return (0, 0);
        }
        all.fold((0, 0), |(idle_now, unknown), (state, idle)| match state {
            State::IdleHeld if !idle.is_known() => (idle_now + 1, unknown),
            State::Unknown(_) => (idle_now, unknown + 1),
            _ => (idle_now, unknown),
        })
    }

    fn is_long_enough(&self, idle: &Idle) -> bool {
        let is_so_long = |wanted: Duration| {
            idle.idle_seconds.is_some_and(|seconds| seconds >= wanted.as_secs_f64())
        };
        self.idle.is_none_or(is_so_long)
    }
}

impl Idle {
    /// Whether it is known for how long.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.idle_seconds.is_some()
    }
}

fn held(card: Card, record: &Record, context: Bytes, now: Timestamp) -> Vec<Held> {
    let Card { identity, state: card_state, state_reason, holders, .. } = card;
    let all = holders.into_iter();
    all.map(|mut holder| {
        let found = identity
            .uuid
            .clone()
            .and_then(|card| record.idleness.holders.get(&HolderKey { card, process: holder.key }));
        let state = doing(holder.state, card_state, record.may_sleep(found));
        Held {
            card: identity.clone(),
            state,
            card_state,
            state_reason: state_reason.clone(),
            bare_context: holder.memory_bytes.map(|bytes| bytes <= context.0),
            idle: match state {
                State::IdleHeld => record.idle(found, now),
                State::Active | State::TrulyIdle | State::Unknown(_) => Idle::default(),
            },
            identity: behind(&mut holder),
            holder,
        }
    })
    .collect()
}

fn behind(holder: &mut Holder) -> Option<identity::Identity> {
    let identity = holder.identity.clone();
    if holder.presence == now::Presence::Foreign {
        holder.unknown.note("identity", Reason::Foreign);
        return None;
    }
    holder.unknown.take("identity", identity)
}

/// What a holder does: what its card does, but for who works on one that is idle, and who sleeps
/// on one that works.
const fn doing(own: State, card: State, may_sleep: bool) -> State {
    match (card, own) {
        (State::IdleHeld, State::Active) => State::Active,
        (State::Active, State::IdleHeld) if may_sleep => State::IdleHeld,
        _ => card,
    }
}

fn unseen_on(card: &Card, record: &Record, now: Timestamp) -> Option<Unseen> {
    let now::Unseen { memory, unread } = card.unseen?;
    let found = card.identity.uuid.as_ref().and_then(|uuid| record.idleness.cards.get(uuid));
    let is_idle = card.state == State::IdleHeld;
    let mut unknown = Unknowns::default();
    Some(Unseen {
        card: card.identity.clone(),
        state: card.state,
        state_reason: card.state_reason.clone(),
        idle: if is_idle { record.idle(found, now) } else { Idle::default() },
        memory_bytes: unknown.take("memory_bytes", memory).map(|bytes| bytes.0),
        holders_reason: unread.map(|why| why.to_string()),
        unknown,
    })
}

type Place = (u8, Reverse<u64>, u32, Option<u32>);

/// Longest idle first, then what may be idle, then what is not.
fn place(state: State, idle: &Idle, card: &Identity) -> Place {
    let rank = match state {
        State::IdleHeld if idle.is_known() => 0,
        State::IdleHeld => 1,
        State::Unknown(_) => 2,
        State::TrulyIdle => 3,
        State::Active => 4,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let seconds = idle.idle_seconds.unwrap_or(0.0) as u64;
    (rank, Reverse(seconds), card.index, card.mig_slot)
}
