//! One notice to one person.

use std::sync::Arc;

use serde::Serialize;

use crate::config::policy::{Action, Channel, Rule};
use crate::policy::{Evidence, Subject, Token};

use super::Fields;

/// What is to be delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    pub token: Token,
    pub to: To,
    pub fields: Fields,
    pub figures: Figures,
    pub channels: Vec<Channel>,
}

/// The same in figures, with units in their names; null is what is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    pub pid: u32,
    pub uid: u32,
    pub memory_bytes: Option<u64>,
    pub idle_seconds: f64,
    pub notice: usize,
    pub notices: usize,
    /// From this notice on, while it stays idle; null where the rule ends nobody.
    pub ends_in_seconds: Option<f64>,
    pub card_uuids: Vec<String>,
}

impl Figures {
    /// Of a holder under a rule; `notice` counts from 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
    pub fn of(subject: Subject, uid: u32, evidence: &Evidence, rule: &Rule, notice: usize) -> Self {
        let given = rule.notices.get(notice.saturating_sub(1)).copied().unwrap_or_default();
        let ends = rule.action == Action::End;
        let uuids = evidence.facts.cards.iter().filter_map(|card| card.uuid.as_deref());
        Self {
            pid: subject.pid,
            uid,
            memory_bytes: evidence.memory.known().map(|bytes| bytes.0),
            idle_seconds: evidence.idle_millis as f64 / 1000.0,
            notice,
            notices: rule.notices.len(),
            ends_in_seconds: ends.then(|| rule.idle_for.saturating_sub(given).as_secs_f64()),
            card_uuids: uuids.map(str::to_owned).collect(),
        }
    }
}

/// Whom it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    pub uid: u32,
    /// `None` where the uid has no name.
    pub name: Option<Arc<str>>,
}
