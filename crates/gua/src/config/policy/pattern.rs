//! A name with `*` in it for any characters, or `?` for one.

use std::fmt;

use wildmatch::WildMatch;

/// Matches names; upper and lower case differ unless it says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    text: String,
    compiled: WildMatch,
}

impl Pattern {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: WildMatch::new(text) }
    }

    /// The same pattern for names in any case.
    #[must_use]
    pub fn ignoring_case(self) -> Self {
        Self { compiled: WildMatch::new_case_insensitive(&self.text), ..self }
    }

    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.compiled.matches(name)
    }

    /// As it was typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(Pattern::new("python*").matches("python3.11"));
        assert!(Pattern::new("python").matches("python"));
        assert!(!Pattern::new("python").matches("python3.11"));
        assert!(!Pattern::new("Python").matches("python"));
        assert!(Pattern::new("pyTHON*").ignoring_case().matches("Python3"));
    }
}
