//! Fields by the names that were typed, and what may have been meant by one that is none.

use super::field::Field;

/// How many names are proposed at most.
const MOST_NEAR: usize = 4;

/// Fields that cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongFields {
    #[error("no field is named")]
    None,
    #[error("there is no field `{typed}`")]
    Unknown { typed: String, near: Vec<&'static str>, elsewhere: Option<&'static str> },
}

impl WrongFields {
    /// What a person can do about it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::None => "Name one, such as utilization.gpu".to_owned(),
            Self::Unknown { elsewhere: Some(whose), .. } => format!("It is a field of {whose}"),
            Self::Unknown { near, .. } if near.is_empty() => "None has a name like it".to_owned(),
            Self::Unknown { near, .. } => format!("Near to it: {}", near.join(", ")),
        }
    }

    /// Looks for it among those of others.
    pub(super) fn or_of<R>(self, whose: &'static str, others: &[Field<R>]) -> Self {
        let is_theirs = |typed: &str| others.iter().any(|field| field.names.contains(&typed));
        match self {
            Self::Unknown { typed, near, .. } if is_theirs(&typed) => {
                Self::Unknown { typed, near, elsewhere: Some(whose) }
            }
            wrong => wrong,
        }
    }
}

/// The fields of these names, in their order; one that is named twice is there twice.
pub(super) fn find<R, S: AsRef<str>>(
    names: &[S],
    known: &'static [Field<R>],
) -> Result<Vec<&'static Field<R>>, WrongFields> {
    let one = |typed: &str| {
        let field = known.iter().find(|field| field.names.contains(&typed));
        field.ok_or_else(|| unknown(typed, known))
    };
    let found = names.iter().map(|name| one(name.as_ref().trim()));
    let found: Vec<_> = found.collect::<Result<_, _>>()?;
    if found.is_empty() { Err(WrongFields::None) } else { Ok(found) }
}

fn unknown<R>(typed: &str, known: &[Field<R>]) -> WrongFields {
    let names = known.iter().flat_map(|field| field.names).copied();
    WrongFields::Unknown { typed: typed.to_owned(), near: near(typed, names), elsewhere: None }
}

/// The names that are most like it, nearest first: those that it is a part of, and those a few
/// letters away.
fn near(typed: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
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
    use super::super::{Question, cards, holders};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_meant_is_near() {
        let near = |typed: &str| match Question::of_cards(&[typed]).unwrap_err() {
            WrongFields::Unknown { near, .. } => near,
            WrongFields::None => panic!("{typed}"),
        };
        assert_eq!(near("utilisation.gpu"), ["utilization.gpu"]);
        assert_eq!(near("temperature"), ["temperature.gpu"]);
        assert_eq!(near("Memory.Used"), ["memory.used", "memory.free"]);
        assert_eq!(near("pstat"), ["pstate", "state"]);
        assert_eq!(near("frobnicate"), [""; 0]);
    }

    #[test]
    fn a_field_of_the_other_kind_is_told() {
        let wrong = Question::of_cards(&["pid"]).unwrap_err();
        assert_eq!(wrong.next_step(), "It is a field of holders: add --apps");
    }

    #[test]
    fn one_field_may_be_named_twice_and_none_may_not() {
        let twice = Question::of_cards(&["clocks.sm", "clocks.current.sm"]).unwrap();
        assert_eq!(twice.columns().len(), 2);
        assert_eq!(Question::of_cards::<&str>(&[]).unwrap_err(), WrongFields::None);
    }

    #[test]
    fn no_name_and_no_key_is_there_twice() {
        fn check<R>(fields: &[Field<R>]) {
            let mut names: Vec<_> = fields.iter().flat_map(|field| field.names).collect();
            let mut keys: Vec<_> = fields.iter().map(|field| field.column().key()).collect();
            names.sort_unstable();
            keys.sort_unstable();
            let (many, most) = (names.len(), keys.len());
            names.dedup();
            keys.dedup();
            assert_eq!((names.len(), keys.len()), (many, most));
        }
        check(cards::FIELDS);
        check(holders::FIELDS);
    }

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
