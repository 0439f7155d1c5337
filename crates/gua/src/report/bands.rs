//! Every card's time in as many columns as a picture has room for: what took most of each, and
//! whose it was.

use std::collections::BTreeMap;

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::identity::Identity;
use super::usage::times::{Times, seconds};
use super::usage::{Card, Shown};
use crate::calendar::nearest;
use crate::classify::State;
use crate::ledger::{Period, Piece};
use crate::store::{CardRow, HolderRow, StoreError};

/// More columns than this nobody can tell apart.
const COLUMNS: usize = 720;
/// How many columns become one where there would be too many stretches.
const FOLDS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 24, 48];
/// So many stretches of all cards together can be read, and sent.
const MOST_STRETCHES: usize = 1_100;
/// So many people are named of a stretch.
const MOST_PARTIES: usize = 3;

/// What every card did over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Bands {
    pub from: Timestamp,
    pub to: Timestamp,
    /// How much time a column stands for.
    pub column_seconds: f64,
    pub cards: Vec<Band>,
}

/// One card's time, in order and without holes.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    pub uuid: Option<String>,
    pub index: u32,
    /// Of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    pub stretches: Vec<Stretch>,
}

impl Band {
    /// Whether it is that of a card.
    #[must_use]
    pub fn is_of(&self, card: &Card) -> bool {
        (&self.uuid, Some(self.index), self.slot) == (&card.uuid, card.index, card.slot)
    }
}

/// Columns in which the same thing took most of the time, for the same people.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    pub from: Timestamp,
    pub to: Timestamp,
    /// `None` where nobody recorded for most of it.
    pub state: Option<Shown>,
    /// How much of it was in that state.
    pub seconds: f64,
    /// Who worked, or held it idle, the most first.
    pub parties: Vec<Party>,
    /// How many more there were.
    pub more: usize,
}

/// Somebody on a card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Party {
    pub user: Option<String>,
    pub uid: Option<u32>,
    /// `None` where it was not one all the time.
    pub program: Option<String>,
    pub identity: Option<Identity>,
}

impl Party {
    fn is(&self, other: &Self) -> bool {
        self.user == other.user && self.uid == other.uid
    }

    /// What both have in common.
    fn and(self, other: &Self) -> Self {
        Self {
            program: self.program.filter(|program| other.program.as_ref() == Some(program)),
            identity: self.identity.filter(|identity| other.identity.as_ref() == Some(identity)),
            ..self
        }
    }
}

impl From<&HolderRow> for Party {
    fn from(holder: &HolderRow) -> Self {
        Self {
            user: holder.identity.user.as_ref().map(ToString::to_string),
            uid: holder.identity.uid,
            program: holder.program.clone(),
            identity: holder.workload.as_ref().map(|workload| workload.who.clone()),
        }
    }
}

/// Time added up by column.
#[derive(Debug)]
pub struct BandTally {
    window: Period,
    cards: BTreeMap<i64, Vec<Column>>,
}

#[derive(Debug, Clone, Default)]
struct Column {
    times: Times,
    /// Who did what, in milliseconds.
    parts: Vec<(i64, Shown, i64)>,
}

impl BandTally {
    #[must_use]
    pub const fn new(window: Period) -> Self {
        Self { window, cards: BTreeMap::new() }
    }

    /// Adds a piece of a card's time, with who was on it.
    pub fn add(&mut self, piece: &Piece<'_>) {
        self.add_state(piece.card, piece.period, piece.state);
        self.add_people(piece);
    }

    /// Adds who was on a card, and not what it did.
    pub fn add_people(&mut self, piece: &Piece<'_>) {
        let Some(doing) = work_of(piece.state) else { return };
        self.each(piece.card, piece.period, |column, millis| {
            for held in piece.holders.iter().filter(|held| held.state == piece.state) {
                column.credit(held.holder, doing, millis);
            }
        });
    }

    /// Adds what a card did, and not who was on it.
    pub fn add_state(&mut self, card: i64, period: Period, state: State) {
        self.each(card, period, |column, millis| column.times.add(state, millis));
    }

    fn each(&mut self, card: i64, period: Period, mut add: impl FnMut(&mut Column, i64)) {
        let window = self.window;
        let period = period.overlap(&window);
        if period.is_empty() {
            return;
        }
        let columns = self.cards.entry(card).or_insert_with(|| vec![Column::default(); COLUMNS]);
        let first = place(window, period.from);
        for (number, column) in columns.iter_mut().enumerate().skip(first) {
            let bounds = bounds(window, number, 1);
            if bounds.from >= period.to {
                break;
            }
            let part = bounds.overlap(&period);
            if !part.is_empty() {
                add(column, part.millis());
            }
        }
    }

