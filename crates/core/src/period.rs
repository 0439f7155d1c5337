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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
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
    }
}
