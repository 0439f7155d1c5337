//! The database: what is at its path, and whether it can be written.

use std::fs;
use std::path::{Path, PathBuf};

use gua_store::{Database, ForeignFile, Problem};
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use serde::Serialize;

use super::finding::Finding;
use crate::render::words::gib;

/// With less free space, recording would soon stop.
const SCARCE_BYTES: u64 = 1 << 30;
/// With less free space, recording would not begin.
const FULL_BYTES: u64 = 50 << 20;

#[derive(Debug, Serialize)]
pub(super) struct DatabaseFacts {
    path: String,
    kind: &'static str,
    schema_version: Option<u32>,
    size_bytes: Option<u64>,
    /// Left for this user on its file system.
    free_bytes: Option<u64>,
    /// True if this user may write it, or create it where it is missing.
    writable: bool,
}

struct Found {
    /// Version of the schema, or the reason for which the file cannot be used.
    version: Result<u32, Problem>,
    /// Target of a link that leads to no file.
    link_to: Option<PathBuf>,
    facts: DatabaseFacts,
}

/// Checks the path without changing anything; it is `None` for a user without a home.
pub(super) fn check(path: Option<&Path>) -> (Finding, Option<DatabaseFacts>) {
    let Some(path) = path else {
        let finding = Finding::error("there is no home folder to keep it in")
            .next("Set HOME or GUA_HOME, or name a database with --db PATH.");
        return (finding, None);
    };
    let found = find(path);
    (judge(&found), Some(found.facts))
}

fn find(path: &Path) -> Found {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let version = Database::identify(&path).map_err(|error| error.problem);
    let link_to = link_to(&path).filter(|_| matches!(version, Err(Problem::Missing)));
    let folder = match &link_to {
        // gua creates the folder of its own path, not that of a link's target.
        Some(target) => target.parent().filter(|folder| folder.is_dir()).map(Path::to_owned),
        None => nearest_folder(&path),
    };
    let (kind, schema_version, _) = describe(&version);
    let facts = DatabaseFacts {
        kind,
        schema_version,
        size_bytes: size_bytes(&path),
        free_bytes: folder.as_deref().and_then(free_bytes),
        writable: is_writable(&path, &version, folder.as_deref()),
        path: path.display().to_string(),
    };
    Found { version, link_to, facts }
}

/// Returns the size of a file and its log; `None` for anything else.
fn size_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let (file, log) = gua_store::info::file_sizes(path).ok()?;
    Some(file.saturating_add(log))
}

/// Returns the end of a chain of links; `None` if the path is no link.
fn link_to(path: &Path) -> Option<PathBuf> {
    /// As many as the kernel follows.
    const MOST_LINKS: usize = 40;
    let follow = |path: &PathBuf| Some(path.parent()?.join(fs::read_link(path).ok()?));
    std::iter::successors(Some(path.to_owned()), follow).take(MOST_LINKS).skip(1).last()
}

/// Returns the kind of a file, the version of its schema, and the words for one that gua can use.
fn describe(
    version: &Result<u32, Problem>,
) -> (&'static str, Option<u32>, Result<&'static str, &Problem>) {
    const OURS: &str = "a database of gua";
    let problem = match version {
        Ok(found) => return ("gua", Some(*found), Ok(OURS)),
        Err(problem) => problem,
    };
    match problem {
        Problem::WaitsForMigration { found, .. } => ("gua", Some(*found), Ok(OURS)),
        Problem::OldLayout(found) | Problem::NewLayout { found, .. } => {
            ("gua", Some(*found), Err(problem))
        }
        Problem::PythonGua => {
            let words = "a database of the Python gua, to be imported; the file is kept";
            ("python_gua", None, Ok(words))
        }
        Problem::Missing => ("missing", None, Ok("none yet, can be made")),
        Problem::Damaged(_) => ("damaged", None, Err(problem)),
        Problem::Foreign(foreign) => match foreign {
            ForeignFile::Empty => ("empty", None, Ok("an empty file, to be made a database")),
            ForeignFile::Folder => ("directory", None, Err(problem)),
            ForeignFile::NotAFile => ("not_a_file", None, Err(problem)),
            ForeignFile::OtherProgram => ("other_sqlite", None, Err(problem)),
            ForeignFile::NotSqlite => ("not_sqlite", None, Err(problem)),
        },
        _ => ("unreadable", None, Err(problem)),
    }
}

/// Returns the folder that the file is in or, if that does not exist, the nearest one above.
fn nearest_folder(path: &Path) -> Option<PathBuf> {
    let nearest = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok())?;
    nearest.is_dir().then(|| nearest.to_owned())
}

/// Returns true if this user may write the file and its folder: SQLite creates files in it.
fn is_writable(path: &Path, version: &Result<u32, Problem>, folder: Option<&Path>) -> bool {
    let may = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    let in_folder = folder.is_some_and(|folder| may(folder, Access::WRITE_OK | Access::EXEC_OK));
    in_folder && (matches!(version, Err(Problem::Missing)) || may(path, Access::WRITE_OK))
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let file_system = statvfs(folder).ok()?;
    Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
}

