//! The names of sections and keys, and what may have been meant by one that is none.

use super::cost::Models;
use super::section::{Section, Slot, Visit};
use crate::near::near;

/// Keys of earlier versions, by section, and what to do instead.
const FORMER: [(&str, &str, &str); 2] = [
    ("recorder", "sensors_every", "leave it out: power and temperature are read every 15 s"),
    ("retention", "spans", "write `hours`"),
];

/// Every section with its keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Vec<(&'static str, Vec<&'static str>)>);

impl Names {
    pub fn of<'a>(sections: impl IntoIterator<Item = &'a mut dyn Section>) -> Self {
        let mut names = Self::default();
        for section in sections {
            names.0.push((section.name(), Vec::new()));
            section.visit(&mut names);
        }
        names
    }

    pub fn has_section(&self, name: &str) -> bool {
        self.0.iter().any(|(section, _)| *section == name)
    }

    pub fn has_key(&self, section: &str, key: &str) -> bool {
        self.keys(section).contains(&key)
    }

    /// Why there is no such section.
    pub fn no_section(&self, typed: &str) -> String {
        if let Some(section) = self.section_of(typed) {
            return format!("`{typed}` belongs into a section: write it below `[{section}]`");
        }
        let sections = self.0.iter().map(|(section, _)| *section);
        let said = format!("there is no section `{typed}`");
        proposed(&said, typed, &sections.collect::<Vec<_>>())
    }

    /// Why there is no such key in a section.
    pub fn no_key(&self, section: &str, typed: &str) -> String {
        let said = format!("there is no key `{typed}` in `[{section}]`");
        if let Some((_, _, instead)) =
            FORMER.iter().find(|(of, former, _)| (*of, *former) == (section, typed))
        {
            return format!("{said} any more; {instead}");
        }
        match self.section_of(typed) {
            Some(other) => format!("{said}; it belongs below `[{other}]`"),
            None => proposed(&said, typed, self.keys(section)),
        }
    }

    fn keys(&self, section: &str) -> &[&'static str] {
        let found = self.0.iter().find(|(name, _)| *name == section);
        found.map_or(&[], |(_, keys)| keys.as_slice())
    }

    /// The section that has such a key.
    fn section_of(&self, key: &str) -> Option<&'static str> {
        let found = self.0.iter().find(|(_, keys)| keys.contains(&key));
        found.map(|(section, _)| *section)
    }
}

impl Visit for Names {
    fn key(&mut self, name: &'static str, _: &mut dyn Slot) {
        if let Some((_, keys)) = self.0.last_mut() {
            keys.push(name);
        }
    }

    fn prices(&mut self, name: &'static str, _: &mut Models) {
        if let Some((_, keys)) = self.0.last_mut() {
            keys.push(name);
        }
    }
}

/// With the nearest of the known names, or with all where none is near.
pub(super) fn proposed(said: &str, typed: &str, known: &[&'static str]) -> String {
    match near(typed, known.iter().copied()).first() {
        Some(nearest) => format!("{said}; did you mean `{nearest}`?"),
        None => format!("{said}; there are {}", known.join(", ")),
    }
}
