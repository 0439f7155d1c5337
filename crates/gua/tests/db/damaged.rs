//! Files that were damaged, and files that are somebody else's.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::{gua, lab, sql};

const READERS: [&[&str]; 4] =
    [&["info"], &["check"], &["export"], &["export", "--what", "samples"]];

fn state(path: &Path) -> (Vec<u8>, SystemTime) {
    (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap())
}

#[test]
fn bytes_that_were_flipped_are_found_and_nothing_is_changed() {
    let (_dir, path) = lab();
    // All into the file itself: a log would cover up the damage.
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
            let calm = !run.stderr.contains("panicked");
            assert!(calm && matches!(run.code, Some(0 | 1)), "{at}: {run:?}");
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

/// Every command says the same of a file that it cannot use, and leaves it alone.
#[test]
fn what_is_not_ours_is_refused_with_the_next_step() {
    let (dir, path) = lab();
    let at = |name: &str| dir.path().join(name);
    sql(&path, "PRAGMA user_version = 99");
    fs::write(at("notes.txt"), "hello\n").unwrap();
    fs::write(at("empty.db"), "").unwrap();
    sql(&at("other.db"), "CREATE TABLE t (x)");
    fs::create_dir(at("folder")).unwrap();
    let mut told = String::new();
    for name in ["gua.db", "notes.txt", "empty.db", "other.db", "none.db", "folder"] {
        let before = fs::read(at(name)).ok();
        let first = gua(&at(name), &["info"]);
        for args in READERS.into_iter().chain([&["prune"][..]]) {
            let run = gua(&at(name), args);
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{name}: {run:?}");
            assert_eq!(run.stderr, first.stderr);
        }
        assert!(fs::read(at(name)).ok() == before, "{name}");
        told.push_str(&first.stderr);
    }
    insta::assert_snapshot!(told, @"
    gua: cannot use the database [DIR]/gua.db: it was written by a newer gua (layout 99, this one knows 4)
         Update this gua, or name another database with --db PATH.
    gua: cannot use the database [DIR]/notes.txt: it is not a database
         It was left as it is. Name another database with --db PATH.
    gua: cannot use the database [DIR]/empty.db: it is an empty file
         It was left as it is. Name another database with --db PATH.
    gua: cannot use the database [DIR]/other.db: it is a database of another program
         It was left as it is. Name another database with --db PATH.
    gua: cannot use the database [DIR]/none.db: there is none
         `gua daemon` starts recording; `gua demo` shows a report without a GPU.
    gua: cannot use the database [DIR]/folder: it is a folder
         It was left as it is. Name another database with --db PATH.
    ");
}
