//! Comma and space between the values, as nvidia-smi has it.

use super::{Shown, cell};
use crate::render::csv::name;
use crate::report::query::{Cell, Column, Value, all_fields};

/// The names, with their units.
pub(super) fn head(columns: &[Column]) -> String {
    row(columns.iter().map(title))
}

/// Whether rows without a head belong below this line: a head of the same columns, or a row with
/// as many values. A head of other columns would name them wrongly.
pub(super) fn may_follow(columns: &[Column], first_line: &str) -> bool {
    let values = read(first_line);
    let is_name = |value: &String| {
        let name = value.split(" [").next().unwrap_or_default();
        let (of_cards, of_holders) = all_fields();
        of_cards.iter().chain(&of_holders).any(|column| column.names.contains(&name))
    };
    let is_row = values.len() == columns.len() && !values.iter().all(is_name);
    first_line == head(columns) || is_row
}

/// The values of a row; a space after a comma is not one of theirs.
fn read(line: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut chars = line.chars().peekable();
    let (mut is_quoted, mut at_start) = (false, true);
    while let Some(c) = chars.next() {
        let Some(value) = values.last_mut() else { break };
        match c {
            ' ' if at_start => continue,
            '"' if at_start => is_quoted = true,
            '"' if is_quoted && chars.peek() == Some(&'"') => value.extend(chars.next()),
            '"' if is_quoted => is_quoted = false,
            ',' if !is_quoted => {
                values.push(String::new());
                at_start = true;
                continue;
            }
            other => value.push(other),
        }
        at_start = false;
    }
    values
}

/// A name with its unit, which is there even where values go without.
pub(super) fn title(column: &Column) -> String {
    match column.unit.sign() {
        Some(unit) => format!("{} [{unit}]", column.name()),
        None => column.name().to_owned(),
    }
}

pub(super) fn line(columns: &[Column], cells: &[Cell], shown: &Shown) -> String {
    row(columns.iter().zip(cells).map(|(column, cell)| value(column, cell, shown)))
}

fn value(column: &Column, cell: &Cell, shown: &Shown) -> String {
    match cell {
        Ok(value) => {
            let bare = cell::bare(value, column.unit, &shown.zone.tz);
            match value {
                Value::Name(_) => name(&bare),
                _ if shown.units => cell::with_unit(bare, column.unit),
                _ => bare,
            }
        }
        Err(reason) => cell::unknown(*reason),
    }
}

fn row(values: impl Iterator<Item = String>) -> String {
    values.map(|value| quoted(&value)).collect::<Vec<_>>().join(", ")
}

/// Quoted where it would not come back as it went: readers that skip the space after a comma
/// skip those of a value too.
fn quoted(value: &str) -> String {
    let is_plain = !value.contains([',', '"', '\n', '\r']) && value.trim() == value;
    if is_plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_must_be_is_quoted() {
        let line = row(["a", "b c", "d,e", "f\"g", " h", ""].map(str::to_owned).into_iter());
        assert_eq!(line, "a, b c, \"d,e\", \"f\"\"g\", \" h\", ");
    }

    proptest! {
        #[test]
        fn a_row_comes_back_as_it_went(values in prop::collection::vec("[ab,\" \n=é]{0,6}", 1..6)) {
            prop_assert_eq!(read(&row(values.iter().cloned())), values);
        }

        #[test]
        fn any_name_comes_back(values in prop::collection::vec("\\PC*", 1..4)) {
            prop_assert_eq!(read(&row(values.iter().cloned())), values);
        }
    }
}
