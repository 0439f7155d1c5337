//! The page for one person: theirs alone, and nobody else's name.

use serde::Serialize;

use super::account::Account;
use super::suggestion::Suggestion;

/// Whom a page is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PersonPage {
    /// All that they had of the cards.
    #[serde(flatten)]
    pub account: Account,
    pub suggestion: Suggestion,
}
