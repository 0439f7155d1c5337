//! Why there is no response, and the next step.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("`{url}` is not an address of a Prometheus: {why}")]
    BadUrl { url: String, why: String },
    #[error("the credentials are not complete: {why}")]
    BadCredentials { why: &'static str },
    #[error("cannot use the secret in {}: {why}", .path.display())]
    Secret { path: PathBuf, why: String },
    #[error("cannot use the certificates in {}: {why}", .path.display())]
    Certificates { path: PathBuf, why: String },
    #[error("cannot reach {url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("no response from {url} within {} s", .within.as_secs_f64())]
    TimedOut { url: String, within: Duration },
    #[error("cannot trust {url}: {why}")]
    Untrusted { url: String, why: String },
    #[error("{url} refuses access (HTTP {status})")]
    Refused { url: String, status: u16 },
    #[error("{url} redirects to {location} (HTTP {status})")]
    Redirected { url: String, status: u16, location: String },
    #[error("{url} responds with HTTP {status}: {text}")]
    Status { url: String, status: u16, text: String },
    #[error("{url} does not respond as Prometheus does: {why}")]
    NotAnEngine { url: String, why: String },
    #[error("{url} has no series of gua{filter}")]
    NoSeries { url: String, filter: String },
}

impl EngineError {
    /// Returns the next step.
    #[must_use]
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "Use an address such as http://prometheus:9090.",
            Self::BadCredentials { .. } => {
                "Give a user with a password file, or a token file alone."
            }
            Self::Redirected { .. } => {
                "Use that address itself: a redirected query loses its form."
            }
            Self::Secret { .. } => "Put it on one line in a file that this user may read.",
            Self::Certificates { .. } => "Name a PEM file of certificates with --prometheus-ca.",
            Self::Unreachable { .. } => "Check that it is running, and its address.",
            Self::TimedOut { .. } => {
                "Use a shorter window, or a longer time with --prometheus-timeout."
            }
            Self::Untrusted { .. } => {
                "Name the certificate of its signer with --prometheus-ca FILE."
            }
            Self::Refused { .. } => {
                "Use --prometheus-token-file, or --prometheus-user with --prometheus-password-file."
            }
            Self::Status { .. } => "See its log.",
            Self::NotAnEngine { .. } => {
                "Use the address of the query API, without /api/v1; that of VictoriaMetrics' \
                 cluster ends in /select/0/prometheus."
            }
            Self::NoSeries { .. } => {
                "Let it scrape `gua daemon --listen`, or let recorders push with [remote_write]; \
                 check --match and --host."
            }
        }
    }

    /// Returns true if what was given is wrong, whatever the engine does.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::BadUrl { .. }
                | Self::BadCredentials { .. }
                | Self::Secret { .. }
                | Self::Certificates { .. }
        )
    }
}

/// Returns what an error of the client means.
pub(super) fn from_client(url: &str, error: ureq::Error, within: Duration) -> EngineError {
    let url = url.to_owned();
    match error {
        ureq::Error::Timeout(_) => EngineError::TimedOut { url, within },
        ureq::Error::Io(error) => from_io(&url, &error, within),
        ureq::Error::Tls(why) => EngineError::Untrusted { url, why: why.to_owned() },
        ureq::Error::Rustls(error) => from_tls(url, &error),
        ureq::Error::HostNotFound => {
            EngineError::Unreachable { url, why: "no such host".to_owned() }
        }
        ureq::Error::Protocol(error) => {
            EngineError::NotAnEngine { url, why: format!("not HTTP: {error}") }
        }
        error => EngineError::Unreachable { url, why: error.to_string() },
    }
}

/// Returns what an error of a connection means.
pub(super) fn from_io(url: &str, error: &io::Error, within: Duration) -> EngineError {
    let url = url.to_owned();
    let text = error.to_string();
    if let Some(cause) = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
        return from_tls(url, cause);
    }
    match error.kind() {
        io::ErrorKind::TimedOut => EngineError::TimedOut { url, within },
        _ if text.starts_with("timeout") => EngineError::TimedOut { url, within },
        io::ErrorKind::InvalidData => EngineError::NotAnEngine { url, why: text },
        _ => EngineError::Unreachable { url, why: text },
    }
}

fn from_tls(url: String, error: &rustls::Error) -> EngineError {
    let text = error.to_string();
    match error {
        rustls::Error::InvalidMessage(_) => {
            EngineError::Unreachable { url, why: "it does not use TLS; try http://".to_owned() }
        }
        _ if text.contains("CaUsedAsEndEntity") => EngineError::Untrusted {
            url,
            why: "its certificate is that of an authority (CA:TRUE)".to_owned(),
        },
        _ => EngineError::Untrusted { url, why: text },
    }
}
