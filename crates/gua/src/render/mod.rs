//! Answers as a person or a program reads them: pure functions from a report to text.

pub mod checkup;
pub mod csv;
pub mod database;
pub mod export;
pub mod imported;
pub mod json;
pub mod paint;
pub mod pick;
pub mod stat;
pub mod status;
pub mod table;
pub mod usage;
pub mod who;
pub mod words;
pub mod wrap;
