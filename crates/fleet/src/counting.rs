//! Counts the final time of each tick.
//!
//! A span that goes on was counted in part: at each tick, only its growth is added, holder by holder.
//! So every millisecond of a span counts once, at any interval, and for whom it belonged to when it
//! was counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gua_core::process::ProcessId;
use gua_core::span::{GapReason, HolderId, Work};
use gua_core::units::UnixMillis;
use gua_core::{Period, Reason, Span, State};
use gua_recorder::RecordedTick;
use gua_store::rows::SpanRows;
use gua_store::{CardTimes, HolderTimes, Person, ProcessEntry};

use crate::caps::{self, Room};
use crate::counters::{Counters, Key, TickStamp};
use crate::family::Counter;
use crate::idle;
use crate::labels::{OwnerLabels, UNLISTED, card_label, user_label, workload_label};

/// Reason of owners beyond the cap.
pub(crate) const OWNERS_CAPPED: &str = "owners_capped";
/// Reason of cards that were removed, as there are too many.
pub(crate) const CARDS_CAPPED: &str = "cards_capped";

const GAP_REASONS: [GapReason; 4] =
    [GapReason::ClockSet, GapReason::Suspended, GapReason::Late, GapReason::Storage];

/// What was counted up to a tick.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counting {
    pub counters: Counters,
    /// Ticks since the program started.
    pub number: u64,
    /// Begin of the time that the last tick added.
    pub begin: Option<UnixMillis>,
    /// Spans that go on, by card, as they were counted.
    open: HashMap<Arc<str>, CountedSpan>,
    /// Begin of the gap that goes on.
    open_gap: Option<UnixMillis>,
    pub(crate) idle_until: idle::IdleUntil,
}

/// A span as it was counted.
#[derive(Debug, Clone)]
struct CountedSpan {
    holders: Vec<HolderId>,
    /// With the times of a part of a GPU counted as such.
    rows: SpanRows,
    length_ms: i64,
}

/// Growth of a span since it was last counted.
#[derive(Debug)]
struct Growth {
    period: Period,
    /// Length of the period, of a part of a GPU by that part.
    length_ms: i64,
    card: CardTimes,
    /// In the order of the span's holders.
    holders: Vec<HolderTimes>,
}

/// A tick that is counted.
struct Counted<'a> {
    stamp: TickStamp,
    processes: &'a HashMap<ProcessId, ProcessEntry>,
    labels: OwnerLabels,
    room: Room,
    /// Time that was added, of all cards.
    periods: Vec<Period>,
    /// Cards that were unknown, with the reason.
    unknown: BTreeSet<(Arc<str>, &'static str)>,
}

impl Counting {
    /// Returns counting that goes on from stored totals.
    pub fn new(counters: Counters) -> Self {
        let until = UnixMillis(counters.value(&Key::host(Counter::FinalUntil, "")));
        let idle_until = idle::resume(&counters, until);
        Self { counters, idle_until, ..Self::default() }
    }

    /// Returns the time up to which everything is counted; `None` before the first tick.
    pub fn final_until(&self) -> Option<UnixMillis> {
        let until = self.counters.get(&Key::host(Counter::FinalUntil, ""))?;
        Some(UnixMillis(until.value))
    }

    pub fn stamp(&self, at: UnixMillis) -> TickStamp {
        TickStamp { number: self.number, at }
    }

    /// Begins a tick: series of the host and of all cards are there from the first one on.
    pub fn begin(&mut self, recorded: &RecordedTick<'_>, losses: &[&str]) {
        self.number += 1;
        let stamp = self.stamp(recorded.tick.at);
        for counter in [Counter::Observed, Counter::Gap, Counter::PollSum] {
            self.counters.ensure(Key::host(counter, ""), stamp);
        }
        // Series of all reasons are there with 0, so that the first time is an increase.
        let named = Reason::NAMED.into_iter().chain([Reason::Code(0)]).map(Reason::slug);
        let gaps = GAP_REASONS.into_iter().map(GapReason::slug);
        let reasons = named.chain(gaps).chain([OWNERS_CAPPED, CARDS_CAPPED]);
        let known: Vec<&str> = reasons.collect();
        for reason in known.iter().chain(losses) {
            self.counters.ensure(Key::host(Counter::Errors, reason), stamp);
        }
        for card in recorded.poll.cards.iter().flatten() {
            ensure(&mut self.counters, Counter::CARD, &card_label(&card.card), &"".into(), stamp);
        }
    }

