//! `/metrics`: what it says, and that it goes on.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::engine::{free_port, programs, request};
use crate::machine::Machine;
use crate::recorder::{OBSERVED, Recorder, TWO_CARDS, number, until};

/// The token of those that have one.
pub(super) const TOKEN: &str = "0123456789abcdef0123";

/// A recorder that listens, and its port; what was recorded before is counted.
pub(super) fn listening(machine: &Machine, more: &[&str]) -> (Recorder, u16) {
    let port = free_port();
    let listen = port.to_string();
    let args = [&["--interval", "100ms", "--listen", &listen], more].concat();
    let recorder = Recorder::with(machine, &args, |_| ());
    let token = format!("Bearer {TOKEN}");
    until("it has counted", || {
        let answer = request(port, "GET", "/metrics", &[("Authorization", &token)], b"");
        // Nobody answers like this who speaks TLS.
        answer.is_none_or(|(status, _)| status != 503)
    });
    (recorder, port)
}

pub(super) fn scrape(port: u16) -> String {
    let mut told = None;
    until("metrics are answered", || {
        told = request(port, "GET", "/metrics", &[], b"").filter(|(status, _)| *status == 200);
        told.is_some()
    });
    told.unwrap().1
}

/// The value of a series, as it is written.
pub(super) fn value(told: &str, series: &str) -> Option<f64> {
    let line = told
        .lines()
        .find(|line| line.strip_prefix(series).is_some_and(|it| it.starts_with(' ')))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

const ACTIVE: &str = "gua_gpu_state_seconds_total{UUID=\"GPU-a\",state=\"active\"}";
const SHARE: &str = "gua_user_gpu_seconds_total{UUID=\"GPU-a\",user=\"alice\",state=\"active\"}";

/// What differs from run to run taken out.
fn plain(told: &str) -> String {
    let keep = |line: &str| match line.rsplit_once(' ') {
        Some((series, _)) if !line.starts_with('#') && is_moving(series) => {
            format!("{series} [N]\n")
        }
        _ => format!("{line}\n"),
    };
    told.lines().map(keep).collect()
}

fn is_moving(series: &str) -> bool {
    ["_seconds", "_joules", "_ratio", "_watts"].iter().any(|unit| series.contains(unit))
}

#[test]
fn every_series_is_there_and_well_formed() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    scrape(port);
    until("time was counted", || value(&scrape(port), ACTIVE).is_some_and(|it| it > 0.5));
    let told = scrape(port);
    let open = request(port, "GET", "/metrics", &[("Accept", "application/openmetrics-text")], b"");
    recorder.end();
    insta::assert_snapshot!(plain(&told));
    let (_, open) = open.unwrap();
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE gua_gpu_busy_seconds counter"));
    if let Some(programs) = programs("every_series_is_there_and_well_formed") {
        assert_eq!(lint(&programs, &told), "");
    }
}

