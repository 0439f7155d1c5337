//! Classifies time: polls in, final spans out.
//!
//! The rule: a card is **active** during every 5 seconds whose mean utilization is at least the
//! threshold, from the first to the last busy sample in them. All other observed time is **idle-held**
//! if processes hold more than the threshold of memory, else **truly idle**. A process **works** by the
//! same rule on its own SM samples, or on the card's samples while it is alone on the card.
//!
//! Time is classified on the boot clock, once it can no longer change, and mapped to wall time when it
//! is handed out. Spans depend on the polls alone, not on when they are taken out.
//!
//! | module | contents |
//! |---|---|
//! | `activity` | the rule |
//! | `samples` | the card's samples as an unbroken line on the boot clock |
//! | `holders` | who was on the card, and the samples of processes |
//! | `observed` | the recent past of one card that can be read |
//! | `piece` | a stretch of it: state, who works, shares, energy |
//! | `power` | the card's power without work, and for work |
//! | `open_span` | sums of the pieces of one span |
//! | `track` | one card: what is not handed out yet |
//! | `wall` | wall time of the boot clock |

pub mod activity;
mod holders;
mod observed;
pub mod open_span;
mod piece;
mod power;
mod samples;
mod track;
mod wall;

use std::mem;
use std::sync::Arc;

pub use crate::card::largest_reserve;
use crate::card::{CardFacts, Vitals};
use crate::clocks::Clocks;
use crate::period::Period;
use crate::poll::{CardPoll, Poll, ProcessPoll};
use crate::reading::{Reading, Reason};
use crate::span::{Gap, GapReason, HolderId, Span, Work};
use crate::state::{State, Thresholds};
use crate::units::UnixMillis;

use activity::Micros;
use observed::ExactThresholds;
use samples::micros;
use track::CardTrack;
use wall::WallClock;

/// Longest time before a poll that it covers.
const LONGEST_POLL: Micros = 7_500_000;

/// Turns polls into spans.
#[derive(Debug)]
pub struct Classifier {
    thresholds: ExactThresholds,
    wall: WallClock,
    last: Option<Clocks>,
    cards: Vec<CardTrack>,
    /// The driver has been away since this wall time.
    away: Option<(UnixMillis, Reason)>,
    final_until: Option<Micros>,
    spans: Vec<Span>,
    gaps: Vec<Gap>,
}

/// A card and its holders at the last poll.
#[derive(Debug, Clone, PartialEq)]
pub struct CardActivity {
    pub card: Arc<CardFacts>,
    pub state: State,
    /// End of the newest sample that reached the threshold of an active card.
    pub last_busy: Option<UnixMillis>,
    pub holders: Vec<HolderActivity>,
}

/// A holder at the last poll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolderActivity {
    pub holder: HolderId,
    pub work: Work,
    /// End of the newest sample in which it worked.
    pub last_busy: Option<UnixMillis>,
}

impl Classifier {
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds: ExactThresholds::new(thresholds),
            wall: WallClock::default(),
            last: None,
            cards: Vec::new(),
            away: None,
            final_until: None,
            spans: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Adds a poll. The first one of a run covers no time.
    pub fn add(&mut self, poll: &Poll) {
        let now = poll.clocks;
        let begin = match self.gap_before(now) {
            Some(reason) => self.begin_after_gap(reason, poll),
            None => self.last.map_or(micros(now), micros),
        };
        self.wall.add(micros(now), now.wall);
        match &poll.cards {
            Ok(cards) => self.add_cards(cards, poll, begin),
            Err(reason) => self.lose_driver(*reason, now),
        }
        self.last = Some(now);
        self.emit();
    }

    /// Adds process samples that were read between two polls. Those that could not be read are left to
    /// the next poll.
    pub fn add_process_samples(&mut self, poll: &ProcessPoll) {
        let thresholds = self.thresholds;
        let Reading::Known(samples) = &poll.samples else { return };
        let track = self.cards.iter_mut().find(|track| is_same_card(&track.card, &poll.card));
        if let Some(observed) = track.and_then(CardTrack::observed_mut) {
            observed.add_process_samples(samples, poll.clocks, &thresholds);
        }
    }

    /// Returns true if the process samples of a card are needed every second.
    #[must_use]
    pub fn has_several_workers(&self, card: &CardFacts) -> bool {
        let now = self.last.map_or(0, micros);
        let track = self.cards.iter().find(|track| is_same_card(&track.card, card));
        let observed = track.and_then(CardTrack::observed);
        observed.is_some_and(|observed| observed.has_several_workers(now))
    }

    /// Ends the run: what is not final yet is classified with what there is.
    pub fn finish(&mut self) {
        let Some(last) = self.last else { return };
        self.close_gap(last.wall);
        self.end_segments(micros(last));
        self.emit();
        self.last = None;
        for card in &mut self.cards {
            card.close_span(&self.wall, &mut self.spans);
        }
        self.cards.clear();
    }

    /// Takes out the spans that have ended.
    pub fn take_spans(&mut self) -> Vec<Span> {
        mem::take(&mut self.spans)
    }

