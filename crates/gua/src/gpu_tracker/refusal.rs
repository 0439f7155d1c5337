//! Why nothing was done, or why the command did not start: a sentence and an exit code.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use track::SpawnError;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::sub_tracking::{CombineError, Mismatch, NoBegin, ParseError};
use track::gpu_tracker::units::NoSuchUnit;

use super::report;
use super::settings::SettingsError;
use crate::destination::NotWritable;
use crate::following::interpreter::interpreter;
use crate::safe::safe;

/// Why nothing was done. The sentences that begin with a capital are gpu_tracker's.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("Empty command provided.")]
    EmptyCommand,
    #[error("the command has a quote that does not end: {}", .0.display())]
    Quote(OsString),
    #[error("\"{0}\" is not a valid format. Valid values are json, text")]
    Format(String),
    #[error(
        "the format pickle can be read by Python alone. Use json, which sub-track compare reads too"
    )]
    Pickle,
    #[error("Sleep time of {0} is invalid. Must be at least 0.001 seconds.")]
    SleepTime(String),
    #[error("Sleep time of {0} is invalid. Must be at most 3600 seconds.")]
    LongSleepTime(String),
    #[error("{}", .source.sentence(.kind))]
    Unit { kind: &'static str, source: NoSuchUnit },
    #[error("\"{0}\" is not a valid number of expected cores. It must be a whole number from 1 up")]
    Cores(String),
    #[error("AMD's GPUs are not measured here, only NVIDIA's. Leave --gb out, or say nvidia")]
    Amd,
    #[error("\"{0}\" is not a valid GPU brand. Valid values are nvidia")]
    Brand(String),
    #[error("GPU UUID of {uuid} is not valid. Available UUIDs are: {available}")]
    Uuid { uuid: String, available: String },
    #[error("cannot read the settings of {}: {why}", path.display())]
    Settings { path: PathBuf, why: SettingsError },
    #[error("the report and the tracking file are both to be {}. Name two files", .0.display())]
    OneFileForTwo(PathBuf),
    #[error(transparent)]
    Output(#[from] NotWritable),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Combine(#[from] CombineError),
    #[error(transparent)]
    Marks(#[from] NoBegin),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("nothing to compare. Name analyses with -m NAME=FILE, or in a file with --cconfig")]
    NoSessions,
    #[error("{} is no session. Write NAME=FILE, as in -m before=before.json", .0.display())]
    Session(OsString),
    #[error(transparent)]
    Statistic(#[from] track::gpu_tracker::sub_tracking::NoSuchStatistic),
    #[error("cannot read the analysis {}: {why}", path.display())]
    Analysis { path: PathBuf, why: AnalysisError },
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
    #[error("{}", start_words(.program, .why))]
    Start { program: OsString, why: SpawnError },
    #[error("nobody reads the report: {0}")]
    Unread(io::Error),
}

/// Why an analysis cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnalysisError {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("{0}")]
    Parse(#[from] ParseError),
}

fn start_words(program: &OsStr, why: &SpawnError) -> String {
    let interpreter = interpreter(program);
    let program = program.display();
    match why {
        SpawnError::NotFound => match interpreter {
            Some(interpreter) => {
                let interpreter = interpreter.display();
                format!("Interpreter of \"{program}\" not found: \"{interpreter}\"")
            }
            None => format!("Command not found: \"{program}\""),
        },
        SpawnError::NotExecutable => format!("Command not executable: \"{program}\""),
        SpawnError::Other(error) => format!("Command not started: \"{program}\": {error}"),
    }
}

impl Refusal {
    /// Tells a person on stderr and gives the exit code.
    pub(super) fn report(&self) -> u8 {
        match self {
            // A reader that went away is not an error of ours, and not worth a word.
            Self::Unread(_) => return 0,
            _ => report::say(&format!("gpu-tracker: {}", safe(&self.to_string()))),
        }
        match self {
            Self::Start { why: SpawnError::NotFound, .. } => 127,
            Self::Start { .. } => 126,
            Self::Signals(_) => 1,
            _ => 2,
        }
    }
}