fn judge(found: &Found) -> Finding {
    let facts = &found.facts;
    let path = &facts.path;
    let what = match describe(&found.version).2 {
        Ok(what) => what,
        Err(problem) => {
            return Finding::error(format!("{path}: {problem}"))
                .next("Name another database with --db PATH.");
        }
    };
    if !facts.writable {
        return judge_closed(found);
    }
    let Some(free) = facts.free_bytes else {
        return Finding::ok(format!("{path}: {what}"));
    };
    let detail = format!("{path}: {what}; {} GiB free", gib(free));
    match free {
        ..FULL_BYTES => Finding::error(detail).next("Make room, or use --db PATH."),
        FULL_BYTES..SCARCE_BYTES => {
            Finding::warning(detail).next("Make room before recording for long.")
        }
        SCARCE_BYTES.. => Finding::ok(detail),
    }
}

/// Judges a path that this user may not write: a history can still be read.
fn judge_closed(found: &Found) -> Finding {
    let path = &found.facts.path;
    match (&found.version, &found.link_to) {
        (Ok(_) | Err(Problem::WaitsForMigration { .. } | Problem::PythonGua), _) => {
            Finding::warning(format!("{path}: this user may read it, not write it"))
                .next("To record as this user, name another database with --db PATH.")
        }
        (_, Some(target)) => {
            let target = target.display();
            Finding::error(format!("{path}: a link to {target}, which cannot be made"))
                .next("Make the folder that it leads to, or name another database with --db PATH.")
        }
        (_, None) => Finding::error(format!("{path}: this user may not make it there"))
            .next("Name a database in a folder of yours with --db PATH, or set GUA_HOME."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use std::io;

    fn found(version: Result<u32, Problem>) -> Found {
        let facts = DatabaseFacts {
            path: "/x.db".into(),
            kind: describe(&version).0,
            schema_version: None,
            size_bytes: None,
            free_bytes: Some(20 << 30),
            writable: true,
        };
        Found { version, link_to: None, facts }
    }

    fn verdict(found: &Found) -> Verdict {
        judge(found).verdict
    }

    #[test]
    fn usable_database_is_ok_and_another_one_an_error() {
        let empty = Err(Problem::Foreign(ForeignFile::Empty));
        for good in [Err(Problem::Missing), Ok(10), Err(Problem::PythonGua), empty] {
            let finding = judge(&found(good));
            assert_eq!((finding.verdict, finding.next_step), (Verdict::Ok, None));
            assert!(finding.detail.ends_with("; 20.0 GiB free"), "{}", finding.detail);
        }
        let bad = [
            Problem::NewLayout { found: 99, known: 10 },
            Problem::OldLayout(4),
            Problem::Foreign(ForeignFile::OtherProgram),
            Problem::Foreign(ForeignFile::Folder),
            Problem::Damaged("x".into()),
            Problem::Io(io::ErrorKind::PermissionDenied.into()),
        ];
        for bad in bad {
            let finding = judge(&found(Err(bad)));
            assert_eq!(finding.verdict, Verdict::Error, "{}", finding.detail);
            assert!(finding.next_step.unwrap().contains("--db PATH"));
        }
        assert_eq!(check(None).0.verdict, Verdict::Error);
    }

    #[test]
    fn history_that_cannot_be_written_can_still_be_read() {
        let closed = |version| {
            let mut found = found(version);
            found.facts.writable = false;
            verdict(&found)
        };
        assert_eq!(closed(Ok(10)), Verdict::Warning);
        assert_eq!(closed(Err(Problem::PythonGua)), Verdict::Warning);
        assert_eq!(closed(Err(Problem::Missing)), Verdict::Error);
    }

    #[test]
    fn the_lines_of_free_space_are_where_they_are_said_to_be() {
        let with = |free_bytes| {
            let mut found = found(Err(Problem::Missing));
            found.facts.free_bytes = free_bytes;
            verdict(&found)
        };
        assert_eq!(with(Some(0)), Verdict::Error);
        assert_eq!(with(Some(FULL_BYTES - 1)), Verdict::Error);
        assert_eq!(with(Some(FULL_BYTES)), Verdict::Warning);
        assert_eq!(with(Some(SCARCE_BYTES)), Verdict::Ok);
        assert_eq!(with(None), Verdict::Ok);
    }

    #[test]
    fn the_folder_to_make_it_in_is_the_nearest_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |path: &str| nearest_folder(&dir.path().join(path));
        assert_eq!(folder("a/b/c.db").as_deref(), Some(dir.path()));
        assert_eq!(folder("c.db").as_deref(), Some(dir.path()));
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(folder("file/c.db"), None);
    }

    /// Trap: the log was left out, which may be larger than the file.
    #[test]
    fn the_size_is_that_of_the_file_and_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let size = |name: &str| find(&at(name)).facts.size_bytes;
        assert_eq!((size("x.db"), size(".")), (None, None));
        fs::write(at("x.db"), "1234").unwrap();
        assert_eq!(size("x.db"), Some(4));
        fs::write(at("x.db-wal"), "123").unwrap();
        assert_eq!(size("x.db"), Some(7));
    }

    /// A link promises nothing of where it leads.
    #[test]
    fn a_link_can_be_followed_only_into_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::os::unix::fs::symlink("there/x.db", at("second")).unwrap();
        std::os::unix::fs::symlink(at("second"), at("first")).unwrap();
        assert_eq!(link_to(&at("first")), Some(at("there/x.db")));
        assert_eq!(link_to(&at("none")), None);
        let dangling = find(&at("first"));
        assert!(!dangling.facts.writable);
        let finding = judge(&dangling);
        assert_eq!(finding.verdict, Verdict::Error);
        assert!(finding.detail.contains("there/x.db, which cannot be made"), "{}", finding.detail);
        fs::create_dir(at("there")).unwrap();
        assert_eq!(verdict(&find(&at("first"))), Verdict::Ok);
    }
}
