//! `gua db import`: the history of a Python gua becomes ours.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::cli;
use crate::commands::history;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::words::shell_word;
use crate::render::{imported as render, json};
use crate::report::imported::Import;
use crate::store::StoreError;
use crate::store::python::{self, Placed, Progress};

pub(super) fn run(config: &Config, typed: &cli::DbImport) -> Result<u8, Failure> {
    let target = history::path(typed.db.as_deref(), config)?;
    let import = import(&typed.file, &target)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &import)?;
    } else {
        render::write(&mut out, &import, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(0)
}

fn import(file: &Path, target: &Path) -> Result<Import, Failure> {
    let failed = |error| failure(file, target, error);
    let mut meter = Meter { shown: false };
    if is_same_file(file, target) {
        let taken = python::take_over(target, &mut |progress| meter.show(progress));
        meter.clear();
        let taken = taken.map_err(failed)?;
        return Ok(Import::new(file, target, Some(&taken.kept), &taken.imported));
    }
    let imported = python::import_to(file, target, &mut |progress| meter.show(progress));
    meter.clear();
    let Placed { imported, older_kept } = imported.map_err(failed)?;
    let older_kept = older_kept.map(|kept| kept.display().to_string());
    Ok(Import { older_kept, ..Import::new(file, target, None, &imported) })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
}

/// Which of the two files is to blame, and what to do.
fn failure(file: &Path, target: &Path, error: StoreError) -> Failure {
    let (path, error) = match error {
        StoreError::Source(error) => (file, *error),
        error => (target, error),
    };
    let shown = path.display();
    let is_source = path == file;
    let what = match &error {
        StoreError::Overlap(_) => format!("{} is not imported: {error}", file.display()),
        error => format!("cannot use {shown}: {error}"),
    };
    match next_step(&error, path, is_source) {
        Step::OtherInput(next) => Failure::Usage { what, next },
        Step::Later(next) => Failure::CannotTell { what, next },
    }
}

/// What helps: something else has to be typed, or something has to be done first.
enum Step {
    OtherInput(String),
    Later(String),
}

fn next_step(error: &StoreError, path: &Path, is_source: bool) -> Step {
    let word = shell_word(&path.display().to_string());
    match error {
        StoreError::AlreadyOurs => Step::OtherInput(format!("Use it with --db {word}.")),
        StoreError::Missing | StoreError::NotOurs(_) if is_source => Step::OtherInput(
            "Name a database of the Python gua, such as ~/.gua/gua.db of the account it ran as."
                .to_owned(),
        ),
        StoreError::PythonGua => Step::OtherInput(format!(
            "`gua db import {word} --db {word}` takes it over first; or name another place \
                 with --db PATH."
        )),
        StoreError::NotOurs(_) | StoreError::Newer { .. } | StoreError::Missing => {
            Step::OtherInput("Name another database to import into with --db PATH.".to_owned())
        }
        StoreError::Damaged(_) if is_source => Step::OtherInput(format!(
            "`sqlite3 {word} .recover | sqlite3 saved.db` saves what is left; import saved.db."
        )),
        StoreError::Overlap(_) => Step::Later(
            "Import it into a database of its own with --db PATH; time is never counted twice."
                .to_owned(),
        ),
        StoreError::Recorded => {
            Step::Later("A recorder writes to it. Stop it first, and start it again after.".into())
        }
        StoreError::InUse { pid } => Step::Later(format!(
            "Stop it first: `gua stop` of the Python gua, or end process {pid}."
        )),
        StoreError::LogWithoutIndex => Step::Later(format!(
            "Copy its -shm file along with it, or let SQLite write the log into the file: \
             `sqlite3 {word} 'PRAGMA wal_checkpoint(TRUNCATE)'`."
        )),
        StoreError::NotWhole => {
            Step::Later("Nothing was changed. This is a mistake of gua; please report it.".into())
        }
        _ => Step::Later("Nothing was changed. Once that is settled, try again.".to_owned()),
    }
}

/// How far it is, for somebody who watches.
struct Meter {
    shown: bool,
}

impl Meter {
    fn show(&mut self, progress: Progress) {
        let mut err = io::stderr();
        if err.is_terminal() {
            let percent = progress.rows.saturating_mul(100) / progress.of.max(1);
            // Nobody is told when nobody can be.
            let _ = write!(err, "\rimporting: {percent} %");
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r                \r");
        }
    }
}
