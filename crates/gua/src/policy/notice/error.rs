//! Why a notice did not reach anybody.

use std::io;
use std::time::Duration;

use crate::config::policy::Channel;

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum NotDelivered {
    #[error("they have no terminal open")]
    NoTerminal,
    #[error("no terminal took it: {0}")]
    Terminals(String),
    #[error("`{0}` is no name that mail can be sent to")]
    NoAddress(String),
    #[error("`{program}` could not be started: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("`{program}` ended with {status}{}", behind(.said))]
    Failed { program: String, status: String, said: String },
    #[error("`{program}` took longer than {} s and was ended", .most.as_secs_f64())]
    TooSlow { program: String, most: Duration },
    #[error("the webhook answered with {0}")]
    Refused(u16),
    #[error("the webhook was not reached: {0}")]
    NotReached(String),
    #[error("the webhook did not answer within {} s", .0.as_secs_f64())]
    NoAnswer(Duration),
    #[error("`{}` is not set up", .0.word())]
    NotSetUp(Channel),
    #[error("too many notices wait already")]
    Full,
    #[error("{0}")]
    Io(#[from] io::Error),
}

fn behind(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}
