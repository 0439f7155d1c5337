//! Databases of an older layout: read as they are, and brought forward by who writes.

/// What is brought forward tells the same as before.
mod forward;
/// It is killed meanwhile.
mod killed;
/// What is not brought forward, and stays as it is.
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gua::store::{Identity, identify};
use rusqlite::Connection;

use crate::machine::{Run, program, run};
use crate::report::{BOTH_DAYS, Histories};

/// The layouts before ours, and how their tables are made.
const OLDER: [(u32, &str); 3] = [
    (1, include_str!("../assets/layout_1.sql")),
    (2, include_str!("../assets/layout_2.sql")),
    (3, include_str!("../assets/layout_3.sql")),
];

/// Two days of three cards, in layout 1.
fn two_days() -> Histories {
    let histories = Histories::two_days();
    to_layout_1(&histories.path());
    histories
}

pub(crate) fn to_layout_1(path: &Path) {
    to_older(path, OLDER[0]);
}

/// Deletes what a gua of an older layout did not record: before layout 4 the ancestors of holders,
/// before layout 3 what a holder did by its own account, what it ran for, where its user is known
/// from, and memory that no listed process holds.
fn without_newer(database: &Connection, number: u32) {
    if number >= 3 {
        database.execute_batch("UPDATE workload SET ancestors = NULL").unwrap();
        return;
    }
    let change = "UPDATE holder_span SET state = state % 100 WHERE state > 100 AND state < 300;
                  DELETE FROM unseen_span;
                  UPDATE process SET workload = NULL;
                  DELETE FROM workload;
                  UPDATE identity SET source = NULL;";
    database.execute_batch(change).unwrap();
}

/// Makes of a database what a gua of an older layout would have made of the same ticks: its own
/// tables, with the same rows.
fn to_older(path: &Path, (number, tables): (u32, &str)) {
    without_newer(&Connection::open(path).unwrap(), number);
    let old = path.with_extension("old");
    let database = Connection::open(&old).unwrap();
    let settings = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
                    PRAGMA foreign_keys = OFF;";
    database.execute_batch(settings).unwrap();
    database.execute_batch(tables).unwrap();
    database.execute("ATTACH ?1 AS new", [path.to_str().unwrap()]).unwrap();
    for table in strings(&database, "SELECT name FROM main.sqlite_schema WHERE type = 'table'") {
        // Those that are worked out are not among these.
        let of_table = format!("SELECT name FROM pragma_table_info('{table}', 'main')");
        let columns = strings(&database, &of_table).join(", ");
        let copy =
            format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}");
        database.execute(&copy, []).unwrap();
    }
    if number < 3 {
        database.execute_batch("DELETE FROM state WHERE code > 100").unwrap();
    }
    database.execute_batch("DETACH new").unwrap();
    database.pragma_update(None, "user_version", number).unwrap();
    database.pragma_update(None, "application_id", gua::store::APPLICATION_ID).unwrap();
    database.close().unwrap();
    fs::rename(&old, path).unwrap();
    assert_eq!(layout(path), number);
}

fn strings(database: &Connection, query: &str) -> Vec<String> {
    let mut query = database.prepare(query).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn layout(path: &Path) -> u32 {
    match identify(path) {
        Identity::Ours { schema_version } => schema_version,
        other => panic!("{other:?}"),
    }
}

/// All that is told of a history: reports by spans and by samples, every row, and whether it
/// is as it must be.
fn told(path: &Path) -> Vec<String> {
    let again = ["--active-percent", "3", "--json"];
    let asked: [(&[&str], &[&str]); 6] = [
        (&["report"], &BOTH_DAYS),
        (&["report", "--json"], &BOTH_DAYS),
        (&["report", again[0], again[1], again[2]], &BOTH_DAYS),
        (&["db", "export", "--what", "spans"], &[]),
        (&["db", "export", "--what", "samples"], &[]),
        (&["db", "check"], &[]),
    ];
    let tell = |(command, window): (&[&str], &[&str])| {
        let mut command = program(command);
        command.arg("--db").arg(path).args(window);
        let Run { code, stdout, stderr } = run(command);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", path.display());
        let layout = format!("layout {}", layout(path));
        stdout.replace(path.to_str().unwrap(), "FILE").replace(&layout, "LAYOUT")
    };
    asked.into_iter().map(tell).collect()
}

/// `gua db prune`, which takes nothing out here.
fn prune(path: &Path) -> std::process::Command {
    let keep = ["--keep-samples", "36500d", "--keep-spans", "36500d"];
    let mut command = program(&["db", "prune"]);
    command.args(keep).arg("--db").arg(path);
    command
}

/// Every file of a folder, with its bytes, but for what SQLite lays beside those that it
/// reads.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_beside = |path: &Path| {
        let name = path.to_str().unwrap();
        name.ends_with("-shm") || name.ends_with("-wal")
    };
    let stays = paths.filter(|path| !is_beside(path));
    stays.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files(folder).keys().map(name).collect()
}
