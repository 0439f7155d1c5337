//! The record: classified time in one SQLite file, stored once and read by adding.
//!
//! A [`Writer`] stores the spans of a [`gua_core::Classifier`] in one transaction per tick. Complete
//! hours have sums of their own, and [`usage`] adds those to the fine rows at the edges of a window.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`error`] | what went wrong with a file, and the next step |
//! | [`lock`] | one recorder per file |
//! | [`database`] | creates and opens the file; schema version and migrations |
//! | `codes` | numbers for reasons and kinds |
//! | [`rows`] | the one row shape: durations, integrals and energy |
//! | `tables` | reads and writes rows |
//! | [`tick`] | what a tick stores |
//! | `names` | ids of cards, people, processes and holders |
//! | [`workload`] | what a process runs for |
//! | [`writer`] | writes ticks |
//! | [`transaction`] | what others write in the transaction of a tick |
//! | [`samples`] | reads samples of cards for plots |
//! | [`sessions`] | stretches in which a process held a card without using it |
//! | [`signs`] | signs that a process works, besides its classified time |
//! | [`policy`] | idle counts of the rules, and the log of what they did |
//! | [`replay`] | rows of a window in order of time, for rules |
//! | [`latest`] | what was last seen |
//! | [`totals`] | totals of counters, and the outbox of remote write |
//! | [`runs`] | stretches of recording, and what happened meanwhile |
//! | `trim` | cuts out time that is recorded again after the clock was set back |
//! | `sums` | hours and quarter hours |
//! | `allowance` | how much history may be deleted |
//! | [`retention`] | deletes rows by age |
//! | [`inventory`] | reads cards and holders by their ids |
//! | [`observed`] | which time was observed, so that rows are cut by that |
//! | [`owners`] | reads who is behind many holders at once |
//! | [`usage`] | reads a window by adding |
//! | [`hours`] | reads card time by hour or quarter hour |
//! | [`python`] | imports histories of the Python gua |
//! | [`check`] | verifies what rows promise |
//! | [`export`] | writes rows for other programs |
//! | [`info`] | size and contents in numbers |

mod allowance;
pub mod check;
mod codes;
pub mod database;
pub mod error;
pub mod export;
pub mod hours;
pub mod info;
pub mod inventory;
pub mod latest;
pub mod lock;
mod names;
pub mod observed;
pub mod owners;
pub mod policy;
pub mod python;
pub mod replay;
pub mod retention;
pub mod rows;
pub mod runs;
pub mod samples;
pub mod sessions;
pub mod signs;
mod sums;
mod tables;
pub mod tick;
pub mod totals;
pub mod transaction;
mod trim;
pub mod usage;
pub mod workload;
pub mod writer;

pub use check::Finding;
pub use database::Database;
pub use error::{ForeignFile, Problem, StoreError};
pub use export::{ExportColumn, ExportError, ExportFormat, ExportTable};
pub use gua_core::identity::Person;
pub use hours::CardHours;
pub use info::StoreInfo;
pub use inventory::{StoredCard, StoredHolder, StoredProcess};
pub use observed::Observed;
pub use owners::{Owner, OwnerProcess};
pub use policy::{LogEntry, LogKind, PolicyState, WatchedHolder};
pub use replay::{Precision, ReplayCard, ReplayHolder};
pub use retention::{DueRows, Pruned, Retention};
pub use rows::{CardRow, CardTimes, HolderRow, HolderTimes};
pub use runs::StoredRun;
pub use samples::StoredSample;
pub use sessions::StoredSession;
pub use tick::{CardSample, Event, Latest, ProcessEntry, Run, Tick};
pub use totals::{DroppedPushes, StoredPush, StoredTotal};
pub use transaction::TickTransaction;
pub use usage::{CardSums, Grain, HolderSums, WindowGap, WindowSums};
pub use workload::Workload;
pub use writer::Writer;
