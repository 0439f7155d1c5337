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
//! | `observed` | one card while it can be read: state, work, shares |
//! | `open_span` | sums of the pieces of one span |

mod activity;
mod holders;
mod observed;
mod open_span;
mod samples;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use crate::card::CardFacts;
use crate::clocks::Clocks;
use crate::period::Period;
use crate::poll::{CardPoll, Poll, ProcessPoll};
use crate::reading::{Reading, Reason};
use crate::span::{Gap, GapReason, HolderId, Span, Work};
use crate::state::{State, Thresholds};
use crate::units::UnixMillis;

use activity::{Micros, Stretch, Sum};
pub use holders::largest_reserve;
use observed::{Lines, Observed};
use open_span::{OpenSpan, SpanPiece};
use samples::micros;

/// Longest time before a poll that it covers.
const LONGEST_POLL: Micros = 7_500_000;

/// Spans do not cross the quarter hours of UTC, in milliseconds.
const QUARTER_HOUR: i64 = 900_000;

/// Turns polls into spans.
#[derive(Debug)]
pub struct Classifier {
    lines: Lines,
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
pub struct CardNow {
    pub card: Arc<CardFacts>,
    pub state: State,
    /// End of the newest sample that reached the threshold of an active card.
    pub last_busy: Option<UnixMillis>,
    pub holders: Vec<HolderNow>,
}

/// A holder at the last poll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolderNow {
    pub holder: HolderId,
    pub work: Work,
    /// End of the newest sample in which it worked.
    pub last_busy: Option<UnixMillis>,
}

impl Classifier {
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            lines: Lines::new(thresholds),
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
        let lines = self.lines;
        let Reading::Known(samples) = &poll.samples else { return };
        let track = self.cards.iter_mut().find(|track| is_same_card(&track.card, &poll.card));
        if let Some(observed) = track.and_then(CardTrack::observed) {
            observed.add_process_samples(samples, poll.clocks, &lines);
        }
    }

    /// Returns true if the process samples of a card are needed every second.
    #[must_use]
    pub fn has_several_workers(&self, card: &CardFacts) -> bool {
        let now = self.last.map_or(0, micros);
        let track = self.cards.iter().find(|track| is_same_card(&track.card, card));
        match track.and_then(|track| track.segments.back()) {
            Some(Segment { content: Content::Observed(observed), end: None, .. }) => {
                observed.has_several_workers(now)
            }
            _ => false,
        }
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
        self.cards.iter().filter_map(|track| {
            let open = track.open.as_ref()?;
            open.span(&track.card, self.wall.at(open.end()))
        })
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
    pub fn now(&self) -> Vec<CardNow> {
        self.cards.iter().map(|track| track.now(&self.lines, &self.wall)).collect()
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
        let begin = if self.away.is_some() { micros(poll.clocks) } else { begin };
        let at = micros(poll.clocks);
        let lines = self.lines;
        self.close_gap(poll.clocks.wall);
        for (place, card) in cards.iter().enumerate() {
            self.track(place, &card.card, at).add(card, poll, begin, &lines);
        }
        for track in &mut self.cards {
            if !cards.iter().any(|card| is_same_card(&card.card, &track.card)) {
                track.end(begin.min(at));
            }
        }
    }

    /// Returns the track of a card, which is nearly always at its place. A new card begins at its first
    /// poll.
    fn track(&mut self, place: usize, card: &Arc<CardFacts>, at: Micros) -> &mut CardTrack {
        let is_it = |track: &CardTrack| is_same_card(&track.card, card);
        let place = match self.cards.get(place) {
            Some(track) if is_it(track) => place,
            _ => self.cards.iter().position(is_it).unwrap_or_else(|| {
                self.cards.push(CardTrack::new(Arc::clone(card), at));
                self.cards.len() - 1
            }),
        };
        &mut self.cards[place]
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
            track.emit(until, &self.lines, &self.wall, &mut self.spans);
        }
        self.final_until = Some(until);
        self.cards.retain(|track| !track.segments.is_empty() || track.open.is_some());
        self.wall.forget_before(until);
    }
}

/// Returns true if both are one card: by UUID, or by place where that is not known.
fn is_same_card(one: &Arc<CardFacts>, other: &CardFacts) -> bool {
    if std::ptr::eq(Arc::as_ptr(one), other) {
        return true;
    }
    let slot = |facts: &CardFacts| facts.instance.as_ref().map(|instance| instance.slot);
    match (one.uuid.as_ref().known(), other.uuid.as_ref().known()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.index == other.index && slot(one) == slot(other),
        _ => false,
    }
}

