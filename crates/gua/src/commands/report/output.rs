//! Where an answer goes: to stdout, or into a file.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::destination::{self, NotWritable};
use crate::failure::Failure;

/// A place that can be written to, as far as that can be told before.
#[derive(Debug)]
pub(in crate::commands) enum Output {
    Stdout,
    File(PathBuf),
}

impl Output {
    /// As it was typed; `-` is stdout, and so is nothing.
    pub fn new(typed: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = typed.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Stdout);
        };
        destination::check(path).map_err(|error| misnamed(&error))?;
        Ok(Self::File(path.to_owned()))
    }

    pub fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                write(&mut out)?;
                Ok(out.flush()?)
            }
            Self::File(path) => {
                destination::write(path, |out| write(out)).map_err(|error| refused(&error))
            }
        }
    }
}

const NEXT: &str = "Name a file in a folder that you may write to, or - for stdout.";

/// Known before anything was done.
fn misnamed(error: &NotWritable) -> Failure {
    Failure::Usage { what: format!("--output: {error}"), next: NEXT.to_owned() }
}

fn refused(error: &NotWritable) -> Failure {
    Failure::Failed { what: format!("--output: {error}"), next: NEXT.to_owned() }
}
