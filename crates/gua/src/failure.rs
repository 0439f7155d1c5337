//! Why a command could not do its work, in words and as an exit code.

use std::io;

use probe::nvml::OpenError;

/// A command's failure.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked makes no sense; nothing was done.
    #[error("{what}\n     {next}")]
    Usage { what: String, next: String },
    /// What was asked may make sense, but that cannot be told now.
    #[error("{what}\n     {next}")]
    CannotTell { what: String, next: String },
    #[error(
        "cannot read the driver: {0}\n     {next}\n     `gua doctor` checks each step.",
        next = .0.next_step()
    )]
    NoDriver(#[from] OpenError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// Tells a person on stderr and gives the exit code: 1 failed, 2 wrong usage.
    /// A reader that went away is not an error of ours, and not worth a word.
    #[must_use]
    pub fn report(&self) -> u8 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            _ => eprintln!("gua: {self}"),
        }
        match self {
            Self::Usage { .. } => 2,
            Self::CannotTell { .. } | Self::NoDriver(_) | Self::Output(_) => 1,
        }
    }
}
