//! Sub-tracking: marks, analyses and comparisons, on the files that `gpu-tracker` has too.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::sub_tracking::{
    self, Analysis, Mark, MarkWriter, Position, Session, Statistic,
};
use track::gpu_tracker::tracking_file::{self, MEASURES, Timepoint};

use crate::errors::Error;
use crate::values;

/// A sub-tracking file that is being written.
#[pyclass(frozen, module = "gua._native")]
#[derive(Debug)]
pub struct Marks {
    process: u32,
    writer: Mutex<MarkWriter>,
}

#[pymethods]
impl Marks {
    /// Makes the file. A fork goes on with the one that its parent has made.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, overwrite: bool, goes_on: bool) -> PyResult<Self> {
        let writer = py.detach(|| open(&path, overwrite, goes_on))?;
        Ok(Self { process: std::process::id(), writer: Mutex::new(writer) })
    }

    /// Marks one end of a block. Nothing is written by a fork: it has to open the file itself.
    fn mark(&self, py: Python<'_>, block: String, is_begin: bool, at: f64) -> PyResult<bool> {
        if self.process != std::process::id() {
            return Ok(false);
        }
        let position = if is_begin { Position::Begin } else { Position::End };
        let mark = Mark { process: self.process.into(), block, position, at };
        let write = || {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write(&[mark])
        };
        py.detach(write).map_err(Error::from)?;
        Ok(true)
    }
}

fn open(path: &Path, overwrite: bool, goes_on: bool) -> Result<MarkWriter, Error> {
    if goes_on {
        return Ok(MarkWriter::append(path)?);
    }
    if overwrite {
        match fs::remove_file(path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(FileError::Io { path: path.to_owned(), source }.into());
            }
            _ => {}
        }
    }
    Ok(MarkWriter::create(path)?)
}

/// The row of a tracking file that does not change, by column.
#[pyfunction]
pub fn static_data<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let tracked = py.detach(|| tracking_file::read(&path)).map_err(Error::from)?;
    values::of_tree(py, &tracked.facts.tree())
}

/// One row of a tracking file: the time, and each measure.
type Row = (f64, Vec<Option<f64>>);

/// The names of the measures, and the rows of a tracking file.
#[pyfunction]
pub fn timepoints(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<&'static str>, Vec<Row>)> {
    let tracked = py.detach(|| tracking_file::read(&path)).map_err(Error::from)?;
    let row = |point: Timepoint| (point.at, point.values.to_vec());
    Ok((MEASURES.to_vec(), tracked.timepoints.into_iter().map(row).collect()))
}

/// A block, and when its calls began and ended.
type Calls = (String, Vec<(f64, f64)>);

/// When a block began and ended, by its name, in the order of the names.
#[pyfunction]
pub fn calls(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Calls>> {
    Ok(py.detach(|| calls_of(&path))?)
}

fn calls_of(path: &Path) -> Result<Vec<Calls>, Error> {
    let marks = sub_tracking::read(path)?;
    let mut names: Vec<&String> = marks.iter().map(|mark| &mark.block).collect();
    names.sort_unstable();
    names.dedup();
    let calls = |name: &String| {
        let calls = sub_tracking::calls(marks.iter().filter(|mark| mark.block == *name))?;
        Ok((name.clone(), calls.iter().map(|call| (call.begin, call.end)).collect()))
    };
    names.into_iter().map(calls).collect()
}

/// Makes one file of several.
#[pyfunction]
pub fn combine(py: Python<'_>, files: Vec<PathBuf>, into: PathBuf) -> PyResult<()> {
    Ok(py.detach(|| sub_tracking::combine(&files, &into)).map_err(Error::from)?)
}

/// What was used over all and while each block ran, with the text of it.
#[pyfunction]
pub fn analyze<'py>(
    py: Python<'py>,
    tracking_file: PathBuf,
    sub_tracking_file: PathBuf,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let analysis = py.detach(|| analysis(&tracking_file, &sub_tracking_file))?;
    Ok((values::of_tree(py, &analysis.tree())?, analysis.text()))
}

fn analysis(tracking: &Path, marks: &Path) -> Result<Analysis, Error> {
    let tracked = tracking_file::read(tracking)?;
    Ok(sub_tracking::analyze(&tracked, &sub_tracking::read(marks)?)?)
}

/// Blocks that are held to be the same though their lines differ: which, in which session, there.
type Moved = Vec<(String, String, String)>;

/// Several analyses side by side, each read from its JSON, with the text of it.
#[pyfunction]
pub fn compare<'py>(
    py: Python<'py>,
    sessions: Vec<(String, PathBuf)>,
    statistic: &str,
) -> PyResult<(Bound<'py, PyAny>, String, Moved)> {
    let statistic: Statistic = statistic.parse().map_err(Error::from)?;
    let sessions: Vec<Session> =
        sessions.into_iter().map(|(name, path)| session(name, &path)).collect::<Result<_, _>>()?;
    let compared = sub_tracking::compare(&sessions, statistic).map_err(Error::from)?;
    let moved = compared.moved.iter();
    let moved = moved.map(|one| (one.block.clone(), one.session.clone(), one.there.clone()));
    Ok((values::of_tree(py, &compared.tree())?, compared.text(), moved.collect()))
}

fn session(name: String, path: &Path) -> Result<Session, Error> {
    let shown = || path.display().to_string();
    let text =
        fs::read_to_string(path).map_err(|source| Error::Unreadable { path: shown(), source })?;
    let analysis =
        sub_tracking::parse(&text).map_err(|source| Error::Analysis { path: shown(), source })?;
    Ok(Session { name, analysis })
}
