//! `gua report` on histories made by the real writer.

/// Whose the time was, and what it cost.
mod accounts;
/// Which time a report is about.
mod asked;
/// The rules and thresholds that a report names.
mod basis;
/// What it says of files that are missing, foreign, damaged or in use.
mod files;
/// Somebody who forges what tells a container or a pod.
mod forged;
/// As a page and as pictures.
mod page;
/// How it reads, for a person and for a program.
mod view;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::{Run, program, run};

/// 2024-11-09, a Saturday.
pub(super) const SATURDAY: i64 = 1_731_110_400_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// A folder with a history in it.
pub(super) struct Histories {
    dir: TempDir,
}

impl Histories {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Two days of three cards, with two hours in which nobody recorded.
    pub(super) fn two_days() -> Self {
        let new = Self::new();
        let mut first = Recording::begin(&new.path(), SATURDAY, 15 * MINUTE);
        first.until(SATURDAY + 27 * HOUR, 15, lab);
        first.end("stopped");
        let mut second = Recording::begin(&new.path(), SATURDAY + 29 * HOUR, 15 * MINUTE);
        second.until(SATURDAY + 2 * DAY, 15, lab);
        second.end("stopped");
        new
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    /// The report of it with these options.
    pub(super) fn report(&self, args: &[&str]) -> Run {
        let mut command = program(&["report", "--db"]);
        command.arg(self.path()).args(args);
        run(command)
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        let run = self.report(&[args, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// The whole of [`Histories::two_days`].
pub(super) const BOTH_DAYS: [&str; 4] = ["--from", "2024-11-09", "--until", "2024-11-11"];

/// A card that works by day and is left held in the evening, one that is held all the
/// time, and one that stands free and is lost for two hours.
pub(super) fn lab(at: i64) -> Vec<CardUse> {
    const A100: &str = "NVIDIA A100-SXM4-80GB";
    let hour = (at - SATURDAY) / HOUR % 24;
    let alice = |percent| card(A100, percent).held_by("alice", 1000, 70_000);
    let first = match hour {
        8..18 => alice(80.0),
        18.. => alice(2.0),
        _ => card(A100, 0.0),
    };
    let second = card(A100, 5.0).held_by("bob", 1001, 8_000).held_by_nobody_known(200);
    let third = card("NVIDIA GeForce RTX 4090", 0.0);
    let is_lost = (SATURDAY + 36 * HOUR..SATURDAY + 38 * HOUR).contains(&at);
    vec![first, second, if is_lost { third.lost() } else { third }]
}
