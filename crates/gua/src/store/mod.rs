//! The database: the only SQL.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `identify` | what a file is, before anything is done with it |
//! | `database` | making one and opening one |
//! | `migration`, `layout_2.sql` to `layout_4.sql` | an older layout becomes ours, and a copy is kept |
//! | `older.sql` | what an older layout lacks, for who reads it as it is |
//! | `lock` | one recorder a database |
//! | `schema.sql`, `codes` | the tables, and what their numbers mean |
//! | `run` | stretches of recording, how they begin and end |
//! | `lines` | by which lines a run was judged |
//! | `writer`, `names`, `span_rows`, `sample_rows` | one tick, one transaction |
//! | `workload` | what a process runs for, written and read |
//! | `sample_key` | the number of a sample, and which are of a tick, in either layout |
//! | `history` | what was recorded, for a window of time |
//! | `holders` | who held a card: their process, and what it ran for |
//! | `owners` | who did what with a card |
//! | `ahead` | lines of a long window, read ahead by a second reader |
//! | `pieces` | every card's time, cut wherever anything changes |
//! | `sessions` | since when a card is held idle, and by whom |
//! | `replay` | ticks again, as they were recorded |
//! | `tick_watch` | whether there is another tick |
//! | `policy` | what the rules have come to, and what they have done |
//! | `deed_kind` | what a line of their log is about |
//! | `replayed` | a history tick by tick, for the rules |
//! | `folded`, `ended` | what the pieces of a window say of it, and which spells are remembered |
//! | `samples` | the single ticks, for judging again and for plots |
//! | [`python`] | databases of the Python gua, read and taken over |
//! | `allowance` | how much history a recorder may delete by itself, and when |
//! | `counts` | numbers of rows per table |
//! | `retain`, `sweep` | what is too old goes, and the names that nothing refers to |
//! | `size` | how much room it takes |
//! | `check` | whether a file is as it must be |
//! | `inventory` | what is in a file, in numbers |
//! | `export` | spans and samples as rows |
//! | `error` | why it could not be used |

mod ahead;
mod allowance;
mod check;
mod codes;
mod counts;
mod database;
mod deed_kind;
mod ended;
mod error;
mod export;
mod folded;
mod history;
mod holders;
mod identify;
mod inventory;
mod lines;
mod lock;
mod migration;
mod names;
mod owners;
mod pieces;
mod policy;
pub mod python;
mod replay;
mod replayed;
mod retain;
mod run;
mod sample_key;
mod sample_rows;
mod samples;
mod sessions;
mod size;
mod span_rows;
mod sweep;
mod tick_watch;
mod workload;
mod writer;

pub use allowance::{Allowance, Due, LEAP_MILLIS, MOST_AT_ONCE_MILLIS};
pub use check::{Check, Finding, SpanId, Table, check};
pub use counts::Counts;
pub use database::{
    check_identity, create, in_memory, lay_out, open_to_read, open_to_write,
    open_to_write_patiently, temporary,
};
pub use deed_kind::DeedKind;
pub use ended::Wanted;
pub use error::StoreError;
pub use export::{Export, SampleRow, SpanKind, SpanRow};
pub use history::{CardRow, DEFAULT_INTERVAL_MILLIS, History, OwnerKey, RunRow, Span};
pub use holders::HolderRow;
pub use identify::{Identity, identify};
pub use inventory::{Inventory, inventory};
pub use lock::RecorderLock;
pub use migration::bring_forward;
pub use policy::{
    Deed, SignCode, SignRow, WatchRow, Watched, deeds_since_clock, read_watched, write_policy,
};
pub use replay::Replayed;
pub use replayed::{CardAt, HeldSpan, TickRow};
pub use retain::{Keep, Plan, Retention, Step, due, give_back, plan, size_bytes};
pub use run::{Ending, Run};
pub use samples::{Level, Sample};
pub use sessions::{HolderKey, Idleness, Session, Sessions};
pub use size::{Size, size};
pub use tick_watch::TickWatch;
pub use workload::Workload;
pub use writer::Writer;

/// An open database.
pub type Database = rusqlite::Connection;

/// Marks a database as ours, in SQLite's field for it: `GUA1`.
pub const APPLICATION_ID: u32 = 0x4755_4131;

/// The newest layout that this version understands.
pub const SCHEMA_VERSION: u32 = 4;
