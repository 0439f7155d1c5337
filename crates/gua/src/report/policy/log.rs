//! What have the rules done?

use gua_core::Period;
use gua_store::LogEntry;
use serde::Serialize;
use serde_json::Value;

/// Entries of a window, in order of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    pub schema: &'static str,
    pub from_unix_ms: i64,
    pub until_unix_ms: i64,
    pub deeds: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    pub at_unix_ms: i64,
    pub kind: String,
    pub pid: Option<u32>,
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    pub rule: Option<String>,
    pub detail: String,
    /// What the decision rests on; null if that cannot be read.
    pub evidence: Value,
}

/// Returns the entries of a window.
#[must_use]
pub fn log(window: Period, entries: Vec<LogEntry>) -> Log {
    let line = |entry: LogEntry| Line {
        at_unix_ms: entry.at.0,
        kind: entry.kind.slug().to_owned(),
        pid: entry.pid,
        user: entry.user,
        uid: entry.uid,
        program: entry.program,
        rule: entry.rule,
        detail: entry.detail,
        evidence: serde_json::from_str(&entry.evidence).unwrap_or(Value::Null),
    };
    Log {
        schema: "gua.policy_log/1",
        from_unix_ms: window.from.0,
        until_unix_ms: window.to.0,
        deeds: entries.into_iter().map(line).collect(),
    }
}
