//! How what was followed ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde::Serialize;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending {
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
        signal_name: Option<&'static str>,
    },
    /// A process that we did not start: only its parent is told its code.
    Gone,
    /// It was followed until somebody said that it is enough.
    GoesOn,
}

impl Ending {
    #[must_use]
    pub fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited { code },
            (None, Some(signal)) => Self::killed(signal),
            // It was waited for to its end, so there is one or the other.
            (None, None) => Self::Gone,
        }
    }

    #[must_use]
    pub fn killed(signal: i32) -> Self {
        Self::Killed { signal, signal_name: signal_hook::low_level::signal_name(signal) }
    }

    /// What a shell would say of it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited { code } => u8::try_from(code & 0xff).unwrap_or(1),
            Self::Killed { signal, .. } => u8::try_from(128 + (signal & 0x7f)).unwrap_or(1),
            Self::Gone | Self::GoesOn => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_a_shells() {
        assert_eq!(Ending::of(ExitStatus::from_raw(7 << 8)).exit_code(), 7);
        let killed = Ending::of(ExitStatus::from_raw(9));
        assert_eq!(killed, Ending::Killed { signal: 9, signal_name: Some("SIGKILL") });
        assert_eq!(killed.exit_code(), 137);
        assert_eq!(Ending::GoesOn.exit_code(), 0);
    }
}