    /// Counts an error.
    pub fn add_errors(&mut self, reason: &str, count: i64, at: UnixMillis) {
        let stamp = self.stamp(at);
        self.counters.add(Key::host(Counter::Errors, reason), count, stamp);
    }

    /// Returns how often owners were beyond the cap.
    pub fn capped(&self) -> i64 {
        self.counters.value(&Key::host(Counter::Errors, OWNERS_CAPPED))
    }

    /// Counts the time of a tick.
    pub fn count(&mut self, recorded: &RecordedTick<'_>, labels: OwnerLabels) {
        let tick = recorded.tick;
        let stamp = self.stamp(tick.at);
        let mut counted = Counted {
            stamp,
            processes: recorded.processes,
            labels,
            room: Room::make(&mut self.counters, labels.most_owners, tick.at),
            periods: Vec::new(),
            unknown: BTreeSet::new(),
        };
        let held = recorded.thresholds.held;
        let spans = tick.closed.iter().map(|span| (span, true));
        for (span, is_closed) in spans.chain(tick.open.iter().map(|span| (span, false))) {
            let card = card_label(&span.card);
            let growth = self.grow(span, &card, is_closed);
            counted.count(&mut self.counters, span, &card, &growth);
            let users = counted.users(&self.counters, span, &card);
            idle::see(&mut self.counters, &mut self.idle_until, stamp, &card, span, &users, held);
        }
        self.begin = counted.periods.iter().map(|period| period.from).min();
        self.count_time(recorded, union_ms(counted.periods));
        self.count_gap_reasons(recorded);
        for (_, reason) in counted.unknown {
            self.add_errors(reason, 1, tick.at);
        }
        let capped = i64::try_from(counted.room.capped.len()).unwrap_or(i64::MAX);
        self.add_errors(OWNERS_CAPPED, capped, tick.at);
        let removed = caps::limit_cards(&mut self.counters);
        self.add_errors(CARDS_CAPPED, removed, tick.at);
    }

    /// Returns what a span has that was not counted yet, and remembers it if it goes on.
    fn grow(&mut self, span: &Span, card: &Arc<str>, is_closed: bool) -> Growth {
        let places = 0..i64::try_from(span.holders.len()).unwrap_or(i64::MAX);
        let mut rows = SpanRows::new(span, 0, &places.collect::<Vec<_>>());
        // Here a part of a GPU begins to count as such.
        let slices = span.card.slices();
        rows.weigh(slices);
        let length_ms = slices.portion(span.period.millis());
        let is_same = |known: &CountedSpan| known.rows.card.period.from == span.period.from;
        let before = self.open.get(card).filter(|known| is_same(known));
        let growth = match before {
            Some(before) => before.growth(span, &rows, length_ms),
            None => Growth {
                period: span.period,
                length_ms,
                card: rows.card.times,
                holders: rows.holders.iter().map(|row| row.times).collect(),
            },
        };
        if is_closed {
            self.open.remove(card);
        } else {
            let holders = span.holders.iter().map(|time| time.holder).collect();
            self.open.insert(Arc::clone(card), CountedSpan { holders, rows, length_ms });
        }
        growth
    }

    /// Counts observed time, and what is missing up to the final time.
    fn count_time(&mut self, recorded: &RecordedTick<'_>, observed_ms: i64) {
        let stamp = self.stamp(recorded.tick.at);
        let until = recorded.tick.until;
        let advance = self.final_until().map_or(0, |last| until.0.saturating_sub(last.0));
        let gap_ms = advance.saturating_sub(observed_ms).max(0);
        self.counters.add(Key::host(Counter::Observed, ""), observed_ms, stamp);
        self.counters.add(Key::host(Counter::Gap, ""), gap_ms, stamp);
        self.counters.set(Key::host(Counter::FinalUntil, ""), until.0, stamp);
    }

    /// Counts each gap once, and one that goes on at each tick, so that it stays an increase.
    fn count_gap_reasons(&mut self, recorded: &RecordedTick<'_>) {
        let tick = recorded.tick;
        let known = self.open_gap;
        let ended = tick.gaps.iter().filter(|gap| Some(gap.period.from) != known);
        for gap in ended.chain(&tick.open_gap) {
            self.add_errors(gap.reason.slug(), 1, tick.at);
        }
        self.open_gap = tick.open_gap.map(|gap| gap.period.from);
    }
}

