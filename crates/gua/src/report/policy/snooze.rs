//! Who is left alone, and until when; whether the rules are on.

use serde::Serialize;

/// A process that is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snoozed {
    pub schema: &'static str,
    pub pid: u32,
    pub until_unix_ms: i64,
}

/// The switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Switched {
    pub schema: &'static str,
    pub switched_off: bool,
    /// Whether it was otherwise before.
    pub changed: bool,
}