    /// What is told of it: as fine as can be read. `party` says who a holder is, where they may
    /// be named.
    ///
    /// # Errors
    /// What `party` says.
    pub fn finish(
        &self,
        cards: &[CardRow],
        mut party: impl FnMut(i64) -> Result<Option<Party>, StoreError>,
    ) -> Result<Bands, StoreError> {
        let mut known = BTreeMap::new();
        for (holder, ..) in self.cards.values().flatten().flat_map(|column| &column.parts) {
            if !known.contains_key(holder) {
                known.insert(*holder, party(*holder)?);
            }
        }
        let mut told = Vec::new();
        let mut fold = 1;
        for width in FOLDS {
            fold = width;
            told = self.bands(cards, &known, fold);
            if told.iter().map(|band| band.stretches.len()).sum::<usize>() <= MOST_STRETCHES {
                break;
            }
        }
        let column = bounds(self.window, 0, fold);
        Ok(Bands {
            from: nearest(self.window.from),
            to: nearest(self.window.to),
            column_seconds: seconds(column.millis()),
            cards: told,
        })
    }

    fn bands(
        &self,
        cards: &[CardRow],
        known: &BTreeMap<i64, Option<Party>>,
        fold: usize,
    ) -> Vec<Band> {
        let band = |row: &CardRow| {
            let columns = self.cards.get(&row.id)?;
            let folded = columns.chunks(fold).enumerate().map(|(number, columns)| {
                Column::sum(columns).told(bounds(self.window, number * fold, fold), known)
            });
            Some(Band {
                uuid: row.uuid.clone(),
                index: row.number,
                slot: row.slot,
                name: row.name.clone(),
                stretches: joined(folded),
            })
        };
        cards.iter().filter_map(band).collect()
    }
}

impl Column {
    fn credit(&mut self, holder: i64, doing: Shown, millis: i64) {
        let found = self.parts.iter_mut().find(|part| part.0 == holder && part.1 == doing);
        match found {
            Some(part) => part.2 += millis,
            None => self.parts.push((holder, doing, millis)),
        }
    }

    fn sum(columns: &[Self]) -> Self {
        let mut sum = Self { times: columns.iter().map(|one| one.times).sum(), parts: Vec::new() };
        for (holder, doing, millis) in columns.iter().flat_map(|one| &one.parts) {
            sum.credit(*holder, *doing, *millis);
        }
        sum
    }

    /// What took most of the time.
    fn state(&self, period: Period) -> (Option<Shown>, i64) {
        let Times { active, idle_held, truly_idle, unknown } = self.times;
        let missing = period.millis() - self.times.all();
        let all = [
            (Some(Shown::IdleHeld), idle_held),
            (Some(Shown::Active), active),
            (Some(Shown::Unknown), unknown),
            (Some(Shown::TrulyIdle), truly_idle),
            (None, missing),
        ];
        // Of those that took as long, the first: what somebody can do something about.
        all.into_iter().rev().max_by_key(|(_, millis)| *millis).unwrap_or((None, missing))
    }

    fn told(&self, period: Period, known: &BTreeMap<i64, Option<Party>>) -> Stretch {
        let (state, millis) = self.state(period);
        let mut parties: Vec<(Party, i64)> = Vec::new();
        for (holder, doing, millis) in &self.parts {
            let Some(Some(party)) = known.get(holder).filter(|_| Some(*doing) == state) else {
                continue;
            };
            match parties.iter_mut().find(|(it, _)| it.is(party)) {
                Some((it, sum)) => {
                    *it = std::mem::take(it).and(party);
                    *sum += millis;
                }
                None => parties.push((party.clone(), *millis)),
            }
        }
        parties.sort_by(|(a, a_millis), (b, b_millis)| {
            b_millis.cmp(a_millis).then_with(|| (&a.user, a.uid).cmp(&(&b.user, b.uid)))
        });
        let more = parties.len().saturating_sub(MOST_PARTIES);
        let parties = parties.into_iter().take(MOST_PARTIES).map(|(party, _)| party).collect();
        Stretch {
            from: nearest(period.from),
            to: nearest(period.to),
            state,
            seconds: seconds(millis),
            parties,
            more,
        }
    }
}

/// Neighbours that say the same are one.
fn joined(columns: impl Iterator<Item = Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    for next in columns {
        match joined.last_mut().filter(|last| last.goes_on_with(&next)) {
            Some(last) => {
                last.to = next.to;
                last.seconds += next.seconds;
                let others = &next.parties;
                let both = |party: Party| match others.iter().find(|it| it.is(&party)) {
                    Some(other) => party.and(other),
                    None => party,
                };
                last.parties = std::mem::take(&mut last.parties).into_iter().map(both).collect();
            }
            None => joined.push(next),
        }
    }
    joined
}

impl Stretch {
    /// By the same people, whoever of them had more of it.
    fn goes_on_with(&self, next: &Self) -> bool {
        let is_in = |party: &Party| self.parties.iter().any(|it| it.is(party));
        self.state == next.state
            && self.parties.len() == next.parties.len()
            && self.more == next.more
            && next.parties.iter().all(is_in)
    }
}

/// Of whom there is something to tell.
const fn work_of(state: State) -> Option<Shown> {
    match state {
        State::Active => Some(Shown::Active),
        State::IdleHeld => Some(Shown::IdleHeld),
        State::TrulyIdle | State::Unknown(_) => None,
    }
}

