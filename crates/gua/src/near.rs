//! Names that are like one that was typed: what may have been meant by it.

/// How many names are proposed at most.
const MOST_NEAR: usize = 4;

/// The names that are most like the typed one, nearest first: those that it is a part of, and
/// those a few letters away.
#[must_use]
pub fn near<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let most = (typed.chars().count() / 3).max(2);
    let is_near = |name: &str| typed.len() > 2 && (name.contains(&typed) || typed.contains(name));
    let mut near: Vec<_> = names
        .map(|name| (distance(&typed, name), name))
        .filter(|(distance, name)| *distance <= most || is_near(name))
        .collect();
    near.sort_unstable();
    near.into_iter().take(MOST_NEAR).map(|(_, name)| name).collect()
}

/// How many letters have to be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        let mut left = i + 1;
        for (to, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_are_those_of_a_space(a in "[ab.é]{0,8}", b in "[ab.é]{0,8}", c in "[ab.]{0,8}") {
            prop_assert_eq!(distance(&a, &a), 0);
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
            prop_assert!((distance(&a, &b) == 0) == (a == b));
        }
    }
}
