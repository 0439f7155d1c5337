//! A stretch of time.

use crate::units::UnixMillis;

/// One hour in milliseconds.
pub const HOUR: i64 = 3_600_000;

/// From one moment up to another, which is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    pub from: UnixMillis,
    pub to: UnixMillis,
}

impl Period {
    #[must_use]
    pub const fn new(from: UnixMillis, to: UnixMillis) -> Self {
        Self { from, to }
    }

    /// No time at all, at one moment.
    #[must_use]
    pub const fn none_at(at: UnixMillis) -> Self {
        Self { from: at, to: at }
    }

    /// In milliseconds; 0 where it ends before it begins.
    #[must_use]
    pub const fn millis(&self) -> i64 {
        let millis = self.to.0.saturating_sub(self.from.0);
        if millis > 0 { millis } else { 0 }
    }

    /// In seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
    pub fn seconds(&self) -> f64 {
        self.millis() as f64 / 1000.0
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.millis() == 0
    }

    /// What both have in common; empty where that is nothing.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Self {
        let from = self.from.max(other.from);
        Self { from, to: self.to.min(other.to).max(from) }
    }

    /// What a part of it counts for, where all of it counts for so much. By what is counted up
    /// to the part's ends, so that the parts of a whole add up to it.
    #[must_use]
    pub fn counted(&self, counts: i64, part: Self) -> i64 {
        if counts == self.millis() {
            return part.millis();
        }
        let up_to = |at: UnixMillis| {
            portion(counts, at.0.saturating_sub(self.from.0), self.millis().max(1))
        };
        up_to(part.to).saturating_sub(up_to(part.from))
    }

    /// The parts between full hours, in order. Hours are those of UTC.
    pub fn by_hour(self) -> impl Iterator<Item = Self> {
        let mut rest = self;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let part = Self { to: rest.to.min(next_hour(rest.from)), ..rest };
            rest.from = part.to;
            Some(part)
        })
    }

    /// Whether an hour begins in it.
    #[must_use]
    pub const fn begins_an_hour(self) -> bool {
        !self.is_empty() && (is_full_hour(self.from) || next_hour(self.from).0 < self.to.0)
    }

    /// What is left of it without the others, which are in order and do not overlap.
    #[must_use]
    pub fn without(self, others: &[Self]) -> Vec<Self> {
        let mut left = Vec::new();
        let mut rest = self;
        for other in others {
            let taken = rest.overlap(other);
            if taken.is_empty() {
                continue;
            }
            let before = Self { to: taken.from, ..rest };
            if !before.is_empty() {
                left.push(before);
            }
            rest.from = taken.to;
        }
        if !rest.is_empty() {
            left.push(rest);
        }
        left
    }
}

/// `amount` × `part` ÷ `whole`, without running over; all of it where the whole is nothing.
#[must_use]
pub fn portion(amount: i64, part: i64, whole: i64) -> i64 {
    if whole == 0 || part == whole {
        return amount;
    }
    match amount.checked_mul(part).and_then(|product| product.checked_div(whole)) {
        // Nearly always, and far quicker.
        Some(portion) => portion,
        None => {
            let portion = i128::from(amount) * i128::from(part) / i128::from(whole);
            i64::try_from(portion).unwrap_or(i64::MAX)
        }
    }
}

/// Whether a moment is the beginning of an hour.
#[must_use]
pub const fn is_full_hour(at: UnixMillis) -> bool {
    at.0.rem_euclid(HOUR) == 0
}

/// The next full hour after a moment.
#[must_use]
pub const fn next_hour(at: UnixMillis) -> UnixMillis {
    UnixMillis((at.0.div_euclid(HOUR) + 1).saturating_mul(HOUR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    #[test]
    fn hours_cut_where_they_begin() {
        let parts: Vec<_> = period(HOUR - 5, 2 * HOUR + 7).by_hour().collect();
        assert_eq!(
            parts,
            [period(HOUR - 5, HOUR), period(HOUR, 2 * HOUR), period(2 * HOUR, 2 * HOUR + 7)]
        );
        assert_eq!(period(-5, 5).by_hour().collect::<Vec<_>>(), [period(-5, 0), period(0, 5)]);
        assert_eq!(period(5, 5).by_hour().count(), 0);
    }

    #[test]
    fn what_others_take_is_not_left() {
        let others = [period(0, 10), period(20, 30), period(90, 200)];
        assert_eq!(period(5, 100).without(&others), [period(10, 20), period(30, 90)]);
        assert_eq!(period(22, 28).without(&others), []);
        assert_eq!(period(40, 50).without(&others), [period(40, 50)]);
    }

    #[test]
    fn a_portion_does_not_run_over() {
        assert_eq!(portion(i64::MAX, 3, 4), 6_917_529_027_641_081_855);
        assert_eq!(portion(i64::MAX, 4, 3), i64::MAX);
        assert_eq!(portion(7, 5, 0), 7);
        assert_eq!(portion(i64::MIN, 1, -1), i64::MAX, "of a damaged file");
    }

    proptest! {
        /// The law: the quick way gives what the wide one gives.
        #[test]
        fn a_portion_is_what_it_is_of_a_whole(amount: i64, part in 0_i64..HOUR, rest in 0_i64..HOUR) {
            let whole = part + rest;
            let expected = match whole {
                0 => amount,
                _ => i64::try_from(i128::from(amount) * i128::from(part) / i128::from(whole)).unwrap(),
            };
            prop_assert_eq!(portion(amount, part, whole), expected);
        }

        /// The law: what the parts of a whole count for adds up to what the whole counts for.
        #[test]
        fn what_parts_count_for_adds_up(
            counts in 0_i64..10_000_000,
            mut cuts in proptest::collection::vec(0..HOUR, 2..9),
        ) {
            cuts.sort_unstable();
            let (first, last) = (cuts[0], cuts[cuts.len() - 1]);
            prop_assume!(first < last);
            let whole = period(first, last);
            let parts = cuts.windows(2).map(|pair| whole.counted(counts, period(pair[0], pair[1])));
            prop_assert_eq!(parts.sum::<i64>(), counts);
        }

        #[test]
        fn parts_add_up(from in -10_000_000_i64..10_000_000, length in 0_i64..20_000_000) {
            let whole = period(from, from + length);
            let parts: Vec<_> = whole.by_hour().collect();
            prop_assert_eq!(parts.iter().map(Period::millis).sum::<i64>(), length);
            let begins = parts.iter().any(|part| is_full_hour(part.from));
            prop_assert_eq!(whole.begins_an_hour(), begins);
            for part in &parts {
                prop_assert!(part.millis() <= HOUR);
                prop_assert!(next_hour(part.from) >= part.to);
            }
        }
    }
}
