//! Why an engine gave no answer, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::Failure;
use crate::quantity::interval;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("`{url}` is no address of a Prometheus: {why}")]
    BadUrl { url: String, why: String },
    #[error("it is not clear who asks: {why}")]
    Unclear { why: &'static str },
    #[error("the secret in {} cannot be used: {why}", .path.display())]
    Secret { path: PathBuf, why: String },
    #[error("the certificates in {} cannot be used: {why}", .path.display())]
    Authorities { path: PathBuf, why: String },
    #[error("nothing answers at {url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} has not answered within {}", interval(*.within))]
    TimedOut { url: String, within: Duration },
    #[error("{url} cannot be trusted: {why}")]
    Untrusted { url: String, why: String },
    #[error("{url} does not let us in (HTTP {status})")]
    Refused { url: String, status: u16 },
    #[error("{url} is elsewhere (HTTP {status}): it leads to {leads_to}")]
    Elsewhere { url: String, status: u16, leads_to: String },
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
            Self::Unclear { .. } => {
                "It is a user with the file of their password, or the file of a token."
            }
            Self::Elsewhere { .. } => {
                "Name that address itself: a question that is led on arrives empty."
            }
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
            | EngineError::Unclear { .. }
            | EngineError::Secret { .. }
            | EngineError::Authorities { .. } => Self::Usage { what, next },
            _ => Self::Failed { what, next },
        }
    }
}

/// What the client says, in our words.
pub(super) fn told(url: &str, error: ureq::Error, within: Duration) -> EngineError {
    let url = url.to_owned();
    match error {
        ureq::Error::Timeout(_) => EngineError::TimedOut { url, within },
        ureq::Error::Io(error) => broken(&url, &error, within),
        ureq::Error::Tls(why) => EngineError::Untrusted { url, why: why.to_owned() },
        ureq::Error::Rustls(error) => distrusted(url, &error),
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
pub(super) fn broken(url: &str, error: &io::Error, within: Duration) -> EngineError {
    let url = url.to_owned();
    let words = error.to_string();
    if let Some(cause) = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
        return distrusted(url, cause);
    }
    match error.kind() {
        io::ErrorKind::TimedOut => EngineError::TimedOut { url, within },
        _ if words.starts_with("timeout") => EngineError::TimedOut { url, within },
        io::ErrorKind::InvalidData => EngineError::NotAnEngine { url, why: words },
        _ => EngineError::Unreachable { url, why: words },
    }
}

/// What is wrong with its TLS, where that is plain.
fn distrusted(url: String, error: &rustls::Error) -> EngineError {
    let words = error.to_string();
    match error {
        rustls::Error::InvalidMessage(_) => EngineError::Unreachable {
            url,
            why: "it does not speak TLS; is it http://?".to_owned(),
        },
        _ if words.contains("CaUsedAsEndEntity") => EngineError::Untrusted {
            url,
            why: "its certificate is that of an authority (CA:TRUE), which no server may show"
                .to_owned(),
        },
        _ => EngineError::Untrusted { url, why: words },
    }
}
