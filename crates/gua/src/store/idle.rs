//! Since when a card is held idle, and since when a process holds it: walked back from where
//! the record ends, as far as nothing is missing in between.

use std::collections::{BTreeMap, HashMap};

use probe::units::UnixMillis;
use rusqlite::{OptionalExtension, Row};

use super::codes;
use super::error::StoreError;
use super::history::{History, Span};
use crate::classify::State;
use crate::ledger::{HOUR, Period, ProcessKey};

/// How much is read at a time. Who looks asks for the last hours, mostly.
const STEP: i64 = 6 * HOUR;

/// A process on a card, as a look sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HolderKey {
    /// The card's UUID.
    pub card: String,
    pub process: ProcessKey,
}

/// How far back something goes without a break, from where the record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbroken {
    pub since: UnixMillis,
    pub beginning: Beginning,
}

/// What is known of the time before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It was not so then.
    Seen,
    /// Nobody recorded then, or it could not be read: it may have been so for longer.
    Unseen,
}

/// Who and what is held idle at the end of the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Idleness {
    /// Where the record ends; `None` where nothing is recorded.
    pub until: Option<UnixMillis>,
    /// The idle-held cards, by UUID.
    pub cards: HashMap<String, Unbroken>,
    /// How long each has held an idle-held card.
    pub holders: HashMap<HolderKey, Unbroken>,
}

impl History {
    /// Since when cards are held idle, and since when by these processes of this boot.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn idleness(
        &self,
        cards: &[String],
        holders: &[HolderKey],
        boot: &str,
    ) -> Result<Idleness, StoreError> {
        let Some(until) = self.end_of_record()? else { return Ok(Idleness::default()) };
        let cards = self.card_numbers(cards)?;
        let numbers = cards.values().map(|number| (*number, *number)).collect();
        let idle = self.walk_back(Walk { query: CARDS, until, floor: None, numbers }, card_row)?;
        let cards: HashMap<_, _> = cards
            .into_iter()
            .filter_map(|(uuid, number)| Some((uuid, (number, *idle.get(&number)?))))
            .collect();
        let holders = self.holders_on(&cards, holders, until, boot)?;
        let cards = cards.into_iter().map(|(uuid, (_, idle))| (uuid, idle)).collect();
        Ok(Idleness { until: Some(until), cards, holders })
    }

    /// How long each holder has held its card, within the time that it is idle-held.
    fn holders_on(
        &self,
        cards: &HashMap<String, (i64, Unbroken)>,
        holders: &[HolderKey],
        until: UnixMillis,
        boot: &str,
    ) -> Result<HashMap<HolderKey, Unbroken>, StoreError> {
        let mut numbers = BTreeMap::new();
        let mut asked = Vec::new();
        for (place, key) in (0_i64..).zip(holders) {
            let Some((card, idle)) = cards.get(&key.card) else { continue };
            for number in self.holder_numbers(*card, key.process, boot)? {
                numbers.insert(number, place);
            }
            asked.push((place, key, *idle));
        }
        let floor = asked.iter().map(|(_, _, idle)| idle.since).min();
        let held = self.walk_back(Walk { query: HOLDERS, until, floor, numbers }, holder_row)?;
        let both = |(place, key, idle): (i64, &HolderKey, Unbroken)| {
            Some((key.clone(), idle.while_held(*held.get(&place)?)))
        };
        Ok(asked.into_iter().filter_map(both).collect())
    }

    /// The last moment that was observed, by the newest run that observed something.
    fn end_of_record(&self) -> Result<Option<UnixMillis>, StoreError> {
        let newest = self.newest_run().map(|run| run.id);
        let mut query = self.connection().prepare(
            "SELECT from_ms, length_ms FROM observed WHERE run = ?1
                 ORDER BY from_ms DESC LIMIT 1",
        )?;
        let end = |row: &Row<'_>| self.end_of(row.get(0)?, row.get(1)?);
        match query.query_row([newest], end).optional()? {
            Some(end) => Ok(Some(end)),
            None => Ok(self.extent()?.map(|extent| extent.to)),
        }
    }

    fn card_numbers(&self, uuids: &[String]) -> Result<HashMap<String, i64>, StoreError> {
        let mut find = self.connection().prepare("SELECT id FROM card WHERE uuid = ?1")?;
        let mut numbers = HashMap::new();
        for uuid in uuids {
            if let Some(number) = find.query_row([uuid], |row| row.get(0)).optional()? {
                numbers.insert(uuid.clone(), number);
            }
        }
        Ok(numbers)
    }

    /// A process that changed its identity has several.
    fn holder_numbers(
        &self,
        card: i64,
        process: ProcessKey,
        boot: &str,
    ) -> Result<Vec<i64>, StoreError> {
        let mut find = self.connection().prepare_cached(
            "SELECT holder.id FROM process JOIN holder ON holder.process = process.id
                 WHERE pid = ?1 AND start_ticks >= ?2 AND start_ticks <= ?3 AND boot = ?4
                     AND card = ?5",
        )?;
        // Not known is negative.
        let ticks = process.start_ticks.and_then(|ticks| i64::try_from(ticks).ok());
        let (least, most) = ticks.map_or((i64::MIN, -1), |ticks| (ticks, ticks));
        let numbers = find.query_map((process.pid, least, most, boot, card), |row| row.get(0))?;
        Ok(numbers.collect::<Result<_, _>>()?)
    }

    fn walk_back(
        &self,
        mut walk: Walk,
        row: fn(&Row<'_>) -> rusqlite::Result<(i64, State)>,
    ) -> Result<HashMap<i64, Unbroken>, StoreError> {
        let mut followed = Followed::new(walk.numbers.values().copied(), walk.until);
        let first = self.extent()?.map_or(walk.until, |extent| extent.from);
        walk.floor = Some(walk.floor.map_or(first, |floor| floor.max(first)));
        let mut to = walk.until;
        while followed.goes_on() && walk.floor < Some(to) {
            let window = Period::new(step_back(to), to);
            let mut spans = Vec::new();
            self.spans(walk.query, window, row, |span| {
                if let Some(key) = walk.numbers.get(&span.key) {
                    spans.push(Span { key: *key, ..span });
                }
                Ok(())
            })?;
            followed.back_through(window, spans);
            to = window.from;
        }
        Ok(followed.found())
    }
}

