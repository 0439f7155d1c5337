//! Each card's time in as many columns as a picture has room for: what took most of each, and whose it
//! was.

use std::collections::BTreeMap;
use std::sync::Arc;

use gua_core::Period;
use gua_core::identity::Who;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_store::{CardRow, CardTimes, Database, Grain, HolderRow, Observed, StoreError};
use jiff::Timestamp;
use serde::Serialize;

use crate::usage::states::seconds;
use crate::usage::{CardUsage, TotalState, UsageRequest};

/// Columns of a picture. Nobody can tell more apart.
const COLUMNS: usize = 720;

/// Columns that become one if there would be too many stretches.
const FOLDS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 24, 48];

/// Most stretches of all cards together: more cannot be read, and would make a page large.
const MOST_STRETCHES: usize = 1_100;

/// People who are named in a stretch.
const MOST_PEOPLE: usize = 3;

/// What each card did over a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Length of a column.
    pub column_seconds: f64,
    pub cards: Vec<CardTimeline>,
}

/// One card's time, in order and without holes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardTimeline {
    pub uuid: Option<String>,
    pub index: u32,
    /// Slot of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    /// True if it is what is left of a GPU beside its MIG instances.
    pub unpartitioned: bool,
    pub stretches: Vec<TimelineStretch>,
}

impl CardTimeline {
    /// Returns the number that the card is shown with.
    #[must_use]
    pub fn label(&self) -> String {
        match self.unpartitioned {
            true => gua_core::card::rest_label(self.index),
            false => gua_core::card::label(self.index, self.slot),
        }
    }

    /// Returns true if it is of this card.
    #[must_use]
    pub fn is_of(&self, card: &CardUsage) -> bool {
        (&self.uuid, Some(self.index), self.slot) == (&card.uuid, card.index, card.slot)
    }
}

/// Columns of which one state took most, for the same people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineStretch {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Null if most of it was not observed.
    pub state: Option<TotalState>,
    /// Time in that state.
    pub seconds: f64,
    /// People with the largest shares of it, the largest first.
    pub people: Vec<TimelinePerson>,
    /// Number of people who are not named.
    pub more: usize,
}

/// Somebody on a card.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TimelinePerson {
    pub user: Option<String>,
    pub uid: Option<u32>,
    /// Null if there were several.
    pub program: Option<Arc<str>>,
    /// Null if there were several, or none is known.
    pub identity: Option<Who>,
}

/// Reads what each card did over a window. For one person, it shows what their processes did on it, and
/// nothing of others: time in which they did not hold it has no state.
pub fn timeline(
    store: &Database,
    window: Period,
    request: &UsageRequest,
) -> Result<Timeline, StoreError> {
    store.at_once(|| {
        let mut columns = Columns::new(window, store.observed(window)?);
        let mut holders = Vec::new();
        store.each_row(
            window,
            grain(window),
            |row, inside| {
                if request.user.is_none() {
                    columns.add_card(row, inside);
                }
            },
            |row, inside| holders.push((*row, inside)),
        )?;
        let people = People::read(store, &holders, request)?;
        for (row, inside) in &holders {
            if let Some(person) = people.of_holder.get(&row.holder) {
                columns.add_holder(person, row, *inside);
                if request.user.is_some() {
                    columns.add_own(person, row, *inside);
                }
            }
        }
        let mut cards: Vec<_> = store.cards()?.into_iter().collect();
        cards.sort_by_key(|(id, card)| (card.index, card.is_unpartitioned(), card.slot, *id));
        let card = |(id, card): (i64, gua_store::StoredCard)| {
            let stretches = columns.cards.contains_key(&id).then_some(Vec::new())?;
            let unpartitioned = card.is_unpartitioned();
            let gua_store::StoredCard { uuid, index, slot, name, .. } = card;
            Some((id, CardTimeline { uuid, index, slot, name, unpartitioned, stretches }))
        };
        Ok(columns.finish(cards.into_iter().filter_map(card).collect(), &people.named))
    })
}

/// Returns the coarsest rows that are not longer than a column.
const fn grain(window: Period) -> Grain {
    let column = window.millis() / columns();
    if column >= HOUR { Grain::Hours } else { Grain::Fine }
}

