//! Lines that were changed after something was recorded, and what rests on which.

use std::fs;

use gua::classify::Thresholds;
use gua::store::Ending;
use probe::units::Percent;
use serde_json::{Value, json};

use super::record::{Doing, MINUTE, Recording, card};
use super::{HOUR, Histories, SATURDAY};
use crate::machine::{Run, program, run};

const DAY: [&str; 4] = ["--from", "2024-11-09", "--until", "2024-11-10"];
const A100: &str = "NVIDIA A100-SXM4-80GB";

/// Bob holds a card idle, alice one that works at 12 %.
fn held(_: i64) -> Vec<Doing> {
    vec![
        card(A100, 0.0).held_at_work("bob", (100, 1), 8_000, 0.0),
        card(A100, 12.0).held_at_work("alice", (200, 1), 30_000, 12.0),
    ]
}

fn a_day() -> Histories {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    recording.until(SATURDAY + 24 * HOUR, 5, held);
    recording.end(Ending::Stopped);
    histories
}

/// The report with this config file.
fn with(histories: &Histories, config: &str, args: &[&str]) -> Run {
    let path = histories.dir().join("config.toml");
    fs::write(&path, config).unwrap();
    let mut command = program(&["report", "--config"]);
    command.arg(path).arg("--db").arg(histories.path()).args(DAY).args(args);
    run(command)
}

