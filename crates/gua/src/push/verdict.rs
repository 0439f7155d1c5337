//! What an answer means, and how long to wait.

use std::time::Duration;

use crate::engine::{EngineError, Reply};

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// What a receiver asks us to wait for is not longer than that.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// It may be taken later.
    Later {
        why: String,
        asked: Option<Duration>,
    },
    /// It will never be taken.
    Rejected {
        why: String,
    },
}

impl Verdict {
    #[must_use]
    pub fn of(reply: &Result<Reply, EngineError>) -> Self {
        let reply = match reply {
            Err(error) => return Self::Later { why: error.to_string(), asked: None },
            Ok(reply) => reply,
        };
        let words: String =
            reply.words.lines().next().unwrap_or_default().chars().take(200).collect();
        let why = format!("HTTP {}: {words}", reply.status);
        let asked = reply.retry_after.as_deref().and_then(asked);
        match reply.status {
            200..=299 => Self::Taken,
            401 | 403 | 408 | 429 | 500..=599 => Self::Later { why, asked },
            409 | 413 | 422 => Self::Rejected { why },
            400 if is_about_samples(&reply.words) => Self::Rejected { why },
            // Where to push can be mended without losing anything.
            status => {
                let hint = match &reply.leads_to {
                    Some(leads_to) if (300..400).contains(&status) => {
                        format!("; it leads to {leads_to}, which is to be named itself")
                    }
                    _ => "; is that the address for remote writes?".to_owned(),
                };
                Self::Later { why: why + &hint, asked }
            }
        }
    }
}

/// Whether an answer to a bad request is about what was sent, not about where.
fn is_about_samples(words: &str) -> bool {
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
    let words = words.to_lowercase();
    !words.contains("unsupported path") && ABOUT.iter().any(|about| words.contains(about))
}

fn asked(retry_after: &str) -> Option<Duration> {
    let seconds: u64 = retry_after.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_ASKED))
}

/// Waits longer each time that it fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after another failure.
    pub fn failed(&mut self, asked: Option<Duration>) -> Duration {
        let wait = SHORTEST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        asked.map_or(wait, |asked| asked.max(wait))
    }

    pub const fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, retry_after: Option<&str>) -> Verdict {
        let retry_after = retry_after.map(str::to_owned);
        said(status, retry_after, "out of order sample\nmore")
    }

    fn said(status: u16, retry_after: Option<String>, words: &str) -> Verdict {
        let words = words.to_owned();
        Verdict::of(&Ok(Reply { status, retry_after, leads_to: None, words }))
    }

    #[test]
    fn only_what_is_wrong_by_itself_is_never_sent_again() {
        assert_eq!(of(204, None), Verdict::Taken);
        for status in [400, 409, 413, 422] {
            assert!(matches!(of(status, None), Verdict::Rejected { .. }), "{status}");
        }
        for status in [302, 401, 403, 404, 405, 410, 415, 429, 500, 503] {
            assert!(matches!(of(status, None), Verdict::Later { .. }), "{status}");
        }
        let later = Verdict::Later {
            why: "HTTP 429: out of order sample".to_owned(),
            asked: Some(Duration::from_secs(7)),
        };
        assert_eq!(of(429, Some("7")), later);
    }

    /// What Prometheus, VictoriaMetrics and Mimir say about what was sent, and about where.
    #[test]
    fn a_bad_request_to_the_wrong_place_is_not_about_what_was_sent() {
        for words in [
            "out of bounds",
            "duplicate sample for timestamp",
            "label name \"kind\" is not unique: invalid sample",
            "err-mimir-sample-out-of-order",
        ] {
            assert!(matches!(said(400, None, words), Verdict::Rejected { .. }), "{words}");
        }
        for words in ["", "<html>", "unsupported path requested: \"/metrics/write\"", "Bad Request"]
        {
            assert!(matches!(said(400, None, words), Verdict::Later { .. }), "{words}");
        }
    }

    #[test]
    fn it_waits_longer_each_time_but_not_for_ever() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|_| backoff.failed(None).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.succeeded();
        assert_eq!(backoff.failed(Some(Duration::from_secs(9))).as_secs(), 9);
    }
}
