//! A time divided among those who share a card.

/// Divides `whole` by weights; what they say adds up to it exactly. Equal parts where nothing
/// has a weight. What rounding leaves over goes to the first ones: a millionth of a second each.
pub(super) fn split(whole: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let part = |weight: u64| match all {
        0 => whole / u64::try_from(weights.len()).unwrap_or(1),
        // Not more than the whole, so it fits.
        all => u64::try_from(u128::from(whole) * u128::from(weight) / all).unwrap_or(whole),
    };
    let mut parts: Vec<u64> = weights.iter().map(|weight| part(*weight)).collect();
    let left = whole - parts.iter().sum::<u64>();
    let has_a_share = |weight: u64| all == 0 || weight > 0;
    let first = weights.iter().position(|weight| has_a_share(*weight));
    if let Some(part) = first.and_then(|first| parts.get_mut(first)) {
        *part += left;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_follow_the_weights() {
        assert_eq!(split(30_000_000, &[3, 1]), [22_500_000, 7_500_000]);
        assert_eq!(split(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(split(10, &[0, 0]), [5, 5]);
        assert_eq!(split(10, &[0, 3, 3, 3]), [0, 4, 3, 3]);
        assert!(split(10, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn parts_add_up(whole in 0_u64..u64::MAX / 4, weights in proptest::collection::vec(0_u64..1 << 48, 1..40)) {
            let parts = split(whole, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), whole);
            let all: u64 = weights.iter().sum();
            for (part, weight) in parts.iter().zip(&weights) {
                prop_assert!(all == 0 || *weight > 0 || *part == 0);
            }
        }
    }
}