const CARDS: &str = "SELECT from_ms, length_ms, counted_ms, run, state, card FROM card_span
     WHERE from_ms >= ?1 AND from_ms < ?2";
const HOLDERS: &str = "SELECT from_ms, length_ms, counted_ms, run, holder FROM holder_span
     WHERE from_ms >= ?1 AND from_ms < ?2";

fn card_row(row: &Row<'_>) -> rusqlite::Result<(i64, State)> {
    Ok((row.get(5)?, codes::state(row.get(4)?)))
}

/// Whatever it held, it was there.
fn holder_row(row: &Row<'_>) -> rusqlite::Result<(i64, State)> {
    Ok((row.get(4)?, State::IdleHeld))
}

/// Spans that are walked back through.
struct Walk {
    query: &'static str,
    until: UnixMillis,
    /// What is older is not asked for.
    floor: Option<UnixMillis>,
    /// The numbers in the rows, and what each belongs to.
    numbers: BTreeMap<i64, i64>,
}

/// A full hour: no span reaches over one.
const fn step_back(to: UnixMillis) -> UnixMillis {
    let hour = to.0.saturating_sub(1).div_euclid(HOUR) * HOUR;
    UnixMillis(hour.saturating_sub(STEP - HOUR))
}

impl Unbroken {
    /// The part of it in which something else goes on too.
    fn while_held(self, held: Self) -> Self {
        if held.since > self.since {
            // The card was looked at before, and this one was not on it.
            return Self { since: held.since, beginning: Beginning::Seen };
        }
        self
    }
}

/// How far each has been followed.
#[derive(Debug)]
struct Followed {
    from: UnixMillis,
    reached: HashMap<i64, (UnixMillis, Option<Beginning>)>,
}

impl Followed {
    fn new(keys: impl Iterator<Item = i64>, from: UnixMillis) -> Self {
        Self { from, reached: keys.map(|key| (key, (from, None))).collect() }
    }

    fn goes_on(&self) -> bool {
        self.reached.values().any(|(_, end)| end.is_none())
    }