/// People on the cards, each with the card and the program of one holder.
struct People {
    named: Vec<TimelinePerson>,
    /// Card of a holder and the place of its person in `named`, `None` for one who may not be named.
    of_holder: BTreeMap<i64, (i64, Option<usize>)>,
}

impl People {
    fn read(
        store: &Database,
        holders: &[(HolderRow, Period)],
        request: &UsageRequest,
    ) -> Result<Self, StoreError> {
        let mut ids: Vec<i64> = holders.iter().map(|(row, _)| row.holder).collect();
        ids.sort_unstable();
        ids.dedup();
        let known = store.people()?;
        let mut people = Self { named: Vec::new(), of_holder: BTreeMap::new() };
        for owner in store.owners(&ids)? {
            let Some(process) = owner.process else { continue };
            let person = known.get(&process.person).cloned().unwrap_or_default();
            let is_named = request.is_about(person.user.as_deref(), person.uid);
            if is_named {
                let workload = process.workload.map(|id| store.workload(id)).transpose()?.flatten();
                people.named.push(TimelinePerson {
                    user: person.user.map(|user| user.to_string()),
                    uid: person.uid,
                    program: process.program,
                    identity: workload.map(|workload| workload.who),
                });
            }
            let place = is_named.then(|| people.named.len() - 1);
            people.of_holder.insert(owner.holder, (owner.card, place));
        }
        Ok(people)
    }
}

impl TimelinePerson {
    fn is_same_as(&self, other: &Self) -> bool {
        self.user == other.user && self.uid == other.uid
    }

    /// Keeps what both have in common.
    fn and(self, other: &Self) -> Self {
        Self {
            program: self.program.filter(|program| other.program.as_ref() == Some(program)),
            identity: self.identity.filter(|identity| other.identity.as_ref() == Some(identity)),
            ..self
        }
    }
}

/// Sums by card and column.
struct Columns {
    window: Period,
    observed: Observed,
    cards: BTreeMap<i64, Vec<Column>>,
}

#[derive(Debug, Clone, Default)]
struct Column {
    times: CardTimes<f64>,
    /// Place of a person, what they did, and their share in milliseconds.
    shares: Vec<(usize, TotalState, f64)>,
}

impl Columns {
    const fn new(window: Period, observed: Observed) -> Self {
        Self { window, observed, cards: BTreeMap::new() }
    }

    fn add_card(&mut self, row: &CardRow, inside: Period) {
        self.each(row.card, row.period, inside, |column, part| {
            column.times.add_part(&row.times, part);
        });
    }

    fn add_holder(
        &mut self,
        (card, person): &(i64, Option<usize>),
        row: &HolderRow,
        inside: Period,
    ) {
        let Some(person) = *person else { return };
        let times = row.times;
        let shares = [
            (TotalState::Active, times.active_share_ms),
            (TotalState::IdleHeld, times.low_use_share_ms.saturating_add(times.unused_share_ms)),
        ];
        for (state, share) in shares.into_iter().filter(|(_, share)| *share > 0) {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
            self.each(*card, row.period, inside, |column, part| {
                column.credit(person, state, share as f64 * part);
            });
        }
    }

    /// Adds what a person's process did, as if it were the card.
    fn add_own(&mut self, (card, person): &(i64, Option<usize>), row: &HolderRow, inside: Period) {
        if person.is_none() {
            return;
        }
        let times = CardTimes {
            active_ms: row.times.working_ms,
            idle_held_ms: row.times.idle_ms,
            unknown_ms: row.times.unknown_ms,
            ..CardTimes::default()
        };
        self.each(*card, row.period, inside, |column, part| column.times.add_part(&times, part));
    }

