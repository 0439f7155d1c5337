//! Who is behind a holder, as `gua who` tells it.

use std::time::Duration;

use gua::simulated::SimulatedHost;
use gua_core::Thresholds;
use probe::units::UnixMillis;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{json, text, users};
use crate::machine::{Machine, project};

/// Everybody in another way: a session under sudo, a notebook and what it started, a job, a
/// job that only an environment tells, a container with a name and one without, a pod, root.
const EVERYBODY: &str = r#"
    [host]
    name = "many"
    [[card]]
    utilization = 50
    [[process]]
    pid = 100
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "ann"
    program = "python"
    [[process]]
    pid = 101
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "root"
    program = "python"
    command = ["python", "train.py", "--token", "hidden"]
    cgroup = "/user.slice/user-1000.slice/session-2.scope"
    [[process]]
    pid = 200
    card = 0
    memory = "2GiB"
    begin = "-5h"
    user = "bob"
    program = "python3.11"
    command = ["/opt/conda/envs/fit/bin/python3.11", "-m", "ipykernel_launcher", "-f", "/run/kernel-0b6b5c1e-3a43-4f0c-9a55-6d1f5a2f7c11.json"]
    folder = "/home/bob/work"
    environ = { JPY_SESSION_NAME = "fit.ipynb", JUPYTERHUB_USER = "robert", HF_TOKEN = "hidden" }
    [[process]]
    pid = 201
    parent = 200
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "bob"
    program = "python3.11"
    command = ["python3.11", "-c", "from multiprocessing import hidden"]
    [[process]]
    pid = 300
    card = 0
    memory = "3GiB"
    begin = "-5h"
    user = "carol"
    program = "python"
    command = ["python", "-u", "fit.py"]
    cgroup = "7:freezer:/slurm/uid_1002/job_4711/step_0\n1:name=systemd:/system.slice/slurmd.service\n0::/\n"
    environ = { SLURM_JOB_ID = "1", TORCHELASTIC_RUN_ID = "run-9" }
    [[process]]
    pid = 301
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "dave"
    program = "python"
    environ = { SLURM_JOB_ID = "4711" }
    [[process]]
    pid = 400
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "root"
    program = "python"
    cgroup = "/system.slice/docker-4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042.scope"
    [[process]]
    pid = 401
    card = 0
    memory = "1GiB"
    begin = "-5h"
    uid = 100999
    program = "python"
    uid_map = "0 100000 65536"
    cgroup = "/machine.slice/libpod-aaaa0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042.scope"
    [[process]]
    pid = 500
    card = 0
    memory = "1GiB"
    begin = "-5h"
    uid = 1000
    program = "vllm"
    cgroup = "/kubepods.slice/kubepods-pod11111111_3a43_4f0c_9a55_6d1f5a2f7c11.slice/cri-containerd-bbbb0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042.scope"
    [[process]]
    pid = 600
    card = 0
    memory = "1GiB"
    begin = "-5h"
    user = "root"
    program = "Xorg"
    kind = "graphics"
    [[container]]
    id = "4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042"
    name = "quiet_fox"
    [[pod]]
    uid = "11111111-3a43-4f0c-9a55-6d1f5a2f7c11"
    namespace = "ml"
    name = "serve-0"
"#;

#[test]
fn everybody_is_told_by_what_can_be_trusted() {
    let machine = Machine::new(EVERYBODY);
    let shown = text(&machine, &[], "200");
    insta::assert_snapshot!(shown, @"
    held on many, longest idle first
         idle  who           card   memory  program     what                           pid  running  idle since
      unknown  ann           0     1.0 GiB  python                                     100    5h00m  not told by the driver
      unknown  ann           0     1.0 GiB  python      train.py                       101    5h00m  not told by the driver
      unknown  bob           0     2.0 GiB  python3.11  fit.ipynb                      200    5h00m  not told by the driver
      unknown  bob           0     1.0 GiB  python3.11  fit.ipynb                      201    5h00m  not told by the driver
      unknown  carol         0     3.0 GiB  python      job 4711.0, fit.py             300    5h00m  not told by the driver
      unknown  dave          0     1.0 GiB  python      job 4711 (by its environment)  301    5h00m  not told by the driver
      unknown  unattributed  0     1.0 GiB  python      container quiet_fox            400    5h00m  not told by the driver
      unknown  unattributed  0     1.0 GiB  python      container aaaa0c7a9d2e         401    5h00m  not told by the driver
      unknown  unattributed  0     1.0 GiB  vllm        pod ml/serve-0                 500    5h00m  not told by the driver
      unknown  root          0     1.0 GiB  Xorg                                       600    5h00m  not told by the driver
    ");
    let who = json(&machine, &[]);
    let identities: Vec<&Value> =
        who["holders"].as_array().unwrap().iter().map(|holder| &holder["identity"]).collect();
    insta::assert_json_snapshot!("identities", identities);
    assert!(!who.to_string().contains("hidden"), "secrets are not told");
}

#[test]
fn what_runs_is_shown_where_there_is_room() {
    let machine = Machine::new(EVERYBODY);
    for columns in ["40", "60", "80", "100"] {
        let shown = text(&machine, &[], columns);
        let widest = shown.lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= columns.parse().ok(), "{columns}: {shown}");
    }
    assert!(text(&machine, &[], "100").contains("job 4711.0"));
    assert!(!text(&machine, &[], "40").contains("job 4711.0"));
}

