//! Spans of a card that can be read.
//!
//! The rule is the classifier's. What its samples and polls show nearly is exact here: when work and
//! holders begin and end, and who of several holders works.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::classifier::activity::{Micros, Stretch, Sum, Sums, union};
use gua_core::classifier::open_span::{HolderPiece, OpenSpan, PieceEnergy, SpanPiece};
use gua_core::reading::Reason;
use gua_core::span::Work;
use gua_core::units::Bytes;
use gua_core::{Span, State, Thresholds};

use super::course::{Course, Holder, centipercent};
use super::timeline::{between, multiples, period};
use super::work::work;

/// Distance within which a holder's own work says who did work that nobody was seen to do; and over
/// which the SM use of those who work at once is compared.
const NEARBY: Micros = 15_000_000;

/// Time for which the shares of several workers stay the same: that between two polls.
const SHARES: Micros = 5_000_000;

const QUARTER_HOUR: Micros = 900_000_000;

/// Adds the spans of a time.
pub(super) fn classify(
    course: &Course<'_>,
    facts: &Arc<CardFacts>,
    time: Stretch,
    thresholds: &Thresholds,
    spans: &mut Vec<Span>,
) {
    let view = View::new(course, thresholds);
    join(view.pieces(time), facts, spans);
}

/// Adds the spans of a time in which a card cannot be read.
pub(super) fn classify_unread(
    reason: Reason,
    facts: &Arc<CardFacts>,
    time: Stretch,
    spans: &mut Vec<Span>,
) {
    let piece = |time| SpanPiece {
        time,
        state: State::Unknown(reason),
        busy: Default::default(),
        memory: None,
        energy: None,
        holders: Vec::new(),
    };
    join(between(time, quarter_hours(time)).map(piece), facts, spans);
}

/// Adds the spans of a time in which what is left of a partitioned GPU is free.
pub(super) fn classify_unpartitioned(
    energy: impl Fn(Stretch) -> PieceEnergy,
    facts: &Arc<CardFacts>,
    time: Stretch,
    spans: &mut Vec<Span>,
) {
    let piece = |time: Stretch| SpanPiece {
        time,
        state: State::TrulyIdle,
        busy: Sum { sum: 0, known: time.length() },
        memory: Some(Bytes(0)),
        energy: Some(energy(time)),
        holders: Vec::new(),
    };
    join(between(time, quarter_hours(time)).map(piece), facts, spans);
}

/// Joins pieces to spans, which do not cross quarter hours.
fn join(pieces: impl Iterator<Item = SpanPiece>, facts: &Arc<CardFacts>, spans: &mut Vec<Span>) {
    let mut close = |open: Option<OpenSpan>| {
        spans.extend(open.and_then(|open| {
            let end = Stretch { from: open.end(), to: open.end() };
            open.span(facts, period(end).to)
        }));
    };
    let mut open: Option<OpenSpan> = None;
    for piece in pieces {
        match &mut open {
            Some(open) if piece.time.from % QUARTER_HOUR != 0 && open.continues_with(&piece) => {
                open.add(&piece);
            }
            _ => close(open.replace(OpenSpan::new(&piece, period(piece.time).from))),
        }
    }
    close(open);
}

/// Everything that is needed to classify some time of a card.
struct View<'a> {
    course: &'a Course<'a>,
    sums: Sums<'a>,
    active: Vec<Stretch>,
    /// Time in which somebody works, above the threshold of the card or below it.
    work: Vec<Stretch>,
    thresholds: &'a Thresholds,
}

impl<'a> View<'a> {
    fn new(course: &'a Course<'a>, thresholds: &'a Thresholds) -> Self {
        let active = work(&course.utilization, centipercent(thresholds.active.0));
        let worked = work(&course.utilization, centipercent(thresholds.worked.0));
        let sums = Sums::new(&course.utilization);
        Self { course, sums, work: union(&active, &worked), active, thresholds }
    }

    /// Returns the stretches of a time in which nothing changes.
    fn pieces(&self, time: Stretch) -> impl Iterator<Item = SpanPiece> {
        let edges = |stretch: &Stretch| [stretch.from, stretch.to];
        let holders = self.course.holders.iter();
        let own = holders.clone().flat_map(|holder| &holder.own).flat_map(edges);
        let stays = holders.flat_map(|holder| edges(&holder.stay));
        let card = self.active.iter().chain(&self.work).flat_map(edges);
        let cuts = own.chain(stays).chain(card).chain(quarter_hours(time)).collect();
        between(time, cuts).flat_map(|time| self.piece(time))
    }