    /// Calls `add` with each column of a row and the part of the row that lies in it.
    fn each(
        &mut self,
        card: i64,
        row: Period,
        inside: Period,
        mut add: impl FnMut(&mut Column, f64),
    ) {
        let Self { window, ref observed, .. } = *self;
        if observed.part(row, inside) == 0.0 {
            return;
        }
        let columns = self.cards.entry(card).or_insert_with(|| vec![Column::default(); COLUMNS]);
        let first = place(window, inside.from);
        for (number, column) in columns.iter_mut().enumerate().skip(first) {
            let bounds = bounds(window, number, 1);
            if bounds.from >= inside.to {
                break;
            }
            let part = observed.counted_part(row, bounds.overlap(&inside));
            if part > 0.0 {
                add(column, part);
            }
        }
    }

    /// Returns the timeline, as fine as can be read. `cards` have no stretches yet.
    fn finish(&self, cards: Vec<(i64, CardTimeline)>, people: &[TimelinePerson]) -> Timeline {
        let mut fold = 1;
        let mut drawn = cards;
        for width in FOLDS {
            fold = width;
            for (id, card) in &mut drawn {
                card.stretches = self.stretches(*id, people, fold);
            }
            if drawn.iter().map(|(_, card)| card.stretches.len()).sum::<usize>() <= MOST_STRETCHES {
                break;
            }
        }
        Timeline {
            from: self.window.from.into(),
            to: self.window.to.into(),
            column_seconds: bounds(self.window, 0, fold).seconds(),
            cards: drawn.into_iter().map(|(_, card)| card).collect(),
        }
    }

    fn stretches(&self, card: i64, people: &[TimelinePerson], fold: usize) -> Vec<TimelineStretch> {
        let columns = self.cards.get(&card).map_or(&[][..], Vec::as_slice);
        let folded = columns.chunks(fold).enumerate().map(|(number, columns)| {
            Column::sum(columns).stretch(bounds(self.window, number * fold, fold), people)
        });
        join(folded)
    }
}

impl Column {
    fn credit(&mut self, person: usize, state: TotalState, share: f64) {
        match self.shares.iter_mut().find(|known| (known.0, known.1) == (person, state)) {
            Some(known) => known.2 += share,
            None => self.shares.push((person, state, share)),
        }
    }

    fn sum(columns: &[Self]) -> Self {
        let mut sum = Self::default();
        for column in columns {
            sum.times.add_sums(&column.times);
            for (person, state, share) in &column.shares {
                sum.credit(*person, *state, *share);
            }
        }
        sum
    }

    /// Returns what took most of the time. Of states that took as long, it is the first: one that
    /// somebody can change.
    fn state(&self, period: Period) -> (Option<TotalState>, f64) {
        let CardTimes { active_ms, idle_held_ms, free_ms, unknown_ms, .. } = self.times;
        #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
        let mut missing = period.millis() as f64;
        // Of several processes of one person, those that work count first.
        let [active_ms, idle_held_ms, unknown_ms, free_ms] =
            [active_ms, idle_held_ms, unknown_ms, free_ms].map(|millis| {
                let millis = millis.min(missing);
                missing -= millis;
                millis
            });
        let all = [
            (Some(TotalState::IdleHeld), idle_held_ms),
            (Some(TotalState::Active), active_ms),
            (Some(TotalState::Unknown), unknown_ms),
            (Some(TotalState::TrulyIdle), free_ms),
            (None, missing),
        ];
        let most = all.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        most.unwrap_or((None, missing))
    }

    fn stretch(&self, period: Period, people: &[TimelinePerson]) -> TimelineStretch {
        let (state, millis) = self.state(period);
        let mut found: Vec<(TimelinePerson, f64)> = Vec::new();
        for (person, of_state, share) in &self.shares {
            let Some(person) = people.get(*person).filter(|_| Some(*of_state) == state) else {
                continue;
            };
            match found.iter_mut().find(|(known, _)| known.is_same_as(person)) {
                Some((known, sum)) => {
                    *known = std::mem::take(known).and(person);
                    *sum += share;
                }
                None => found.push((person.clone(), *share)),
            }
        }
        found.sort_by(|(a, a_share), (b, b_share)| {
            b_share.total_cmp(a_share).then_with(|| (&a.user, a.uid).cmp(&(&b.user, b.uid)))
        });
        TimelineStretch {
            from: period.from.into(),
            to: period.to.into(),
            state,
            seconds: seconds(millis),
            more: found.len().saturating_sub(MOST_PEOPLE),
            people: found.into_iter().take(MOST_PEOPLE).map(|(person, _)| person).collect(),
        }
    }
}

