//! Rules for cards that are held idle: where everybody stands, what the rules would have done,
//! and what they have done.

pub mod check;
pub mod log;
pub mod simulate;
pub mod snooze;

use crate::policy::{Card, Doubt, Facts, Phase, Spared, Wait};

/// A stable word for a state.
#[must_use]
pub const fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Observing => "observing",
        Phase::Idle => "idle",
        Phase::Warned(_) => "warned",
        Phase::Pending(_) => "pending",
        Phase::Exempt(_) => "exempt",
        Phase::Snoozed(_) => "snoozed",
        Phase::Unknown(_) => "unknown",
    }
}

/// Why it is in that state, where there is more to say.
#[must_use]
pub fn reason(phase: Phase) -> Option<String> {
    match phase {
        Phase::Observing | Phase::Idle | Phase::Warned(_) | Phase::Snoozed(_) => None,
        Phase::Pending(Wait::Answer) => Some("it is being ended".to_owned()),
        Phase::Pending(Wait::Limit) => Some("enough were ended in the last hour".to_owned()),
        Phase::Pending(Wait::NoticeLimit) => {
            Some("its person was told often enough in the last hour".to_owned())
        }
        Phase::Pending(Wait::Seen) => Some("too little of the time was seen".to_owned()),
        Phase::Exempt(Spared::Listed) => Some("the config leaves it alone".to_owned()),
        Phase::Exempt(Spared::Guarded(guard)) => Some(guard.to_string()),
        Phase::Unknown(Doubt::Activity(why)) => Some(format!("whether it works: {why}")),
        Phase::Unknown(Doubt::Missing(missing)) => {
            Some(format!("its {} {} not known", missing.word(), missing.verb()))
        }
    }
}

/// The cards of a holder, as they are shown.
fn cards(facts: &Facts) -> Vec<String> {
    facts.cards.iter().map(Card::shown).collect()
}

#[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

fn hours(millis: i64) -> f64 {
    seconds(millis) / 3600.0
}
