//! The formats of gpu_tracker, the Python tool: its report, its tracking files and its
//! sub-tracking files. Values in, values out; nothing here measures.
//!
//! | module | what it holds |
//! |---|---|
//! | [`units`] | what figures are told in |
//! | [`usage`] | a measurement in its shape |
//! | [`tree`] | named figures in an order, which a report is made of |
//! | [`text`], [`json`] | a report, written |
//! | [`number`] | floats as Python writes them |
//! | [`file`](mod@file) | CSV or SQLite, by the name's ending; how rows are read |
//! | [`tracking_file`] | one row a sample |
//! | [`sub_tracking`] | which code ran when, and what was used meanwhile |

pub mod file;
pub mod json;
pub mod number;
pub mod sub_tracking;
pub mod text;
pub mod tracking_file;
pub mod tree;
pub mod units;
pub mod usage;

pub use tree::Tree;
pub use units::{RamUnit, TimeUnit, Units};
pub use usage::{Expected, Gap, ResourceUsage, Spelling};
