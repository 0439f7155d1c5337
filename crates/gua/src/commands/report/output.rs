//! The destination of a report: stdout or a file, checked before anything is read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cli;
use crate::context::Context;
use crate::destination::{self, NotWritable};
use crate::failure::Failure;

/// A file that could be written when it was checked, or stdout.
#[derive(Debug)]
pub(in crate::commands) struct Output(Option<PathBuf>);

impl Output {
    /// Checks what was typed; without a file the report goes to stdout.
    pub fn new(typed: &cli::Report) -> Result<Self, Failure> {
        let file = typed.output.as_ref().and_then(cli::Output::file);
        if let Some(path) = file {
            if !typed.force && path.metadata().is_ok_and(|found| found.is_file()) {
                return Err(Failure::Usage {
                    what: format!("--output: `{}` is there already", path.display()),
                    next: "Replace it with --force, or name another file.".to_owned(),
                });
            }
            destination::check(path).map_err(|error| misnamed(&error))?;
        }
        Ok(Self(file.map(Path::to_owned)))
    }

    pub fn write(
        &self,
        context: &mut Context<'_>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match &self.0 {
            None => {
                write(&mut context.out)?;
                Ok(context.out.flush()?)
            }
            Some(path) => {
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
