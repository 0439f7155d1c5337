//! What a machine does at one moment is the same in every view.

use std::collections::BTreeMap;

use serde_json::Value;

use super::engine::request;
use super::metrics::{listening, scrape, value};
use crate::machine::Machine;
use crate::recorder::until;

/// Several holders per card, an idle holder on an active card, memory of nobody visible, a container, a
/// job, and a lost card.
const LAB: &str = r#"
[host]
name = "lab"

[[card]]
uuid = "GPU-busy"
utilization = 62
[[card]]
uuid = "GPU-held"
utilization = 0
[[card]]
uuid = "GPU-unlisted"
utilization = 0
unattributed = "12GiB"
[[card]]
uuid = "GPU-free"
utilization = 0
[[card]]
uuid = "GPU-lost"
[[fault]]
call = "nvmlDeviceGet*"
card = 4
code = "GPU_IS_LOST"
from = "0s"

[[process]]
pid = 41200
card = 0
user = "carol"
program = "python3.11"
cgroup = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
memory = "42GiB"
sm = 60
begin = "-47m"
[[process]]
pid = 41077
card = 0
user = "bob"
program = "python"
uid_map = "0 1001 1"
cgroup = "/system.slice/docker-5a1e0000000000000000000000000000000000000000000000000000000b0b00.scope"
memory = "9GiB"
begin = "-20h"
[[container]]
id = "5a1e0000000000000000000000000000000000000000000000000000000b0b00"
name = "quiet_fox"
[[process]]
pid = 5678
card = 1
user = "bob"
program = "jupyter-lab"
environ = { JPY_SESSION_NAME = "/home/bob/probe.ipynb" }
memory = "7988MiB"
begin = "-3d2h"
[[process]]
pid = 9999
card = 1
memory = "212MiB"
begin = "-40m"
gone = true
"#;

/// User, program, state and job or container of each holder, by card and pid.
type Holders = BTreeMap<(String, u64), [String; 4]>;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn facts(holder: &Value) -> [String; 4] {
    let who = &holder["identity"];
    let place = [&who["job"]["id"], &who["container"]["name"]].into_iter().find(|it| !it.is_null());
    [
        text(&holder["user"]),
        text(&holder["program"]),
        text(&holder["state"]),
        place.map_or_else(|| "-".to_owned(), text),
    ]
}

fn of_stat(stat: &Value) -> (Vec<String>, Holders) {
    let cards = stat["cards"].as_array().unwrap();
    let holders = cards.iter().flat_map(|card| {
        let place = card["index"].to_string();
        let holders = card["holders"].as_array().unwrap().iter();
        holders.map(move |it| ((place.clone(), it["pid"].as_u64().unwrap()), facts(it)))
    });
    (cards.iter().map(|card| text(&card["state"])).collect(), holders.collect())
}

fn of_who(who: &Value) -> Holders {
    let holders = who["holders"].as_array().unwrap().iter();
    let key = |it: &Value| (it["card"]["index"].to_string(), it["pid"].as_u64().unwrap());
    holders.map(|it| (key(it), facts(it))).collect()
}

