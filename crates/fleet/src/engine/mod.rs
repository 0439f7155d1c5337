//! HTTP client for Prometheus-compatible engines.
//!
//! | module | contents |
//! |---|---|
//! | `access` | address and credentials of an engine |
//! | `trust` | the certificates that it is checked against |
//! | `client` | one request, one response |
//! | `response` | JSON of a response, read series by series |
//! | `error` | why there is no response, and the next step |

mod access;
mod client;
mod error;
mod response;
mod trust;

pub use access::{Access, Credentials};
pub use client::{Client, QueryRange, Reply};
pub use error::EngineError;
pub use response::{Points, Series, SeriesLabels, read_series};