impl CountedSpan {
    fn growth(&self, span: &Span, rows: &SpanRows, length_ms: i64) -> Growth {
        let known = |holder: HolderId| {
            let place = self.holders.iter().position(|known| *known == holder)?;
            Some(self.rows.holders.get(place)?.times)
        };
        let holders = span.holders.iter().zip(&rows.holders).map(|(time, row)| {
            let before = known(time.holder).unwrap_or_default();
            HolderTimes::from_values(minus(row.times.values(), before.values()))
        });
        let before = &self.rows.card;
        Growth {
            period: Period::new(before.period.to.min(span.period.to), span.period.to),
            length_ms: length_ms.saturating_sub(self.length_ms),
            card: CardTimes::from_values(minus(rows.card.times.values(), before.times.values())),
            holders: holders.collect(),
        }
    }
}

impl Counted<'_> {
    fn count(&mut self, counters: &mut Counters, span: &Span, card: &Arc<str>, growth: &Growth) {
        self.count_card(counters, span.state, card, growth);
        if let State::Unknown(reason) = span.state
            && !growth.period.is_empty()
        {
            self.unknown.insert((Arc::clone(card), reason.slug()));
        }
        if !growth.period.is_empty() {
            self.periods.push(growth.period);
        }
        self.count_presence(counters, span, card, growth.length_ms);
        for (time, growth) in span.holders.iter().zip(&growth.holders) {
            self.count_share(counters, card, time.holder, growth);
        }
    }

    fn count_card(&self, counters: &mut Counters, state: State, card: &Arc<str>, growth: &Growth) {
        let none: Arc<str> = "".into();
        ensure(counters, Counter::CARD, card, &none, self.stamp);
        let sum = |part: fn(&HolderTimes) -> i64| growth.holders.iter().map(part).sum::<i64>();
        let times = &growth.card;
        let unknown_j = if let State::Unknown(_) = state { times.other_j } else { 0 };
        let [unknown_ms, estimated_ms] = [times.energy_unknown_ms, times.energy_estimated_ms];
        for (counter, amount) in [
            (Counter::StateActive, times.active_ms),
            (Counter::StateIdleHeld, times.idle_held_ms),
            (Counter::StateFree, times.free_ms),
            (Counter::StateUnknown, times.unknown_ms),
            (Counter::Unused, sum(|times| times.unused_share_ms)),
            (Counter::LowUse, sum(|times| times.low_use_share_ms)),
            (Counter::Busy, times.busy),
            (Counter::Energy, times.active_j + times.idle_held_j + times.other_j),
            (Counter::EnergyActive, times.active_j),
            (Counter::EnergyIdleHeld, times.idle_held_j),
            (Counter::EnergyFree, times.other_j - unknown_j),
            (Counter::EnergyUnknownState, unknown_j),
            (Counter::EnergyCounted, times.observed_ms() - unknown_ms - estimated_ms),
            (Counter::EnergyEstimated, estimated_ms),
            (Counter::EnergyUnknown, unknown_ms),
        ] {
            counters.add(Key::new(counter, card, &none), amount, self.stamp);
        }
    }

    /// Counts a user's time on the card once, however many processes they have there.
    fn count_presence(
        &mut self,
        counters: &mut Counters,
        span: &Span,
        card: &Arc<str>,
        length: i64,
    ) {
        let mut present: BTreeMap<Arc<str>, Counter> = BTreeMap::new();
        for time in &span.holders {
            let HolderId::Process(process) = time.holder else { continue };
            let user = self.room.user(counters, card, self.user(process));
            ensure(counters, Counter::PRESENCE, card, &user, self.stamp);
            let counter = presence(span.state, time.work);
            let known = present.entry(user).or_insert(counter);
            *known = (*known).min(counter);
        }
        for (user, counter) in present {
            counters.add(Key::new(counter, card, &user), length, self.stamp);
        }
    }

    fn count_share(
        &mut self,
        counters: &mut Counters,
        card: &Arc<str>,
        holder: HolderId,
        growth: &HolderTimes,
    ) {
        let idle_held = growth.low_use_share_ms + growth.unused_share_ms;
        let amounts = [
            (Counter::UserActive, growth.active_share_ms),
            (Counter::UserIdleHeld, idle_held),
            (Counter::UserUnknown, growth.unknown_share_ms),
            (Counter::UserUnused, growth.unused_share_ms),
            (Counter::UserLowUse, growth.low_use_share_ms),
            (Counter::UserEnergyActive, growth.active_j),
            (Counter::UserEnergyIdleHeld, growth.idle_held_j),
            (Counter::UserEnergyUnknown, growth.energy_unknown_ms),
        ];
        // Nobody has a share of a free card.
        if amounts.iter().all(|(_, amount)| *amount == 0) {
            return;
        }
        let (user, process) = match holder {
            HolderId::Unlisted => (UNLISTED.into(), None),
            HolderId::Process(id) => (self.user(id), self.processes.get(&id)),
        };
        let workload = process.and_then(|process| workload_label(&user, process, self.labels));
        if let Some(workload) = workload.filter(|it| self.room.has_workload(counters, card, it)) {
            ensure(counters, Counter::WORKLOAD, card, &workload, self.stamp);
            for (counter, (_, amount)) in Counter::WORKLOAD.iter().zip(amounts) {
                counters.add(Key::new(*counter, card, &workload), amount, self.stamp);
            }
        }
        let user = self.room.user(counters, card, user);
        ensure(counters, Counter::SHARES, card, &user, self.stamp);
        for (counter, amount) in amounts {
            counters.add(Key::new(counter, card, &user), amount, self.stamp);
        }
    }

    /// Returns the labels of a span's holders that are processes.
    fn users(&self, counters: &Counters, span: &Span, card: &Arc<str>) -> Vec<Option<Arc<str>>> {
        let user = |holder| match holder {
            HolderId::Unlisted => None,
            HolderId::Process(id) => Some(caps::known_user(counters, card, self.user(id))),
        };
        span.holders.iter().map(|time| user(time.holder)).collect()
    }

    fn user(&self, process: ProcessId) -> Arc<str> {
        match self.processes.get(&process) {
            Some(entry) => user_label(&entry.person),
            None => user_label(&Person { uid: process.uid, ..Person::default() }),
        }
    }
}

