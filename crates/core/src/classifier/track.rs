//! The time of one card that is not handed out yet.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::card::CardFacts;
use crate::poll::{CardPoll, Poll};
use crate::reading::Reason;
use crate::span::Span;
use crate::state::State;

use super::activity::{Micros, Stretch, Sum};
use super::observed::{ExactThresholds, Observed};
use super::open_span::{OpenSpan, SpanPiece};
use super::samples::micros;
use super::wall::WallClock;
use super::{CardActivity, HolderActivity, piece};

/// The time of one card that is not handed out yet.
#[derive(Debug)]
pub(super) struct CardTrack {
    pub card: Arc<CardFacts>,
    /// False before its first poll, and since a poll no longer lists it.
    pub is_listed: bool,
    segments: VecDeque<Segment>,
    /// The last segment that could be read and is handed out.
    previous: Option<Box<Observed>>,
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
    pub const fn new(card: Arc<CardFacts>, at: Micros) -> Self {
        Self {
            card,
            is_listed: false,
            segments: VecDeque::new(),
            previous: None,
            done: at,
            open: None,
        }
    }

    /// Adds a poll, which covers the time since `begin` if the poll before listed the card.
    pub fn add(
        &mut self,
        card: &CardPoll,
        poll: &Poll,
        begin: Micros,
        thresholds: &ExactThresholds,
    ) {
        let at = micros(poll.clocks);
        let trouble = card.reading.trouble();
        let begin = if self.is_listed { begin.max(self.done) } else { at };
        self.is_listed = true;
        let goes_on = self.last_open().is_some_and(|content| match (content, trouble) {
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
            observed.add(card, &poll.exits, poll.clocks, thresholds);
        }
    }

    /// Begins another segment. Time in which the card could not be read lasts to this poll.
    fn begin_segment(&mut self, trouble: Option<Reason>, begin: Micros, at: Micros) {
        let was_unread = matches!(self.last_open(), Some(Content::Unread(_)));
        let begin = if was_unread && trouble.is_none() { at } else { begin };
        self.end(begin);
        let content = match trouble {
            Some(reason) => Content::Unread(reason),
            None => Content::Observed(Box::new(Observed::new(begin, self.last_observed()))),
        };
        self.segments.push_back(Segment { begin, end: None, last: at, content });
    }

    /// Returns the content of the segment that goes on.
    fn last_open(&self) -> Option<&Content> {
        let open = self.segments.back().filter(|segment| segment.end.is_none());
        open.map(|segment| &segment.content)
    }

    fn last_observed(&self) -> Option<&Observed> {
        let observed = self.segments.iter().rev().find_map(|segment| match &segment.content {
            Content::Observed(observed) => Some(&**observed),
            Content::Unread(_) => None,
        });
        observed.or(self.previous.as_deref())
    }

    /// Ends the segment that goes on.
    pub fn end(&mut self, at: Micros) {
        if let Some(segment) = self.segments.back_mut() {
            segment.end.get_or_insert(at);
        }
    }

    /// Returns the recent past, while the card can be read.
    pub fn observed(&self) -> Option<&Observed> {
        match self.last_open()? {
            Content::Observed(observed) => Some(observed),
            Content::Unread(_) => None,
        }
    }

    pub fn observed_mut(&mut self) -> Option<&mut Observed> {
        match self.segments.back_mut()? {
            Segment { content: Content::Observed(observed), end: None, .. } => Some(observed),
            _ => None,
        }
    }

    /// Returns true if there is nothing more to hand out.
    pub fn is_done(&self) -> bool {
        self.segments.is_empty() && self.open.is_none()
    }

    /// Returns the time up to which this card's time can no longer change; `None` if nothing goes on.
    pub fn final_until(&self) -> Option<Micros> {
        let segment = self.segments.back().filter(|segment| segment.end.is_none())?;
        Some(match &segment.content {
            Content::Unread(_) => segment.last,
            Content::Observed(observed) => observed.final_until(self.done.max(segment.begin)),
        })
    }

    /// Hands out the time up to `until`.
    pub fn emit(
        &mut self,
        until: Micros,
        thresholds: &ExactThresholds,
        wall: &WallClock,
        spans: &mut Vec<Span>,
    ) {
        while let Some(mut segment) = self.segments.pop_front() {
            let from = self.done.max(segment.begin);
            let to = segment.end.unwrap_or(Micros::MAX).min(until);
            let mut pieces = Pieces { card: &self.card, open: self.open.take(), wall, spans };
            if pieces.open.as_ref().is_some_and(|open| open.end() != from) {
                pieces.close();
            }
            if from < to {
                pieces.add_segment(&mut segment, Stretch { from, to }, thresholds);
                self.done = to;
            }
            self.open = pieces.open;
            if segment.end.is_none_or(|end| end > until) {
                if let Content::Observed(observed) = &mut segment.content {
                    observed.forget_before(self.done);
                }
                self.segments.push_front(segment);
                return;
            }
            if let Content::Observed(observed) = segment.content {
                self.previous = Some(observed);
            }
        }
        self.close_span(wall, spans);
    }

    /// Ends the span that goes on.
    pub fn close_span(&mut self, wall: &WallClock, spans: &mut Vec<Span>) {
        Pieces { card: &self.card, open: self.open.take(), wall, spans }.close();
    }

    /// Returns the span that goes on, up to the final time.
    pub fn open_span(&self, wall: &WallClock) -> Option<Span> {
        let open = self.open.as_ref()?;
        open.span(&self.card, wall.at(open.end()))
    }

    /// Returns the card as of the last poll. `away` is why the driver could not be asked.
    pub fn now(
        &self,
        away: Option<Reason>,
        thresholds: &ExactThresholds,
        wall: &WallClock,
    ) -> CardActivity {
        let time = |at: Option<Micros>| at.map(|at| wall.at(at));
        let observed = self.observed();
        let unknown = match self.last_open() {
            Some(Content::Unread(reason)) => *reason,
            _ => away.unwrap_or(Reason::FirstLook),
        };
        let state = observed.and_then(|observed| observed.state_now(thresholds));
        let holders = observed.map(|observed| observed.holders_now(thresholds)).unwrap_or_default();
        let holder = |(holder, work, last)| HolderActivity { holder, work, last_busy: time(last) };
        CardActivity {
            card: Arc::clone(&self.card),
            state: state.unwrap_or(State::Unknown(unknown)),
            last_busy: time(self.last_observed().and_then(Observed::last_active)),
            holders: holders.into_iter().map(holder).collect(),
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
    fn add_segment(&mut self, segment: &mut Segment, time: Stretch, thresholds: &ExactThresholds) {
        for (part, begins_quarter) in self.wall.by_quarter_hour(time) {
            if begins_quarter {
                self.close();
            }
            match &mut segment.content {
                Content::Observed(observed) => {
                    let is_end = segment.end.is_some();
                    observed.power =
                        piece::classify(observed, part, is_end, thresholds, |it| self.add(&it));
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
