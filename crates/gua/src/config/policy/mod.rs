//! Who may hold a card idle for how long, and what is done about it: the rules as they are
//! meant.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `rule` | one rule: whom it is for, when it notices, what it does at the end |
//! | `pattern` | names with `*` in them |
//! | `hours` | hours of the day |
//! | `template` | text with places for what is known of a holder |
//! | `notify` | how a person is told |

mod hours;
mod notify;
mod pattern;
mod rule;
mod template;

pub use hours::Hours;
pub use notify::{Channel, Mail, Notify, Style, Webhook};
pub use pattern::Pattern;
pub use rule::{Action, Exempt, Kind, Match, Rule};
pub use template::{Field, Filled, NoField, Template};

use std::sync::Arc;
use std::time::Duration;

use probe::units::Percent;

/// All rules, and what holds for all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Whether the recorder watches holders by them.
    pub enabled: bool,
    /// Ends that are begun in one hour at most, whatever the rules say.
    pub max_ends_per_hour: u32,
    /// Notices to one person in one hour at most.
    pub max_notices_per_hour: u32,
    /// A holder whose processes take this much of one processor core works.
    pub busy_cpu: Percent,
    /// How long a file that somebody touched exempts a process, and how long a snooze can be.
    pub snooze_most: Duration,
    /// Whom no rule is for.
    pub exempt: Exempt,
    /// The first that matches counts.
    pub rules: Vec<Arc<Rule>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enabled: false,
            max_ends_per_hour: 10,
            max_notices_per_hour: 20,
            busy_cpu: Percent(10.0),
            snooze_most: Duration::from_secs(24 * 3600),
            exempt: Exempt::default(),
            rules: Vec::new(),
        }
    }
}

impl Policy {
    /// The same rules, which only watch.
    #[must_use]
    pub fn observing(&self) -> Self {
        let observe =
            |rule: &Arc<Rule>| Arc::new(Rule { action: Action::Observe, ..Rule::clone(rule) });
        Self { rules: self.rules.iter().map(observe).collect(), ..self.clone() }
    }

    /// The rule of this name.
    #[must_use]
    pub fn rule(&self, name: &str) -> Option<&Arc<Rule>> {
        self.rules.iter().find(|rule| &*rule.name == name)
    }

    /// Whether a rule asks for the groups of users, which cost a question to the host's
    /// directory.
    #[must_use]
    pub fn needs_groups(&self) -> bool {
        let asks =
            |rule: &Arc<Rule>| !rule.matches.groups.is_empty() || !rule.exempt.groups.is_empty();
        !self.exempt.groups.is_empty() || self.rules.iter().any(asks)
    }
}
