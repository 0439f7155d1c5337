//! Meaning of a receiver's response, and the time to wait before the next request.

use std::time::Duration;

use crate::engine::{EngineError, Reply};

const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Longest Retry-After that is obeyed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// It may be taken later.
    Later {
        why: String,
        retry_after: Option<Duration>,
    },
    /// It will never be taken.
    Rejected {
        why: String,
    },
}

impl Verdict {
    #[must_use]
    pub fn new(reply: &Result<Reply, EngineError>) -> Self {
        let reply = match reply {
            Err(error) => return Self::Later { why: error.to_string(), retry_after: None },
            Ok(reply) => reply,
        };
        let text: String =
            reply.text.lines().next().unwrap_or_default().chars().take(200).collect();
        let why = format!("HTTP {}: {text}", reply.status);
        let retry_after = reply.retry_after.as_deref().and_then(parse_retry_after);
        match reply.status {
            200..=299 => Self::Taken,
            401 | 403 | 408 | 429 | 500..=599 => Self::Later { why, retry_after },
            409 | 413 | 422 => Self::Rejected { why },
            400 if is_about_samples(&reply.text) => Self::Rejected { why },
            // The address may be wrong. It can be corrected, and nothing is lost until then.
            status => {
                let hint = match &reply.location {
                    Some(location) if (300..400).contains(&status) => {
                        format!("; redirected to {location}: set that address as url")
                    }
                    _ => "; is url the address of remote write?".to_owned(),
                };
                Self::Later { why: why + &hint, retry_after }
            }
        }
    }
}

/// Returns true if the text of a 400 is about what was sent, not about the address.
fn is_about_samples(text: &str) -> bool {
    const ABOUT: [&str; 13] = [
        "sample",
        "series",
        "label",
        "timestamp",
        "out of",
        "duplicate",
        "too old",
        "metric",
        "limit",
        "snappy",
        "decod",
        "unmarshal",
        "protobuf",
    ];
    let text = text.to_lowercase();
    !text.contains("unsupported path") && ABOUT.iter().any(|about| text.contains(about))
}

fn parse_retry_after(text: &str) -> Option<Duration> {
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

/// Waits longer after each failure.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns how long to wait after another failure.
    pub fn fail(&mut self, retry_after: Option<Duration>) -> Duration {
        let wait = SHORTEST_WAIT.saturating_mul(1 << self.failures.min(10)).min(LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        retry_after.map_or(wait, |retry_after| retry_after.max(wait))
    }

    pub const fn succeed(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, text: &str) -> Verdict {
        let retry_after = Some("7".to_owned());
        Verdict::new(&Ok(Reply { status, retry_after, location: None, text: text.to_owned() }))
    }

    #[test]
    fn only_what_is_wrong_in_itself_is_rejected() {
        let text = "out of order sample\nmore";
        assert_eq!(verdict(204, text), Verdict::Taken);
        for status in [400, 409, 413, 422] {
            assert!(matches!(verdict(status, text), Verdict::Rejected { .. }), "{status}");
        }
        for status in [302, 401, 403, 404, 405, 410, 415, 429, 500, 503] {
            assert!(matches!(verdict(status, text), Verdict::Later { .. }), "{status}");
        }
        let later = Verdict::Later {
            why: "HTTP 429: out of order sample".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
        };
        assert_eq!(verdict(429, text), later);
    }

    /// Responses of Prometheus, VictoriaMetrics and Mimir.
    #[test]
    fn bad_request_about_the_address_is_not_rejected() {
        for text in [
            "out of bounds",
            "duplicate sample for timestamp",
            "label name \"kind\" is not unique: invalid sample",
            "err-mimir-sample-out-of-order",
        ] {
            assert!(matches!(verdict(400, text), Verdict::Rejected { .. }), "{text}");
        }
        for text in ["", "<html>", "unsupported path requested: \"/metrics/write\"", "Bad Request"]
        {
            assert!(matches!(verdict(400, text), Verdict::Later { .. }), "{text}");
        }
    }

    #[test]
    fn wait_grows_up_to_a_limit() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|_| backoff.fail(None).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.succeed();
        assert_eq!(backoff.fail(Some(Duration::from_secs(9))).as_secs(), 9);
    }
}
