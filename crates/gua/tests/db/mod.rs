//! `gua db` on databases that the real writer made.

/// Whether a file is as it must be, and what is found where it is not.
mod check;
/// Files that were damaged, and files that are somebody else's.
mod damaged;
/// Rows for other programs.
mod export;
/// What is in a file.
mod info;
/// What is too old goes.
mod prune;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gua::classify::{CentiPercent, Evidence, Holds, Kib, State, Work};
use gua::ledger::{
    CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, Period, ProcessKey,
};
use gua::store::{self, Ending, Run, Writer};
use probe::card::{Basis, CardFacts};
use probe::process::Kinds;
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};
use tempfile::TempDir;

use crate::machine::{self, program};

/// 2026-01-01 00:58 UTC: soon there is a full hour.
pub(super) const START: i64 = 1_767_229_080_000;
pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;

/// A run being recorded, tick by tick.
pub(super) struct Recording {
    pub writer: Writer,
    pub at: i64,
}

impl Recording {
    /// Begins one with a tick that speaks for no time, as the recorder does.
    pub fn begin(path: &Path, at: i64) -> Self {
        if !path.exists() {
            store::create(path).unwrap();
        }
        let run = Run {
            host: "lab".into(),
            boot: "boot-1".into(),
            driver: Some("570.86".into()),
            recorder: "gua 0.1.0".into(),
            interval_millis: Some(30_000),
            started: UnixMillis(at),
        };
        let writer = Writer::begin(store::open_to_write(path).unwrap(), &run).unwrap();
        Self { writer, at }
    }

    /// A tick that covers so much time after the last one.
    pub fn tick(&mut self, covers: i64, cards: Vec<CardEntry>) {
        let from = UnixMillis(self.at);
        self.at += covers;
        let at = UnixMillis(self.at);
        let entry = Entry { at, covers: Period::new(from, at), late: None, cards };
        self.writer.record(&entry, &[]).unwrap();
    }

    pub fn end(self) {
        self.writer.end(Ending::Stopped).unwrap();
    }
}

/// A card in a state, with who holds it: pid, user, program, MiB.
pub(super) fn card(index: u32, state: State, holders: &[(u32, &str, &str, u64)]) -> CardEntry {
    let work = match state {
        State::Active => Reading::Known(CentiPercent(8050)),
        State::IdleHeld | State::TrulyIdle => Reading::Known(CentiPercent(0)),
        State::Unknown(why) => Reading::Unknown(why),
    };
    let held: u64 = holders.iter().map(|holder| holder.3).sum();
    CardEntry {
        facts: Arc::new(CardFacts {
            uuid: Reading::Known(format!("GPU-{index}")),
            name: Reading::Known("NVIDIA H100".into()),
            ..CardFacts::unread(index, Why::NotAsked)
        }),
        state,
        evidence: Evidence {
            work,
            held: Kib(held * 1024),
            unseen: Some(Kib(0)),
            hidden: None,
            has_holders: !holders.is_empty(),
        },
        unseen: None,
        measures: Measures {
            basis: work.known().map(|_| Basis::Instant),
            used: work.known().map(|_| Bytes::from_mib(held)),
            total: Some(Bytes::from_mib(81_920)),
            power_milliwatts: work.known().map(|_| 71_500),
            energy_millijoules: None,
            temperature_celsius: None,
        },
        crew: Arc::new(crew(holders)),
    }
}

fn crew(holders: &[(u32, &str, &str, u64)]) -> Crew {
    let identity = |user: &str| Identity {
        user: Some(user.into()),
        uid: Some(1000),
        source: Some(probe::who::Source::Uid),
    };
    let holder = |(pid, user, program, mib): &(u32, &str, &str, u64)| HolderEntry {
        process: ProcessKey { pid: *pid, start_ticks: Some(u64::from(*pid) * 10) },
        identity: identity(user),
        program: Some((*program).into()),
        started: None,
        workload: None,
        command: None,
        kinds: Kinds::COMPUTE,
        memory: Some(Bytes::from_mib(*mib)),
        holds: Holds::Much,
        work: Work::AsTheCard,
    };
    let owner = |holder: &(u32, &str, &str, u64)| OwnerEntry {
        identity: identity(holder.1),
        holds: Holds::Much,
    };
    Crew {
        holders: holders.iter().map(holder).collect(),
        owners: holders.iter().map(owner).collect(),
    }
}

/// Two runs: one of four minutes that was ended, and one that was killed. No holder is on a
/// card twice.
pub(super) fn lab() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START);
    let busy = || card(0, State::Active, &[(100, "alice", "python", 70_000)]);
    let held = || card(1, State::IdleHeld, &[(200, "bob", "=SUM(A1)", 8_000)]);
    run.tick(0, vec![busy(), held()]);
    for _ in 0..6 {
        run.tick(30_000, vec![busy(), held()]);
    }
    run.tick(30_000, vec![busy(), card(1, State::TrulyIdle, &[])]);
    run.end();
    let mut run = Recording::begin(&path, START + HOUR);
    let lost = || card(0, State::Unknown(Why::Lost), &[]);
    run.tick(0, vec![lost()]);
    run.tick(30_000, vec![lost()]);
    drop(run);
    (dir, path)
}

/// The program on a database.
pub(super) fn gua(path: &Path, args: &[&str]) -> machine::Run {
    let mut command = program(&["db"]);
    command.args(args).arg("--db").arg(path);
    let mut run = machine::run(command);
    let folder = path.parent().unwrap().display().to_string();
    run.stdout = run.stdout.replace(&folder, "[DIR]");
    run.stderr = run.stderr.replace(&folder, "[DIR]");
    run
}

/// Changes a database behind the writer's back.
pub(super) fn sql(path: &Path, sql: &str) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF;").unwrap();
    database.execute_batch(sql).unwrap();
}
