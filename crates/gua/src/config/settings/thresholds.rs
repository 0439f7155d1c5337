//! `[thresholds]`: the lines between working, holding and being free.

use probe::units::{Bytes, Percent};

use super::origin::Setting;
use super::section::{self, Visit};

/// The lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// From here on a card is active.
    pub active: Percent,
    /// More than this and it is held.
    pub held: Bytes,
    /// From this share of the SMs on a holder works.
    pub worked: Percent,
    /// A holder with no more than this has only the bare CUDA context.
    pub context: Bytes,
}

impl Default for Thresholds {
    /// A context of CUDA takes up to 600 MiB.
    fn default() -> Self {
        let gua_core::Thresholds { active, held, worked, .. } = gua_core::Thresholds::default();
        Self { active, held, worked, context: Bytes::from_mib(600) }
    }
}

impl From<Thresholds> for gua_core::Thresholds {
    fn from(thresholds: Thresholds) -> Self {
        let Thresholds { active, held, worked, .. } = thresholds;
        Self { active, held, worked, ..Self::default() }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub active: Setting<Percent>,
    pub held: Setting<Bytes>,
    worked: Setting<Percent>,
    context: Setting<Bytes>,
}

impl Section {
    pub fn usual() -> Self {
        let Thresholds { active, held, worked, context } = Thresholds::default();
        Self {
            active: Setting::usual(active),
            held: Setting::usual(held),
            worked: Setting::usual(worked),
            context: Setting::usual(context),
        }
    }

    pub const fn settled(&self) -> Thresholds {
        Thresholds {
            active: self.active.value,
            held: self.held.value,
            worked: self.worked.value,
            context: self.context.value,
        }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "thresholds"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("active_percent", &mut self.active);
        keys.key("held_mb", &mut self.held);
        keys.key("worked_percent", &mut self.worked);
        keys.key("context_mb", &mut self.context);
    }
}
