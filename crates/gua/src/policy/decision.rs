//! What a tick says to the rules, and what they decide on it.

use std::sync::Arc;
use std::time::Duration;

use gua_core::Period;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use probe::Reading;
use probe::units::{Bytes, UnixMillis};

use super::subject::{Facts, Holding, Sign, Signs, Subject};
use super::watch::Token;
use crate::calendar;

/// What one tick says.
#[derive(Debug, Clone)]
pub struct Step {
    /// The time that it speaks for; it ends at the tick.
    pub covers: Period,
    /// Time since the last tick by a clock that nobody sets; `None` where it is not known: after a
    /// restart, and in a history.
    pub since_last: Option<Duration>,
    /// The time of the day on the host's clock.
    pub time_of_day: Time,
    pub holdings: Vec<Holding>,
    /// Whether all lists could be read: then who is not among them holds nothing.
    pub is_whole: bool,
    /// Whether the rules are followed; else holders are only watched.
    pub is_on: bool,
}

/// Something to be done, or to be written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub at: UnixMillis,
    pub subject: Subject,
    /// The name of the rule.
    pub rule: Arc<str>,
    pub what: What,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Tell the person; from 0.
    Notice {
        number: usize,
        token: Token,
    },
    End {
        token: Token,
    },
    /// What a rule that only watches would do.
    WouldNotice {
        number: usize,
    },
    WouldEnd,
    /// What somebody was told does not come: so many notices were for nothing.
    Relieved {
        notices: usize,
        why: Relief,
    },
}

/// Why what somebody was told does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relief {
    Works(Sign),
    LetGo,
    Snoozed,
    Exempt,
    /// No rule, or another one, is for it now.
    OtherRule,
    /// The rule says something else than when it told.
    RuleChanged,
    /// Too much of the time was not seen.
    NotSeen,
    SwitchedOff,
}

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    pub facts: Arc<Facts>,
    /// Others of its job or group.
    pub company: Vec<Subject>,
    pub memory: Reading<Bytes>,
    pub signs: Signs,
    pub idle_millis: i64,
    pub missed_millis: i64,
    pub notices: usize,
}

/// How something that was asked for went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A notice reached somebody.
    Told,
    NotTold,
    Ended,
    NotEnded,
}

/// On the host's own clock.
#[must_use]
pub fn time_of_day(at: UnixMillis) -> Time {
    calendar::nearest(at).to_zoned(TimeZone::system()).time()
}