/// Whoever is behind a process is asked for, not whose process it is.
#[test]
fn people_are_chosen_by_who_is_behind_it() {
    let machine = Machine::new(EVERYBODY);
    let pids = |user: &str| -> Vec<u64> {
        let who = json(&machine, &["--user", user]);
        let holders = who["holders"].as_array().unwrap();
        holders.iter().map(|holder| holder["pid"].as_u64().unwrap()).collect()
    };
    assert_eq!(pids("ann"), [100, 101], "sudo is hers");
    assert_eq!(pids("root"), [600], "a container's root is not the host's");
    assert_eq!(pids("1002"), [300]);
}

/// One who is gone, or out of sight, is behind nothing that we know; that is said.
#[test]
fn what_is_not_known_has_its_reason() {
    let who = json(&Machine::bundled("lab.toml"), &[]);
    let holders = who["holders"].as_array().unwrap();
    let gone = holders.iter().find(|holder| holder["presence"] == "gone").unwrap();
    assert_eq!((&gone["identity"], &gone["unknown"]["identity"]), (&Value::Null, &"gone".into()));
    assert!(users(&who).contains(&"bob"));
}

/// `gua stat` names the same people as `gua who`.
#[test]
fn every_look_names_the_same_people() {
    let machine = Machine::new(EVERYBODY);
    let [stat, who]: [Value; 2] = ["stat", "who"]
        .map(|command| serde_json::from_str(&machine.gua(&[command, "--json"]).stdout).unwrap());
    let people = |holders: &[Value]| -> Vec<(u64, Value, Value, Value)> {
        let person = |it: &Value| {
            (
                it["pid"].as_u64().unwrap(),
                it["user"].clone(),
                it["owner"].clone(),
                it["identity"].clone(),
            )
        };
        let mut people: Vec<_> = holders.iter().map(person).collect();
        people.sort_by_key(|(pid, ..)| *pid);
        people
    };
    let of_cards = stat["cards"].as_array().unwrap().iter();
    let of_cards: Vec<Value> =
        of_cards.flat_map(|card| card["holders"].as_array().unwrap().clone()).collect();
    assert_eq!(people(&of_cards), people(who["holders"].as_array().unwrap()));
}

#[test]
fn a_hostile_process_breaks_no_line() {
    let name = "雪".repeat(1400);
    let machine = Machine::new(&format!(
        "[[card]]\nutilization = 0\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\n\
         user = \"ann\"\nprogram = \"x\\u001b[2Jy\\nz\"\n\
         command = [\"python\", \"{name}.py\"]\n\
         environ = {{ JPY_SESSION_NAME = \"/home/bob/\\u001b]0;x\\u0007\\nroot\\u202e.ipynb\", \
         SLURM_JOB_ID = \"7\\n8\", JUPYTERHUB_USER = \"bob\\u001b[0m\" }}\n"
    ));
    for columns in ["60", "100", "200"] {
        let shown = text(&machine, &[], columns);
        assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(shown.lines().all(|line| line.width() <= columns.parse().unwrap()), "{shown}");
    }
    let who = json(&machine, &[]);
    assert_eq!(users(&who), ["ann"]);
    assert_eq!(who["holders"][0]["identity"]["user"]["source"], "user_slice");
    assert_eq!(who["holders"][0]["identity"]["job"], Value::Null);
}

#[test]
fn simulated_host_says_the_same() {
    let lab = std::fs::read_to_string(project().join("scenarios/lab.toml")).unwrap();
    for scenario in [EVERYBODY, &lab] {
        let who = json(&Machine::new(scenario), &[]);
        let scenario = scenario::parse::from_str("x", scenario).unwrap();
        let at = UnixMillis(1_794_182_400_000);
        let mut host = SimulatedHost::new(scenario, at, Thresholds::default());
        let snapshot = host.snapshot(at, Duration::from_secs(5));
        let mut compared = 0;
        for holder in snapshot.cards.iter().flat_map(|card| &card.holders) {
            let Some(identity) = &holder.identity else { continue };
            let real = who["holders"].as_array().unwrap().iter();
            let mut real = real.filter(|real| real["pid"] == holder.pid);
            let real = &real.next().unwrap()["identity"];
            assert_eq!(&serde_json::to_value(identity).unwrap(), real);
            compared += 1;
        }
        assert!(compared >= 5);
    }
}