    /// Takes out the gaps that have ended.
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        mem::take(&mut self.gaps)
    }

    /// Returns the spans that go on, up to the final time.
    pub fn open_spans(&self) -> impl Iterator<Item = Span> {
        self.cards.iter().filter_map(|track| track.open_span(&self.wall))
    }

    /// Returns the gap that goes on, up to the last poll.
    #[must_use]
    pub fn open_gap(&self) -> Option<Gap> {
        let (from, reason) = self.away?;
        let period = Period::new(from, self.last?.wall);
        Some(Gap { period, reason: GapReason::Driver(reason) })
    }

    /// Returns the wall time up to which everything is classified.
    #[must_use]
    pub fn final_until(&self) -> Option<UnixMillis> {
        self.final_until.map(|until| self.wall.at(until))
    }

    /// Returns all cards as of the last poll.
    #[must_use]
    pub fn now(&self) -> Vec<CardActivity> {
        let away = self.away.map(|(_, reason)| reason);
        let listed = self.cards.iter().filter(|track| track.is_listed);
        listed.map(|track| track.now(away, &self.thresholds, &self.wall)).collect()
    }

    /// Returns why there is time before a poll that it does not cover.
    fn gap_before(&self, now: Clocks) -> Option<GapReason> {
        let last = self.last?;
        if now.was_set_since(&last) || now.wall <= last.wall {
            return Some(GapReason::ClockSet);
        }
        if now.slept_since(&last) {
            return Some(GapReason::Suspended);
        }
        (micros(now) - micros(last) > LONGEST_POLL).then_some(GapReason::Late)
    }

    /// Ends all segments at the last poll. Returns the begin of the time that this poll covers.
    fn begin_after_gap(&mut self, reason: GapReason, poll: &Poll) -> Micros {
        let now = poll.clocks;
        let Some(last) = self.last else { return micros(now) };
        self.end_segments(micros(last));
        let covered = if reason == GapReason::Late { LONGEST_POLL } else { 0 };
        if reason == GapReason::ClockSet {
            // Wall times before and after it cannot be compared.
            self.emit();
            self.wall = WallClock::default();
            self.close_gap(last.wall);
            self.last = None;
        } else if self.away.is_some() || poll.cards.is_err() {
            return micros(now);
        }
        let end = UnixMillis(now.wall.0 - covered / 1000);
        self.push_gap(Period::new(last.wall, end), reason);
        micros(now) - covered
    }

    fn push_gap(&mut self, period: Period, reason: GapReason) {
        if !period.is_empty() {
            self.gaps.push(Gap { period, reason });
        }
    }

    fn lose_driver(&mut self, reason: Reason, now: Clocks) {
        let last = self.last.unwrap_or(now);
        self.end_segments(micros(last));
        self.away.get_or_insert((last.wall, reason));
    }

    fn close_gap(&mut self, now: UnixMillis) {
        if let Some((from, reason)) = self.away.take() {
            self.push_gap(Period::new(from, now), GapReason::Driver(reason));
        }
    }

    fn add_cards(&mut self, cards: &[CardPoll], poll: &Poll, begin: Micros) {
        let at = micros(poll.clocks);
        let begin = if self.away.is_some() { at } else { begin };
        let thresholds = self.thresholds;
        self.close_gap(poll.clocks.wall);
        let mut listed = Vec::with_capacity(cards.len());
        for (place, card) in cards.iter().enumerate() {
            let unnamed = is_ambiguous(&card.card, cards).then(|| without_uuid(&card.card));
            let card = unnamed.as_ref().unwrap_or(card);
            let place = self.place_of(place, &card.card, at);
            listed.push(place);
            self.cards[place].add(card, poll, begin, &thresholds);
        }
        for (place, track) in self.cards.iter_mut().enumerate() {
            if track.is_listed && !listed.contains(&place) {
                track.end(begin);
                track.is_listed = false;
            }
        }
    }

    /// Returns the place of a card's track, which is nearly always that in the poll. A new card begins
    /// at its first poll.
    fn place_of(&mut self, place: usize, card: &Arc<CardFacts>, at: Micros) -> usize {
        let is_it = |track: &CardTrack| is_same_card(&track.card, card);
        if self.cards.get(place).is_some_and(is_it) {
            return place;
        }
        self.cards.iter().position(is_it).unwrap_or_else(|| {
            self.cards.push(CardTrack::new(Arc::clone(card), at));
            self.cards.len() - 1
        })
    }

    fn end_segments(&mut self, at: Micros) {
        self.cards.iter_mut().for_each(|track| track.end(at));
    }

    /// Hands out what has become final on all cards.
    fn emit(&mut self) {
        let open = self.cards.iter().filter_map(CardTrack::final_until).min();
        let ended = self.last.map(micros);
        let Some(until) = open.or(ended).max(self.final_until) else { return };
        for track in &mut self.cards {
            track.emit(until, &self.thresholds, &self.wall, &mut self.spans);
        }
        self.final_until = Some(until);
        self.cards.retain(|track| track.is_listed || !track.is_done());
        self.wall.forget_before(until);
    }
}

/// Returns true if both are one card: by UUID, or by place where that is not known.
fn is_same_card(one: &Arc<CardFacts>, other: &CardFacts) -> bool {
    if std::ptr::eq(Arc::as_ptr(one), other) {
        return true;
    }
    one.is_same_card(other)
}

/// Returns true if a UUID is empty, or that of another card of the poll, too.
fn is_ambiguous(card: &CardFacts, cards: &[CardPoll]) -> bool {
    let Reading::Known(uuid) = &card.uuid else { return false };
    let same = cards.iter().filter(|other| other.card.uuid.as_ref().known() == Some(uuid));
    uuid.is_empty() || same.count() > 1
}

/// Returns a card of which nothing can be said, as it cannot be told from another.
fn without_uuid(card: &CardFacts) -> CardPoll {
    let uuid = Reading::Unknown(Reason::Garbled);
    CardPoll {
        card: Arc::new(CardFacts { uuid, ..card.clone() }),
        reading: Vitals::unknown(Reason::Garbled),
        processes: Vec::new(),
    }
}
