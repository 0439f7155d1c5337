//! Tables as pandas prints them, which is what the text reports of gpu_tracker are made of
//! (pure).

use crate::gpu_tracker::{Tree, number};

const DECIMALS: usize = 8;

/// Rows of figures under their names: a header, then each row with its name in front.
pub(super) fn lines(columns: &[&str], rows: &[(&str, Vec<&Tree>)]) -> Vec<String> {
    let names = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(|at| column_width(columns, rows, at)).collect();
    let line = |name: &str, cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:>width$}"));
        format!("{name:<names$}{}", cells.collect::<String>())
    };
    let header: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let mut lines = vec![line("", &header)];
    for (name, cells) in rows {
        lines.push(line(name, &cells.iter().map(|cell| cell_text(cell)).collect::<Vec<_>>()));
    }
    lines
}

/// Numbers leave room for a sign in front of their header. Where there is a text among them,
/// each cell has room in front of itself instead.
fn column_width(columns: &[&str], rows: &[(&str, Vec<&Tree>)], at: usize) -> usize {
    let is_text = |cell: &&Tree| matches!(cell, Tree::Text(_));
    let is_mixed = rows.iter().any(|(_, cells)| cells.iter().any(is_text));
    let header = columns.get(at).map_or(0, |name| width(name)) + usize::from(!is_mixed);
    let cells = rows.iter().filter_map(|(_, cells)| cells.get(at));
    let cells = cells.map(|cell| width(&cell_text(cell)) + usize::from(is_mixed));
    cells.fold(header, usize::max)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Formats a single value; one that is not known is `-`.
pub(super) fn cell_text(cell: &Tree) -> String {
    match cell {
        Tree::Text(text) => text.clone(),
        Tree::Count(count) => count.to_string(),
        Tree::Number(value) => number::rounded(*value, DECIMALS),
        Tree::Missing | Tree::List(_) | Tree::Group(_) => "-".to_owned(),
    }
}
