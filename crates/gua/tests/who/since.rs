//! Since when, from a history.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use probe::proc::stat;
use probe::units::UnixMillis;
use serde_json::Value;

use super::{json, text, users};
use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::Machine;
use crate::recorder::Recorder;

const SECOND: i64 = 1000;
const HOUR: i64 = 60 * MINUTE;

/// Three cards that nobody works on, and one that is at work.
const FOUR_CARDS: &str = r#"
[host]
name = "four"
[[card]]
uuid = "GPU-00000000"
utilization = 0
[[card]]
uuid = "GPU-00000001"
utilization = 0
[[card]]
uuid = "GPU-00000002"
utilization = 0
[[card]]
uuid = "GPU-00000003"
utilization = 80
[[process]]
pid = 200
card = 0
user = "bob"
memory = "8000MiB"
begin = "-3d2h"
[[process]]
pid = 300
card = 1
user = "carol"
memory = "8000MiB"
begin = "-2d"
[[process]]
pid = 301
card = 1
user = "dave"
memory = "8000MiB"
begin = "-1h"
[[process]]
pid = 400
card = 2
user = "erin"
memory = "8000MiB"
begin = "-5m"
[[process]]
pid = 500
card = 3
user = "frank"
memory = "8000MiB"
begin = "-5h"
"#;

fn now() -> i64 {
    UnixMillis::from(SystemTime::now()).0
}

/// The history at home, begun after this boot.
fn begin(machine: &Machine, started: i64) -> Recording {
    let path = database(machine);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    Recording::begin_in(boot.trim(), &path, started, 30 * SECOND)
}

fn database(machine: &Machine) -> PathBuf {
    machine.home().join(".gua/gua.db")
}

/// A card that is held by these processes of the machine, as it works so much.
fn held(machine: &Machine, percent: f64, pids: &[u32]) -> CardUse {
    let add = |card: CardUse, pid: &u32| {
        let held = card.held_by_process(*pid, started(machine, *pid), 8000);
        held.of_uid(uid(machine, *pid))
    };
    pids.iter().fold(card("A100", percent), add)
}

fn uid(machine: &Machine, pid: u32) -> u32 {
    let status = fs::read_to_string(machine.root().join(format!("proc/{pid}/status"))).unwrap();
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    uids.split_whitespace().next().unwrap().parse().unwrap()
}

fn started(machine: &Machine, pid: u32) -> u64 {
    let text = fs::read(machine.root().join(format!("proc/{pid}/stat"))).unwrap();
    stat::parse(&text).unwrap().start_ticks
}

/// Bob since 30 h, then the card worked; Carol since before the record begins at 40 h, but it
/// has a hole 20 h ago; Dave since an hour; Erin is too new to be in it.
fn recorded(machine: &Machine) -> Recording {
    let end = now() - 5 * SECOND;
    let mut recording = begin(machine, end - 40 * HOUR);
    let doing = |at: i64| {
        let bob = held(machine, if end - at > 30 * HOUR { 90.0 } else { 1.0 }, &[200]);
        let carol = held(machine, 0.0, if end - at > HOUR { &[300] } else { &[300, 301] });
        vec![bob, carol, card("A100", 0.0), held(machine, 80.0, &[500])]
    };
    recording.until(end - 20 * HOUR, 10, doing);
    recording.skip(10 * MINUTE);
    recording.until(end, 10, doing);
    recording
}

/// Bob's process sleeps beside frank's, and has no data in it.
#[test]
fn memory_on_a_busy_card_and_a_bare_context_are_told() {
    let busy = FOUR_CARDS.replace(
        "card = 0\nuser = \"bob\"\nmemory = \"8000MiB\"",
        "card = 3\nuser = \"bob\"\nmemory = \"400MiB\"",
    );
    let busy = busy.replace("user = \"frank\"", "user = \"frank\"\nsm = 80");
    let machine = Machine::new(&busy);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(5);
    let who = json(&machine, &[]);
    let bob = holder(&who, "bob");
    assert_eq!((&bob["state"], &bob["card_state"]), (&"idle-held".into(), &"active".into()));
    assert_eq!(bob["bare_context"], true);
    assert_eq!(holder(&who, "carol")["bare_context"], false);
    let shown = text(&machine, &[], "140");
    let line = shown.lines().find(|line| line.contains("bob")).unwrap();
    assert!(line.contains("(bare CUDA context) (on a busy card)"), "{shown}");
    assert_eq!(shown.matches("(on a busy card)").count(), 1, "{shown}");
    // Regression: what stood below the table counted other cards than the table had.
    let of_bob = text(&machine, &["--user", "bob"], "140");
    assert!(of_bob.contains("\n1 holder is idle on a busy card. Ask first."), "{of_bob}");
    recorder.end();
}

fn holder<'a>(who: &'a Value, user: &str) -> &'a Value {
    let holders = who["holders"].as_array().unwrap();
    holders.iter().find(|holder| holder["user"] == user).unwrap()
}

