//! Sentences in lines.

use unicode_width::UnicodeWidthChar;

use super::words::width;

/// The text in lines of at most so many columns, broken between words where it can be.
#[must_use]
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if let Some(line) = lines.last_mut()
            && width(line) + 1 + width(word) <= most
        {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.extend(pieces(word, most));
        }
    }
    lines
}

/// A word in pieces that fit; one piece where it fits whole.
fn pieces(word: &str, most: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        if let Some(piece) = pieces.last_mut() {
            if piece.is_empty() || width(piece) + c.width().unwrap_or(0) <= most {
                piece.push(c);
            } else {
                pieces.push(c.to_string());
            }
        }
    }
    pieces
}
