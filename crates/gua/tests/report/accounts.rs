//! Whose the time was, which sessions there were, and what it cost.

use std::fs;

use gua_core::identity::{Client, Container, Job, Notebook, Pod, Runtime, Source, Told, Who};
use jiff::Timestamp;
use serde_json::Value;

use super::{BOTH_DAYS, HOUR, Histories, SATURDAY};
use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::{Run, program, run};

const KINDS: [&str; 7] = ["user", "job", "container", "pod", "notebook", "program", "card"];
const DAY: [&str; 4] = ["--from", "2024-11-09", "--until", "2024-11-10"];
const A100: &str = "NVIDIA A100-SXM4-80GB";

fn told<T>(value: T, source: Source) -> Option<Told<T>> {
    Some(Told { value, source })
}

fn notebook(path: &str) -> Who {
    let notebook = Notebook { kernel: None, path: Some(path.into()), client: Client::Jupyter };
    Who { notebook: told(notebook, Source::AncestorEnvironment), ..Who::default() }
}

fn job(id: &str, source: Source) -> Who {
    let job = told(Job { id: id.into(), step: None }, source);
    Who { job, script: Some("fit.py".into()), ..Who::default() }
}

fn in_a_container() -> Who {
    let container = Container {
        runtime: Runtime::Docker,
        id: "0123456789abcdef".repeat(4).into(),
        name: Some("quiet_fox".into()),
    };
    let pod =
        Pod { uid: "0-1-2".into(), name: Some("fit-0".into()), namespace: Some("lab".into()) };
    let (container, pod) = (told(container, Source::Cgroup), told(pod, Source::PodLogs));
    Who { container, pod, ..Who::default() }
}

/// Two cards: on one a job works by day and bob's notebook sleeps beside it, on the other
/// somebody says to be of that job, something sits in a container, and memory is nobody's.
fn shared(at: i64) -> Vec<CardUse> {
    let hour = (at - SATURDAY) / HOUR % 24;
    let work = if (8..18).contains(&hour) { 70.0 } else { 0.0 };
    let first = card(A100, work)
        .held_at_work("alice", (100, 1), 30_000, work)
        .running_for(job("4711", Source::Cgroup))
        .held_by("bob", 1001, 10_000)
        .running_for(notebook("exp/sweep.ipynb"));
    let second = card("NVIDIA GeForce RTX 4090", 0.0)
        .held_by("mallory", 1002, 6_000)
        .running_for(job("4711", Source::Environment))
        .held_by("root", 0, 500)
        .running_for(in_a_container())
        .with_unlisted(1_500);
    vec![first, second]
}

/// A day of it, recorded and ended.
fn a_day() -> Histories {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    recording.until(SATURDAY + 24 * HOUR, 5, shared);
    recording.end("stopped");
    histories
}

/// The last two hours of it, which go on.
fn until_now() -> (Histories, Recording) {
    let histories = Histories::new();
    let end = Timestamp::now().as_millisecond();
    let begin = end - 2 * HOUR;
    let mut recording = Recording::begin(&histories.path(), begin, MINUTE);
    // At midnight of that Saturday nobody works.
    recording.until(end - MINUTE, 1, |_| shared(SATURDAY));
    (histories, recording)
}

fn hours(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap()
}

#[test]
fn accounts_of_every_kind_add_up_to_the_cards() {
    let histories = a_day();
    let kinds = KINDS.join(",");
    let report = histories.json(&[&DAY[..], &["--by", &kinds]].concat());
    for state in ["active", "idle_held", "unknown"] {
        let cards = hours(&report["states"][state], "gpu_hours");
        for kind in KINDS {
            let accounts = report["accounts"].as_array().unwrap();
            let of_kind = accounts.iter().filter(|account| account["by"] == kind);
            let field = format!("{state}_gpu_hours");
            let sum: f64 = of_kind.map(|account| hours(account, &field)).sum();
            assert!((sum - cards).abs() < 1.0 / 3_600_000.0, "{kind}: {sum} and not {cards}");
        }
    }
}

