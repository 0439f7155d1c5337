//! `gua db` on databases made by the real writer.

/// Whether a file is as it must be.
mod check;
/// Files that are damaged, and files that are not databases of gua.
mod damaged;
/// Rows for other programs.
mod export;
/// What is in a file.
mod info;
/// Rows that are too old are deleted.
mod prune;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::history::{MINUTE, Recording, card};
use crate::machine::{self, program};

/// 2026-01-01 00:58 UTC: a full hour follows soon.
pub(super) const START: i64 = 1_767_229_080_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// Two runs: one of four minutes that was stopped, and one that was killed.
pub(super) fn lab() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START, 30_000);
    let busy = || card("NVIDIA H100", 80.0).held_at_work("alice", (100, 1000), 70_000, 80.0);
    let held = || card("NVIDIA H100", 0.0).held_by("=SUM(A1)", 1001, 8_000);
    for _ in 0..6 {
        run.tick(30_000, &[busy(), held()]);
    }
    run.tick(30_000, &[busy(), card("NVIDIA H100", 0.0)]);
    run.end("stopped");
    let mut run = Recording::begin(&path, START + HOUR, 30_000);
    run.tick(30_000, &[card("NVIDIA H100", 0.0).lost()]);
    drop(run);
    (dir, path)
}

/// Records days of one card, in steps of 20 minutes, from a time on.
pub(super) fn record_days(path: &Path, from: i64, days: i64) {
    let mut run = Recording::begin(path, from, 30_000);
    for day in 0..u32::try_from(days).unwrap() {
        let user = format!("user{day}");
        run.until(from + i64::from(day + 1) * DAY, 20, |at| {
            let percent = if at / (20 * MINUTE) % 7 < 4 { 80.0 } else { 0.0 };
            vec![card("NVIDIA H100", percent).held_by(&user, 1000 + day, 9_000)]
        });
    }
    run.end("stopped");
}

/// Runs the program on a database.
pub(super) fn gua(path: &Path, args: &[&str]) -> machine::Run {
    let mut command = program(&["db"]);
    command.args(args).arg("--db").arg(path);
    let mut run = machine::run(command);
    let folder = path.parent().unwrap().display().to_string();
    run.stdout = run.stdout.replace(&folder, "[DIR]");
    run.stderr = run.stderr.replace(&folder, "[DIR]");
    run
}

/// Changes a database without the writer.
pub(super) fn sql(path: &Path, sql: &str) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF;").unwrap();
    database.execute_batch(sql).unwrap();
}
