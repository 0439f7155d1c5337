//! `[database]`: where the history is.

use std::path::PathBuf;

use super::origin::{Origin, Setting};
use super::section::{self, Visit};
use super::surroundings::Surroundings;

#[derive(Debug, Clone)]
pub(super) struct Section {
    /// Nothing for a user without a home.
    pub path: Setting<Option<PathBuf>>,
}

impl Section {
    /// `gua.db` where our own files are.
    pub fn usual(around: &Surroundings) -> Self {
        let origin = match around.gua_home {
            Some(_) => Origin::Environment("GUA_HOME"),
            None => Origin::Default,
        };
        Self { path: Setting { value: around.file("gua.db"), origin } }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "database"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("path", &mut self.path);
    }
}