/// The column that a moment of the window lies in.
fn place(window: Period, at: UnixMillis) -> usize {
    let (since, all) = (i128::from(at.0 - window.from.0), i128::from(window.millis().max(1)));
    let place = since * columns() / all;
    // Rounding may have put the begin of the next one a little before.
    usize::try_from(place).unwrap_or(0).saturating_sub(1)
}

const fn columns() -> i128 {
    COLUMNS as i128
}

/// So many columns from this one on.
fn bounds(window: Period, column: usize, width: usize) -> Period {
    let at = |column: usize| {
        let column = i128::try_from(column.min(COLUMNS)).unwrap_or(columns());
        let since = i128::from(window.millis()) * column / columns();
        UnixMillis(window.from.0.saturating_add(i64::try_from(since).unwrap_or(i64::MAX)))
    };
    Period::new(at(column), at(column + width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Held;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    fn row(id: i64) -> CardRow {
        let number = u32::try_from(id).unwrap();
        CardRow { id, uuid: None, number, slot: None, name: None, memory_bytes: None }
    }

    fn held(holder: i64, state: State) -> Held {
        Held { holder, state, is_as_the_card: false, memory: None }
    }

    fn piece(card: i64, period: Period, state: State, holders: &[Held]) -> Piece<'_> {
        Piece { card, period, counts: period.millis(), state, unseen: None, holders }
    }

    fn named(holder: i64) -> Result<Option<Party>, StoreError> {
        let user = Some(format!("u{}", holder % 3));
        Ok(Some(Party { user, program: Some(format!("p{holder}")), ..Party::default() }))
    }

    #[test]
    fn what_took_most_of_a_column_is_shown_and_whose_it_was() {
        let window = period(0, 720 * HOUR);
        let mut tally = BandTally::new(window);
        let idle = [held(1, State::IdleHeld), held(4, State::IdleHeld)];
        tally.add(&piece(1, period(0, 100 * HOUR), State::IdleHeld, &idle));
        let work = [held(2, State::Active), held(1, State::IdleHeld)];
        tally.add(&piece(1, period(100 * HOUR, 200 * HOUR + 9), State::Active, &work));
        let told = tally.finish(&[row(1), row(2)], named).unwrap();
        assert_eq!(told.cards.len(), 1, "a card that was not seen is not drawn");
        let stretches = &told.cards[0].stretches;
        let states: Vec<_> = stretches.iter().map(|it| it.state).collect();
        assert_eq!(states, [Some(Shown::IdleHeld), Some(Shown::Active), None]);
        // Both processes are of one person, and not of one program.
        let party = Party { user: Some("u1".to_owned()), ..Party::default() };
        assert_eq!(stretches[0].parties, [party]);
        assert_eq!(stretches[1].parties[0].program.as_deref(), Some("p2"));
        assert!((stretches[0].seconds - 360_000.0).abs() < f64::EPSILON);
    }

    #[test]
    fn who_must_not_be_named_is_not() {
        let mut tally = BandTally::new(period(0, HOUR));
        let idle = [held(1, State::IdleHeld)];
        tally.add(&piece(1, period(0, HOUR), State::IdleHeld, &idle));
        let told = tally.finish(&[row(1)], |_| Ok(None)).unwrap();
        assert!(told.cards[0].stretches[0].parties.is_empty());
    }

    fn state(code: u8) -> State {
        match code {
            0 => State::Active,
            1 => State::IdleHeld,
            2 => State::TrulyIdle,
            _ => State::Unknown(probe::Why::Lost),
        }
    }

    proptest! {
        /// However a card's time is cut, its band covers the window, each moment once, and no
        /// more is drawn than can be sent.
        #[test]
        fn a_band_covers_its_window_once(
            cuts in prop::collection::vec((1_i64..5_000_000, 0_u8..5, 0_i64..40), 0..1500),
            length in 1_i64..3_000_000_000,
        ) {
            let window = period(-7, length - 7);
            let mut tally = BandTally::new(window);
            let mut at = -100;
            for (millis, code, holder) in cuts {
                let piece_period = period(at, at + millis);
                at += millis;
                if code < 4 {
                    let holders = [held(holder, state(code))];
                    tally.add(&piece(1 + holder % 4, piece_period, state(code), &holders));
                }
            }
            let cards: Vec<_> = (1..5).map(row).collect();
            let told = tally.finish(&cards, named).unwrap();
            let drawn: usize = told.cards.iter().map(|band| band.stretches.len()).sum();
            prop_assert!(drawn <= MOST_STRETCHES);
            for band in &told.cards {
                let mut end = told.from;
                for stretch in &band.stretches {
                    prop_assert_eq!(stretch.from, end);
                    end = stretch.to;
                    let all = stretch.to.duration_since(stretch.from).as_secs_f64();
                    prop_assert!(stretch.seconds <= all + 1e-6);
                }
                prop_assert_eq!(end, told.to);
            }
        }
    }
}
