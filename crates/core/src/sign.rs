//! Signs that a process works, besides its classified time.

use crate::process::ProcessId;
use crate::units::UnixMillis;

/// What says that a process works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// A sample of the SMs that is too short for the process to count as working.
    Sm,
    Cpu,
    Encoder,
    Decoder,
    /// One of the others could not be read.
    Unknown,
    /// All others were read, and none says that the process works.
    Quiet,
}

impl Sign {
    pub const ALL: [Self; 6] =
        [Self::Sm, Self::Cpu, Self::Encoder, Self::Decoder, Self::Unknown, Self::Quiet];
}

/// A stretch in which a sign lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignSpan {
    pub process: ProcessId,
    pub sign: Sign,
    pub from: UnixMillis,
    /// `None` while it lasts.
    pub to: Option<UnixMillis>,
}
