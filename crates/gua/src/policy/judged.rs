//! Which rule a holder falls under, and why under none.

use std::sync::Arc;

use jiff::civil::Time;
use probe::Reading;
use probe::units::UnixMillis;

use super::guard::{Guard, is_certain};
use super::matching::{Missing, Verdict, is_exempt, matches};
use super::subject::Holding;
use crate::config::policy::{Action, Policy, Rule};

/// What the rules say of a holder.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    Under(Arc<Rule>),
    /// A rule matches, but the holder is left alone.
    Spared(Option<Arc<Rule>>, Spared),
    Snoozed(Arc<Rule>, UnixMillis),
    NoRule,
    /// What a rule asks for is not known, so nothing is said.
    Unknown(Missing),
}

/// Why a holder is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// The config says so.
    Listed,
    Guarded(Guard),
}

impl Judged {
    /// By the first rule that matches.
    #[must_use]
    pub fn of(policy: &Policy, holding: &Holding, now: Time) -> Self {
        match is_exempt(&policy.exempt, &holding.facts) {
            Verdict::Yes => return Self::Spared(None, Spared::Listed),
            Verdict::Unknown(missing) => return Self::Unknown(missing),
            Verdict::No => {}
        }
        let mut listed = None;
        for rule in &policy.rules {
            match matches(&rule.matches, holding, now) {
                Verdict::Yes => {}
                Verdict::No => continue,
                // A rule that may be for it must not be passed over for a harder one.
                Verdict::Unknown(missing) => return Self::Unknown(missing),
            }
            match is_exempt(&rule.exempt, &holding.facts) {
                Verdict::Yes => listed = listed.or(Some(Arc::clone(rule))),
                Verdict::No => return Self::under(rule, holding),
                Verdict::Unknown(missing) => return Self::Unknown(missing),
            }
        }
        listed.map_or(Self::NoRule, |rule| Self::Spared(Some(rule), Spared::Listed))
    }

    fn under(rule: &Arc<Rule>, holding: &Holding) -> Self {
        let rule = Arc::clone(rule);
        let guard = Guard::of(holding.subject, &holding.facts);
        let guard = match rule.action {
            // A notice of an end that cannot come would be a lie.
            Action::End | Action::Observe => guard,
            Action::Notify if is_certain(&holding.facts) => None,
            // Others need not be told what somebody holds.
            Action::Notify if holding.facts.person.is_some() => Some(Guard::Uncertain),
            Action::Notify => Some(Guard::Unattributed),
        };
        match (guard, holding.snoozed) {
            (Some(guard), _) => Self::Spared(Some(rule), Spared::Guarded(guard)),
            (None, Reading::Known(None)) => Self::Under(rule),
            (None, Reading::Known(Some(until))) => Self::Snoozed(rule, until),
            (None, Reading::Unknown(_)) => Self::Unknown(Missing::Snooze),
        }
    }

    /// The rule that matches, also where it is not followed.
    #[must_use]
    pub const fn rule(&self) -> Option<&Arc<Rule>> {
        match self {
            Self::Under(rule) | Self::Snoozed(rule, _) | Self::Spared(Some(rule), _) => Some(rule),
            Self::Spared(None, _) | Self::NoRule | Self::Unknown(_) => None,
        }
    }
}