fn json_with(histories: &Histories, config: &str, args: &[&str]) -> Value {
    let run = with(histories, config, &[args, &["--json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

const FIFTEEN: &str = "[thresholds]\nactive_percent = 15\n";

/// Trap: with one changed threshold, nobody was there any more.
#[test]
fn who_was_recorded_by_other_lines_is_still_there() {
    let histories = a_day();
    let usual = json_with(&histories, "", &[]);
    assert_eq!(usual["accounts_judged_by"], Value::Null);
    let report = json_with(&histories, FIFTEEN, &[]);
    for part in ["accounts", "sessions", "identities"] {
        assert_eq!(report[part], usual[part], "{part}");
    }
    // The cards are judged by the new line, which alice's is below.
    assert_eq!(report["cards"][1]["states"]["idle_held"]["share"], 1.0);
    let lines = json!([{
        "from": "2024-11-09T00:00:00Z", "to": "2024-11-10T00:00:00Z",
        "active_percent": 10.0, "held_mb": 100, "worked_percent": 1.0,
    }]);
    assert_eq!(report["accounts_judged_by"]["lines"], lines);
    assert_eq!(report["accounts_judged_by"]["idle_held_gpu_hours"], 24.0);
    let page = json_with(&histories, FIFTEEN, &["--user", "bob"]);
    assert_eq!(page["person"]["idle_held_gpu_hours"], 24.0);
}

#[test]
fn it_says_by_which_lines_and_advises_nothing_that_was_not_typed() {
    let histories = a_day();
    for format in ["text", "markdown"] {
        let shown = with(&histories, FIFTEEN, &["--width", "300", "--format", format]).stdout;
        let sentence = "accounts and sessions are as they were recorded, and need not add up to the \
                        cards: by active ≥ 10 %, held > 100 MiB, working ≥ 1 % of the SMs (9 Nov \
                        00:00 → 10 Nov 2024 00:00 UTC)";
        assert!(shown.replace("\\>", ">").contains(sentence), "{shown}");
        assert!(!shown.contains("--active-percent"), "{shown}");
        let shown = with(&histories, "", &["--width", "300", "--format", format]).stdout;
        assert!(!shown.contains("as they were recorded"), "{shown}");
    }
    let typed = with(&histories, "", &["--active-percent", "15", "--width", "300"]);
    assert!(typed.stdout.contains("as they were recorded") && typed.stdout.contains(" bob "));
}

/// A line that was changed at noon.
#[test]
fn lines_that_were_changed_in_between_are_told_with_their_times() {
    let histories = Histories::new();
    let mut first = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    first.until(SATURDAY + 12 * HOUR, 5, held);
    first.end(Ending::Stopped);
    let later =
        Thresholds { active: Percent(15.0), worked: Percent(20.0), ..Thresholds::default() };
    let mut second =
        Recording::begin(&histories.path(), SATURDAY + 12 * HOUR, 5 * MINUTE).by(later);
    second.until(SATURDAY + 24 * HOUR, 5, held);
    second.end(Ending::Stopped);
    let report = json_with(&histories, "", &[]);
    let lines = report["accounts_judged_by"]["lines"].as_array().unwrap();
    let told: Vec<_> = lines
        .iter()
        .map(|it| [&it["from"], &it["active_percent"], &it["worked_percent"]])
        .collect();
    assert_eq!(
        json!(told),
        json!([["2024-11-09T00:00:00Z", 10.0, 1.0], ["2024-11-09T12:00:00Z", 15.0, 20.0],])
    );
    // Alice is idle by the later lines, in which 12 % is no work.
    let alice = |field: &str| {
        let accounts = report["accounts"].as_array().unwrap();
        accounts.iter().find(|it| it["name"] == "alice").unwrap()[field].clone()
    };
    assert_eq!((alice("worked_gpu_hours"), alice("idle_gpu_hours")), (12.0.into(), 12.0.into()));
    let own = "[thresholds]\nactive_percent = 15\nworked_percent = 20\n";
    fs::write(histories.dir().join("own.toml"), own).unwrap();
    let config = histories.dir().join("own.toml").display().to_string();
    let afternoon = ["--config", &config, "--from", "2024-11-09 12:00", "--until", "2024-11-10"];
    let own = histories.json(&afternoon);
    assert_eq!((&own["accounts_judged_by"], &own["judged_again"]), (&Value::Null, &Value::Null));
}

/// Whether a holder works is judged when it is recorded: another line changes nothing later, and
/// that is said.
#[test]
fn a_line_of_holders_that_was_changed_is_said_to_have_no_effect() {
    let histories = a_day();
    let report =
        json_with(&histories, "[thresholds]\nworked_percent = 50\ncontext_mb = 300\n", &[]);
    let thresholds = json!({
        "active_percent": 10.0, "held_mb": 100, "worked_percent": 50.0, "context_mb": 300,
    });
    assert_eq!(report["thresholds"], thresholds);
    assert_eq!(report["judged_again"], Value::Null, "cards are judged the same");
    assert_eq!(report["accounts_judged_by"]["lines"][0]["worked_percent"], 1.0);
}

#[test]
fn where_no_samples_are_kept_accounts_still_are() {
    let histories = a_day();
    let database = rusqlite::Connection::open(histories.path()).unwrap();
    database.execute("DELETE FROM sample", []).unwrap();
    for format in ["text", "markdown"] {
        let shown = with(&histories, FIFTEEN, &["--width", "300", "--format", format]).stdout;
        assert!(shown.contains("No samples are kept of this window"), "{shown}");
        let step = "--until 2024-11-10T00:00:00Z --active-percent 10 --held-mb 100";
        assert!(shown.contains(step), "{shown}");
        assert!(shown.contains("Top identities") && shown.contains(" bob "), "{shown}");
    }
    assert!(with(&histories, FIFTEEN, &["--user", "bob"]).stdout.contains("What bob held"));
}

/// Of one person's page: the suggestion, and all of it as text.
fn page(doing: impl Fn(i64) -> Vec<Doing>) -> (Value, String) {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    recording.until(SATURDAY + 24 * HOUR, 5, doing);
    recording.end(Ending::Stopped);
    let report = json_with(&histories, "", &["--user", "bob"]);
    let shown = with(&histories, "", &["--user", "bob", "--width", "200"]).stdout;
    (report["person"].clone(), shown)
}

/// Trap: what somebody held while they worked was left out.
#[test]
fn a_smaller_card_is_suggested_only_where_all_work_would_fit() {
    let bob = |at: i64, mib: u64| {
        let is_idle = at < SATURDAY + HOUR;
        let (percent, mib) = if is_idle { (0.0, 5_000) } else { (90.0, mib) };
        vec![card(A100, percent).held_at_work("bob", (100, 1), mib, percent)]
    };
    let (large, shown) = page(|at| bob(at, 60_000));
    assert_eq!(large["suggestion"]["kind"], "nothing", "{shown}");
    assert_eq!(large["peak_memory_bytes"], 60_000_u64 << 20);
    let (small, _) = page(|at| bob(at, 8_000));
    assert_eq!(small["suggestion"]["kind"], "smaller_card");
    assert_eq!(small["suggestion"]["peak_memory_bytes"], 8_000_u64 << 20);
}

/// Trap: the page said that nothing was idle, and that all of the card was.
#[test]
fn work_below_the_cards_line_is_told_as_that() {
    let (person, shown) = page(|_| vec![card(A100, 5.0).held_at_work("bob", (1, 1), 60_000, 5.0)]);
    assert_eq!(
        (&person["idle_held_gpu_hours"], &person["idle_gpu_hours"]),
        (&24.0.into(), &0.0.into())
    );
    assert_eq!(person["worked_on_idle_held_gpu_hours"], 24.0);
    assert_eq!(person["suggestion"], json!({"kind": "worked_little", "gpu_hours": 24.0}));
    assert!(
        shown.contains("24.0 of it under 10 % of the card, which is idle-held then"),
        "{shown}"
    );
    assert!(shown.contains("Work more at a time, or share the card"), "{shown}");
}

/// Where the driver does not tell what each process did, what the card did is told, and marked.
#[test]
fn what_is_known_only_of_the_card_is_marked() {
    let (person, shown) = page(|_| {
        let first = card(A100, 0.0).held_by("bob", 1001, 60_000).untold();
        vec![first, card(A100, 0.0).held_by("bob", 1001, 60_000)]
    });
    assert_eq!(person["as_the_card_gpu_hours"], 24.0);
    assert_eq!(person["idle_gpu_hours"], 48.0);
    assert!(shown.contains("24.0 GPU-hours of these are by their card's state"), "{shown}");
    assert_eq!(shown.matches("(by its card's state)").count(), 1, "{shown}");
}
