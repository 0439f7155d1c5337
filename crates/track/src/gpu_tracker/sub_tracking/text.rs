//! An analysis or a comparison as text (pure).

use super::analysis::Analysis;
use super::comparison::Comparison;
use super::table;
use crate::gpu_tracker::Tree;

impl Analysis {
    /// As a person reads it; it ends with a line's end.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        add(&self.tree(), 0, &|key| title(key), &mut lines);
        joined(&lines)
    }
}

impl Comparison {
    /// As a person reads it; it ends with a line's end. The names of blocks are left as they
    /// are.
    #[must_use]
    pub fn text(&self) -> String {
        let is_block = |key: &str| self.blocks.iter().any(|block| block.name == key);
        let label = |key: &str| if is_block(key) { key.to_owned() } else { title(key) };
        let mut lines = Vec::new();
        add(&self.tree(), 0, &label, &mut lines);
        joined(&lines)
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn add(tree: &Tree, depth: usize, label: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
    let Tree::Group(entries) = tree else { return };
    let indent = "\t".repeat(depth);
    let longest = entries.iter().map(|(key, _)| label(key).chars().count()).max().unwrap_or(0);
    for (key, value) in entries {
        let label_text = label(key);
        match value {
            Tree::List(values) => {
                lines.push(format!("{indent}{label_text}:"));
                for value in values {
                    add(value, depth + 1, label, lines);
                    lines.push(String::new());
                }
            }
            Tree::Group(inner) => {
                lines.push(format!("{indent}{label_text}:"));
                match as_table(inner) {
                    Some(table) => {
                        lines.extend(table.into_iter().map(|line| format!("{indent}\t{line}")));
                    }
                    None => add(value, depth + 1, label, lines),
                }
            }
            figure => {
                let pad = " ".repeat(longest - label_text.chars().count());
                lines.push(format!("{indent}{label_text}:{pad} {}", table::cell_text(figure)));
            }
        }
    }
}

/// Figures alone are one row; groups of the same figures are a row each, as long as their
/// keys are the same, which those of a comparison are not: it has its own order in each.
/// Statistics of which none is known are a sentence instead of a table.
fn as_table(entries: &[(String, Tree)]) -> Option<Vec<String>> {
    if entries.iter().all(|(_, value)| !matches!(value, Tree::Group(_) | Tree::List(_))) {
        let columns: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        let row = ("", entries.iter().map(|(_, value)| value).collect());
        return (!entries.is_empty()).then(|| table::lines(&columns, &[row]));
    }
    let statistics = ["min", "max", "mean", "std"];
    let mut rows = Vec::new();
    for (key, value) in entries {
        let Tree::Group(cells) = value else { return None };
        if !cells.iter().map(|(name, _)| name.as_str()).eq(statistics) {
            return None;
        }
        rows.push((key.as_str(), cells.iter().map(|(_, cell)| cell).collect()));
    }
    let mut cells = rows.iter().flat_map(|(_, cells): &(_, Vec<&Tree>)| cells);
    if cells.all(|cell| matches!(cell, Tree::Missing)) {
        return Some(vec!["no values".to_owned()]);
    }
    Some(table::lines(&statistics, &rows))
}

/// `num_non_empty_calls` is `Num Non Empty Calls`.
fn title(key: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    key.split('_').map(capital).collect::<Vec<_>>().join(" ")
}
