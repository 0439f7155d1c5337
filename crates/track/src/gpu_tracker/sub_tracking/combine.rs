//! Several sub-tracking files made one, as each process writes its own.

use std::fs;
use std::path::{Path, PathBuf};

use super::marks::{self, MarkWriter};
use crate::gpu_tracker::file::{FileError, Format};

/// Why the files could not be made one.
#[derive(Debug, thiserror::Error)]
pub enum CombineError {
    #[error(
        "`{}` exists already; nothing was changed. Name a new file with --stf",
        path.display()
    )]
    Exists { path: PathBuf },
    #[error(
        "`{}` does not end in {}, as the file to be made does. Combine files of one format",
        path.display(),
        .format.ending()
    )]
    OtherFormat { path: PathBuf, format: Format },
    #[error(
        "`{}` is no folder. A single -p names a folder of files; name each file with its own -p",
        path.display()
    )]
    NoFolder { path: PathBuf },
    #[error("there is no file in `{}` to combine", path.display())]
    NoFiles { path: PathBuf },
    #[error(transparent)]
    File(#[from] FileError),
}

/// What is to be combined: the files named, or all in the folder when only one is named.
///
/// # Errors
/// When the folder cannot be read or is empty.
pub fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CombineError> {
    match paths {
        [file] if file.is_file() => Err(CombineError::NoFolder { path: file.clone() }),
        [folder] => files_in(folder),
        files => Ok(files.to_vec()),
    }
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, CombineError> {
    let io = |source| FileError::Io { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(io)?.collect::<Result<Vec<_>, _>>().map_err(io)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    if files.is_empty() {
        return Err(CombineError::NoFiles { path: folder.to_owned() });
    }
    Ok(files)
}

/// Writes the marks of all files into a new one. It is there whole or not at all.
///
/// # Errors
/// When the new file exists or cannot be written, or one of the files cannot be read.
pub fn combine(files: &[PathBuf], into: &Path) -> Result<(), CombineError> {
    let format = Format::of(into)?;
    if into.symlink_metadata().is_ok() {
        return Err(CombineError::Exists { path: into.to_owned() });
    }
    if let Some(other) = files.iter().find(|file| Format::of(file).ok() != Some(format)) {
        return Err(CombineError::OtherFormat { path: other.clone(), format });
    }
    let mut all = Vec::new();
    for file in files {
        all.extend(marks::read(file)?);
    }
    let written = MarkWriter::create(into)?.write(&all);
    if written.is_err() {
        // Made by us a moment ago.
        let _ = fs::remove_file(into);
    }
    Ok(written?)
}
