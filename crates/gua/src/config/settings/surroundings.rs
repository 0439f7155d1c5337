//! The folders that paths begin at.

use std::env;
use std::path::PathBuf;

/// What the environment says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `HOME`, which `~` means.
    pub home: Option<PathBuf>,
    /// `GUA_HOME`.
    pub gua_home: Option<PathBuf>,
}

impl Surroundings {
    /// A variable that is set to nothing means nothing.
    #[must_use]
    pub fn of_environment() -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: set("HOME"), gua_home: set("GUA_HOME") }
    }

    /// Where our own files are: `GUA_HOME`, else `~/.gua`; `None` without a home.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        self.gua_home.clone().or_else(|| Some(self.home.as_ref()?.join(".gua")))
    }

    /// A file of ours.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.folder().map(|folder| folder.join(name))
    }
}
