//! The folders that paths begin at.

use std::path::PathBuf;

use crate::env::Env;

/// What the environment says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `HOME`, which `~` means.
    pub home: Option<PathBuf>,
    /// `GUA_HOME`.
    pub gua_home: Option<PathBuf>,
}

impl Surroundings {
    #[must_use]
    pub fn new(env: &Env) -> Self {
        Self { home: env.path("HOME"), gua_home: env.path("GUA_HOME") }
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