fn hours(held: &Value) -> f64 {
    held["idle_seconds"].as_f64().unwrap() / 3600.0
}

#[test]
fn the_longest_idle_comes_first() {
    let machine = Machine::new(FOUR_CARDS);
    let recording = recorded(&machine);
    let who = json(&machine, &[]);
    assert_eq!(who["history"]["state"], "recording", "{who}");
    assert_eq!(users(&who), ["bob", "carol", "dave", "erin", "frank"]);
    let doubts = ["bob", "carol", "dave", "erin"].map(|user| &holder(&who, user)["idle_doubt"]);
    let beginning = Value::from("beginning_not_recorded");
    assert_eq!(doubts, [&beginning, &beginning, &Value::Null, &"not_recorded".into()]);
    assert!((hours(holder(&who, "dave")) - 1.0).abs() < 0.1, "{who}");
    assert_eq!(holder(&who, "frank")["idle_since"], Value::Null);
    assert_eq!(holder(&who, "frank")["state"], "active");
    drop(recording);
}

#[test]
fn it_reads_like_this() {
    let machine = Machine::new(FOUR_CARDS);
    let recording = recorded(&machine);
    insta::with_settings!({filters => vec![
        (r"\w{3} \d+ \w{3}( \d{4})? \d\d:\d\d", "DAY HH:MM"),
        (r"(\s\s)\d\d:\d\d", "${1}HH:MM"),
        (r"DAY HH:MM|HH:MM", "[WHEN]"),
    ]}, {
        insta::assert_snapshot!(text(&machine, &[], "120"), @"
        held on four, longest idle first
             idle  who    card   memory  program  pid  running  idle since
          ≥19h50m  bob    0     7.8 GiB  python   200    3d02h  [WHEN] or before
          ≥19h50m  carol  1     7.8 GiB  python   300    2d00h  [WHEN] or before
            1h00m  dave   1     7.8 GiB  python   301    1h00m  [WHEN]
              now  erin   2     7.8 GiB  python   400       5m  after the last tick, or not recorded
           active  frank  3     7.8 GiB  python   500    5h00m
        3 cards are idle-held. Ask first.
        ");
        insta::assert_snapshot!(text(&machine, &["--idle", "5h"], "120"), @"
        held without working on four for 5h or longer, longest first
             idle  who    card   memory  program  pid  running  idle since
          ≥19h50m  bob    0     7.8 GiB  python   200    3d02h  [WHEN] or before
          ≥19h50m  carol  1     7.8 GiB  python   300    2d00h  [WHEN] or before
        2 cards are idle-held. Ask first.
        ");
    });
    assert_eq!(users(&json(&machine, &["--idle", "30m"])), ["bob", "carol", "dave"]);
    assert_eq!(users(&json(&machine, &["--idle", "30m", "-u", "dave"])), ["dave"]);
    drop(recording);
}

#[test]
fn a_beginning_that_was_seen_is_exact() {
    let machine = Machine::new(FOUR_CARDS);
    let end = now() - 5 * SECOND;
    let mut recording = begin(&machine, end - 10 * HOUR);
    recording.until(end, 10, |at| {
        vec![held(&machine, if end - at > 3 * HOUR { 90.0 } else { 1.0 }, &[200])]
    });
    let who = json(&machine, &[]);
    let bob = holder(&who, "bob");
    assert_eq!((users(&who)[0], &bob["idle_doubt"]), ("bob", &Value::Null), "{bob}");
    assert!((hours(bob) - 3.0).abs() < 0.2, "{bob}");
}

/// Nobody knows what happened since: what is recorded is told, and that it ends.
#[test]
fn a_recorder_that_ended_makes_it_at_least() {
    let machine = Machine::new(FOUR_CARDS);
    let end = now() - 2 * HOUR;
    let mut recording = begin(&machine, end - 4 * HOUR);
    recording.until(end, 10, |_| vec![held(&machine, 1.0, &[200])]);
    let is_at_least = || {
        let who = json(&machine, &["-u", "bob"]);
        assert_eq!(who["history"]["state"], "ended");
        let bob = holder(&who, "bob");
        assert_eq!(bob["idle_doubt"], "recorder_not_running");
        assert_eq!(hours(bob), 4.0, "{bob}");
        assert_eq!(bob["idle_recorded_until"], who["history"]["recorded_until"]);
    };
    // First as if it was killed.
    is_at_least();
    recording.end("stopped");
    is_at_least();
    let run = machine.gua(&["who", "-u", "bob"]);
    assert!(run.stdout.contains(", recorded until "), "{run:?}");
    assert!(run.stderr.starts_with("gua: nothing is recorded since "), "{run:?}");
}

/// Trap: another process with the same number is not the one that held the card.
#[test]
fn a_number_that_is_used_again_is_another_process() {
    let machine = Machine::new(FOUR_CARDS);
    let end = now() - 5 * SECOND;
    let mut recording = begin(&machine, end - 4 * HOUR);
    recording.until(end, 10, |_| vec![card("A100", 1.0).held_by_process(200, 7, 8000)]);
    let who = json(&machine, &["-u", "bob"]);
    assert_eq!(holder(&who, "bob")["idle_doubt"], "not_recorded");
    let text = text(&machine, &["-u", "bob"], "100");
    assert!(text.contains("now  bob"), "{text}");
}

const SHARED: &str = r#"
[[card]]
uuid = "GPU-00000000"
[[process]]
pid = 200
card = 0
user = "bob"
memory = "8000MiB"
begin = "-3d"
[[process]]
pid = 300
card = 0
user = "carol"
memory = "8000MiB"
sm = 70
begin = "-2d"
"#;

/// A notebook that sleeps beside a training job.
#[test]
fn who_sleeps_on_a_busy_card_is_idle_on_it() {
    let machine = Machine::new(SHARED);
    let end = now() - 5 * SECOND;
    let mut recording = begin(&machine, end - 10 * HOUR);
    recording.until(end, 10, |at| {
        let sm = if end - at > 3 * HOUR { 10.0 } else { 0.0 };
        let busy = card("A100", 70.0 + sm);
        let busy = busy.held_at_work("bob", (200, started(&machine, 200)), 8000, sm);
        vec![busy.held_at_work("carol", (300, started(&machine, 300)), 8000, 70.0)]
    });
    let who = json(&machine, &[]);
    assert_eq!(users(&who), ["bob", "carol"]);
    let (bob, carol) = (holder(&who, "bob"), holder(&who, "carol"));
    assert_eq!((&bob["state"], &bob["card_state"]), (&"idle-held".into(), &"active".into()));
    assert!((hours(bob) - 3.0).abs() < 0.2, "{bob}");
    assert_eq!((&carol["state"], &carol["idle_since"]), (&"active".into(), &Value::Null));
    let stat: Value =
        serde_json::from_str(&machine.gua(&["stat", "--json", "--tz", "+05:30"]).stdout).unwrap();
    let holders = stat["cards"][0]["holders"].as_array().unwrap();
    let in_stat = holders.iter().find(|it| it["user"] == "bob").unwrap();
    for field in ["state", "idle_since", "idle_certainty", "idle_source", "idle_doubt"] {
        assert_eq!(in_stat[field], bob[field], "{field}");
    }
    let shown = machine.gua(&["stat", "--no-header"]).stdout;
    assert!(shown.lines().any(|line| line.contains(" idle since ")), "{shown}");
    let text = text(&machine, &[], "100");
    assert!(text.contains("\n1 holder is idle on a busy card. Ask first."), "by bob: {text}");
}

/// Regression: without a history it was called active, as its card is.
#[test]
fn who_sleeps_on_a_busy_card_is_idle_now_where_nothing_is_recorded() {
    let machine = Machine::new(SHARED);
    let who = json(&machine, &[]);
    assert_eq!(users(&who), ["bob", "carol"]);
    let (bob, carol) = (holder(&who, "bob"), holder(&who, "carol"));
    assert_eq!((&bob["state"], &bob["card_state"]), (&"idle-held".into(), &"active".into()));
    assert_eq!((&bob["idle_seconds"], &bob["idle_doubt"]), (&Value::Null, &"no_history".into()));
    assert_eq!(carol["state"], "active");
    let text = text(&machine, &[], "120");
    assert!(text.contains("now  bob") && text.contains("(on a busy card)"), "{text}");
}

/// A moment is short: who worked up to the last tick is not called asleep for it.
#[test]
fn who_worked_at_the_last_tick_does_not_sleep_yet() {
    let machine = Machine::new(SHARED);
    let end = now() - 5 * SECOND;
    let mut recording = begin(&machine, end - HOUR);
    recording.until(end, 10, |_| {
        let busy = card("A100", 80.0);
        let busy = busy.held_at_work("bob", (200, started(&machine, 200)), 8000, 10.0);
        vec![busy.held_at_work("carol", (300, started(&machine, 300)), 8000, 70.0)]
    });
    let who = json(&machine, &[]);
    assert_eq!(who["history"]["state"], "recording", "{who}");
    assert_eq!(holder(&who, "bob")["state"], "active");
}

/// What is recorded becomes final some seconds later: a recorder that has just begun says nothing yet.
#[test]
fn recorder_that_has_just_begun_is_recording() {
    let machine = Machine::new(FOUR_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(4);
    let who = json(&machine, &[]);
    assert_eq!(who["history"]["state"], "recording", "{who}");
    let bob = holder(&who, "bob");
    let doubt = bob["idle_doubt"].as_str().unwrap();
    assert!(["not_recorded", "beginning_not_recorded"].contains(&doubt), "{bob}");
    assert_eq!(users(&who)[4], "frank");
    recorder.end();
}
