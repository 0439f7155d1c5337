//! `[policy]`: what is done about cards that are held idle.

use probe::units::Percent;

use super::origin::{Origin, Setting};
use super::rule_values::{Count, Span};
use super::rules::Rules;
use super::section::{self, Visit};
use crate::config::policy::{Exempt, Policy};

#[derive(Debug, Clone)]
pub(super) struct Section {
    enabled: Setting<bool>,
    max_ends: Setting<Count>,
    max_notices: Setting<Count>,
    busy_cpu: Setting<Percent>,
    snooze_most: Setting<Span>,
    exempt: Setting<Exempt>,
    rules: Setting<Rules>,
}

impl Section {
    pub fn usual() -> Self {
        let usual = Policy::default();
        Self {
            enabled: Setting::usual(usual.enabled),
            max_ends: Setting::usual(Count(usual.max_ends_per_hour)),
            max_notices: Setting::usual(Count(usual.max_notices_per_hour)),
            busy_cpu: Setting::usual(usual.busy_cpu),
            snooze_most: Setting::usual(Span(usual.snooze_most)),
            exempt: Setting::usual(usual.exempt),
            rules: Setting::usual(Rules(usual.rules)),
        }
    }

    pub fn settled(&self) -> Policy {
        Policy {
            enabled: self.enabled.value,
            max_ends_per_hour: self.max_ends.value.0,
            max_notices_per_hour: self.max_notices.value.0,
            busy_cpu: self.busy_cpu.value,
            snooze_most: self.snooze_most.value.0,
            exempt: self.exempt.value.clone(),
            rules: self.rules.value.0.clone(),
        }
    }

    /// Where the rules are written.
    pub const fn origin(&self) -> &Origin {
        &self.rules.origin
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("enabled", &mut self.enabled);
        keys.key("max_ends_per_hour", &mut self.max_ends);
        keys.key("max_notices_per_hour", &mut self.max_notices);
        keys.key("busy_cpu_percent", &mut self.busy_cpu);
        keys.key("snooze_most", &mut self.snooze_most);
        keys.key("exempt", &mut self.exempt);
        keys.key("rule", &mut self.rules);
    }
}
