//! A card's time cut into pieces, in each of which nothing changes: its state, who holds it,
//! and how much.

use probe::units::UnixMillis;

use super::part::Part;
use super::period::Period;
use crate::classify::{Kib, State};

/// A card over a time in which nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    pub card: i64,
    pub period: Period,
    /// Milliseconds that it counts for: its length, but for imported ticks.
    pub counts: i64,
    pub state: State,
    /// Held by somebody who is not listed.
    pub unseen: Option<Kib>,
    pub holders: &'a [Held],
}

/// A process on the card, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub holder: i64,
    /// What it was doing: working, holding idle, holding next to nothing.
    pub state: State,
    /// Whether that is what its card did, and not known of itself.
    pub is_as_the_card: bool,
    /// `None` where it is not told.
    pub memory: Option<Kib>,
}

/// What is known of one card and one hour, or any other time.
#[derive(Debug, Default)]
pub struct CardTime {
    /// What the card did, and what each span counts for.
    pub cards: Vec<(Period, State, i64)>,
    pub holders: Vec<(Period, HolderPart)>,
    pub unseen: Vec<(Period, Kib)>,
    cuts: Vec<UnixMillis>,
    held: Vec<Held>,
    on_card: GoingOn<HolderPart>,
    unseen_here: GoingOn<Kib>,
}

/// A process on the card, before it is known what the card did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HolderPart {
    pub holder: i64,
    pub part: Part,
    pub memory: Option<Kib>,
}

impl CardTime {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cards.clear();
        self.holders.clear();
        self.unseen.clear();
    }

    /// All pieces of a card's time, in order within each of its spans. Together they count for
    /// what its spans count for.
    ///
    /// # Errors
    /// What `each` says.
    pub fn cut<E>(
        &mut self,
        card: i64,
        mut each: impl FnMut(&Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.put_in_order();
        let Self { cards, holders, unseen, cuts, held, on_card, unseen_here } = self;
        on_card.begin();
        unseen_here.begin();
        for (whole, state, counts) in cards.iter() {
            let (holders, unseen) =
                (on_card.during(holders, *whole), unseen_here.during(unseen, *whole));
            cuts.clear();
            cuts.extend([whole.from, whole.to]);
            let ends = holders.iter().map(|(period, _)| *period);
            let ends = ends.chain(unseen.iter().map(|(period, _)| *period));
            let within = |at: &UnixMillis| whole.from < *at && *at < whole.to;
            cuts.extend(ends.flat_map(|period| [period.from, period.to]).filter(within));
            cuts.sort_unstable();
            cuts.dedup();
            for pair in cuts.windows(2) {
                let [from, to] = *pair else { continue };
                let period = Period::new(from, to);
                held.clear();
                held.extend(at(holders, period).map(|it| Held {
                    holder: it.holder,
                    state: it.part.state(*state),
                    is_as_the_card: it.part.is_as_the_card(),
                    memory: it.memory,
                }));
                each(&Piece {
                    card,
                    period,
                    counts: whole.counted(*counts, period),
                    state: *state,
                    unseen: at(unseen, period).copied().max(),
                    holders: held,
                })?;
            }
        }
        Ok(())
    }

    /// Rows come in the order of time, but for what runs that went back in time leave over.
    fn put_in_order(&mut self) {
        let Self { cards, holders, unseen, .. } = self;
        if !cards.is_sorted_by_key(|(period, ..)| period.from) {
            cards.sort_by_key(|(period, ..)| period.from);
        }
        put_in_order(holders);
        put_in_order(unseen);
    }
}

fn put_in_order<T>(spans: &mut [(Period, T)]) {
    if !spans.is_sorted_by_key(|(period, _)| period.from) {
        spans.sort_by_key(|(period, _)| period.from);
    }
}

/// The spans that go on during one time after the other, in order: each is looked at as long as
/// it goes on, and not for all of the hour.
#[derive(Debug)]
struct GoingOn<T> {
    next: usize,
    here: Vec<(Period, T)>,
}

impl<T> Default for GoingOn<T> {
    fn default() -> Self {
        Self { next: 0, here: Vec::new() }
    }
}

impl<T: Copy> GoingOn<T> {
    fn begin(&mut self) {
        self.next = 0;
        self.here.clear();
    }

    /// Those that have a part in a time; times come in the order in which they begin.
    fn during(&mut self, spans: &[(Period, T)], time: Period) -> &[(Period, T)] {
        self.here.retain(|(period, _)| period.to > time.from);
        while let Some(next) = spans.get(self.next).filter(|(period, _)| period.from < time.to) {
            self.here.push(*next);
            self.next += 1;
        }
        &self.here
    }
}