    /// Goes back through all spans of a window.
    fn back_through(&mut self, window: Period, mut spans: Vec<Span<i64>>) {
        spans.sort_by_key(|span| std::cmp::Reverse((span.period.to, span.period.from)));
        for span in spans {
            let Some((at, end)) = self.reached.get_mut(&span.key) else { continue };
            if end.is_some() || span.period.to != *at {
                continue;
            }
            match span.state {
                State::IdleHeld => *at = span.period.from,
                State::Active | State::TrulyIdle => *end = Some(Beginning::Seen),
                State::Unknown(_) => *end = Some(Beginning::Unseen),
            }
        }
        for (at, end) in self.reached.values_mut().filter(|(_, end)| end.is_none()) {
            if *at > window.from {
                *end = Some(Beginning::Unseen);
            }
        }
    }

    /// Those that went back some way.
    fn found(self) -> HashMap<i64, Unbroken> {
        let found = self.reached.into_iter().filter(|(_, (at, _))| *at < self.from);
        found
            .map(|(key, (since, end))| {
                (key, Unbroken { since, beginning: end.unwrap_or(Beginning::Unseen) })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Why;
    use proptest::prelude::*;

    fn span(key: i64, from: i64, to: i64, state: State) -> Span<i64> {
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        Span { key, period, state, counts: to - from }
    }

    /// Follows one key back from the end of the last span.
    fn back(spans: &[Span<i64>], until: i64) -> Option<(i64, Beginning)> {
        let mut followed = Followed::new([1].into_iter(), UnixMillis(until));
        let mut to = UnixMillis(until);
        while followed.goes_on() && to.0 > -2 * STEP {
            let window = Period::new(step_back(to), to);
            let within = |span: &&Span<i64>| !span.period.overlap(&window).is_empty();
            let cut = |span: &Span<i64>| Span { period: span.period.overlap(&window), ..*span };
            followed.back_through(window, spans.iter().filter(within).map(cut).collect());
            to = window.from;
        }
        followed.found().get(&1).map(|found| (found.since.0, found.beginning))
    }

    #[test]
    fn another_state_a_gap_and_the_unknown_each_end_the_walk() {
        let unknown = State::Unknown(Why::Lost);
        for (before, beginning) in [
            (State::Active, Beginning::Seen),
            (State::TrulyIdle, Beginning::Seen),
            (unknown, Beginning::Unseen),
        ] {
            let spans = [span(1, 0, 10, before), span(1, 10, 30, State::IdleHeld)];
            assert_eq!(back(&spans, 30), Some((10, beginning)));
        }
        let gap = [span(1, 0, 9, State::IdleHeld), span(1, 10, 30, State::IdleHeld)];
        assert_eq!(back(&gap, 30), Some((10, Beginning::Unseen)));
        let first = [span(1, 10, 20, State::IdleHeld), span(1, 20, 30, State::IdleHeld)];
        assert_eq!(back(&first, 30), Some((10, Beginning::Unseen)));
    }

    #[test]
    fn what_does_not_reach_the_end_is_not_so_now() {
        assert_eq!(back(&[span(1, 0, 10, State::IdleHeld)], 30), None);
        assert_eq!(back(&[span(1, 0, 30, State::Active)], 30), None);
        assert_eq!(back(&[span(2, 0, 30, State::IdleHeld)], 30), None);
    }

    proptest! {
        /// The law: it is as long as the idle-held spans at the end that touch each other.
        #[test]
        fn it_is_the_sum_of_what_touches(
            steps in proptest::collection::vec((0_i64..3, 1_i64..3 * HOUR, 0_u8..4), 1..40),
        ) {
            let mut at = 0;
            let mut spans = Vec::new();
            let mut expected: Option<i64> = None;
            for (kind, length, state) in steps {
                let from = if kind == 0 { at + 1 } else { at };
                at = from + length;
                let state = if state == 0 { State::Active } else { State::IdleHeld };
                spans.push(span(1, from, at, state));
                expected = match (state, kind) {
                    (State::IdleHeld, 0) => Some(from),
                    (State::IdleHeld, _) => expected.or(Some(from)),
                    _ => None,
                };
            }
            prop_assert_eq!(back(&spans, at).map(|(since, _)| since), expected);
        }
    }
}
