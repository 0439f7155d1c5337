//! JSON and CSV of every command that prints them, compared with the files in this folder.
//!
//! Commands run in this process, on simulated cards and a made-up history, at a fixed time.
//! `GUA_GOLDEN=write cargo nextest run -p gua golden` writes the files again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::{NOW, PYTHON_GUA, Run, in_process, project};

/// Name of the file, exit code and arguments. In arguments and files, DIR is a temporary folder.
/// Commands run one after the other: later ones may use what earlier ones wrote.
const CASES: &[(&str, u8, &str)] = &[
    ("stat_lab.json", 0, "lab stat --json"),
    ("stat_lab_one.json", 0, "lab stat --json --id 1 --db DIR/day.db"),
    ("stat_mixed.json", 0, "mixed stat --json"),
    ("who_lab.json", 0, "lab who --json"),
    ("who_lab_idle.json", 0, "lab who --idle 10m --json"),
    ("who_mixed.json", 0, "mixed who --json --user ann"),
    ("query_lab.csv", 0, "lab query"),
    ("query_lab.json", 0, "lab query --json"),
    ("query_lab_twice.json", 0, "lab query --json -n 2 --every 1m --fields card,utilization.gpu"),
    ("query_lab_apps.csv", 0, "lab query --apps"),
    ("query_lab_apps.json", 0, "lab query --apps --json"),
    ("query_lab_dmon.csv", 0, "lab query --preset dmon --format csv -n 2"),
    ("query_lab_pmon.csv", 0, "lab query --preset pmon --format csv -n 1"),
    ("query_lab_smi.csv", 0, "lab query --query-gpu=index,name,uuid,count --format=csv,nounits"),
    (
        "query_lab_smi_apps.csv",
        0,
        "lab query --query-compute-apps=pid,used_memory --format=csv,noheader",
    ),
    (
        "query_mixed.csv",
        0,
        "mixed query --fields card,mig.slot,state,memory.used,memory.unattributed",
    ),
    (
        "query_mixed.json",
        0,
        "mixed query --json --fields card,uuid,state,memory.used,holders,power.draw",
    ),
    (
        "query_mixed_apps.csv",
        0,
        "mixed query --apps --fields card,pid,user,program,used_memory,kind,sm",
    ),
    ("query_fields.json", 0, "lab query --list-fields --json"),
    ("pick_lab.json", 0, "lab pick --json --no-reserve --db DIR/day.db"),
    ("pick_lab_shared.json", 0, "lab pick --json -n 2 --min-free 20GB --max-util 50 --reserve 1m"),
    ("pick_lab_more.json", 1, "lab pick --json -n 3 --no-reserve"),
    ("pick_lab_waited.json", 1, "lab pick --json -n 3 --no-reserve --wait 1m"),
    ("pick_mixed.json", 0, "mixed pick --json --no-reserve"),
    (
        "report.json",
        0,
        "report --db DIR/day.db --json --by user,job,container,pod,notebook,program,card",
    ),
    ("report_user.json", 0, "report --db DIR/day.db --json --user heidi"),
    ("report_compare.json", 0, "report --db DIR/day.db --json --since 6h --compare previous"),
    ("report_user.csv", 0, "report --db DIR/day.db --format csv --price 3"),
    ("report_job.csv", 0, "report --db DIR/day.db --format csv --by job"),
    ("report_container.csv", 0, "report --db DIR/day.db --format csv --by container"),
    ("report_notebook.csv", 0, "report --db DIR/day.db --format csv --by notebook --sort idle"),
    ("report_program.csv", 0, "report --db DIR/day.db --format csv --by program"),
    ("report_cards.csv", 0, "report --db DIR/day.db --format csv --table cards"),
    ("report_sessions.csv", 0, "report --db DIR/day.db --format csv --table sessions --since 6h"),
    ("report_hours.csv", 0, "report --db DIR/day.db --format csv --table hours"),
    ("report_gaps.csv", 0, "report --db DIR/day.db --format csv --table gaps"),
    ("report_compare.csv", 0, "report --db DIR/day.db --format csv --since 6h --compare previous"),
    ("report_python.json", 0, "report --db DIR/python.db --json --since 1h"),
    ("demo.json", 0, "demo --at 2026-11-15T20:00:00Z --json"),
    ("policy_simulate.json", 0, "--config DIR/config.toml policy simulate --db DIR/day.db --json"),
    ("policy_log.json", 0, "policy log --db DIR/day.db --json"),
    ("status.json", 3, "status --db DIR/cycle.db --json"),
    ("config_show.json", 0, "--config DIR/config.toml config show --json --db DIR/day.db"),
    ("config_check.json", 0, "config check DIR/config.toml --json"),
    ("config_check_wrong.json", 2, "config check DIR/wrong.toml --json"),
    ("db_info.json", 0, "db info --db DIR/cycle.db --json"),
    ("db_check.json", 0, "db check --db DIR/cycle.db --json"),
    ("db_export_cards.csv", 0, "db export --db DIR/cycle.db --what cards --since 5m"),
    ("db_export_holders.csv", 0, "db export --db DIR/cycle.db --what holders --since 5m"),
    ("db_export_sessions.csv", 0, "db export --db DIR/cycle.db --what sessions"),
    ("db_export_gaps.csv", 0, "db export --db DIR/day.db --what gaps"),
    ("db_export_events.csv", 0, "db export --db DIR/day.db --what events"),
    ("db_export_samples.csv", 0, "db export --db DIR/cycle.db --what samples --since 5m"),
    (
        "db_export_cards.jsonl",
        0,
        "db export --db DIR/cycle.db --what cards --format jsonl --since 5m",
    ),
    (
        "db_export_holders.jsonl",
        0,
        "db export --db DIR/cycle.db --what holders --format jsonl --since 5m",
    ),
    (
        "db_prune_dry_run.json",
        0,
        "db prune --db DIR/day.db --keep-exact 1h --keep-quarters 6h --dry-run --json",
    ),
    (
        "db_prune.json",
        0,
        "db prune --db DIR/day.db --keep-exact 1h --keep-quarters 6h --yes --json",
    ),
    ("db_import.json", 0, "db import DIR/python.db --db DIR/imported.db --json"),
];

