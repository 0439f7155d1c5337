//! Sentences in lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// A line in as many as it takes where there is an end to its room: what does not fit stands below
/// what comes after its first `hang` characters, which are a label or an indent.
#[must_use]
pub fn hung(line: &str, hang: usize, most: Option<usize>) -> Vec<String> {
    let Some(most) = most.filter(|most| width(line) > *most) else { return vec![line.to_owned()] };
    // Spaces at the cut are the label's: the text would lose them.
    let mut from_cut = line.char_indices().skip(hang);
    let after = from_cut.find(|(_, c)| *c != ' ').map_or(0, |(at, _)| at);
    let (label, text) = line.split_at(after);
    let indent = width(label);
    if indent > most / 2 {
        return wrapped(line, most);
    }
    let mut label = Some(label);
    let line = |part: String| match label.take() {
        Some(label) => format!("{label}{part}"),
        None => format!("{}{part}", " ".repeat(indent)),
    };
    wrapped(text, most - indent).into_iter().map(line).collect()
}

fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_goes_on_below_its_text() {
        let line = "runs      2; the newest since noon";
        assert_eq!(hung(line, 10, None), [line]);
        assert_eq!(hung(line, 10, Some(80)), [line]);
        assert_eq!(hung(line, 10, Some(26)), ["runs      2; the newest", "          since noon"]);
        assert_eq!(
            hung(line, 4, Some(26)),
            ["runs      2; the newest", "          since noon"],
            "it begins where the text does"
        );
        assert_eq!(hung(line, 10, Some(16)), ["runs 2; the", "newest since", "noon"]);
    }

    proptest! {
        #[test]
        fn a_hung_line_fits_and_keeps_its_words(
            text in "[a-z研]{1,30}( [a-z研]{1,30}){0,8}",
            hang in 0_usize..12,
            most in 4_usize..60,
        ) {
            let lines = hung(&text, hang, Some(most));
            for line in &lines {
                prop_assert!(width(line) <= most, "{} > {most}: {line}", width(line));
            }
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