/// The time of one card that is not handed out yet.
#[derive(Debug)]
struct CardTrack {
    card: Arc<CardFacts>,
    segments: VecDeque<Segment>,
    done: Micros,
    open: Option<OpenSpan>,
}

/// Time in which a card can be read throughout, or in which it cannot.
#[derive(Debug)]
struct Segment {
    begin: Micros,
    /// `None` while it goes on.
    end: Option<Micros>,
    /// Newest poll.
    last: Micros,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Unread(Reason),
    Observed(Box<Observed>),
}

impl CardTrack {
    fn new(card: Arc<CardFacts>, done: Micros) -> Self {
        Self { card, segments: VecDeque::new(), done, open: None }
    }

    fn add(&mut self, card: &CardPoll, poll: &Poll, begin: Micros, lines: &Lines) {
        let at = micros(poll.clocks);
        let trouble = card.reading.trouble();
        let begin = begin.max(self.done);
        let open = self.segments.back().filter(|segment| segment.end.is_none());
        let goes_on = open.is_some_and(|segment| match (&segment.content, trouble) {
            (Content::Unread(known), Some(reason)) => *known == reason,
            (Content::Observed(_), None) => true,
            _ => false,
        });
        if !goes_on {
            self.begin_segment(trouble, begin, at);
        }
        let Some(segment) = self.segments.back_mut() else { return };
        segment.last = at;
        if let Content::Observed(observed) = &mut segment.content {
            observed.add(card, &poll.exits, poll.clocks, lines);
        }
    }

    /// Begins another segment. After time in which the card could not be read, that lasts to this poll.
    fn begin_segment(&mut self, trouble: Option<Reason>, begin: Micros, at: Micros) {
        let was_unread = self.segments.back().is_some_and(|segment| {
            segment.end.is_none() && matches!(segment.content, Content::Unread(_))
        });
        let begin = if was_unread && trouble.is_none() { at } else { begin };
        self.end(begin);
        let content = match trouble {
            Some(reason) => Content::Unread(reason),
            None => Content::Observed(Box::new(Observed::new(begin))),
        };
        self.segments.push_back(Segment { begin, end: None, last: at, content });
    }

    fn end(&mut self, at: Micros) {
        if let Some(segment) = self.segments.back_mut() {
            segment.end.get_or_insert(at);
        }
    }

    fn observed(&mut self) -> Option<&mut Observed> {
        match self.segments.back_mut()? {
            Segment { content: Content::Observed(observed), end: None, .. } => Some(observed),
            _ => None,
        }
    }

    /// Returns the time up to which this card's time can no longer change; `None` if nothing is open.
    fn final_until(&self) -> Option<Micros> {
        let segment = self.segments.back().filter(|segment| segment.end.is_none())?;
        Some(match &segment.content {
            Content::Unread(_) => segment.last,
            Content::Observed(observed) => observed.final_until(self.done.max(segment.begin)),
        })
    }

    /// Hands out the time up to `until`.
    fn emit(&mut self, until: Micros, lines: &Lines, wall: &WallClock, spans: &mut Vec<Span>) {
        while let Some(segment) = self.segments.pop_front() {
            let from = self.done.max(segment.begin);
            let to = segment.end.unwrap_or(Micros::MAX).min(until);
            let mut pieces = Pieces { card: &self.card, open: self.open.take(), wall, spans };
            if pieces.open.as_ref().is_some_and(|open| open.end() != from) {
                pieces.close();
            }
            if from < to {
                pieces.add_segment(&segment, Stretch { from, to }, lines);
                self.done = to;
            }
            self.open = pieces.open;
            if segment.end.is_none_or(|end| end > until) {
                self.segments.push_front(segment);
                break;
            }
        }
        let done = self.done;
        match self.segments.front_mut() {
            Some(Segment { content: Content::Observed(observed), .. }) => {
                observed.forget_before(done);
            }
            Some(_) => {}
            None => self.close_span(wall, spans),
        }
    }

    fn close_span(&mut self, wall: &WallClock, spans: &mut Vec<Span>) {
        Pieces { card: &self.card, open: self.open.take(), wall, spans }.close();
    }