/// Joins neighbours that show the same.
fn join(columns: impl Iterator<Item = TimelineStretch>) -> Vec<TimelineStretch> {
    let mut joined: Vec<TimelineStretch> = Vec::new();
    for next in columns {
        match joined.last_mut().filter(|last| last.goes_on_with(&next)) {
            Some(last) => {
                last.to = next.to;
                last.seconds += next.seconds;
                let others = &next.people;
                let both = |person: TimelinePerson| match others
                    .iter()
                    .find(|other| other.is_same_as(&person))
                {
                    Some(other) => person.and(other),
                    None => person,
                };
                last.people = std::mem::take(&mut last.people).into_iter().map(both).collect();
            }
            None => joined.push(next),
        }
    }
    joined
}

impl TimelineStretch {
    /// Returns true if both are of the same people, in any order.
    fn goes_on_with(&self, next: &Self) -> bool {
        let is_in = |person: &TimelinePerson| self.people.iter().any(|it| it.is_same_as(person));
        self.state == next.state
            && self.people.len() == next.people.len()
            && self.more == next.more
            && next.people.iter().all(is_in)
    }
}

/// Returns the column that a time of the window lies in, or the one before.
fn place(window: Period, at: UnixMillis) -> usize {
    let since = i128::from(at.0.saturating_sub(window.from.0));
    let place = since * i128::from(columns()) / i128::from(window.millis().max(1));
    usize::try_from(place).unwrap_or(0).saturating_sub(1)
}

#[expect(clippy::cast_possible_wrap, reason = "a small number")]
const fn columns() -> i64 {
    COLUMNS as i64
}

