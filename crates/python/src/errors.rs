//! What goes wrong, as Python's exceptions.

use std::io;
use std::path::PathBuf;

use gua::commands::answers::Refused;
use gua::destination::NotWritable;
use gua::failure::Failure;
use gua::safe::safe;
use probe::nvml::OpenError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyOSError, PyPermissionError, PyProcessLookupError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use track::StartError;
use track::gpu::ChoiceError;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::sub_tracking::{
    CombineError, Mismatch, NoBegin, NoSuchStatistic, ParseError,
};
use track::gpu_tracker::units::NoSuchUnit;

create_exception!(gua, GuaError, PyRuntimeError, "Something that gua could not do.");
create_exception!(gua, NoDriver, GuaError, "The driver cannot be read.");
create_exception!(gua, NoLibrary, NoDriver, "There is no library of a driver on this host.");
create_exception!(gua, HistoryError, GuaError, "A history cannot be read.");

/// Why something was not done. The sentences that begin with a capital are gpu_tracker's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Sleep time of {0} is invalid. Must be at least 0.001 seconds.")]
    SleepTime(f64),
    #[error("Sleep time of {0} is invalid. Must be at most 3600 seconds.")]
    LongSleepTime(f64),
    #[error("{}", .source.sentence(.kind))]
    Unit { kind: &'static str, source: NoSuchUnit },
    #[error("{0} is not a valid number of expected cores. It must be a whole number from 1 up")]
    Cores(i64),
    #[error("{name} must be {expected}, not {found}")]
    Kind { name: &'static str, expected: &'static str, found: String },
    #[error("{0} is not a valid join_timeout. It must be a number of seconds from 0 up")]
    JoinTimeout(f64),
    #[error("{0} is not a valid n_join_attempts. It must be a whole number from 1 up")]
    JoinAttempts(i64),
    #[error(
        "`{}` is there already, and no Tracker has written it. It would be replaced, and removed \
         at the end. Name another resource_usage_file",
        .0.display()
    )]
    NotABackup(PathBuf),
    #[error("{0} is not a valid process ID. It must be a whole number from 1 up")]
    Pid(i64),
    #[error(
        "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
    )]
    NoUuids,
    #[error(transparent)]
    Cards(#[from] ChoiceError),
    #[error("GPU UUID of {uuid} is not valid. The driver cannot be read: {why}")]
    CardsUnread { uuid: String, why: String },
    #[error(
        "\"amd\" is not a GPU brand that is measured here, only \"nvidia\". Leave gpu_brand out"
    )]
    Amd,
    #[error("\"{0}\" is not a valid GPU brand. The supported value is \"nvidia\".")]
    Brand(String),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Output(#[from] NotWritable),
    #[error("`{path}` cannot be read: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error(transparent)]
    Combine(#[from] CombineError),
    #[error(transparent)]
    Marks(#[from] NoBegin),
    #[error("`{path}` is no analysis: {source}")]
    Analysis { path: String, source: ParseError },
    #[error(transparent)]
    Statistic(#[from] NoSuchStatistic),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the measurement broke off; what it had seen is lost")]
    BrokeOff,
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let words = in_python(&error.to_string());
        match error {
            Error::Start(StartError::Gone(_)) => PyProcessLookupError::new_err(words),
            Error::Start(StartError::System(_)) | Error::Output(_) => PyOSError::new_err(words),
            Error::Combine(CombineError::Exists { .. }) | Error::NotABackup(_) => {
                PyFileExistsError::new_err(words)
            }
            Error::Combine(CombineError::File(error)) | Error::File(error) => {
                of_file(error.system(), words)
            }
            Error::Unreadable { source, .. } => of_file(Some(source.kind()), words),
            Error::Refused(Refused::Failure(failure)) => of_failure(&failure, words),
            Error::Kind { .. } => PyTypeError::new_err(words),
            Error::BrokeOff => GuaError::new_err(words),
            _ => PyValueError::new_err(words),
        }
    }
}

/// What the system refused is an error of the system, everything else of the value.
fn of_file(system: Option<io::ErrorKind>, words: String) -> PyErr {
    match system {
        None => PyValueError::new_err(words),
        Some(io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(words),
        Some(io::ErrorKind::AlreadyExists) => PyFileExistsError::new_err(words),
        Some(io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(words),
        Some(_) => PyOSError::new_err(words),
    }
}

fn of_failure(failure: &Failure, words: String) -> PyErr {
    match failure {
        Failure::Usage { .. } => PyValueError::new_err(words),
        Failure::NoDriver(OpenError::LibraryNotFound { .. }) => NoLibrary::new_err(words),
        Failure::NoDriver(_) => NoDriver::new_err(words),
        Failure::Database(_) => HistoryError::new_err(words),
        Failure::CannotTell { .. }
        | Failure::Failed { .. }
        | Failure::NotStarted { .. }
        | Failure::Recorder(_)
        | Failure::Output(_) => GuaError::new_err(words),
    }
}

/// What a command line has, as it is said in Python.
const OPTIONS: [(&str, &str); 9] = [
    ("with --nvml PATH or GUA_NVML", "with GUA_NVML"),
    ("with --nvml PATH", "with GUA_NVML in the environment"),
    ("with --db PATH", "with db=PATH"),
    ("with --stf", "as sub_tracking_file"),
    ("come from --tf", "come from a Tracker's tracking_file"),
    ("`--id", "`gua stat --id"),
    ("--since 30d", "since=\"30d\""),
    ("--from", "from_"),
    ("--until", "until"),
];

/// Names in it may be anybody's; the line breaks are ours.
fn in_python(words: &str) -> String {
    let words: String = words.lines().map(safe).collect::<Vec<_>>().join("\n");
    OPTIONS.iter().fold(words, |words, (typed, said)| words.replace(typed, said))
}
