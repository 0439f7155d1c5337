//! Files that are damaged, and files that are not databases of gua.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{gua, lab, sql};

const READERS: [&[&str]; 5] = [
    &["info"],
    &["check"],
    &["export"],
    &["export", "--what", "holders"],
    &["export", "--what", "samples"],
];

fn state(path: &Path) -> (Vec<u8>, SystemTime) {
    (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap())
}

#[test]
fn flipped_bytes_are_found_and_nothing_is_changed() {
    let (_dir, path) = lab();
    // All into the file itself: a log would hide the damage.
    sql(&path, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    let whole = fs::read(&path).unwrap();
    let page = 4096;
    assert!(whole.len() > 20 * page);
    let mut found = 0;
    for at in (page..whole.len()).step_by(page) {
        let mut damaged = whole.clone();
        for byte in &mut damaged[at..at + 64] {
            *byte ^= 0xa5;
        }
        fs::write(&path, &damaged).unwrap();
        let before = state(&path);
        for args in READERS {
            let run = gua(&path, args);
            let is_calm = !run.stderr.contains("panicked");
            assert!(is_calm && matches!(run.code, Some(0 | 1)), "{at}: {run:?}");
            if args == ["check"] {
                found += u32::from(run.code == Some(1));
                assert!(run.code == Some(0) || !format!("{}{}", run.stdout, run.stderr).is_empty());
            }
        }
        assert!(state(&path) == before, "{at}");
    }
    // A page that is not in use may be anything.
    assert!(found as usize >= whole.len() / page - 3, "{found}");
}

#[test]
fn half_a_file_is_found() {
    let (_dir, path) = lab();
    sql(&path, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let before = state(&path);
    for args in READERS {
        let run = gua(&path, args);
        assert!(!run.stderr.contains("panicked"), "{run:?}");
        assert!(args != ["check"] || run.code == Some(1), "{run:?}");
    }
    assert!(state(&path) == before);
}

#[test]
fn reading_changes_nothing() {
    let (_dir, path) = lab();
    let before = state(&path);
    for args in READERS {
        assert_eq!(gua(&path, args).code, Some(0));
    }
    assert!(state(&path) == before);
}

/// Every command refuses a file that it cannot use with the same sentence, and leaves it alone.
#[test]
fn foreign_file_is_refused_with_the_next_step() {
    let (dir, path) = lab();
    let at = |name: &str| dir.path().join(name);
    sql(&path, "PRAGMA user_version = 99");
    fs::write(at("notes.txt"), "hello\n").unwrap();
    fs::write(at("empty.db"), "").unwrap();
    sql(&at("other.db"), "CREATE TABLE t (x)");
    fs::create_dir(at("folder")).unwrap();
    let mut refusals = String::new();
    for name in ["gua.db", "notes.txt", "empty.db", "other.db", "none.db", "folder"] {
        let before = fs::read(at(name)).ok();
        let first = gua(&at(name), &["info"]);
        for args in READERS.into_iter().chain([&["prune"][..], &["prune", "--dry-run"]]) {
            let run = gua(&at(name), args);
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{name}: {run:?}");
            assert_eq!(run.stderr, first.stderr);
        }
        assert!(fs::read(at(name)).ok() == before, "{name}");
        refusals.push_str(&first.stderr);
    }
    insta::assert_snapshot!(refusals, @"
    gua: cannot use [DIR]/gua.db: it has layout 99 of a newer gua, and this version knows 11; update gua, or choose another file with --db
    gua: cannot use [DIR]/notes.txt: it is not a database of gua (not an SQLite file); choose another file with --db
    gua: cannot use [DIR]/empty.db: it is not a database of gua (an empty file); choose another file with --db
    gua: cannot use [DIR]/other.db: it is not a database of gua (a database of another program); choose another file with --db
    gua: cannot use [DIR]/none.db: there is no such file; `gua daemon` starts recording, or choose another file with --db
    gua: cannot use [DIR]/folder: it is not a database of gua (a folder); choose another file with --db
    ");
}

/// Every file of a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A database of an earlier gua has its own layout, and its history must not be lost.
#[test]
fn earlier_layout_is_refused_and_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    for layout in [1, 4] {
        let _ = fs::remove_file(&path);
        sql(
            &path,
            &format!(
                "PRAGMA application_id = 0x47554131; PRAGMA user_version = {layout};
                 CREATE TABLE run (id INTEGER PRIMARY KEY);
                 CREATE TABLE tick (id INTEGER PRIMARY KEY, run INTEGER, at_ms INTEGER);
                 INSERT INTO run VALUES (1); INSERT INTO tick VALUES (1, 1, 1767229080000);"
            ),
        );
        let before = files(dir.path());
        let expected = format!(
            "gua: cannot use [DIR]/gua.db: it has layout {layout} of an earlier gua, which this \
             version does not read; move it away, or choose another file with --db\n"
        );
        for args in READERS.into_iter().chain([&["prune", "--yes"][..], &["prune", "--dry-run"]]) {
            let run = gua(&path, args);
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
            assert_eq!(run.stderr, expected);
        }
        assert!(files(dir.path()) == before);
    }
}
