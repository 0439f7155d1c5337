//! Which settings are in force, and what is wrong in a config file?

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::config::{FileError, Listed, Mistake, Origin, Presence, Row, Whose};

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    pub schema: &'static str,
    /// The stronger last.
    pub files: Vec<ShownFile>,
    #[serde(rename = "settings", serialize_with = "as_settings")]
    pub sections: Vec<Listed>,
}

/// A file that counts, where it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownFile {
    pub whose: &'static str,
    pub path: String,
    /// Null where nobody can tell: it would be in a folder of somebody else.
    pub exists: Option<bool>,
}

impl ShownFile {
    #[must_use]
    pub fn new(whose: Whose, path: &Path, presence: Presence) -> Self {
        Self { whose: whose.word(), path: path.display().to_string(), exists: presence.is_here() }
    }
}

impl Shown {
    #[must_use]
    pub const fn new(files: Vec<ShownFile>, sections: Vec<Listed>) -> Self {
        Self { schema: "gua.config/1", files, sections }
    }
}

/// By section and key; a table below a section is one of its keys.
fn as_settings<S: serde::Serializer>(sections: &[Listed], to: S) -> Result<S::Ok, S::Error> {
    let mut settings = Map::new();
    for listed in sections {
        let (section, below) = listed.name.split_once('.').unwrap_or((&listed.name, ""));
        let keys: Map<String, Value> =
            listed.rows.iter().map(|row| (row.json_key.clone(), told(row))).collect();
        let section = settings.entry(section).or_insert_with(|| Value::Object(Map::new()));
        match section.as_object_mut() {
            Some(section) if below.is_empty() => section.extend(keys),
            Some(section) => drop(section.insert(below.to_owned(), Value::Object(keys))),
            None => {}
        }
    }
    settings.serialize(to)
}

fn told(row: &Row) -> Value {
    let source = match &row.origin {
        Origin::Default => json!({ "kind": "default" }),
        Origin::File { whose, path, line } => {
            json!({ "kind": whose.word(), "file": path.display().to_string(), "line": line })
        }
        Origin::Environment(name) => json!({ "kind": "environment", "name": name }),
        Origin::Flag(name) => json!({ "kind": "flag", "name": name }),
        Origin::Bounded(by) => json!({ "kind": "bounded", "by": by }),
    };
    json!({ "value": row.json, "source": source })
}

/// What was found in config files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    pub schema: &'static str,
    pub good: bool,
    pub files: Vec<CheckedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedFile {
    pub path: String,
    /// Null where nobody can tell: it would be in a folder of somebody else.
    pub exists: Option<bool>,
    /// Why it cannot be read, where it cannot.
    pub unreadable_reason: Option<String>,
    pub mistakes: Vec<Mistake>,
}

impl Checked {
    #[must_use]
    pub fn new(files: Vec<CheckedFile>) -> Self {
        let good = files.iter().all(CheckedFile::is_good);
        Self { schema: "gua.config_check/1", good, files }
    }
}

impl CheckedFile {
    /// A file and what came of reading it.
    #[must_use]
    pub fn new(path: &Path, read: Result<Presence, FileError>) -> Self {
        let mut file = Self {
            path: path.display().to_string(),
            exists: Some(true),
            unreadable_reason: None,
            mistakes: Vec::new(),
        };
        match read {
            Ok(presence) => file.exists = presence.is_here(),
            Err(FileError::Missing(_)) => {
                file.exists = Some(false);
                file.unreadable_reason = Some("it is not there".to_owned());
            }
            Err(FileError::Unreadable { error, .. }) => {
                file.unreadable_reason = Some(error.to_string());
            }
            Err(FileError::Wrong { mistakes, .. }) => file.mistakes = mistakes,
        }
        file
    }

    /// Whether it stops nobody.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.unreadable_reason.is_none() && self.mistakes.is_empty()
    }
}
