//! A box over the screen with some lines of text.

use super::canvas::{Canvas, columns};
use super::theme::Ink;
use crate::render::words::width;
use crate::tui::state::Scroll;

/// A line: a name and what is said of it, or only the latter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Pair(String, String),
    Said(String, Ink),
}

/// What a box says.
#[derive(Debug, Clone)]
pub struct Text {
    pub title: String,
    pub lines: Vec<Line>,
    /// What to press.
    pub keys: &'static str,
}

/// Lines wider than this are hard to follow.
const WIDEST: u16 = 100;

/// Draws it in the middle, scrolled where it does not fit. What scrolls is told how far it can.
pub fn draw(canvas: &mut Canvas<'_>, text: &Text, scroll: &mut Scroll) {
    let room = canvas.width().saturating_sub(4).min(WIDEST);
    let names = names(&text.lines).min(room / 2);
    let lines = wrapped(&text.lines, names, room);
    let widest = lines.iter().map(|line| length(line, names)).max().unwrap_or(0);
    let inner = widest.max(columns(&text.title) + 2).max(columns(text.keys) + 2).min(room);
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let height = rows.min(canvas.height().saturating_sub(2));
    let x = canvas.width().saturating_sub(inner + 4) / 2;
    let y = canvas.height().saturating_sub(height + 2) / 2;
    let mut canvas = canvas.part(x, y, inner + 4, height + 2);
    canvas.clear();
    frame(&mut canvas, text);
    let end = usize::from(rows - height);
    *scroll = Scroll { at: scroll.at.min(end), end: Some(end) };
    if end > 0 {
        put_range(&mut canvas, scroll.at, usize::from(height), lines.len());
    }
    for (line, y) in lines.iter().skip(scroll.at).zip(1..=height) {
        match line {
            Line::Pair(name, value) => {
                canvas.put_in(2, y, names, name, Ink::Strong);
                canvas.put_in(2 + names + 2, y, inner - (names + 2).min(inner), value, Ink::Plain);
            }
            Line::Said(said, ink) => drop(canvas.put_in(2, y, inner, said, *ink)),
        }
    }
}

fn frame(canvas: &mut Canvas<'_>, text: &Text) {
    let (width, height) = (canvas.width(), canvas.height());
    if width < 2 || height < 2 {
        return;
    }
    let line = "─".repeat(usize::from(width - 2));
    canvas.put(0, 0, &format!("┌{line}┐"), Ink::Plain);
    for y in 1..height - 1 {
        canvas.put(0, y, "│", Ink::Plain);
        canvas.put(width - 1, y, "│", Ink::Plain);
    }
    canvas.put(0, height - 1, &format!("└{line}┘"), Ink::Plain);
    canvas.put_in(2, 0, width.saturating_sub(4), &format!(" {} ", text.title), Ink::Strong);
    canvas.put_in(2, height - 1, width.saturating_sub(4), &format!(" {} ", text.keys), Ink::Quiet);
}

/// Which of the lines are seen.
fn put_range(canvas: &mut Canvas<'_>, at: usize, height: usize, all: usize) {
    let range = format!(" {}–{} of {all} ", at + 1, at + height);
    let (end, y) = (canvas.width().saturating_sub(2), canvas.height().saturating_sub(1));
    canvas.put_right(end, y, &range, Ink::Quiet);
}

fn names(lines: &[Line]) -> u16 {
    let names = lines.iter().filter_map(|line| match line {
        Line::Pair(name, _) => Some(columns(name)),
        Line::Said(..) => None,
    });
    names.max().unwrap_or(0)
}

fn length(line: &Line, names: u16) -> u16 {
    match line {
        Line::Pair(_, value) => names + 2 + columns(value),
        Line::Said(said, _) => columns(said),
    }
}

/// What is too long goes on in the next line.
fn wrapped(lines: &[Line], names: u16, room: u16) -> Vec<Line> {
    let mut all = Vec::new();
    for line in lines {
        match line {
            Line::Pair(name, value) => {
                let room = room.saturating_sub(names + 2);
                let mut name = name.as_str();
                for part in parts(value, room) {
                    all.push(Line::Pair(std::mem::take(&mut name).to_owned(), part));
                }
            }
            Line::Said(said, ink) => {
                all.extend(parts(said, room).into_iter().map(|part| Line::Said(part, *ink)));
            }
        }
    }
    all
}

/// The words of a text in lines of a width, as far in as the first. A word that is too long goes
/// on in the next line, too.
fn parts(text: &str, room: u16) -> Vec<String> {
    let room = usize::from(room);
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    let words = text.trim_start_matches(' ');
    let indent = (text.len() - words.len()).min(room / 2);
    let room = room - indent;
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() || width(line) + 1 + width(word) <= room {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        while let Some(rest) = lines.last_mut().and_then(|line| split_off(line, room)) {
            lines.push(rest);
        }
    }
    lines.into_iter().map(|line| format!("{:indent$}{line}", "")).collect()
}

/// What of a line is beyond the room; `None` where all of it fits, or nothing would.
fn split_off(line: &mut String, room: usize) -> Option<String> {
    let mut taken = 0;
    let place = line.char_indices().find_map(|(place, c)| {
        taken += width(c.encode_utf8(&mut [0; 4]));
        (taken > room).then_some(place)
    })?;
    // A character that is wider than the room has none anywhere.
    if place == 0 {
        line.clear();
        return None;
    }
    Some(line.split_off(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_go_on_in_the_next_line() {
        assert_eq!(parts("one two three", 7), ["one two", "three"]);
        assert_eq!(parts("incredible", 5), ["incre", "dible"]);
        assert_eq!(parts("an incredible word", 6), ["an", "incred", "ible", "word"]);
        assert_eq!(parts("  2 INT interrupts it", 12), ["  2 INT", "  interrupts", "  it"]);
        assert_eq!(parts("", 5), [""]);
    }

    proptest! {
        #[test]
        fn every_line_fits(text in "\\PC{0,80}", room in 0_u16..40) {
            for line in parts(&text, room) {
                prop_assert!(width(&line) <= usize::from(room));
            }
        }
    }
}
