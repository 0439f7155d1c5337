//! Histories of the Python gua as records: counted like there, whatever version wrote them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod figures;
mod layouts;
mod places;
mod python_file;
mod trouble;
