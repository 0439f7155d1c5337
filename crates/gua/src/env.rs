//! A copy of the environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Environment variables. Commands read these, so that tests can give their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<OsString, OsString>);

impl Env {
    /// Copies the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        env::vars_os().collect()
    }

    /// Returns a variable. One that is empty counts as not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.get_even_if_empty(name).filter(|value| !value.is_empty())
    }

    /// Returns a variable for which empty is a value of its own.
    #[must_use]
    pub fn get_even_if_empty(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns a variable that is UTF-8 and not empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// Returns a variable that names a file or a folder.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variable_counts_as_not_set() {
        let env: Env = [("EMPTY", ""), ("HOME", "/home/ann")].into_iter().collect();
        assert_eq!((env.get("EMPTY"), env.get("MISSING")), (None, None));
        assert_eq!(env.get_even_if_empty("EMPTY"), Some(OsStr::new("")));
        assert_eq!(env.path("HOME"), Some("/home/ann".into()));
    }
}