#[test]
fn accounts_are_sorted_as_asked() {
    let histories = a_day();
    let names = |order: &[&str]| -> Vec<String> {
        let report = histories.json(&[&DAY[..], order].concat());
        let accounts = report["accounts"].as_array().unwrap();
        let name = |account: &Value| account["name"].as_str().unwrap_or("unlisted").to_owned();
        accounts.iter().map(name).collect()
    };
    assert_eq!(names(&[])[..2], ["alice", "mallory"]);
    assert_eq!(names(&["--sort", "idle"])[0], "mallory");
    assert_eq!(names(&["--sort", "active"])[0], "alice");
    let dear = ["--sort", "cost", "--price", "1", "--price", "A100=9"];
    assert_eq!(names(&dear)[0], "alice");
    let unpriced = histories.report(&[&DAY[..], &["--sort", "cost", "--price", "B200=3"]].concat());
    assert_eq!((unpriced.code, unpriced.stdout.as_str()), (Some(2), ""), "{unpriced:?}");
    assert!(unpriced.stderr.contains("no price fits any card"), "{unpriced:?}");
}

#[test]
fn accounts_of_every_kind_for_a_person() {
    let histories = a_day();
    let shown =
        histories.report(&[&DAY[..], &["--by", &KINDS.join(","), "--width", "100"]].concat());
    let (_, rest) = shown.stdout.split_once("§4").unwrap();
    insta::assert_snapshot!(rest.split("§5").next().unwrap(), @"
    Accounts (GPU-hours; shared cards are split; columns add up to §1)
     user      active  idle-held  = unused  + low use  unknown  total  share
     alice       10.0       10.5      10.5          0        0   20.5   43 %
     mallory        0       18.0      18.0          0        0   18.0   38 %
     unlisted       0        4.5       4.5          0        0    4.5    9 %
     bob            0        3.5       3.5          0        0    3.5    7 %
     root           0        1.5       1.5          0        0    1.5    3 %
     all         10.0       38.0      38.0          0        0   48.0  100 %

     job       who      active  idle-held  = unused  + low use  unknown  total  share
     4711      alice      10.0       10.5      10.5          0        0   20.5   43 %
     4711      mallory       0       18.0      18.0          0        0   18.0   38 %
     no job                  0        5.0       5.0          0        0    5.0   10 %
     unlisted                0        4.5       4.5          0        0    4.5    9 %
     all                  10.0       38.0      38.0          0        0   48.0  100 %

     container     active  idle-held  = unused  + low use  unknown  total  share
     no container    10.0       32.0      32.0          0        0   42.0   88 %
     unlisted           0        4.5       4.5          0        0    4.5    9 %
     quiet_fox          0        1.5       1.5          0        0    1.5    3 %
     all             10.0       38.0      38.0          0        0   48.0  100 %

     pod        active  idle-held  = unused  + low use  unknown  total  share
     no pod       10.0       32.0      32.0          0        0   42.0   88 %
     unlisted        0        4.5       4.5          0        0    4.5    9 %
     lab/fit-0       0        1.5       1.5          0        0    1.5    3 %
     all          10.0       38.0      38.0          0        0   48.0  100 %

     notebook         who  active  idle-held  = unused  + low use  unknown  total  share
     no notebook             10.0       30.0      30.0          0        0   40.0   83 %
     unlisted                   0        4.5       4.5          0        0    4.5   10 %
     exp/sweep.ipynb  bob       0        3.5       3.5          0        0    3.5    7 %
     all                     10.0       38.0      38.0          0        0   48.0  100 %

     program        active  idle-held  = unused  + low use  unknown  total  share
     python fit.py    10.0       28.5      28.5          0        0   38.5   80 %
     python              0        5.0       5.0          0        0    5.0   11 %
     unlisted            0        4.5       4.5          0        0    4.5    9 %
     all              10.0       38.0      38.0          0        0   48.0  100 %

     card              active  idle-held  = unused  + low use  unknown  total  share
     1 RTX 4090             0       24.0      24.0          0        0   24.0   50 %
     0 A100-SXM4-80GB    10.0       14.0      14.0          0        0   24.0   50 %
     all                 10.0       38.0      38.0          0        0   48.0  100 %
     unused: memory held, no work. low use: work below 10 % of the card. unlisted: memory that no
     listed process holds.
    ");
}

#[test]
fn sessions_that_are_on_say_what_to_type() {
    let (histories, _recording) = until_now();
    let shown = |hosts_name: &str| {
        let root = histories.dir().join("root");
        fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
        fs::write(root.join("proc/sys/kernel/hostname"), hosts_name).unwrap();
        let mut command = program(&["report", "--since", "3h", "--width", "80", "--db"]);
        run({
            command.arg(histories.path()).env("GUA_HOST_ROOT", root);
            command
        })
    };
    let here = sessions(&shown("lab-a100"));
    insta::assert_snapshot!(here, @"
    now, longest first
      idle  who      card    memory  what           pid  when
    ≥1h59m  alice       0  29.3 GiB  job 4711, fi…  100
      → ask: `gua who --user alice`, end: `scancel 4711`
    ≥1h59m  bob         0   9.8 GiB  sweep.ipynb    101
      → ask: `gua who --user bob`, end: `kill 101`
    ≥1h59m  mallory     1   5.9 GiB  job 4711 (by…  200
      → ask: `gua who --user mallory`, end: `kill 200`
    ≥1h59m  root        1   0.5 GiB  pod lab/fit-…  201
      → ask: `gua who --user root`, end: `kubectl delete pod fit-0 -n lab`
    ");
    assert!(sessions(&shown("elsewhere")).contains("  commands are for lab-a100\n"));
    let open = histories.json(&["--since", "3h"])["sessions"].as_array().unwrap().clone();
    assert!(open.iter().all(|session| session["open"] == true), "{open:?}");
}

/// The section, without what depends on the clock.
fn sessions(run: &Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    let (_, rest) = run.stdout.split_once("\nHolding sessions\n").unwrap();
    let lines = rest.split("\n\n").next().unwrap().lines();
    // Who may end something without leave depends on who runs the test.
    let told = lines.map(|line| line.split("  since ").next().unwrap().replace("sudo ", ""));
    told.map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// It was on when the window ended: whether it went on, the window does not say.
#[test]
fn sessions_of_a_window_that_is_over_are_not_on() {
    let report = a_day().json(&DAY);
    let sessions = report["sessions"].as_array().unwrap();
    let is_at_the_end = |session: &&Value| session["to"] == "2024-11-10T00:00:00Z";
    assert_eq!(sessions.iter().filter(is_at_the_end).count(), 4);
    for session in sessions {
        let is_over = session["to"] != "2024-11-10T00:00:00Z";
        let expected = if is_over { Value::from(false) } else { Value::Null };
        assert_eq!(session["open"], expected, "{session}");
        assert_eq!(session["end"], Value::Null);
    }
    let bobs = sessions.iter().find(|session| session["user"] == "bob").unwrap();
    assert_eq!(bobs["busy_card_seconds"], 10.0 * 3600.0);
    assert_eq!(bobs["identity"]["notebook"]["path"], "exp/sweep.ipynb");
    assert_eq!(bobs["identity"]["notebook"]["source"], "ancestor_environment");
}

/// Everything that `--user` prints, in every format.
fn all_formats(histories: &Histories, user: &str) -> String {
    let all_kinds = KINDS.join(",");
    let print = |format: &[&str], by: &str| {
        let asked = ["--user", user, "--by", by, "--sessions", "all", "--compare", "previous"];
        let run = histories.report(&[&DAY[..], &asked, format].concat());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        // Colours are named for the root of a page.
        run.stdout.replace(":root", "")
    };
    let mut all = String::new();
    for format in ["text", "json", "markdown", "html"] {
        all += &print(&["--format", format], &all_kinds);
    }
    for kind in KINDS {
        all += &print(&["--format", "csv"], kind);
    }
    for table in ["cards", "sessions", "gaps"] {
        all += &print(&["--format", "csv", "--table", table], "user");
    }
    for picture in ["time", "states", "people"] {
        all += &print(&["--format", "svg", "--picture", picture], "card");
    }
    all
}

#[test]
fn the_page_of_one_person_names_nobody_else() {
    let histories = a_day();
    let names = ["alice", "bob", "mallory", "root"];
    for user in names {
        let page = all_formats(&histories, user);
        assert!(page.contains(user));
        for other in names.into_iter().filter(|other| *other != user) {
            assert!(!page.contains(other), "{other} on the page of {user}: {page}");
        }
        assert_eq!(page.contains("sweep.ipynb"), user == "bob");
        assert_eq!(page.contains("quiet_fox"), user == "root");
        assert!(!page.contains("unlisted") && !page.contains("holders unknown"));
    }
    let by_number = histories.json(&[&DAY[..], &["--user", "1001"]].concat());
    assert_eq!(by_number["person"]["name"], "bob");
}

/// Regression: the page and the JSON of one person had the figures of the whole server.
#[test]
fn the_page_of_one_person_has_their_figures_alone() {
    let histories = a_day();
    let asked = ["--user", "bob", "--price", "2"];
    let report = histories.json(&[&DAY[..], &asked].concat());
    assert_eq!(hours(&report["states"]["idle_held"], "gpu_hours"), 3.5);
    assert_eq!((&report["verdict"], &report["heatmap"]), (&Value::Null, &Value::Null));
    assert_eq!(report["cards"].as_array().unwrap().len(), 1);
    assert_eq!(hours(&report["money"]["idle_held"], "cost"), 7.0);
    let page = histories.report(&[&DAY[..], &asked, &["--format", "html"]].concat()).stdout;
    assert!(page.contains("<title>bob on lab-a100, 9 Nov 00:00 → 10 Nov 2024 00:00 UTC"), "{page}");
    assert!(page.contains("What bob held") && page.contains(">3.50 GPU-h<"), "{page}");
    for part in ["id=\"habit\"", "id=\"now\"", "truly-idle", "of the observed card time", "38.0"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
}

#[test]
fn the_page_of_one_person_reads_well() {
    let histories = a_day();
    let shown = histories.report(&[&DAY[..], &["--user", "bob", "--price", "2.50"]].concat());
    insta::assert_snapshot!(shown.stdout, @"
    gua — lab-a100 (driver 560.35.05)
    9 Nov 00:00 → 10 Nov 2024 00:00 UTC, 1d, 100.0 % observed

    What bob held
      total          3.50 GPU-h  7.3 % of what all held; shared cards are split
      active            0 GPU-h
      idle-held      3.50 GPU-h  9.2 % of all
      = unused       3.50 GPU-h  memory held, no work
      + low use         0 GPU-h  work below 10 % of the card
      beside others      10.0 h  idle while others worked on the card
      memory          234 GiB-h  held idle
      peak              9.8 GiB  most memory of one process on one card
      energy              ? kWh  of the active and idle-held time
      cost             8.75 EUR  of idle-held

    Where
      card              active  idle-held  = unused  + low use  total  cost of idle
      0 A100-SXM4-80GB       0       3.50      3.50          0   3.50      8.75 EUR
      all                    0       3.50      3.50          0   3.50      8.75 EUR
      unused: memory held, no work. low use: work below 10 % of the card.

    Holding sessions
      on at the end, longest first
      idle  card   memory  what         pid  when
       ≥1d     0  9.8 GiB  sweep.ipynb  101  9 Nov 00:00 → 10 Nov 00:00

    Suggestion
      Let programs and kernels end when their work is done: 1 session stayed for 1d
      without working.
    ");
}

/// Nobody has to be told how to ask themselves.
#[test]
fn the_page_of_one_person_says_how_to_end_and_not_whom_to_ask() {
    let (histories, _recording) = until_now();
    for format in
        [&["text"][..], &["json"], &["csv", "--table", "sessions"], &["markdown"], &["html"]]
    {
        let asked = ["--since", "3h", "--user", "bob", "--format"];
        let page = histories.report(&[&asked[..], format].concat()).stdout;
        assert!(page.contains("kill 101") && !page.contains("gua who"), "{page}");
    }
}

/// A container that was made anew under its old name is another one.
#[test]
fn containers_of_one_name_are_told_apart() {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    for (hours, process, digit) in [(8, (100, 1), "a"), (24, (101, 2), "b")] {
        let mut who = in_a_container();
        if let Some(container) = &mut who.container {
            container.value.id = digit.repeat(64).into();
        }
        recording.until(SATURDAY + hours * HOUR, 5, |_| {
            let card = card(A100, 0.0).held_at_work("ann", process, 9_000, 0.0);
            vec![card.running_for(who.clone())]
        });
    }
    recording.end("stopped");
    for format in ["text", "markdown"] {
        let asked = ["--by", "container", "--width", "120", "--format", format];
        let shown = histories.report(&[&DAY[..], &asked].concat()).stdout;
        for name in ["quiet_fox (aaaaaaaaaaaa)", "quiet_fox (bbbbbbbbbbbb)"] {
            assert!(shown.replace("\\_", "_").contains(name), "{shown}");
        }
    }
}

#[test]
fn somebody_who_is_not_there_is_told_nobodys_name() {
    let run = a_day().report(&[&DAY[..], &["--user", "bo\x1bb"]].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @"
    gua: nobody called bo?b held a card in this window
         Names are those of `id -un`, or a uid; --since 30d looks further back.
    ");
}

#[test]
fn a_window_beside_the_one_before() {
    let histories = Histories::two_days();
    let second = ["--from", "2024-11-10", "--until", "2024-11-11", "--price", "2"];
    let report = histories.json(&[&second[..], &["--compare", "previous"]].concat());
    let compared = &report["compared"];
    assert_eq!(compared["window"]["from"], "2024-11-09T00:00:00Z");
    assert_eq!(compared["window"]["to"], "2024-11-10T00:00:00Z");
    assert_eq!(compared["rests_on_little"], false);
    let idle_held = &compared["states"][1]["gpu_hours"];
    assert_eq!((hours(idle_held, "now"), hours(idle_held, "before")), (28.0, 30.0));
    assert_eq!(hours(idle_held, "difference"), -2.0);
    assert_eq!(hours(&compared["idle_held_cost"], "difference"), -4.0);
    let same = histories.json(&[&second[..], &["--compare", "24h"]].concat());
    assert_eq!(same["compared"], *compared);
    let shown = histories.report(&[&second[..], &["--compare", "previous"]].concat()).stdout;
    let (_, rest) = shown.split_once("\nCompared").unwrap();
    insta::assert_snapshot!(rest.split("\n\n").next().unwrap(), @"
    with 9 Nov 00:00 → 10 Nov 2024 00:00 UTC, 1d, 100.0 % observed
                                    now     before   difference
     active                      15.2 %     13.9 %  +1.3 points
     idle-held                   42.4 %     41.7 %  +0.7 points
     truly-idle                  39.4 %     44.4 %  −5.0 points
     unknown                      3.0 %      0.0 %  +3.0 points
     idle-held GPU-h               28.0       30.0         −2.0
     idle-held cards                1.3        1.2         +0.1
     idle-held cost           56.00 EUR  60.00 EUR    −4.00 EUR
     idle-held GPU-h by user
       bob                         21.5       23.4         −1.9
       alice                        6.0        6.0            0
       unattributed                 0.5        0.6         −0.1
    ");
}

#[test]
fn an_earlier_window_of_which_little_is_known_says_so() {
    let histories = Histories::two_days();
    let first = ["--from", "2024-11-09", "--until", "2024-11-10", "--compare"];
    let shown = |compare| histories.report(&[&first[..], &[compare]].concat()).stdout;
    assert!(shown("previous").contains("  Nothing was recorded in the earlier window.\n"));
    let thin = shown("18h");
    assert!(
        thin.contains("  The earlier window was hardly observed, so differences are left out."),
        "{thin}"
    );
    let table = thin.split("hardly observed").nth(1).unwrap();
    assert!(!table.contains(" points") && !table.contains('−'), "{table}");
    let compared = &histories.json(&[&first[..], &["previous"]].concat())["compared"];
    assert_eq!(compared["states"][0]["gpu_hours"]["before"], Value::Null);
    assert_eq!(compared["rests_on_little"], true);
}

#[test]
fn money_is_by_model_and_a_card_without_a_price_is_told() {
    let histories = a_day();
    let money = |args: &[&str]| histories.json(&[&DAY[..], args].concat())["money"].clone();
    assert_eq!(money(&[]), Value::Null);
    // The A100 is idle-held for 14 hours, the other card for 24.
    let all = money(&["--price", "2.50", "--currency", "CHF"]);
    assert_eq!((&all["currency"], hours(&all["idle_held"], "cost")), (&"CHF".into(), 95.0));
    assert_eq!(hours(&all["idle_held"], "cost_per_month"), 2850.0);
    let both = money(&["--price", "1", "--price", "a100=3"]);
    assert_eq!(hours(&both["idle_held"], "cost"), 14.0 * 3.0 + 24.0);
    let one = money(&["--price", "A100=3"]);
    assert_eq!(hours(&one["idle_held"], "cost"), 42.0);
    assert_eq!(hours(&one["idle_held"], "unpriced_gpu_hours"), 24.0);
    let report = histories.json(&[&DAY[..], &["--price", "A100=3"]].concat());
    let accounts = report["accounts"].as_array().unwrap();
    let mallory = accounts.iter().find(|account| account["name"] == "mallory").unwrap();
    assert_eq!(mallory["cost"], Value::Null);
    let shown = histories.report(&[&DAY[..], &["--price", "A100=3"]].concat()).stdout;
    assert!(shown.contains("no price for RTX 4090, which is left out"), "{shown}");
    let short = ["--from", "2024-11-09", "--until", "2024-11-09 00:30", "--price", "1"];
    let short = histories.json(&short)["money"].clone();
    assert_eq!(short["idle_held"]["cost_per_month"], Value::Null);
}

/// As the config has it, unless a price is typed.
#[test]
fn prices_come_from_the_config() {
    let histories = a_day();
    let config = histories.dir().join("config.toml");
    let text = "[cost]\nprice = 1.0\ncurrency = \"EUR\"\n[cost.models]\n\"A100\" = 2.0\n";
    fs::write(&config, text).unwrap();
    let cost = |args: &[&str]| {
        let mut command = program(&["report", "--json", "--config"]);
        command.arg(&config).arg("--db").arg(histories.path()).args(DAY).args(args);
        let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
        hours(&report["money"]["idle_held"], "cost")
    };
    assert_eq!(cost(&[]), 14.0 * 2.0 + 24.0);
    assert_eq!(cost(&["--price", "3"]), 38.0 * 3.0);
}

#[test]
fn as_many_sessions_are_shown_as_are_asked_for() {
    let histories = Histories::two_days();
    let rows = |count: &str| {
        let run =
            histories.report(&[&BOTH_DAYS[..], &["--width", "120", "--sessions", count]].concat());
        run.stdout.matches(" Nov ").count()
    };
    assert!(rows("0") < rows("1") && rows("1") < rows("2"));
    assert_eq!(rows("all"), rows("99"));
}
