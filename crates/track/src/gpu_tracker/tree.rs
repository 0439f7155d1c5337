//! Named figures in an order: what a report is made of, before it is text or JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A figure, or a group of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Text(String),
    Count(u64),
    Number(f64),
    /// There is no figure, such as the mean of nothing.
    Missing,
    List(Vec<Tree>),
    /// By key, in the order of the report.
    Group(Vec<(String, Tree)>),
}

impl Tree {
    pub fn group<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Group(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Tree {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Tree {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Tree {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<Option<f64>> for Tree {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::Number)
    }
}

impl From<Option<u32>> for Tree {
    fn from(count: Option<u32>) -> Self {
        count.map_or(Self::Missing, Self::from)
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Missing => serializer.serialize_unit(),
            Self::List(values) => serializer.collect_seq(values),
            Self::Group(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
