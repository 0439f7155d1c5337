//! One object a look: numbers as numbers, units in the names, null with its reason.

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::report::query::{Answer, Cell, Column, Value};

/// How each line begins.
pub(super) const BEGINNING: &str = r#"{"schema":"gua.query/2","#;

/// An answer on one line, or laid out for reading.
pub(super) fn object(answer: &Answer, columns: &[Column], of_cards: bool, pretty: bool) -> String {
    let object = Object { answer, columns, of_cards };
    let text = match pretty {
        true => serde_json::to_string_pretty(&object),
        false => serde_json::to_string(&object),
    };
    // Names are strings and no number is NaN: it cannot fail.
    text.unwrap_or_default()
}

struct Object<'a> {
    answer: &'a Answer,
    columns: &'a [Column],
    of_cards: bool,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { answer, columns, of_cards } = self;
        let rows: Vec<_> = answer.rows.iter().map(|cells| Row { cells, columns }).collect();
        let mut map = to.serialize_map(Some(4))?;
        map.serialize_entry("schema", "gua.query/2")?;
        map.serialize_entry("time", &answer.time)?;
        map.serialize_entry("driver_error", &answer.driver_error)?;
        map.serialize_entry(if *of_cards { "cards" } else { "holders" }, &rows)?;
        map.end()
    }
}

struct Row<'a> {
    cells: &'a [Cell],
    columns: &'a [Column],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (key, cell) in self.named() {
            map.serialize_entry(&key, &cell.as_ref().ok().map(Number))?;
        }
        map.serialize_entry("unknown", &Reasons(self))?;
        map.end()
    }
}

impl Row<'_> {
    /// Each cell by its name, and each name once: a field may be asked for twice.
    fn named(&self) -> Vec<(String, &Cell)> {
        let mut named: Vec<(String, &Cell)> = Vec::with_capacity(self.cells.len());
        for (column, cell) in self.columns.iter().zip(self.cells) {
            let key = column.key();
            if named.iter().all(|(other, _)| *other != key) {
                named.push((key, cell));
            }
        }
        named
    }
}

/// The reasons of those that are null, by name.
struct Reasons<'a, 'b>(&'a Row<'b>);

impl Serialize for Reasons<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(
            self.0.named().into_iter().filter_map(|(key, cell)| Some((key, cell.as_ref().err()?))),
        )
    }
}

struct Number<'a>(&'a Value);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Text(text) | Value::Name(text) => to.serialize_str(text),
            Value::Whole(whole) => to.serialize_u64(*whole),
            Value::Real(real) => to.serialize_f64(*real),
            Value::Moment(at) => Timestamp::serialize(at, to),
        }
    }
}