/// What promtool has to say about it.
fn lint(programs: &Path, told: &str) -> String {
    let mut promtool = Command::new(programs.join("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A scrape that sees a series for the first time sees it with 0, so that an increase is seen.
#[test]
fn new_series_begin_with_0() {
    let machine = Machine::new(
        "[[card]]\nuuid = \"GPU-a\"\nutilization = 80\n[[process]]\npid = 1\ncard = 0\n\
         memory = \"9GiB\"\nuser = \"alice\"\nbegin = \"3s\"\n",
    );
    let (recorder, port) = listening(&machine, &[]);
    assert_eq!(value(&scrape(port), SHARE), None);
    let mut seen = Vec::new();
    until("alice is counted", || {
        seen.extend(value(&scrape(port), SHARE));
        seen.last().is_some_and(|it| *it > 0.0)
    });
    assert!(seen.len() > 1 && seen[0] == 0.0, "{seen:?}");
    recorder.end();
}

/// Also for a second scraper, and whatever others ask meanwhile.
#[test]
fn new_series_begin_with_0_for_everybody() {
    let machine = Machine::new(
        "[[card]]\nuuid = \"GPU-a\"\nutilization = 80\n[[process]]\npid = 1\ncard = 0\n\
         memory = \"9GiB\"\nuser = \"alice\"\nbegin = \"3s\"\n",
    );
    let (recorder, port) = listening(&machine, &[]);
    let scrape_as = |agent: &str| {
        let told = request(port, "GET", "/metrics", &[("User-Agent", agent)], b"").unwrap();
        value(&told.1, SHARE)
    };
    until("metrics are answered", || {
        request(port, "HEAD", "/metrics", &[], b"").is_some_and(|(status, _)| status == 200)
    });
    assert_eq!((scrape_as("one"), scrape_as("two")), (None, None));
    until("alice is counted", || scrape_as("one").is_some_and(|seconds| seconds > 0.5));
    assert_eq!(scrape_as("two"), Some(0.0), "it is new to them");
    assert!(scrape_as("two").unwrap() > 0.5);
    recorder.end();
}

/// Counters are kept in the database, whether or not somebody listens.
#[test]
fn counters_go_on_whether_or_not_somebody_listens() {
    let machine = Machine::new(TWO_CARDS);
    for listens in [false, true, false] {
        let (mut recorder, _) = match listens {
            true => listening(&machine, &[]),
            false => (Recorder::start(&machine), 0),
        };
        recorder.goes_on();
        recorder.goes_on();
        let path = recorder.database.clone();
        recorder.end();
        let text = served(&path);
        let counted = value(&text, "gua_observed_seconds_total").unwrap();
        // Both cards were observed all the time.
        let stored = number(&path, OBSERVED) as f64 / 2000.0;
        assert!(counted > 0.0 && (counted - stored).abs() < 0.01, "{counted} s, stored {stored} s");
        let since = value(&text, "gua_counting_since_timestamp_seconds").unwrap();
        assert_eq!(since, number(&path, "SELECT min(started_ms) FROM run") as f64 / 1000.0);
    }
}

/// Jobs have series of their own where the config asks for them; those of users stay as they are.
#[test]
fn jobs_are_told_apart_where_that_is_asked_for() {
    let machine = Machine::bundled("lab.toml");
    std::fs::create_dir_all(machine.home().join(".gua")).unwrap();
    let config = "[metrics]\njob = true\n";
    std::fs::write(machine.home().join(".gua/config.toml"), config).unwrap();
    let (recorder, port) = listening(&machine, &[]);
    let is_job = |line: &str| line.contains("slurm_job=\"4711\"");
    let is_counted =
        |line: &str| line.starts_with("gua_workload_gpu_seconds_total{") && !line.ends_with(" 0");
    until("the job is counted", || {
        scrape(port).lines().any(|line| is_job(line) && is_counted(line))
    });
    let told = scrape(port);
    assert!(!told.lines().any(|line| line.starts_with("gua_user_") && is_job(line)), "{told}");
    recorder.end();
}

/// Who cannot be told apart is counted with others, and that is said once.
#[test]
fn a_cap_that_is_reached_is_said() {
    let machine = Machine::new(&format!(
        "{TWO_CARDS}\n[[process]]\npid = 900\ncard = 0\nmemory = \"2GiB\"\nuser = \"zoe\"\n"
    ));
    std::fs::create_dir_all(machine.home().join(".gua")).unwrap();
    let config = "[metrics]\nmost_owners = 1\n";
    std::fs::write(machine.home().join(".gua/config.toml"), config).unwrap();
    let (mut recorder, port) = listening(&machine, &[]);
    let capped = || value(&scrape(port), "gua_errors_total{reason=\"owners_capped\"}");
    until("it is counted", || capped().unwrap() > 0.0);
    assert!(scrape(port).contains("user=\"others\""));
    recorder.goes_on();
    let said = recorder.said();
    assert_eq!(
        said.matches("more than 1 people hold cards (metrics.most_owners)").count(),
        1,
        "{said}"
    );
    recorder.end();
}

/// After a stop and after a kill, they go on from where anybody has seen them.
#[test]
fn counters_go_on() {
    let machine = Machine::new(TWO_CARDS);
    let mut last = 0.0;
    for round in 0..3 {
        let (mut recorder, port) = listening(&machine, &[]);
        let told = scrape(port);
        let first = value(&told, ACTIVE).unwrap();
        assert!(first >= last, "round {round}: {first} after {last}");
        until("time was counted", || {
            last = value(&scrape(port), ACTIVE).unwrap();
            last > first + 0.3
        });
        recorder.goes_on();
        if round == 1 { recorder.kill() } else { recorder.end() }
    }
}

/// Counters say the same as the record, for each state and each share.
#[test]
fn counters_agree_with_the_record() {
    let machine = Machine::bundled("lab.toml");
    let (recorder, port) = listening(&machine, &[]);
    until("time was counted", || value(&scrape(port), "gua_observed_seconds_total").unwrap() > 2.0);
    let path = recorder.database.clone();
    recorder.end();
    let text = served(&path);
    let sum = |name: &str, label: &str| -> f64 {
        let series = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        let series = series.filter(|line| line.contains(label));
        series.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    for (state, column) in [
        ("active", "active_ms"),
        ("idle_held", "idle_held_ms"),
        ("truly_idle", "free_ms"),
        ("unknown", "unknown_ms"),
    ] {
        let counted = sum("gua_gpu_state_seconds_total", &format!("state=\"{state}\""));
        let stored = number(&path, &format!("SELECT sum({column}) FROM card_span"));
        assert!(
            (counted - stored as f64 / 1000.0).abs() < 0.05,
            "{state}: {counted} s, {stored} ms"
        );
    }
}

/// `gua serve` on a history; it ends with the test.
pub(super) struct Server {
    child: Child,
    _log: tempfile::NamedTempFile,
}

impl Server {
    pub fn start(database: &Path, args: &[&str]) -> (Self, u16) {
        let port = free_port();
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command =
            crate::machine::program(&["serve", "--listen", &port.to_string(), "--db"]);
        command.arg(database).args(args).stderr(log.reopen().unwrap());
        (Self { child: command.spawn().unwrap(), _log: log }, port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `gua serve` says of a history.
fn served(database: &Path) -> String {
    let (_server, port) = Server::start(database, &[]);
    scrape(port)
}

#[test]
fn a_history_is_served_as_it_grows() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(5);
    let (_server, port) = Server::start(&recorder.database, &[]);
    let first = value(&scrape(port), ACTIVE).unwrap();
    until("it grows", || value(&scrape(port), ACTIVE).unwrap() > first + 0.3);
    recorder.end();
}
