//! `gua db import`: imports the history of a Python gua.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gua_store::python::{self, Progress};
use gua_store::{Problem, StoreError};

use crate::cli;
use crate::commands::history;
use crate::config::Config;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::words::shell_word;
use crate::render::{imported as render, json};
use crate::report::imported::Import;

pub(super) fn run(
    config: &Config,
    typed: &cli::DbImport,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let target = history::path(typed.db.as_deref(), config)?;
    let import = import(&typed.file, &target, context)?;
    let columns = context.columns();
    if typed.json {
        json::pretty(&mut context.out, &import)?;
    } else {
        render::write(&mut context.out, &import, &typed.tz.zone, columns)?;
    }
    context.out.flush()?;
    Ok(0)
}

fn import(file: &Path, target: &Path, context: &mut Context<'_>) -> Result<Import, Failure> {
    let failed = |error| failure(file, target, error);
    let is_terminal = context.stderr.is_terminal();
    let mut meter = Meter { err: is_terminal.then_some(&mut *context.err), shown: false };
    let mut progress = |progress| meter.show(progress);
    if is_same_file(file, target) {
        let replaced = python::replace(target, &mut progress);
        meter.clear();
        let replaced = replaced.map_err(failed)?;
        return Ok(Import::new(file, target, Some(&replaced.kept), &replaced.imported));
    }
    let imported = python::import_to(file, target, &mut progress);
    meter.clear();
    Ok(Import::new(file, target, None, &imported.map_err(failed)?))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    one == other || id(one).is_some_and(|one| Some(one) == id(other))
}

/// Returns a failure with the next step for the file to blame.
fn failure(file: &Path, target: &Path, error: StoreError) -> Failure {
    let is_source = is_same_file(&error.path, file);
    // The path as it was typed: the error may have the one that a link leads to.
    let path = if is_source { file } else { &error.path };
    let (shown, word) = (path.display(), shell_word(&path.display().to_string()));
    let not_python = |what: String| Failure::Usage {
        what: format!("cannot import {shown}: {what}"),
        next: "Name a database of the Python gua, such as ~/.gua/gua.db of the account it ran as."
            .to_owned(),
    };
    match &error.problem {
        Problem::Missing if is_source => not_python("there is no such file".to_owned()),
        Problem::Foreign(what) if is_source => not_python(format!("it is {what}")),
        Problem::Damaged(what) if is_source => Failure::Usage {
            what: format!("cannot import {shown}: it is damaged ({what})"),
            next: format!(
                "`sqlite3 {word} .recover | sqlite3 saved.db` saves what is left; import saved.db."
            ),
        },
        Problem::NotPython => Failure::Usage {
            what: format!("cannot import {shown}: it is a database of this gua"),
            next: format!("Use it with --db {word}."),
        },
        Problem::PythonGua => Failure::Usage {
            what: format!("cannot import into {shown}: it is a database of the Python gua"),
            next: format!(
                "`gua db import {word} --db {word}` converts it first; or name another place with \
                 --db PATH."
            ),
        },
        Problem::Foreign(_) | Problem::OldLayout(_) | Problem::NewLayout { .. } => Failure::Usage {
            what: error.to_string(),
            next: format!("Nothing of {} was imported.", file.display()),
        },
        Problem::AlreadyRecorded(_) => Failure::CannotTell {
            what: error.to_string(),
            next: format!(
                "Time is never counted twice, so nothing of {} was imported into {}.",
                file.display(),
                target.display()
            ),
        },
        _ => error.into(),
    }
}

/// Progress on a terminal.
struct Meter<'a> {
    err: Option<&'a mut dyn Write>,
    shown: bool,
}

impl Meter<'_> {
    fn show(&mut self, progress: Progress) {
        if let Some(err) = &mut self.err {
            let percent = progress.rows.saturating_mul(100) / progress.total.max(1);
            // The import goes on if the terminal is gone.
            let _ = write!(err, "\rimporting: {percent} %");
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if let Some(err) = self.err.as_mut().filter(|_| std::mem::take(&mut self.shown)) {
            let _ = write!(err, "\r                \r");
        }
    }
}
