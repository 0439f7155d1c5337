//! A share as a bar, in one row.

/// The parts of a bar, shares of the whole: what is full, and what is taken in another way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    pub full: f64,
    pub other: f64,
}

impl Shares {
    #[must_use]
    pub const fn one(full: f64) -> Self {
        Self { full, other: 0.0 }
    }
}

/// The left part that is filled, and the rest of the bar.
#[must_use]
pub fn bar(shares: Option<Shares>, width: usize, is_ascii: bool) -> (String, String) {
    let Some(shares) = shares else {
        return (String::new(), format!("{:<width$.width$}", "?"));
    };
    let (full, partial, other, rest) =
        if is_ascii { ('#', &[][..], '%', '-') } else { ('█', &PARTIAL[..], '▒', '─') };
    let steps = partial.len() + 1;
    let taken = eighths(shares.full, width * steps);
    let mut text: String = std::iter::repeat_n(full, taken / steps).collect();
    if let Some(part) = (taken % steps).checked_sub(1).and_then(|place| partial.get(place)) {
        text.push(*part);
    }
    let length = text.chars().count();
    let end = eighths(shares.full + shares.other, width).max(length);
    text.extend(std::iter::repeat_n(other, end - length));
    (text, std::iter::repeat_n(rest, width - end).collect())
}

/// Eighths of a block, from one to seven.
const PARTIAL: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the width")]
#[expect(clippy::cast_precision_loss, reason = "a few hundred columns")]
fn eighths(share: f64, whole: usize) -> usize {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    ((share * whole as f64).round() as usize).min(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(shares: Option<Shares>, width: usize, is_ascii: bool) -> String {
        let (full, rest) = bar(shares, width, is_ascii);
        full + &rest
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(whole(Some(Shares::one(0.5)), 8, false), "████────");
        assert_eq!(whole(Some(Shares::one(0.55)), 8, false), "████▍───");
        assert_eq!(whole(Some(Shares { full: 0.25, other: 0.25 }), 8, false), "██▒▒────");
        assert_eq!(whole(Some(Shares { full: 0.25, other: 0.25 }), 8, true), "##%%----");
        assert_eq!(whole(Some(Shares::one(7.0)), 3, false), "███");
        assert_eq!(whole(Some(Shares::one(f64::NAN)), 3, false), "───");
        assert_eq!(whole(None, 3, false), "?  ", "unknown is not zero");
    }

    proptest! {
        #[test]
        fn a_bar_fills_its_width(full in -1.0..2.0, other in -1.0..2.0, width in 0_usize..300, is_ascii: bool) {
            let bar = whole(Some(Shares { full, other }), width, is_ascii);
            prop_assert_eq!(bar.chars().count(), width);
            prop_assert_eq!(whole(None, width, is_ascii).chars().count(), width);
        }
    }
}
