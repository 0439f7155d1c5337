//! Text that stays text, in SVG as in HTML.

use crate::render::words::safe;

/// Nothing in it is taken for markup, and no character is one that XML forbids.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::new();
    for c in safe(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
