//! Text that a process gives of itself, kept within bounds.

use std::sync::Arc;

/// In bytes. A process may call itself anything, at any length.
const LONGEST: usize = 512;

/// `None` for an empty one. What is too long is cut, and says so. What cannot be shown is
/// kept: whoever shows it minds.
pub(super) fn kept(text: &str) -> Option<Arc<str>> {
    if text.len() <= LONGEST {
        return (!text.is_empty()).then(|| Arc::from(text));
    }
    let mut end = LONGEST - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).map(|begin| Arc::from(format!("{begin}…")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(kept(""), None);
        assert_eq!(kept("ann").as_deref(), Some("ann"));
        let long = kept(&"雪".repeat(4096)).unwrap();
        assert!(long.len() <= LONGEST && long.ends_with("雪…"), "{long}");
    }
}
