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
    #[error("the field `{0}` is named twice")]
    Twice(&'static str),
}

impl WrongFields {
    /// What a person can do about it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::None => "Name one, such as utilization.gpu".to_owned(),
            Self::Twice(_) => "Name it once".to_owned(),
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

/// The fields of these names, in their order.
pub(super) fn find<R, S: AsRef<str>>(
    names: &[S],
    known: &'static [Field<R>],
) -> Result<Vec<&'static Field<R>>, WrongFields> {
    let mut found: Vec<&'static Field<R>> = Vec::new();
    for typed in names.iter().map(|name| name.as_ref().trim()) {
        let field = known.iter().find(|field| field.names.contains(&typed));
        let field = field.ok_or_else(|| unknown(typed, known))?;
        if found.iter().any(|other| std::ptr::eq(*other, field)) {
            return Err(WrongFields::Twice(field.column().name()));
        }
        found.push(field);
    }
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
            other => panic!("{other:?}"),
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
    fn one_field_by_two_names_is_twice() {
        let wrong = Question::of_cards(&["clocks.sm", "clocks.current.sm"]).unwrap_err();
        assert_eq!(wrong, WrongFields::Twice("clocks.current.sm"));
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