/// Returns the period of `width` columns from one on.
fn bounds(window: Period, column: usize, width: usize) -> Period {
    let at = |column: usize| {
        let column = i128::try_from(column.min(COLUMNS)).unwrap_or(i128::from(columns()));
        let since = i128::from(window.millis()) * column / i128::from(columns());
        UnixMillis(window.from.0.saturating_add(i64::try_from(since).unwrap_or(i64::MAX)))
    };
    Period::new(at(column), at(column + width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_store::HolderTimes;
    use proptest::prelude::*;

    const MINUTE: i64 = 60_000;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    fn card_row(card: i64, period: Period, state: TotalState) -> CardRow {
        let length = period.millis();
        let mut times = CardTimes::default();
        match state {
            TotalState::Active => times.active_ms = length,
            TotalState::IdleHeld => times.idle_held_ms = length,
            TotalState::TrulyIdle => times.free_ms = length,
            TotalState::Unknown => times.unknown_ms = length,
        }
        CardRow { period, card, reason: 0, times }
    }

    fn holder_row(holder: i64, period: Period, active_share_ms: i64, unused: i64) -> HolderRow {
        let times =
            HolderTimes { active_share_ms, unused_share_ms: unused, ..HolderTimes::default() };
        HolderRow { period, holder, times, peak_mib: 0 }
    }

    fn person(user: &str, program: &str) -> TimelinePerson {
        let (user, program) = (Some(user.to_owned()), Some(program.into()));
        TimelinePerson { user, program, ..TimelinePerson::default() }
    }

    fn finish(columns: &Columns, people: &[TimelinePerson]) -> Timeline {
        let card = |id: &i64| {
            let index = u32::try_from(*id).unwrap();
            let (uuid, slot, name, stretches) = (None, None, None, Vec::new());
            (*id, CardTimeline { uuid, index, slot, name, unpartitioned: false, stretches })
        };
        columns.finish(columns.cards.keys().map(card).collect(), people)
    }

    #[test]
    fn column_shows_what_took_most_of_it_and_whose_it_was() {
        let window = period(0, 720 * MINUTE);
        let mut columns = Columns::new(window, Observed::default());
        let people = [person("ann", "a.py"), person("bob", "b.py"), person("ann", "c.py")];
        let idle = period(0, 100 * MINUTE);
        columns.add_card(&card_row(1, idle, TotalState::IdleHeld), idle);
        columns.add_holder(&(1, Some(0)), &holder_row(5, idle, 0, 60 * MINUTE), idle);
        columns.add_holder(&(1, Some(2)), &holder_row(6, idle, 0, 40 * MINUTE), idle);
        let busy = period(100 * MINUTE, 200 * MINUTE + 9);
        columns.add_card(&card_row(1, busy, TotalState::Active), busy);
        columns.add_holder(&(1, Some(1)), &holder_row(7, busy, 100 * MINUTE, 0), busy);
        columns.add_holder(&(1, None), &holder_row(8, busy, MINUTE, 0), busy);
        let timeline = finish(&columns, &people);
        let stretches = &timeline.cards[0].stretches;
        let states: Vec<_> = stretches.iter().map(|it| it.state).collect();
        assert_eq!(states, [Some(TotalState::IdleHeld), Some(TotalState::Active), None]);
        let ann = TimelinePerson { user: Some("ann".into()), ..TimelinePerson::default() };
        assert_eq!(stretches[0].people, [ann], "two programs of one person");
        assert_eq!(stretches[1].people, [person("bob", "b.py")]);
        assert!((stretches[0].seconds - 6000.0).abs() < 1e-6);
    }

    #[test]
    fn long_row_is_spread_over_its_columns() {
        let window = period(0, 720 * MINUTE);
        let mut columns = Columns::new(window, Observed::default());
        let hour = period(0, 60 * MINUTE);
        let mut row = card_row(1, hour, TotalState::Active);
        row.times =
            CardTimes { active_ms: 40 * MINUTE, free_ms: 20 * MINUTE, ..CardTimes::default() };
        columns.add_card(&row, period(30 * MINUTE, 60 * MINUTE));
        let stretches = &finish(&columns, &[]).cards[0].stretches;
        assert_eq!(stretches[0].state, None);
        assert_eq!(stretches[1].state, Some(TotalState::Active));
        assert!((stretches[1].seconds - 20.0 * 60.0).abs() < 1e-6);
    }

    fn state(code: u8) -> TotalState {
        match code {
            0 => TotalState::Active,
            1 => TotalState::IdleHeld,
            2 => TotalState::TrulyIdle,
            _ => TotalState::Unknown,
        }
    }

    proptest! {
        /// However a card's time is cut, its stretches cover the window, each moment once, and there are
        /// no more of them than can be sent.
        #[test]
        fn stretches_cover_the_window_once(
            cuts in prop::collection::vec((1_i64..5_000_000, 0_u8..5, 0_usize..40), 0..1500),
            length in 1_i64..3_000_000_000,
        ) {
            let window = period(-7, length - 7);
            let mut columns = Columns::new(window, Observed::default());
            let people: Vec<_> = (0..40).map(|it| person(&format!("u{}", it % 3), "p")).collect();
            let mut at = -100;
            for (millis, code, who) in cuts {
                let row = period(at, at + millis);
                let inside = row.overlap(&window);
                at += millis;
                if code < 4 && !inside.is_empty() {
                    let card = 1 + i64::try_from(who % 4).unwrap();
                    columns.add_card(&card_row(card, row, state(code)), inside);
                    let shares = if code == 0 { (millis, 0) } else { (0, millis) };
                    let holder = holder_row(9, row, shares.0, shares.1);
                    columns.add_holder(&(card, Some(who)), &holder, inside);
                }
            }
            let timeline = finish(&columns, &people);
            let drawn: usize = timeline.cards.iter().map(|card| card.stretches.len()).sum();
            prop_assert!(drawn <= MOST_STRETCHES);
            for card in &timeline.cards {
                let mut end = timeline.from;
                for stretch in &card.stretches {
                    prop_assert_eq!(stretch.from, end);
                    end = stretch.to;
                    let all = stretch.to.duration_since(stretch.from).as_secs_f64();
                    prop_assert!(stretch.seconds <= all + 0.01, "{} of {}", stretch.seconds, all);
                }
                prop_assert_eq!(end, timeline.to);
            }
        }
    }
}
