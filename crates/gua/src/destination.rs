//! A file that is written at the end, after long work: checked before the work begins,
//! without touching it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be written: {source}", path.display())]
pub struct NotWritable {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Whether a file could be written, or made, as things are now.
///
/// # Errors
/// When that is not so.
pub fn check(path: &Path) -> Result<(), NotWritable> {
    let wrong = |source: io::Error| NotWritable { path: path.to_owned(), source };
    match path.metadata() {
        Ok(file) if file.is_dir() => Err(wrong(io::ErrorKind::IsADirectory.into())),
        Ok(_) => access(path, Access::WRITE_OK).map_err(|error| wrong(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check_folder(path),
        Err(error) => Err(wrong(error)),
    }
}

/// Whether a file could be made anew, or replaced, in its folder.
///
/// # Errors
/// When that is not so.
pub fn check_folder(path: &Path) -> Result<(), NotWritable> {
    access(folder_of(path), Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| NotWritable { path: path.to_owned(), source: error.into() })
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_check_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "kept").unwrap();
        check(&new).unwrap();
        check(&old).unwrap();
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
    }

    #[test]
    fn what_cannot_be_written_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [folder.path().join("no/file"), file.join("below"), folder.path().to_owned()] {
            let refused = check(&path).unwrap_err().to_string();
            assert!(refused.contains("cannot be written: "), "{refused}");
        }
        check(Path::new("Cargo.toml")).unwrap();
        check(Path::new("/dev/null")).unwrap();
    }
}