    /// Returns the pieces of a time without cuts: several while several holders work.
    fn piece(&self, time: Stretch) -> Vec<SpanPiece> {
        let present: Vec<_> = self.course.present(time).collect();
        let state = self.state(time, &present);
        let works = self.work_of(time, state, &present);
        let workers = works.iter().filter(|work| **work == Work::Working).count();
        let cuts = if workers > 1 { multiples(SHARES, time) } else { Vec::new() };
        let piece = |time| self.part(time, state, &present, &works);
        between(time, cuts).map(piece).collect()
    }

    fn part(
        &self,
        time: Stretch,
        state: State,
        present: &[&Holder<'_>],
        works: &[Work],
    ) -> SpanPiece {
        let shares = self.shares(time, state, present, works);
        let holders = present.iter().zip(works).zip(shares).map(|((holder, work), share)| {
            HolderPiece { id: holder.id, work: *work, share, memory: holder.memory }
        });
        SpanPiece {
            time,
            state,
            busy: self.sums.over(time),
            memory: Some(self.course.used_memory(time)),
            energy: Some(self.course.energy(time)),
            holders: holders.collect(),
        }
    }

    fn state(&self, time: Stretch, present: &[&Holder<'_>]) -> State {
        if self.active.iter().any(|stretch| stretch.covers(time)) {
            return State::Active;
        }
        if self.course.utilization.is_empty() && !present.is_empty() {
            return State::Unknown(Reason::NotSupported);
        }
        let held: Bytes = present.iter().filter_map(|holder| holder.memory).sum();
        if held > self.thresholds.held { State::IdleHeld } else { State::TrulyIdle }
    }

    /// Finds out who of the holders works.
    fn work_of(&self, time: Stretch, state: State, present: &[&Holder<'_>]) -> Vec<Work> {
        if matches!(state, State::Unknown(_)) {
            return vec![Work::Unknown; present.len()];
        }
        if !self.work.iter().any(|stretch| stretch.covers(time)) {
            return vec![Work::Idle; present.len()];
        }
        if present.len() == 1 {
            return vec![Work::Working];
        }
        let distances: Vec<_> = present.iter().map(|it| distance(&it.own, time)).collect();
        let Some(nearest) = distances.iter().flatten().min() else {
            return vec![Work::Unknown; present.len()];
        };
        let is_nearest = |distance: &Option<Micros>| distance.as_ref() == Some(nearest);
        let work = |distance| if is_nearest(distance) { Work::Working } else { Work::Idle };
        distances.iter().map(work).collect()
    }

    /// Returns each holder's part of a time, 0 to 1: by SM among several workers, else by memory among
    /// all who may have used the card.
    fn shares(
        &self,
        time: Stretch,
        state: State,
        present: &[&Holder<'_>],
        works: &[Work],
    ) -> Vec<f64> {
        if state == State::TrulyIdle {
            return vec![0.0; present.len()];
        }
        let workers = works.iter().filter(|work| **work == Work::Working).count();
        let is_by_work = state == State::Active && workers > 0;
        let split = |weight: &dyn Fn(&Holder<'_>) -> f64| {
            let weights = present.iter().zip(works).map(|(holder, work)| match work {
                Work::Idle | Work::Unknown if is_by_work => 0.0,
                _ => weight(holder),
            });
            let weights: Vec<f64> = weights.collect();
            let total: f64 = weights.iter().sum();
            (total > 0.0).then(|| weights.iter().map(|weight| weight / total).collect())
        };
        let by_sm = || split(&|holder| self.sm(holder, time)).filter(|_| workers > 1);
        let by_memory = || split(&|holder| holder.memory.map_or(0.0, |memory| memory.0 as f64));
        let by_sm = if is_by_work { by_sm() } else { None };
        by_sm.or_else(by_memory).or_else(|| split(&|_| 1.0)).unwrap_or_default()
    }

    /// Returns a holder's mean SM use around a time, while it works.
    fn sm(&self, holder: &Holder<'_>, time: Stretch) -> f64 {
        let Some(process) = holder.process else { return 0.0 };
        let middle = time.from + time.length() / 2;
        let mut around = Stretch { from: middle - NEARBY, to: middle + NEARBY };
        if let Some(work) = holder.own.iter().find(|stretch| stretch.covers(time)) {
            around.from = around.from.max(work.from).min(time.from);
            around.to = around.to.min(work.to).max(time.to);
        }
        let timeline = self.course.timeline;
        process.mean_sm(timeline.moment(around.from), timeline.moment(around.to))
    }
}

/// Returns the distance of a time to the nearest work of a holder: -1 where it works at that time,
/// `None` where there is none nearby.
fn distance(own: &[Stretch], time: Stretch) -> Option<Micros> {
    let distance = |stretch: &Stretch| match stretch.covers(time) {
        true => -1,
        false => stretch.distance(time),
    };
    own.iter().map(distance).filter(|distance| *distance <= NEARBY).min()
}

fn quarter_hours(time: Stretch) -> Vec<Micros> {
    multiples(QUARTER_HOUR, time)
}
