//! Words that fit: cut to a width, one word of a shell, names without what all share.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use crate::quantity::{
    count, duration, gib, interval, memory, memory_of, memory_or_unknown, size, thousands,
};
pub use crate::safe::safe;

/// A path as one word of a shell's command.
#[must_use]
pub fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    if !path.is_empty() && path.chars().all(is_plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// How many columns a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text in at most so many columns, with a mark where it was cut.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if taken + columns + 1 > most {
            break;
        }
        taken += columns;
        kept.push(c);
    }
    if most > 0 {
        kept.push('…');
    }
    kept
}

/// The same, but of the end: of a path that tells more.
#[must_use]
pub fn cut_front(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept = Vec::new();
    let mut taken = 0;
    for c in text.chars().rev() {
        let columns = c.width().unwrap_or(0);
        if taken + columns + 1 > most {
            break;
        }
        taken += columns;
        kept.push(c);
    }
    let mark = if most > 0 { "…" } else { "" };
    mark.chars().chain(kept.into_iter().rev()).collect()
}

/// A card's name without what all of them share.
#[must_use]
pub fn card_name(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.strip_prefix("GeForce ").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_stays_one_word_in_a_shell() {
        assert_eq!(shell_word("/home/ann/.gua/gua.pid"), "/home/ann/.gua/gua.pid");
        assert_eq!(shell_word("/home/ann b/$x.pid"), "'/home/ann b/$x.pid'");
        assert_eq!(shell_word("/it's"), r"'/it'\''s'");
        assert_eq!(shell_word("-rf"), "./-rf");
        assert_eq!(shell_word(""), "''");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in "\\PC*", most in 0_usize..40) {
            prop_assert!(width(&cut(&text, most)) <= most);
            prop_assert!(width(&cut_front(&text, most)) <= most);
        }
    }
}
