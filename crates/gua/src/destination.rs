//! A file that is written at the end, after long work: checked before the work begins,
//! without touching it, and there whole or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
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

/// Writes a file beside its place and moves it there, so that nobody finds half of it. What is no
/// ordinary file, such as a pipe, is written to as it is.
///
/// # Errors
/// When it cannot be written, or what `write` says; then what was there is as it was.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), NotWritable> {
    let wrong = |source: io::Error| NotWritable { path: path.to_owned(), source };
    let found = path.metadata().ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        let mut out = BufWriter::new(File::options().write(true).open(path).map_err(wrong)?);
        return write(&mut out).and_then(|()| out.flush()).map_err(wrong);
    }
    // A link stays, and leads to the new file.
    let place = place(path).unwrap_or_else(|| path.to_owned());
    let (file, making) = made_beside(&place).map_err(wrong)?;
    let filled = || {
        if let Some(found) = found {
            file.set_permissions(found.permissions())?;
        }
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        // Else a power cut could leave the new name and nothing in it.
        out.get_ref().sync_all()?;
        fs::rename(&making, &place)
    };
    filled().map_err(|error| {
        // What could not be written whole is no use; the failure is what is told.
        let _ = fs::remove_file(&making);
        wrong(error)
    })
}

/// A new file beside another. In a folder that others may write to, what has its name already may
/// lead anywhere, so that is never opened; and no number of ours is one of its kind among containers.
fn made_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    const MOST_NAMES: u32 = 100;
    let chance = RandomState::new();
    let names = (0..MOST_NAMES).map(|number| beside(path, chance.hash_one(number)));
    first_new(names)
}

/// The first of these that there is not yet.
fn first_new(names: impl IntoIterator<Item = PathBuf>) -> io::Result<(File, PathBuf)> {
    for name in names {
        match File::options().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, name)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn beside(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".making-{number:016x}"));
    path.with_file_name(name)
}

/// Whether both would be the same file, though it may still be to be made.
#[must_use]
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    let is_one_inode = match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    };
    one == other || is_one_inode || place(one).is_some_and(|one| Some(one) == place(other))
}

/// Where a file would be made: a name in a folder that there is.
fn place(path: &Path) -> Option<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = folder_of(&path).canonicalize().ok()?;
        let file = folder.join(path.file_name()?);
        // A link that leads nowhere leads to the file that is made through it.
        let Ok(leads_to) = file.read_link() else { return Some(file) };
        path = folder.join(leads_to);
    }
    None
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
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_file_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("in")).unwrap();
        symlink("in", path("also-in")).unwrap();
        symlink("in/new", path("link")).unwrap();
        symlink("in/old", path("link-to-old")).unwrap();
        symlink("round", path("round")).unwrap();
        fs::write(path("in/old"), "").unwrap();
        fs::hard_link(path("in/old"), path("hard")).unwrap();
        for (one, other) in [
            ("in/new", "in/./new"),
            ("in/new", "in/../in/new"),
            ("in/new", "also-in/new"),
            ("in/new", "link"),
            ("in/old", "link-to-old"),
            ("in/old", "hard"),
            ("no/new", "no/new"),
        ] {
            assert!(is_one_file(&path(one), &path(other)), "{one} {other}");
        }
        for (one, other) in
            [("in/new", "new"), ("in/new", "in/old"), ("no/new", "in/new"), ("round", "in/new")]
        {
            assert!(!is_one_file(&path(one), &path(other)), "{one} {other}");
        }
        assert!(is_one_file(Path::new("new"), Path::new("./new")));
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("page.html"), folder.path().join("link"));
        write(&file, |out| out.write_all(b"first")).unwrap();
        symlink("page.html", &link).unwrap();
        write(&link, |out| out.write_all(b"second")).unwrap();
        assert!(link.is_symlink());
        let failing = |out: &mut BufWriter<File>| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        write(&file, failing).unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        write(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
    }

    #[test]
    fn what_others_put_beside_it_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (theirs, link) = (folder.path().join("theirs"), folder.path().join("link"));
        fs::write(&theirs, "kept").unwrap();
        symlink(&theirs, &link).unwrap();
        let nowhere = folder.path().join("nowhere");
        symlink(folder.path().join("planted"), &nowhere).unwrap();
        let new = folder.path().join("new");
        let (mut file, name) = first_new([link, nowhere, theirs.clone(), new.clone()]).unwrap();
        file.write_all(b"ours").unwrap();
        assert_eq!((name, fs::read_to_string(&new).unwrap().as_str()), (new.clone(), "ours"));
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "kept");
        assert!(!folder.path().join("planted").exists());
        assert_eq!(first_new([new]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_ne!(beside(&theirs, 1), beside(&theirs, 2));
    }

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
