//! Converts histories of the Python gua (gpu-usage-audit) into the record.
//!
//! Its rule is kept, so that GPU-hours before and after agree: a card is active at a tick from 10 %
//! utilization on; below that it is idle-held if its processes hold more than 100 MB, where unreadable
//! memory counts as 0. A tick counts as a whole for the interval of its run, in the hour of its time. So
//! the times of a row may differ from its length.
//!
//! The use that a process makes of its card is not recorded there: while the card is active, all its
//! processes count as working, and they share its time by memory.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `source` | a file that is read without changing anything |
//! | `ticks` | its rows, joined to ticks in the order of time |
//! | `timeline` | the time in which a tick lies |
//! | `classify` | a card at one tick as a span |
//! | `open_row` | ticks of a card that become one row |
//! | `names` | ids of cards, processes and holders |
//! | `convert` | ticks to runs, rows, sessions and samples |
//! | `import` | a file into an open database, or into memory |
//! | `place` | a file into a path, or in place of itself |
//! | `users` | the processes that use a file |

mod classify;
mod convert;
mod import;
mod names;
mod open_row;
mod place;
mod source;
mod ticks;
mod timeline;
mod users;

pub use import::{Imported, Progress, StateTimes, Unusable, import, open_converted};
pub use place::{Replaced, import_to, replace};

/// Name of the recorder in the runs that are imported.
pub const RECORDER: &str = "gpu-usage-audit (Python)";

/// How the Python gua classifies time.
pub const RULE: &str = "Each tick of the Python gua counts as a whole for its interval: active from \
                        10 % utilization on, else idle-held if processes hold more than 100 MB, \
                        else free.";

/// Utilization from which on a card is active.
const ACTIVE_PERCENT: f64 = 10.0;

/// Memory above which a card is held.
const HELD_MIB: i64 = 100;

/// Interval of a run without one: the default of the Python gua.
pub(crate) const DEFAULT_INTERVAL_MS: i64 = 30_000;
