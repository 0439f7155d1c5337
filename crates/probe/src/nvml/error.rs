//! Error codes of the library as reasons, and errors of opening it.

use nvml_wrapper::error::NvmlError;

use super::library::count_call;
use crate::reading::{Reading, Why};

/// Code of newer libraries that nvml-wrapper has no name for.
const ARGUMENT_VERSION_MISMATCH: u32 = 25;

/// Returns the reason that a code of the library stands for.
pub(super) fn reason(error: NvmlError) -> Why {
    match error {
        NvmlError::NotSupported
        | NvmlError::FunctionNotFound
        | NvmlError::FailedToLoadSymbol(_) => Why::NotSupported,
        NvmlError::NoPermission | NvmlError::OperatingSystem => Why::NoPermission,
        NvmlError::GpuLost => Why::Lost,
        NvmlError::ResetRequired => Why::NeedsReset,
        NvmlError::Timeout => Why::TimedOut,
        NvmlError::LibRmVersionMismatch | NvmlError::DriverNotLoaded | NvmlError::Uninitialized => {
            Why::DriverGone
        }
        // The driver knows the call, but not this version of its argument.
        NvmlError::UnexpectedVariant(ARGUMENT_VERSION_MISMATCH) => Why::NotSupported,
        NvmlError::NotFound | NvmlError::NoData => Why::NotTold,
        NvmlError::InvalidArg => Why::Gone,
        NvmlError::Utf8Error(_) | NvmlError::IncorrectBits(_) => Why::Garbled,
        other => Why::Code(other.into()),
    }
}

/// Turns the answer of a call into a reading, and counts the call.
pub(super) fn reading<T>(answer: Result<T, NvmlError>) -> Reading<T> {
    count_call();
    answer.map_err(reason).into()
}

/// Error of opening the library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("{library} was not found")]
    LibraryNotFound { library: String },
    #[error("{library} is not a file that could be loaded")]
    NotAFile { library: String },
    #[error("{library} could not be loaded: {detail}")]
    NotLoadable { library: String, detail: String },
    #[error("{library} is not NVIDIA's management library: it has no nvmlInit_v2")]
    NotNvml { library: String },
    #[error("the NVIDIA kernel driver is not loaded")]
    DriverNotLoaded,
    #[error("the NVIDIA library and the kernel driver are of different versions")]
    VersionMismatch,
    #[error("this user may not talk to the NVIDIA driver")]
    NoPermission,
    #[error("the NVIDIA driver did not answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("the NVIDIA driver refused to start: {detail}")]
    Refused { detail: String },
}

impl OpenError {
    /// Returns what the user can do about it.
    #[must_use]
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::LibraryNotFound { .. } => {
                "Is the NVIDIA driver installed on this host? If it is elsewhere, name it with --nvml PATH."
            }
            Self::NotAFile { .. } | Self::NotLoadable { .. } | Self::NotNvml { .. } => {
                "Name the driver's own libnvidia-ml.so.1 with --nvml PATH or GUA_NVML."
            }
            Self::DriverNotLoaded => {
                "Load it with `modprobe nvidia`, or see `dmesg | grep -i nvrm` for why it did not load."
            }
            Self::VersionMismatch => {
                "The driver was updated while it ran: reload the nvidia kernel modules or reboot."
            }
            Self::NoPermission => {
                "Check the permissions of /dev/nvidia* and, in a container, that the GPUs were passed in."
            }
            Self::TimedOut { .. } => {
                "A card may be failing: see `dmesg | grep -i xid`; persistence mode makes the start fast."
            }
            Self::Refused { .. } => "See `dmesg | grep -i nvrm` for the driver's own words.",
        }
    }

    /// Returns the reason for the readings of cards that were known before the driver went away.
    #[must_use]
    pub const fn why(&self) -> Why {
        match self {
            Self::TimedOut { .. } => Why::TimedOut,
            Self::NoPermission => Why::NoPermission,
            _ => Why::DriverGone,
        }
    }

    pub(super) fn new(library: &str, error: NvmlError) -> Self {
        let library = library.to_owned();
        match error {
            NvmlError::LibloadingError(error) => Self::from_dlopen(library, &error),
            NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => {
                Self::NotNvml { library }
            }
            NvmlError::DriverNotLoaded => Self::DriverNotLoaded,
            NvmlError::LibRmVersionMismatch => Self::VersionMismatch,
            NvmlError::NoPermission => Self::NoPermission,
            other => Self::Refused { detail: reason(other).to_string() },
        }
    }

    /// The dynamic loader shows only in its message whether a file is missing or invalid. The message
    /// begins with the library if that is missing, not if a file that it needs is.
    fn from_dlopen(library: String, error: &impl std::error::Error) -> Self {
        let detail = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        let missing = format!("{library}: cannot open shared object file: No such file");
        if detail.starts_with(&missing) {
            return Self::LibraryNotFound { library };
        }
        let detail = detail.strip_prefix(&format!("{library}: ")).unwrap_or(&detail).to_owned();
        Self::NotLoadable { library, detail }
    }
}