/// Temporary folder with histories and config files.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        for file in ["config.toml", "wrong.toml"] {
            fs::copy(folder().join(file), fixture.path().join(file)).unwrap();
        }
        for demo in ["--db DIR/cycle.db", "--days 1 --db DIR/day.db"] {
            let made = fixture.run(&format!("demo {demo} --at {NOW}"));
            assert_eq!(made.code, Some(0), "{made:?}");
        }
        let python = rusqlite::Connection::open(fixture.path().join("python.db")).unwrap();
        python.execute_batch(PYTHON_GUA).unwrap();
        fixture
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs a command; `lab` or `mixed` before it name its cards.
    fn run(&self, words: &str) -> Run {
        let dir = self.path().to_str().unwrap();
        let words = words.replace("DIR", dir);
        let (cards, words) = match words.split_once(' ') {
            Some(("lab", rest)) => (project().join("scenarios/lab.toml"), rest),
            Some(("mixed", rest)) => (folder().join("mixed.toml"), rest),
            _ => (folder().join("mixed.toml"), words.as_str()),
        };
        let args: Vec<_> = words.split(' ').collect();
        let file = |name: &str| format!("{dir}/{name}");
        let env = [
            ("HOME", file("home")),
            ("GUA_SYSTEM_CONFIG", file("none.toml")),
            ("GUA_RESERVATIONS", file("reservations")),
            ("GUA_SNOOZES", file("snoozes")),
        ];
        let now = NOW.parse().unwrap();
        let scenario = scenario::parse::from_file(&cards).unwrap();
        let (run, _) = in_process(&args, env.into_iter().collect(), scenario, now);
        let stdout = run.stdout.replace(dir, "DIR").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        Run { stdout, ..run }
    }
}

fn folder() -> PathBuf {
    project().join("crates/gua/tests/golden")
}

/// Returns the lines that differ, at most some of them.
fn difference(expected: &str, found: &str) -> String {
    const MOST: usize = 12;
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let lines = 0..expected.len().max(found.len());
    let line = |at: usize| (expected.get(at).copied(), found.get(at).copied());
    let differing = lines.map(|at| (at + 1, line(at))).filter(|(_, (one, other))| one != other);
    let shown = differing.take(MOST).map(|(number, (expected, found))| {
        let show = |line: Option<&str>| line.map_or_else(|| "(none)".to_owned(), str::to_owned);
        format!("  {number} - {}\n  {number} + {}\n", show(expected), show(found))
    });
    shown.collect()
}

#[test]
fn golden_files_are_as_printed() {
    let is_written = std::env::var_os("GUA_GOLDEN").is_some_and(|value| value == "write");
    let fixture = Fixture::new();
    let mut wrong = String::new();
    for (name, code, words) in CASES {
        let run = fixture.run(words);
        if run.code != Some(i32::from(*code)) {
            wrong +=
                &format!("{name}: exit code {:?}, expected {code}: {}\n", run.code, run.stderr);
        }
        let path = folder().join(name);
        if is_written {
            fs::write(&path, &run.stdout).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected != run.stdout {
            wrong += &format!("{name}: gua {words}\n{}", difference(&expected, &run.stdout));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nGUA_GOLDEN=write writes the files again.");
}

#[test]
fn golden_files_are_all_of_a_case() {
    let cases: BTreeSet<_> = CASES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let files = files.map(|name| name.into_string().unwrap());
    let files: BTreeSet<_> =
        files.filter(|name| !name.ends_with(".toml") && !name.ends_with(".rs")).collect();
    assert_eq!(files, cases);
}
