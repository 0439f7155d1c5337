//! What the rules say and have done, as text.

pub mod check;
pub mod log;
pub mod simulate;

use probe::units::UnixMillis;

use super::paint::{Ink, Paint};
use super::table::{self, Align, Cell, Column, Line};
use super::usage::figures::stretch;
use crate::calendar;
use crate::cli::Zone;
use crate::wrap::hung;

/// How far rows stand in.
const INDENT: usize = 2;

/// What to show it on.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
    pub zone: Zone,
}

/// A sentence in as many lines as it takes.
fn said(text: &str, ink: Ink, view: &View) -> Vec<String> {
    hung(text, 0, view.width).iter().map(|line| view.paint.text(ink, line)).collect()
}

/// How a column of a table gives way on a narrow screen.
#[derive(Debug, Clone, Copy)]
enum Gives {
    /// It is cut, no shorter than this.
    To(usize),
    /// It is left out.
    All,
}

/// A table with headings, none of its lines longer than the screen. Columns give way in this order;
/// what is still too wide is cut at the edge.
fn rows(
    headings: &[&str],
    aligns: &[Align],
    cells: &[Vec<Cell>],
    gives: &[(usize, Gives)],
    view: &View,
) -> Vec<String> {
    let headings: Vec<_> = headings.iter().map(|text| Cell::new(*text, Ink::Quiet)).collect();
    let all = || std::iter::once(headings.as_slice()).chain(cells.iter().map(Vec::as_slice));
    let mut columns = table::fit(aligns, all());
    let most = view.width.unwrap_or(usize::MAX);
    squeeze(&mut columns, gives, most.saturating_sub(INDENT));
    let line = |row: &[Cell]| {
        let mut line = Line::default();
        table::put_row(&mut line, INDENT, row, &columns, most, view.paint);
        line.text
    };
    all().map(line).collect()
}

fn squeeze(columns: &mut [Column], gives: &[(usize, Gives)], most: usize) {
    for (which, gives) in gives {
        match gives {
            Gives::To(shortest) => table::shorten(columns, *which, *shortest, most),
            Gives::All if table::total(columns) <= most => {}
            Gives::All => {
                if let Some(column) = columns.get_mut(*which) {
                    column.width = 0;
                }
            }
        }
    }
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
        Some(at) => zone.format(at, format),
        None => format!("{unix_ms} ms"),
    }
}

/// Formats a window as the report does: `9 Nov 05:54 → 16 Nov 2026 05:54 UTC`.
fn window(from_unix_ms: i64, until_unix_ms: i64, zone: &Zone) -> String {
    let ends = [from_unix_ms, until_unix_ms].map(|at| calendar::timestamp(UnixMillis(at)));
    match ends {
        [Some(from), Some(until)] => stretch(from, until, &zone.tz, &zone.name),
        _ => format!("{from_unix_ms} ms → {until_unix_ms} ms"),
    }
}
