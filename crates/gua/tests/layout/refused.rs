//! What is not brought forward, and stays as it is.

use gua::store::{self, RecorderLock, SCHEMA_VERSION, StoreError};
use rusqlite::Connection;

use super::{files, layout, prune, two_days};
use crate::machine::{Run, program, run};

/// Layout 1 with this done to it.
fn changed(sql: &str) -> crate::report::Histories {
    let histories = two_days();
    let database = Connection::open(histories.path()).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF;").unwrap();
    database.execute_batch(sql).unwrap();
    database.close().unwrap();
    histories
}

/// A recorder of an older gua goes on writing what it knows.
#[test]
fn a_file_that_a_recorder_writes_to() {
    let histories = two_days();
    let before = files(histories.dir());
    let lock = RecorderLock::take(&histories.path()).unwrap();
    let Run { code, stdout, stderr } = run(prune(&histories.path()));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(stderr.replace(histories.dir().to_str().unwrap(), "DIR"), @"
    gua: cannot use the database DIR/gua.db: it has layout 1 of an older gua, which only its recorder may bring forward
         Stop the recorder that writes to it (`gua stop`), and try again.
    ");
    let opened = store::open_to_write(&histories.path());
    assert!(matches!(opened, Err(StoreError::Older { found: 1 })));
    assert!(files(histories.dir()) == before);
    drop(lock);
    assert_eq!(run(prune(&histories.path())).code, Some(0));
}

#[test]
fn a_layout_that_comes_after_ours() {
    let next = SCHEMA_VERSION + 1;
    let histories = changed(&format!("PRAGMA user_version = {next};"));
    let path = histories.path();
    let before = files(histories.dir());
    let read = |args: &[&str]| {
        let mut command = program(args);
        command.arg("--db").arg(&path);
        run(command)
    };
    let refused = [
        read(&["report"]),
        read(&["db", "info"]),
        read(&["db", "check"]),
        read(&["db", "export"]),
        run(prune(&path)),
        read(&["daemon", "--append", "--foreground"]),
    ];
    for run in refused {
        let words =
            format!("written by a newer gua (layout {next}, this one knows {SCHEMA_VERSION})");
        assert!(run.code != Some(0) && run.stderr.contains(&words), "{run:?}");
    }
    let lock = RecorderLock::take(&path).unwrap();
    assert!(matches!(store::bring_forward(&path, &lock), Err(StoreError::Newer { .. })));
    assert!(files(histories.dir()) == before);
}

/// Another card's number would be read out of one that is too high.
#[test]
fn a_number_that_does_not_fit() {
    for beyond in ["card = 1 << 20", "card = -1", "tick = 1 << 43", "tick = -1"] {
        let histories = changed(&format!(
            "UPDATE sample SET {beyond}
                 WHERE (tick, card) = (SELECT tick, card FROM sample LIMIT 1);"
        ));
        let before = files(histories.dir());
        let lock = RecorderLock::take(&histories.path()).unwrap();
        let refused = store::bring_forward(&histories.path(), &lock);
        assert!(matches!(refused, Err(StoreError::OutOfNumbers)), "{beyond}: {refused:?}");
        assert!(files(histories.dir()) == before, "{beyond}");
    }
}

/// What another program is writing is waited for, but not for ever.
#[test]
fn a_file_that_another_program_has_locked() {
    let histories = two_days();
    let other = Connection::open(histories.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let lock = RecorderLock::take(&histories.path()).unwrap();
    let refused = store::bring_forward(&histories.path(), &lock);
    assert!(matches!(refused, Err(StoreError::Locked)), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    assert_eq!(layout(&histories.path()), 1);
    assert!(store::bring_forward(&histories.path(), &lock).unwrap().is_some());
}

/// A row that refers to nothing is told of by `gua db check`, before as after.
#[test]
fn not_even_for_what_refers_to_nothing() {
    let histories = changed("DELETE FROM card WHERE id = 1;");
    let lock = RecorderLock::take(&histories.path()).unwrap();
    let findings = || store::check(&histories.path()).unwrap().finding_count;
    let before = findings();
    assert!(before > 0);
    assert!(store::bring_forward(&histories.path(), &lock).unwrap().is_some());
    assert_eq!(findings(), before);
}
