//! Where an answer goes: a file or stdout, as text or as JSON.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::cli;
use super::refusal::Refusal;
use crate::cli::Output;
use crate::destination;
use crate::safe::safe;

/// As what an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
}

/// A place for an answer, which could be written to when it was checked.
#[derive(Debug)]
pub(super) struct Report {
    pub format: Format,
    to: Option<PathBuf>,
}

/// How an answer was written, the better first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Written {
    AsAsked,
    /// To stdout where its file, to stderr where stdout could not be written.
    Instead,
}

impl Report {
    pub(super) fn settle(typed: cli::Report) -> Result<Self, Refusal> {
        let format = match typed.format.as_str() {
            "text" => Format::Text,
            "json" => Format::Json,
            "pickle" => return Err(Refusal::Pickle),
            _ => return Err(Refusal::Format(typed.format)),
        };
        let to = typed.output.as_ref().and_then(Output::file).map(Path::to_owned);
        if let Some(path) = &to {
            destination::check(path)?;
        }
        Ok(Self { format, to })
    }

    pub(super) const fn path(&self) -> Option<&PathBuf> {
        self.to.as_ref()
    }

    /// Writes an answer, elsewhere where that fails: an answer is never lost.
    pub(super) fn write(&self, answer: &str) -> Result<Written, Refusal> {
        let Some(path) = &self.to else {
            return print(answer);
        };
        match fs::write(path, format!("{answer}\n")) {
            Ok(()) => Ok(Written::AsAsked),
            Err(error) => {
                let path = safe(&path.display().to_string());
                say(&format!("gpu-tracker: `{path}` cannot be written: {error}. The report:"));
                print(answer)?;
                Ok(Written::Instead)
            }
        }
    }
}

/// Says a line on stderr. When nobody hears it, the work goes on all the same.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line, or several; on stderr where stdout takes none, unless that is because its
/// reader went away.
pub(super) fn print(text: &str) -> Result<Written, Refusal> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Written::AsAsked),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Refusal::Unread(error)),
        Err(error) => {
            say(&format!("gpu-tracker: stdout cannot be written: {error}. It was to say:"));
            say(text);
            Ok(Written::Instead)
        }
    }
}
