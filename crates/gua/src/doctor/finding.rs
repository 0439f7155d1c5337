//! One finding of a check, and its line in the diagnosis.

use serde::Serialize;

/// Result of a check, with the next step where something is to be done.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub verdict: Verdict,
    pub detail: String,
    /// Remedy, as a sentence.
    pub next_step: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    Warning,
    Error,
    Skipped,
}

impl Finding {
    pub fn new(verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { verdict, detail: detail.into(), next_step: None }
    }

    pub fn ok(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, detail)
    }

    pub fn warning(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Warning, detail)
    }

    pub fn error(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Error, detail)
    }

    pub fn skipped(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Skipped, detail)
    }

    pub fn next(self, step: impl Into<String>) -> Self {
        Self { next_step: Some(step.into()), ..self }
    }
}

/// A finding with the name of its check.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub check: &'static str,
    /// The card, where the finding is about one.
    pub card: Option<CardPlace>,
    #[serde(flatten)]
    pub finding: Finding,
}

impl Entry {
    pub fn new(check: &'static str, finding: Finding) -> Self {
        Self { check, card: None, finding }
    }

    pub fn of_card(card: CardPlace, finding: Finding) -> Self {
        Self { check: "card", card: Some(card), finding }
    }
}

/// Index of a card, and the slot of a MIG instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CardPlace {
    pub index: u32,
    pub mig_slot: Option<u32>,
}

/// Returns a number with its noun: `1 card`, `2 cards`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