/// Returns the counter of a user's presence; of several processes, the lowest counts.
fn presence(state: State, work: Work) -> Counter {
    match (state, work) {
        (State::Active, Work::Working) => Counter::PresentActive,
        (State::Active, Work::Idle) | (State::IdleHeld, _) => Counter::PresentIdleHeld,
        (State::Active, Work::Unknown) | (State::Unknown(_), _) => Counter::PresentUnknown,
        (State::TrulyIdle, _) => Counter::PresentFree,
    }
}

fn ensure(
    counters: &mut Counters,
    group: &[Counter],
    card: &Arc<str>,
    label: &Arc<str>,
    stamp: TickStamp,
) {
    for counter in group {
        counters.ensure(Key::new(*counter, card, label), stamp);
    }
}

fn minus<const N: usize>(mut new: [i64; N], old: [i64; N]) -> [i64; N] {
    for (new, old) in new.iter_mut().zip(old) {
        *new = new.saturating_sub(old);
    }
    new
}

/// Returns the time that periods have together; time that several have counts once.
fn union_ms(mut periods: Vec<Period>) -> i64 {
    periods.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for period in periods {
        let from = period.from.0.max(until);
        sum += (period.to.0 - from).max(0);
        until = until.max(period.to.0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_several_cards_is_observed_once() {
        let period = |from, to| Period::new(UnixMillis(from), UnixMillis(to));
        assert_eq!(union_ms(vec![period(5, 9), period(0, 6), period(20, 21)]), 10);
        assert_eq!(union_ms(vec![]), 0);
    }

    #[test]
    fn working_process_counts_before_an_idle_one() {
        let [works, idle, unknown] = [Work::Working, Work::Idle, Work::Unknown];
        let of = |works: &[Work]| works.iter().map(|work| presence(State::Active, *work)).min();
        assert_eq!(of(&[idle, works, unknown]), Some(Counter::PresentActive));
        assert_eq!(of(&[unknown, idle]), Some(Counter::PresentIdleHeld));
    }
}
