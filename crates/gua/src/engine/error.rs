//! Why an engine gave no answer, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::failure::Failure;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("`{url}` is no address of a Prometheus: {why}")]
    BadUrl { url: String, why: String },
    #[error("the secret in {} cannot be used: {why}", .path.display())]
    Secret { path: PathBuf, why: String },
    #[error("the certificates in {} cannot be used: {why}", .path.display())]
    Authorities { path: PathBuf, why: String },
    #[error("nothing answers at {url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} has not answered within {seconds} s")]
    TimedOut { url: String, seconds: u64 },
    #[error("{url} cannot be trusted: {why}")]
    Untrusted { url: String, why: String },
    #[error("{url} does not let us in (HTTP {status})")]
    Refused { url: String, status: u16 },
    #[error("{url} answers with HTTP {status}: {words}")]
    Status { url: String, status: u16, words: String },
    #[error("{url} does not answer as Prometheus does: {why}")]
    NotAnEngine { url: String, why: String },
    #[error("there are no series of gua in {url}{filter}")]
    NoSeries { url: String, filter: String },
}

impl EngineError {
    const fn next_step(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "Name one such as http://prometheus:9090.",
            Self::Secret { .. } => "It is one line in a file that this user may read.",
            Self::Authorities { .. } => "--prometheus-ca names a PEM file of certificates.",
            Self::Unreachable { .. } => "Is it running, and is that its address?",
            Self::TimedOut { .. } => {
                "A shorter window asks less of it; --prometheus-timeout lets it take longer."
            }
            Self::Untrusted { .. } => {
                "--prometheus-ca FILE names the certificate of whoever signed its own."
            }
            Self::Refused { .. } => {
                "--prometheus-token-file, or --prometheus-user with --prometheus-password-file, \
                 say who asks."
            }
            Self::Status { .. } => "Its log may tell more.",
            Self::NotAnEngine { .. } => {
                "The address is that of the query API, without /api/v1; VictoriaMetrics' cluster \
                 wants /select/0/prometheus."
            }
            Self::NoSeries { .. } => {
                "Let it scrape `gua daemon --listen`, or let the recorders push with \
                 [remote_write]; a narrower --match or --host may leave nothing."
            }
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let (what, next) = (error.to_string(), error.next_step().to_owned());
        match error {
            EngineError::BadUrl { .. }
            | EngineError::Secret { .. }
            | EngineError::Authorities { .. } => Self::Usage { what, next },
            _ => Self::Failed { what, next },
        }
    }
}

/// What the client says, in our words.
pub(super) fn told(url: &str, error: ureq::Error, seconds: u64) -> EngineError {
    let url = url.to_owned();
    match error {
        ureq::Error::Timeout(_) => EngineError::TimedOut { url, seconds },
        ureq::Error::Io(error) => broken(&url, &error, seconds),
        ureq::Error::Tls(why) => EngineError::Untrusted { url, why: why.to_owned() },
        ureq::Error::Rustls(error) => EngineError::Untrusted { url, why: error.to_string() },
        ureq::Error::HostNotFound => {
            EngineError::Unreachable { url, why: "there is no host of that name".to_owned() }
        }
        ureq::Error::Protocol(error) => {
            EngineError::NotAnEngine { url, why: format!("it does not speak HTTP: {error}") }
        }
        error => EngineError::Unreachable { url, why: error.to_string() },
    }
}

/// A connection that broke while it was read from.
pub(super) fn broken(url: &str, error: &io::Error, seconds: u64) -> EngineError {
    let url = url.to_owned();
    let words = error.to_string();
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let is_tls = cause.is_some();
    match error.kind() {
        _ if is_tls => EngineError::Untrusted { url, why: words },
        io::ErrorKind::TimedOut => EngineError::TimedOut { url, seconds },
        _ if words.starts_with("timeout") => EngineError::TimedOut { url, seconds },
        io::ErrorKind::InvalidData => EngineError::NotAnEngine { url, why: words },
        _ => EngineError::Unreachable { url, why: words },
    }
}
