//! How long one holder has been idle, and what it was told: the timers of the rules.
//!
//! Only time that was seen to be idle advances them. What was not seen counts against them:
//! where more than a tenth of a rule's window is missing, it begins anew.

use std::sync::Arc;
use std::time::Duration;

use super::subject::Activity;
use crate::config::policy::{Action, Rule};

/// For one part that was not seen, nine must have been.
const SEEN_FOR_ONE_MISSED: i64 = 9;

/// How long after a notice that could not be delivered it is tried again, at first.
const TRY_AGAIN_MILLIS: i64 = 60_000;

/// It doubles with each time, up to here.
const MOST_DOUBLINGS: u32 = 5;

/// What is asked for and not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// A rule that is followed, as it was when somebody was told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub name: Arc<str>,
    pub action: Action,
    /// Of all that it says: when anything of that changes, it is another rule to whom it told.
    pub digest: u64,
}

impl Followed {
    #[must_use]
    pub fn of(rule: &Rule) -> Self {
        let digest = digest(format!("{rule:?}").as_bytes());
        Self { name: Arc::clone(&rule.name), action: rule.action, digest }
    }
}

/// FNV-1a: the same in every run of every version, which is all that is asked of it. Where one
/// writes a rule down otherwise, notices begin anew.
fn digest(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(BASIS, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// One holder, from the tick at which it was first seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watch {
    /// The rule that its notices were given by, and what that did then: who was told in thought
    /// only was not told.
    pub rule: Option<Followed>,
    /// Seen to be idle since it last worked.
    pub idle_millis: i64,
    /// Not seen since then.
    pub missed_millis: i64,
    /// Notices that reached somebody.
    pub delivered: usize,
    /// How long it had been idle when the last of them did.
    pub told_at_millis: i64,
    asked: Option<Asked>,
    /// Whether a rule that only watches has come to its end.
    is_through: bool,
    failures: u32,
    /// By the engine's clock.
    try_again_millis: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Notice(Token),
    End(Token),
}

/// What is to be done with a holder by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The notice of this number, from 0.
    Notice(usize),
    End,
    Wait(Next),
}

/// What a holder comes to when it stays idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// This notice, from 0, after so much more time.
    Notice {
        number: usize,
        in_millis: i64,
    },
    End {
        in_millis: i64,
    },
    /// An answer, to a notice or to an end.
    Answer,
    /// Nothing: the rule has done all that it does.
    Nothing,
}

impl Watch {
    /// As it was written down.
    #[must_use]
    pub fn saved(
        rule: Option<Followed>,
        idle_millis: i64,
        missed_millis: i64,
        delivered: usize,
        told_at_millis: i64,
    ) -> Self {
        Self { rule, idle_millis, missed_millis, delivered, told_at_millis, ..Self::default() }
    }

    /// What a tick says. `missed` is the time before it that no tick speaks for.
    pub fn pass(&mut self, activity: Activity, covered_millis: i64, missed_millis: i64) {
        match activity {
            Activity::Works(_) | Activity::HoldsLittle => self.begin_anew(),
            Activity::Idle => {
                self.missed_millis = self.missed_millis.saturating_add(missed_millis);
                self.idle_millis = self.idle_millis.saturating_add(covered_millis);
            }
            Activity::Unknown(_) => {
                let missed = missed_millis.saturating_add(covered_millis);
                self.missed_millis = self.missed_millis.saturating_add(missed);
            }
        }
    }

    /// Whatever was seen so far says nothing any more.
    pub fn begin_anew(&mut self) {
        *self = Self::default();
    }

    /// What it was told does not count any more.
    pub fn forget_notices(&mut self) {
        let Self { idle_millis, missed_millis, .. } = *self;
        *self = Self { idle_millis, missed_millis, ..Self::default() };
    }

    /// Whether so much is missing that a window of this length cannot be told of.
    #[must_use]
    pub fn misses_too_much_for(&self, window: Duration) -> bool {
        self.missed_millis.saturating_mul(SEEN_FOR_ONE_MISSED) > millis(window)
    }

    /// Whether enough of the time since it last worked was seen.
    #[must_use]
    pub fn has_seen_enough(&self) -> bool {
        self.missed_millis.saturating_mul(SEEN_FOR_ONE_MISSED) <= self.idle_millis
    }

    /// What a rule wants for a holder that is idle at this moment.
    #[must_use]
    pub fn due(&self, rule: &Rule, clock_millis: i64) -> Due {
        let next = self.next(rule);
        let is_now = self.has_seen_enough() && clock_millis >= self.try_again_millis;
        match next {
            Next::Notice { number, in_millis } if in_millis <= 0 && is_now => Due::Notice(number),
            Next::End { in_millis } if in_millis <= 0 && is_now => Due::End,
            next => Due::Wait(next),
        }
    }

    /// What it comes to when it stays idle. A step follows the one before by as much time as
    /// lies between the two in the rule, however late that one was.
    #[must_use]
    pub fn next(&self, rule: &Rule) -> Next {
        if self.asked.is_some() {
            return Next::Answer;
        }
        if self.is_through {
            return Next::Nothing;
        }
        let step = rule.notices.get(self.delivered).copied();
        let before = rule.notices.get(..self.delivered).unwrap_or(&rule.notices).last().copied();
        let at = millis(step.unwrap_or(rule.idle_for));
        let since_told = before
            .map_or(i64::MIN, |before| self.told_at_millis.saturating_add(at - millis(before)));
        let in_millis = at.max(since_told).saturating_sub(self.idle_millis).max(0);
        match (step, rule.action) {
            (Some(_), _) => Next::Notice { number: self.delivered, in_millis },
            (None, Action::Notify) => Next::Nothing,
            (None, Action::Observe | Action::End) => Next::End { in_millis },
        }
    }

    pub const fn ask_notice(&mut self, token: Token) {
        self.asked = Some(Asked::Notice(token));
    }

    pub const fn ask_end(&mut self, token: Token) {
        self.asked = Some(Asked::End(token));
    }

    /// A rule that only watches has nothing left to say until the holder works again.
    pub const fn is_through(&mut self) {
        self.is_through = true;
    }

    /// Whether this is what it waits for.
    #[must_use]
    pub fn waits_for(&self, token: Token) -> bool {
        matches!(self.asked, Some(Asked::Notice(asked) | Asked::End(asked)) if asked == token)
    }

    /// Whether it is being ended.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        matches!(self.asked, Some(Asked::End(_)))
    }

    /// A notice reached somebody.
    pub const fn told(&mut self) {
        self.asked = None;
        self.failures = 0;
        self.delivered += 1;
        self.told_at_millis = self.idle_millis;
    }

    /// A notice reached nobody.
    pub fn not_told(&mut self, clock_millis: i64) {
        self.asked = None;
        let wait = TRY_AGAIN_MILLIS << self.failures.min(MOST_DOUBLINGS);
        self.failures = self.failures.saturating_add(1);
        self.try_again_millis = clock_millis.saturating_add(wait);
    }
}

/// Rules have no time longer than can be counted.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
