//! Text from outside, made fit to be shown.

/// A name as it may be shown: no control characters, no line breaks, nothing that
/// turns the direction of the text. A process may call itself anything.
#[must_use]
pub fn safe(name: &str) -> String {
    let is_safe = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    name.chars().map(|c| if is_safe(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_and_line_breaks_do_not_get_through() {
        assert_eq!(safe("py\x1b[2Jth\non\u{202e}"), "py?[2Jth?on?");
        assert_eq!(safe("a\u{61c}b\u{200e}c\u{2066}d\u{feff}"), "a?b?c?d?");
        assert_eq!(safe("学習.py"), "学習.py");
    }
}
