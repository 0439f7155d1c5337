//! What is brought forward tells the same as before, and so does its copy.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use gua::store::{self, RecorderLock, SCHEMA_VERSION};
use rusqlite::Connection;

use super::{OLDER, files, layout, names, prune, strings, to_older, told, two_days, without_newer};
use crate::machine::{PYTHON_GUA, program, run};
use crate::report::Histories;

fn bring_forward(path: &Path) -> Option<std::path::PathBuf> {
    store::bring_forward(path, &RecorderLock::take(path).unwrap()).unwrap()
}

#[test]
fn the_same_is_told_before_and_after_and_by_the_copy() {
    OLDER.into_iter().for_each(the_same_is_told);
}

fn the_same_is_told(older: (u32, &str)) {
    let histories = Histories::two_days();
    let path = histories.path();
    to_older(&path, older);
    let before = told(&path);
    let bytes = fs::read(&path).unwrap();
    let kept = bring_forward(&path).unwrap();
    let name = format!("gua-layout-{}.db", older.0);
    assert_eq!(kept, histories.dir().join(&name));
    assert_eq!((layout(&path), layout(&kept)), (SCHEMA_VERSION, older.0));
    assert_eq!(told(&path), before);
    assert_eq!(told(&kept), before);
    assert_eq!(fs::metadata(&kept).unwrap().mode() & 0o777, 0o600);
    // But for SQLite's own counters at its beginning it is the same file, log and all.
    assert_eq!(fs::read(&kept).unwrap()[100..], bytes[100..]);
    let mode: String = Connection::open(&kept)
        .unwrap()
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(names(histories.dir()), [&name, "gua.db"]);
    assert_eq!(bring_forward(&path), None, "it is as it must be");
}

/// What was never in the older layout is told the same, so the older one lost nothing.
#[test]
fn the_older_layout_tells_what_ours_does() {
    for older in OLDER {
        let histories = Histories::two_days();
        without_newer(&Connection::open(histories.path()).unwrap(), older.0);
        let ours = told(&histories.path());
        to_older(&histories.path(), older);
        assert_eq!(told(&histories.path()), ours, "{}", older.0);
    }
}

#[test]
fn it_has_the_tables_of_a_new_one() {
    let tables = |path: &Path| {
        let database = Connection::open(path).unwrap();
        strings(&database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    };
    for older in OLDER {
        let histories = Histories::two_days();
        to_older(&histories.path(), older);
        bring_forward(&histories.path());
        let new = histories.dir().join("new.db");
        store::create(&new).unwrap();
        assert_eq!(tables(&histories.path()), tables(&new), "{}", older.0);
        let states = |path: &Path| {
            let database = Connection::open(path).unwrap();
            strings(&database, "SELECT code || ' ' || word FROM state ORDER BY code")
        };
        assert_eq!(states(&histories.path()), states(&new), "{}", older.0);
    }
}

/// What is still in the log belongs to it.
#[test]
fn what_is_only_in_the_log_comes_along() {
    let histories = two_days();
    let path = histories.path();
    let writer = Connection::open(&path).unwrap();
    writer.execute("UPDATE host SET name = 'other'", []).unwrap();
    assert!(path.with_extension("db-wal").exists());
    let kept = bring_forward(&path).unwrap();
    for path in [&path, &kept] {
        let database = Connection::open(path).unwrap();
        assert_eq!(strings(&database, "SELECT name FROM host"), ["other"]);
    }
}

#[test]
fn a_copy_replaces_no_other_file() {
    let histories = two_days();
    let first = histories.dir().join("gua-layout-1.db");
    fs::write(&first, "mine").unwrap();
    symlink("nowhere", histories.dir().join("gua-layout-1-2.db-wal")).unwrap();
    assert_eq!(bring_forward(&histories.path()), Some(histories.dir().join("gua-layout-1-3.db")));
    assert_eq!(fs::read(first).unwrap(), b"mine");
}

/// The copy lies where the file does, not where the link to it does.
#[test]
fn a_link_is_followed() {
    let histories = two_days();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    symlink(histories.path(), &link).unwrap();
    let kept = bring_forward(&link).unwrap();
    assert_eq!(kept.parent().unwrap(), histories.dir().canonicalize().unwrap());
    assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    assert_eq!(layout(&histories.path()), SCHEMA_VERSION);
}

#[test]
fn pruning_brings_it_forward_and_reading_does_not() {
    let histories = two_days();
    let path = histories.path();
    let before = files(histories.dir());
    let first = told(&path);
    let info = || {
        let mut command = program(&["db", "info", "--db"]);
        command.arg(&path);
        run(command).stdout.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(info(), "layout    1");
    assert!(files(histories.dir()) == before, "reading changes nothing");
    let pruned = run(prune(&path));
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "{pruned:?}");
    let kept = histories.dir().canonicalize().unwrap().join("gua-layout-1.db");
    let line = format!("as it was before, it is kept as {}.\n", kept.display());
    assert!(pruned.stdout.ends_with(&line), "{pruned:?}");
    assert_eq!(info(), format!("layout    {SCHEMA_VERSION}"));
    assert_eq!(told(&path), first);
    assert_eq!(names(histories.dir()), ["gua-layout-1.db", "gua.db"]);
}

/// Trap: the file is twice as large while it is brought forward.
#[test]
fn the_size_before_pruning_is_that_of_the_older_file() {
    let histories = two_days();
    let before = fs::metadata(histories.path()).unwrap().len();
    let mut command = prune(&histories.path());
    command.arg("--json");
    let pruned: serde_json::Value = serde_json::from_str(&run(command).stdout).unwrap();
    assert_eq!(pruned["before_bytes"], before, "{pruned}");
}

#[test]
fn an_import_tells_where_the_older_file_is_kept() {
    let histories = two_days();
    let file = histories.dir().join("old.db");
    Connection::open(&file).unwrap().execute_batch(PYTHON_GUA).unwrap();
    let mut command = program(&["db", "import", "--db"]);
    command.arg(histories.path()).arg(&file);
    let run = run(command);
    let kept = histories.dir().canonicalize().unwrap().join("gua-layout-1.db");
    let line = format!("as it was before, it is kept as {}\n", kept.display());
    assert!(run.stdout.contains(&line), "{run:?}");
}
