//! Where a holder stands by the rules.

use std::sync::Arc;

use probe::Why;
use probe::units::UnixMillis;

use super::judged::{Judged, Spared};
use super::matching::Missing;
use super::subject::Activity;
use super::watch::{Next, Watch};
use crate::config::policy::Rule;

/// Where a holder stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub phase: Phase,
    pub rule: Option<Arc<Rule>>,
    pub idle_millis: i64,
    pub missed_millis: i64,
    pub notices: usize,
    /// `None` where nothing comes as long as it stays as it is.
    pub next: Option<Next>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It works, holds next to nothing, or no rule is for it.
    Observing,
    Idle,
    /// It was told so many times.
    Warned(usize),
    /// It is to be told or ended, and waits for this.
    Pending(Wait),
    Exempt(Spared),
    Snoozed(UnixMillis),
    Unknown(Doubt),
}

/// What a holder waits for that is to be told or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It is being done.
    Answer,
    /// Too many were ended in the last hour.
    Limit,
    /// The person was told too often in the last hour.
    NoticeLimit,
    /// Too little of the time was seen.
    Seen,
}

/// What is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    Activity(Why),
    Missing(Missing),
}

pub(super) const fn observed(activity: Activity) -> Phase {
    match activity {
        Activity::Unknown(why) => Phase::Unknown(Doubt::Activity(why)),
        Activity::Idle | Activity::Works(_) | Activity::HoldsLittle => Phase::Observing,
    }
}

pub(super) fn standing(watch: &Watch, phase: Phase, judged: &Judged, is_on: bool) -> Standing {
    let comes = match phase {
        Phase::Idle | Phase::Warned(_) | Phase::Pending(_) => is_on,
        Phase::Observing | Phase::Exempt(_) | Phase::Snoozed(_) | Phase::Unknown(_) => false,
    };
    let rule = judged.rule().cloned();
    Standing {
        phase,
        next: rule.as_ref().filter(|_| comes).map(|rule| watch.next(rule)),
        rule,
        idle_millis: watch.idle_millis,
        missed_millis: watch.missed_millis,
        notices: watch.delivered,
    }
}