/// What goes on all through a time.
fn at<T>(spans: &[(Period, T)], time: Period) -> impl Iterator<Item = &T> {
    let goes_on = move |period: &Period| period.from <= time.from && time.to <= period.to;
    spans.iter().filter(move |(period, _)| goes_on(period)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Holds, Work};
    use proptest::prelude::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    fn holder(holder: i64, work: Work, kib: u64) -> HolderPart {
        HolderPart { holder, part: Part::Holds(Holds::Much, work), memory: Some(Kib(kib)) }
    }

    /// From, to, count, unseen, and who did what.
    type Told = (i64, i64, i64, Option<u64>, Vec<(i64, State)>);

    fn pieces(time: &mut CardTime) -> Vec<Told> {
        let mut told = Vec::new();
        let tell = |piece: &Piece<'_>| {
            let held = piece.holders.iter().map(|held| (held.holder, held.state)).collect();
            let unseen = piece.unseen.map(|kib| kib.0);
            told.push((piece.period.from.0, piece.period.to.0, piece.counts, unseen, held));
            Ok::<(), ()>(())
        };
        time.cut(7, tell).unwrap();
        told
    }

    #[test]
    fn time_is_cut_where_anything_changes() {
        let (active, idle) = (State::Active, State::IdleHeld);
        let mut time = CardTime {
            cards: vec![(period(0, 60), active, 60), (period(60, 100), idle, 40)],
            holders: vec![
                (period(0, 100), holder(1, Work::AsTheCard, 5)),
                (period(30, 80), holder(2, Work::Idle, 6)),
            ],
            unseen: vec![(period(90, 100), Kib(9))],
            ..CardTime::default()
        };
        let expected = [
            (0, 30, 30, None, vec![(1, active)]),
            (30, 60, 30, None, vec![(1, active), (2, idle)]),
            (60, 80, 20, None, vec![(1, idle), (2, idle)]),
            (80, 90, 10, None, vec![(1, idle)]),
            (90, 100, 10, Some(9), vec![(1, idle)]),
        ];
        assert_eq!(pieces(&mut time), expected);
        time.clear();
        assert_eq!(pieces(&mut time), []);
    }

    /// Imported ticks count for something else than the time between them.
    #[test]
    fn a_count_is_cut_with_its_time() {
        let mut time = CardTime {
            cards: vec![(period(0, 30), State::IdleHeld, 100)],
            holders: vec![(period(0, 10), holder(1, Work::AsTheCard, 5))],
            ..CardTime::default()
        };
        let counts: Vec<i64> = pieces(&mut time).iter().map(|piece| piece.2).collect();
        assert_eq!(counts, [33, 67]);
    }

    fn spans<T: Clone + std::fmt::Debug>(
        value: impl Strategy<Value = T>,
    ) -> impl Strategy<Value = Vec<(Period, T)>> {
        let one = (0_i64..100, 1_i64..60, value);
        proptest::collection::vec(one, 0..8).prop_map(|spans| {
            spans.into_iter().map(|(from, length, it)| (period(from, from + length), it)).collect()
        })
    }

    proptest! {
        /// The law: whatever there is, the pieces are the card's spans, and in none of them
        /// does anything begin or end.
        #[test]
        fn pieces_add_up_and_are_uniform(
            cards in spans(0_i64..500),
            holders in spans(0_i64..4),
            unseen in spans(1_u64..9),
        ) {
            let cards: Vec<_> = cards.into_iter().map(|(it, n)| (it, State::IdleHeld, n)).collect();
            let holders: Vec<_> =
                holders.into_iter().map(|(it, id)| (it, holder(id, Work::Idle, 1))).collect();
            let unseen: Vec<_> = unseen.into_iter().map(|(it, kib)| (it, Kib(kib))).collect();
            let (counted, millis): (i64, i64) =
                cards.iter().fold((0, 0), |(n, ms), (it, _, c)| (n + c, ms + it.millis()));
            let mut time = CardTime { cards, holders, unseen, ..CardTime::default() };
            let told = pieces(&mut time);
            prop_assert_eq!(told.iter().map(|piece| piece.2).sum::<i64>(), counted);
            prop_assert_eq!(told.iter().map(|piece| piece.1 - piece.0).sum::<i64>(), millis);
            for (from, to, _, _, held) in told {
                let all = time.holders.iter().map(|(it, _)| it);
                let within = all.filter(|it| it.overlap(&period(from, to)).millis() > 0);
                prop_assert_eq!(within.count(), held.len());
            }
        }
    }
}
