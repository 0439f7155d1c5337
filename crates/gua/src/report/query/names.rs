//! Fields by the names that were typed, and what may have been meant by one that is none.

use super::field::Field;
use crate::near::near;

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

#[cfg(test)]
mod tests {
    use super::super::{Question, cards, holders};
    use super::*;

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
}
