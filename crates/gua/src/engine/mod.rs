//! Prometheus and its kin, asked over HTTP.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `access` | where an engine is, and how it lets us in |
//! | `trust` | whose word counts for it |
//! | `client` | one request, one answer |
//! | `answer` | the JSON of an answer, read series by series |
//! | `error` | why there is no answer, and what to do about it |

mod access;
mod answer;
mod client;
mod error;
mod trust;

pub use access::{Access, Credentials};
pub use answer::{Labels, Points, Series, read};
pub use client::{Client, Reply, Span};
pub use error::EngineError;
