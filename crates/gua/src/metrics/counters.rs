//! Everything that was counted since the counters began.

use std::collections::BTreeMap;
use std::time::Duration;

use probe::Why;
use probe::units::UnixMillis;
use serde::{Deserialize, Serialize};

use super::card::{CardCounters, Tick};
use super::histogram::Histogram;
use super::owner::Wanted;
use super::room::{self, Room};
use crate::classify::State;
use crate::ledger::{CardEntry, Entry, Event, Kind, Trouble};

/// What the ticks add up to. It is kept from run to run, so that no counter ever goes back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// When they began at nothing.
    pub since_millis: i64,
    /// How many ticks were counted.
    pub ticks: u64,
    /// When the last of them was.
    pub last_millis: Option<i64>,
    pub observed_millis: u64,
    pub gap_millis: u64,
    pub errors: BTreeMap<String, u64>,
    pub looks: Histogram,
    /// By UUID.
    pub cards: BTreeMap<String, CardCounters>,
}

/// A tick that is stored, with what happened since the one before.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub entry: &'a Entry,
    pub events: &'a [Event],
    /// How long the look took, where that is known.
    pub took: Option<Duration>,
}

impl Counters {
    /// Nothing counted yet.
    #[must_use]
    pub fn beginning(at: UnixMillis) -> Self {
        let reasons = REASONS.map(Why::slug).into_iter().chain(TROUBLES.map(Trouble::slug));
        let reasons = reasons.chain(Loss::ALL.map(Loss::slug));
        let reasons = reasons.chain([OWNERS_CAPPED, CARDS_CAPPED]);
        Self {
            since_millis: at.0,
            ticks: 0,
            last_millis: None,
            observed_millis: 0,
            gap_millis: 0,
            // A reason that never came up is 0, so that its first time is seen as an increase.
            errors: reasons.map(|reason| (reason.to_owned(), 0)).collect(),
            looks: Histogram::default(),
            cards: BTreeMap::new(),
        }
    }

    /// Counts a tick.
    pub fn count(&mut self, observed: Observed<'_>, wanted: &Wanted) {
        let Observed { entry, events, took } = observed;
        self.ticks += 1;
        self.count_time(entry);
        self.count_errors(entry, events);
        if let Some(took) = took {
            self.looks.add(took);
        }
        let mut room = Room::at(entry.at.0, &mut self.cards, wanted.labels.most_owners);
        let number = self.ticks;
        let tick = Tick { number, covers: entry.covers, wanted };
        for card in &entry.cards {
            let counters = self
                .cards
                .entry(key(card))
                .or_insert_with(|| CardCounters { born: number, ..CardCounters::default() });
            counters.count(card, tick, &mut room);
        }
        self.miss(OWNERS_CAPPED, room.short);
        let left = room::leave_cards(&mut self.cards);
        self.miss(CARDS_CAPPED, left);
    }

    fn miss(&mut self, reason: &str, times: u64) {
        *self.errors.entry(reason.to_owned()).or_default() += times;
    }

    /// How often somebody could not be told apart.
    #[must_use]
    pub fn capped(&self) -> u64 {
        self.errors.get(OWNERS_CAPPED).copied().unwrap_or(0)
    }

    fn count_time(&mut self, entry: &Entry) {
        let unsigned = |millis: i64| u64::try_from(millis).unwrap_or(0);
        self.observed_millis += unsigned(entry.covers.millis());
        if let Some(last) = self.last_millis {
            self.gap_millis += unsigned(entry.covers.from.0.saturating_sub(last));
        }
        self.last_millis = Some(entry.at.0);
    }

    fn count_errors(&mut self, entry: &Entry, events: &[Event]) {
        let of_cards = entry.cards.iter().filter_map(|card| match card.state {
            State::Unknown(why) => Some(why.slug()),
            State::Active | State::IdleHeld | State::TrulyIdle => None,
        });
        let of_time = events.iter().filter_map(|event| match event.kind {
            Kind::Gap(trouble) => Some(trouble.slug()),
            _ => None,
        });
        for reason in of_cards.chain(of_time) {
            self.miss(reason, 1);
        }
    }

    /// Counts ticks that a receiver did not get.
    pub fn lose(&mut self, loss: Loss, ticks: u64) {
        self.miss(loss.slug(), ticks);
    }

    /// How many ticks a receiver did not get for this reason.
    #[must_use]
    pub fn lost(&self, loss: Loss) -> u64 {
        self.errors.get(loss.slug()).copied().unwrap_or(0)
    }
}

/// What a card is known by; one that could never be asked by its place.
#[must_use]
pub fn key(card: &CardEntry) -> String {
    match card.facts.uuid.as_ref().known() {
        Some(uuid) => super::owner::label(uuid),
        None => format!("card {}", card.facts.index),
    }
}

/// Why a tick was not pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The receiver will never take it.
    Rejected,
    /// It is too old.
    GivenUp,
    /// The clock was set back: a receiver has newer ones already.
    Older,
}

impl Loss {
    pub const ALL: [Self; 3] = [Self::Rejected, Self::GivenUp, Self::Older];

    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Rejected => "push_rejected",
            Self::GivenUp => "push_given_up",
            Self::Older => "push_older",
        }
    }
}

/// Somebody was on a card who could not be told apart: counted once a tick and card.
const OWNERS_CAPPED: &str = "owners_capped";
/// A card that was gone long ago is not told of any more, as there are too many.
const CARDS_CAPPED: &str = "cards_capped";

const REASONS: [Why; 15] = [
    Why::NotSupported,
    Why::NoPermission,
    Why::Lost,
    Why::NeedsReset,
    Why::TimedOut,
    Why::NoTurn,
    Why::DriverGone,
    Why::NotTold,
    Why::FirstLook,
    Why::Gone,
    Why::NotAsked,
    Why::Garbled,
    Why::Foreign,
    Why::EntrySize,
    Why::Code(0),
];

const TROUBLES: [Trouble; 5] =
    [Trouble::Suspended, Trouble::ClockSet, Trouble::Late, Trouble::DriverGone, Trouble::Storage];
