//! What the rules say and have done, as text.

pub mod check;
pub mod log;
pub mod simulate;

use probe::units::UnixMillis;

use super::paint::{Ink, Paint};
use super::table::{self, Align, Cell, Line};
use crate::calendar;
use crate::cli::Zone;

/// What to show it on.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
    pub zone: Zone,
}

/// A table with headings, none of its lines longer than the screen.
fn rows(headings: &[&str], aligns: &[Align], cells: &[Vec<Cell>], view: &View) -> Vec<String> {
    let headings: Vec<_> = headings.iter().map(|text| Cell::new(*text, Ink::Quiet)).collect();
    let all = || std::iter::once(headings.as_slice()).chain(cells.iter().map(Vec::as_slice));
    let columns = table::fit(aligns, all());
    let most = view.width.unwrap_or(usize::MAX);
    let line = |row: &[Cell]| {
        let mut line = Line::default();
        table::put_row(&mut line, 2, row, &columns, most, view.paint);
        line.text
    };
    all().map(line).collect()
}

/// `16 Nov 05:54`.
fn moment(unix_ms: i64, zone: &Zone) -> String {
    shown(unix_ms, zone, "%-d %b %H:%M")
}

/// `16 Nov 05:54:09`.
fn second(unix_ms: i64, zone: &Zone) -> String {
    shown(unix_ms, zone, "%-d %b %H:%M:%S")
}

fn shown(unix_ms: i64, zone: &Zone, format: &str) -> String {
    match calendar::timestamp(UnixMillis(unix_ms)) {
        Some(at) => at.to_zoned(zone.tz.clone()).strftime(format).to_string(),
        None => format!("{unix_ms} ms"),
    }
}

/// `9 Nov 05:54 → 16 Nov 05:54 UTC`.
fn window(from_unix_ms: i64, until_unix_ms: i64, zone: &Zone) -> String {
    let (from, until) = (moment(from_unix_ms, zone), moment(until_unix_ms, zone));
    format!("{from} → {until} {}", zone.name)
}
