//! What have the rules done?

use serde::Serialize;
use serde_json::Value;

use crate::ledger::Period;
use crate::store::Deed;

/// The answer, in the order of time.
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
    /// What it rests on; null where it cannot be read.
    pub evidence: Value,
}

/// What was written down.
#[must_use]
pub fn log(window: Period, deeds: Vec<Deed>) -> Log {
    let line = |deed: Deed| Line {
        at_unix_ms: deed.at.0,
        kind: deed.kind.slug().to_owned(),
        pid: deed.pid,
        user: deed.user,
        uid: deed.uid,
        program: deed.program,
        rule: deed.rule,
        detail: deed.detail,
        evidence: serde_json::from_str(&deed.evidence).unwrap_or(Value::Null),
    };
    Log {
        schema: "gua.policy_log/1",
        from_unix_ms: window.from.0,
        until_unix_ms: window.to.0,
        deeds: deeds.into_iter().map(line).collect(),
    }
}
