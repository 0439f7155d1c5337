//! Answers as a person or a program reads them: pure functions from a report to text.

pub mod checkup;
pub mod database;
pub mod export;
pub mod json;
pub mod paint;
pub mod stat;
pub mod table;
pub mod words;
