//! `[identity]`: what is kept of who is behind a process.

use super::origin::Setting;
use super::section::{self, Visit};

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity {
    /// Whether command lines are stored, with secrets masked. They may hold more than anybody
    /// thinks, so not unless somebody says so.
    pub store_command: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    store_command: Setting<bool>,
}

impl Section {
    pub fn usual() -> Self {
        Self { store_command: Setting::usual(Identity::default().store_command) }
    }

    pub const fn settled(&self) -> Identity {
        Identity { store_command: self.store_command.value }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "identity"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("store_command", &mut self.store_command);
    }
}