    fn now(&self, lines: &Lines, wall: &WallClock) -> CardNow {
        let time = |at: Option<Micros>| at.map(|at| wall.at(at));
        let card = Arc::clone(&self.card);
        match self.segments.back().map(|segment| &segment.content) {
            Some(Content::Observed(observed)) => CardNow {
                card,
                state: observed.state_now(lines).unwrap_or(State::Unknown(Reason::FirstLook)),
                last_busy: time(observed.last_busy(lines)),
                holders: observed
                    .holders_now(lines)
                    .into_iter()
                    .map(|(holder, work, last)| HolderNow { holder, work, last_busy: time(last) })
                    .collect(),
            },
            Some(Content::Unread(reason)) => {
                let state = State::Unknown(*reason);
                CardNow { card, state, last_busy: None, holders: Vec::new() }
            }
            None => {
                let state = State::Unknown(Reason::FirstLook);
                CardNow { card, state, last_busy: None, holders: Vec::new() }
            }
        }
    }
}

/// Puts pieces of a card's time together into spans.
struct Pieces<'a> {
    card: &'a Arc<CardFacts>,
    open: Option<OpenSpan>,
    wall: &'a WallClock,
    spans: &'a mut Vec<Span>,
}

impl Pieces<'_> {
    fn add_segment(&mut self, segment: &Segment, time: Stretch, lines: &Lines) {
        for (part, begins_quarter) in self.wall.by_quarter_hour(time) {
            if begins_quarter {
                self.close();
            }
            match &segment.content {
                Content::Observed(observed) => {
                    observed.classify(part, lines, |piece| self.add(&piece));
                }
                Content::Unread(reason) => self.add(&SpanPiece {
                    time: part,
                    state: State::Unknown(*reason),
                    busy: Sum::default(),
                    memory: None,
                    energy: None,
                    holders: Vec::new(),
                }),
            }
        }
    }

    fn add(&mut self, piece: &SpanPiece) {
        match &mut self.open {
            Some(open) if open.continues_with(piece) => open.add(piece),
            _ => {
                self.close();
                self.open = Some(OpenSpan::new(piece, self.wall.at(piece.time.from)));
            }
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.spans.extend(open.span(self.card, self.wall.at(open.end())));
        }
    }
}

/// Maps the boot clock to wall time, by the polls.
#[derive(Debug, Default)]
struct WallClock {
    polls: Vec<(Micros, i64)>,
}

impl WallClock {
    fn add(&mut self, at: Micros, wall: UnixMillis) {
        self.polls.push((at, wall.0.saturating_mul(1000)));
    }

    /// Returns the wall time of a time since boot. Time between two polls is interpolated.
    fn at(&self, at: Micros) -> UnixMillis {
        let after = self.polls.partition_point(|(poll, _)| *poll < at);
        let micros =
            match (after.checked_sub(1).map(|before| self.polls[before]), self.polls.get(after)) {
                (Some((from, wall)), Some((to, later))) => {
                    let part =
                        i128::from(at - from) * i128::from(later - wall) / i128::from(to - from);
                    wall + i64::try_from(part).unwrap_or(0)
                }
                (None, Some((poll, wall))) => wall - (poll - at),
                (Some((poll, wall)), None) => wall + (at - poll),
                (None, None) => at,
            };
        UnixMillis((micros + 500).div_euclid(1000))
    }

    /// Splits a time at the quarter hours of wall time. Says of each part whether it begins at one.
    fn by_quarter_hour(&self, time: Stretch) -> Vec<(Stretch, bool)> {
        let quarter = |at: Micros| self.at(at).0.div_euclid(QUARTER_HOUR);
        let begins_at = |at: Micros| self.at(at).0.rem_euclid(QUARTER_HOUR) == 0;
        let mut parts = Vec::with_capacity(1);
        let mut rest = time;
        while quarter(rest.from) < quarter(rest.to) {
            let next = (quarter(rest.from) + 1) * QUARTER_HOUR;
            let cut = self.reaching(next, rest);
            if cut >= rest.to {
                break;
            }
            parts.push((Stretch { from: rest.from, to: cut }, begins_at(rest.from)));
            rest.from = cut;
        }
        parts.push((rest, begins_at(rest.from)));
        parts
    }

    /// Returns the first time at which the wall clock shows `millis`, by bisection.
    fn reaching(&self, millis: i64, within: Stretch) -> Micros {
        let Stretch { from: mut low, to: mut high } = within;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle).0 < millis { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn forget_before(&mut self, time: Micros) {
        let count = self.polls.partition_point(|(at, _)| *at < time).saturating_sub(1);
        if count > 64 {
            self.polls.drain(..count);
        }
    }
}
