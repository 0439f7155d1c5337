//! A line of `/proc/PID/stat`: the name of a process, and figures behind it. What they are for is
//! told by [`stat`](super::stat), [`usage`](super::usage) and others.

use std::str::FromStr;

/// A figure that is read here, by its place behind the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    State = 0,
    Parent = 1,
    Terminal = 4,
    Flags = 6,
    MinorFaults = 7,
    ChildMinorFaults = 8,
    MajorFaults = 9,
    ChildMajorFaults = 10,
    UserTicks = 11,
    SystemTicks = 12,
    ChildUserTicks = 13,
    ChildSystemTicks = 14,
    StartTicks = 19,
    ResidentPages = 21,
}

/// Nothing behind the last of them is looked at.
const FIELDS: usize = Field::ResidentPages as usize + 1;

/// A line that was taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatLine<'a> {
    name: &'a [u8],
    /// Empty where the line ends before.
    fields: [&'a str; FIELDS],
}

impl<'a> StatLine<'a> {
    /// `None` when it is no stat line. A process's name may hold anything, parentheses and blanks
    /// included, so it ends only at the last parenthesis.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
        let (before, rest) = bytes.split_at(name_end);
        let name_begin = before.iter().position(|byte| *byte == b'(')? + 1;
        let rest = str::from_utf8(rest.get(1..)?).ok()?;
        let mut fields = [""; FIELDS];
        for (place, field) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
            *place = field;
        }
        Some(Self { name: before.get(name_begin..)?, fields })
    }

    /// What the process calls itself, which need not be text.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// As it is written; empty where it is not there.
    #[must_use]
    pub fn text(&self, field: Field) -> &'a str {
        self.fields.get(field as usize).copied().unwrap_or_default()
    }

    /// `None` where it is not there, or no such number.
    #[must_use]
    pub fn number<T: FromStr>(&self, field: Field) -> Option<T> {
        self.text(field).parse().ok()
    }

    /// Several together.
    #[must_use]
    pub fn sum(&self, fields: &[Field]) -> Option<u64> {
        fields.iter().try_fold(0_u64, |sum, field| Some(sum.saturating_add(self.number(*field)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line =
            StatLine::parse(b"7 (a) S 1 (\xffb) Z 17 7 7 34816 7 0 5 6 7 8 1 2 3 4\n").unwrap();
        assert_eq!(line.name(), b"a) S 1 (\xffb");
        assert_eq!((line.text(Field::State), line.number(Field::Parent)), ("Z", Some(17)));
        assert_eq!(line.number(Field::Terminal), Some(34_816));
        assert_eq!(line.sum(&[Field::ChildMinorFaults, Field::ChildMajorFaults]), Some(6 + 8));
        assert_eq!(line.sum(&[Field::UserTicks, Field::ChildSystemTicks]), Some(1 + 4));
    }

    #[test]
    fn what_is_not_there_is_no_figure() {
        let line = StatLine::parse(b"7 (a) S x").unwrap();
        assert_eq!(line.text(Field::StartTicks), "");
        assert_eq!(line.number::<u64>(Field::StartTicks), None);
        assert_eq!(line.number::<u32>(Field::Parent), None);
        assert_eq!(line.sum(&[Field::UserTicks]), None);
        for no_line in [&b""[..], b")", b"(", b") (", b"7 a S 1", b"7 (a) \xff"] {
            assert_eq!(StatLine::parse(no_line), None);
        }
    }
}