#[test]
fn every_view_says_the_same_of_one_moment() {
    let machine = Machine::new(LAB);
    let (recorder, port) = listening(&machine, &[]);
    let read = |args: &[&str]| -> Value {
        let run = machine.gua(args);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{args:?}: {run:?}"))
    };
    let get = |path: &str| request(port, "GET", path, &[], b"").unwrap().1;
    let api = |path: &str| -> Value { serde_json::from_str(&get(path)).unwrap() };
    // The recorder classifies when samples are final; after that nothing changes here.
    until("the recorder has classified its first samples", || {
        of_stat(&api("/api/v1/stat")) == of_stat(&read(&["stat", "--json"]))
    });
    let (states, holders) = of_stat(&read(&["stat", "--json"]));
    assert_eq!(states, ["active", "idle-held", "idle-held", "free", "unknown"]);
    let expected = [
        (("0", 41077), ["bob", "python", "idle-held", "quiet_fox"]),
        (("0", 41200), ["carol", "python3.11", "active", "4711"]),
        (("1", 5678), ["bob", "jupyter-lab", "idle-held", "-"]),
        (("1", 9999), ["-", "-", "idle-held", "-"]),
    ];
    let expected =
        expected.map(|((card, pid), facts)| ((card.to_owned(), pid), facts.map(str::to_owned)));
    assert_eq!(holders, Holders::from(expected));

    for who in [read(&["who", "--json"]), api("/api/v1/who")] {
        assert_eq!(of_who(&who), holders);
        assert_eq!((&who["idle_held_cards"], &who["idle_beside"]), (&2.into(), &1.into()));
    }
    let query = read(&["query", "--json", "--fields", "card,state"]);
    let rows = query["cards"].as_array().unwrap();
    let asked: Vec<_> = rows.iter().map(|row| text(&row["state"])).collect();
    assert_eq!(asked[..4], states[..4], "nvidia-smi has no word for unknown");
    let query = read(&["query", "--json", "--apps", "--fields", "card,pid,user,program"]);
    let rows = query["holders"].as_array().unwrap();
    for row in rows.iter().filter(|row| !row["pid"].is_null()) {
        let [user, program, ..] = &holders[&(text(&row["card"]), row["pid"].as_u64().unwrap())];
        assert_eq!((&text(&row["user"]), &text(&row["program"])), (user, program));
    }
    let pick = read(&["pick", "--json", "--no-reserve"]);
    let picked = pick["cards"].as_array().unwrap();
    assert_eq!(picked.iter().map(|card| text(&card["state"])).collect::<Vec<_>>(), states);
    assert_eq!(picked[1]["holders"], serde_json::json!(["bob", "unattributed (pid 9999)"]));
    assert_eq!(picked[0]["holders"], serde_json::json!(["bob", "carol"]));

    for holder in read(&["policy", "check", "--json"])["holders"].as_array().unwrap() {
        let card = text(&holder["cards"][0]);
        let [user, program, state, _] = &holders[&(card, holder["pid"].as_u64().unwrap())];
        assert_eq!((&text(&holder["user"]), &text(&holder["program"])), (user, program));
        assert_eq!(holder["works_by"].is_null(), state != "active", "{holder}");
    }
    let metrics = scrape(port);
    for (uuid, state) in [
        ("busy", "active"),
        ("held", "idle_held"),
        ("unlisted", "idle_held"),
        ("free", "truly_idle"),
    ] {
        let series = format!("gua_gpu_state{{UUID=\"GPU-{uuid}\",state=\"{state}\"}}");
        assert_eq!(value(&metrics, &series), Some(1.0), "{metrics}");
    }
    for (uuid, user) in
        [("busy", "bob"), ("busy", "carol"), ("held", "bob"), ("held", "unattributed")]
    {
        let series = format!("gua_user_gpu_memory_bytes{{UUID=\"GPU-{uuid}\",user=\"{user}\"}}");
        assert!(value(&metrics, &series).is_some(), "{series}: {metrics}");
    }
    let page = get("/?tz=UTC");
    for part in [
        "2 of 5 cards are idle-held</strong>",
        "1 active, 1 free (3), 1 unknown.",
        "1 holder idle beside others who work.",
        "<strong>unattributed</strong>",
        "<strong>carol</strong> <span class=\"what\">job 4711.0",
        "<strong>bob</strong> <span class=\"what\">container quiet_fox",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let stat = machine.gua(&["stat"]).stdout;
    let head = "5 cards:  1 active  2 idle-held  1 free  1 unknown  +1 idle beside others";
    assert!(stat.contains(head), "{stat}");
    for (line, words) in [
        ("quiet_fox", ["bob", "container quiet_fox", "  idle"]),
        ("probe.ipynb", ["bob", "jupyter-lab", "  idle"]),
        ("4711", ["carol", "job 4711.0", "SM 60 %"]),
    ] {
        let found = stat.lines().find(|it| it.contains(line)).unwrap();
        assert!(words.iter().all(|word| found.contains(word)), "{words:?}: {stat}");
    }
    let who = machine.gua(&["who"]).stdout;
    let summary = "2 cards are idle-held; 1 holder is idle on a busy card.";
    assert!(who.contains(summary) && who.contains("job 4711.0"), "{who}");
    recorder.end();
}
