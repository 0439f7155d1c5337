//! Somebody who calls their control groups what another's container and pod are called.

use serde_json::Value;

use crate::machine::Machine;
use crate::recorder::Recorder;

const CONTAINER: &str = "4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042";
const POD: &str = "11111111-3a43-4f0c-9a55-6d1f5a2f7c11";
const OWN: &str = "/user.slice/user-1002.slice/user@1002.service/app.slice";

/// The victim's container and pod are at work; mallory's process holds a card of its own in
/// groups of the same names.
fn machine(forged: &str) -> Machine {
    Machine::new(&format!(
        r#"
        [[card]]
        utilization = 0
        [[card]]
        utilization = 90
        [[card]]
        utilization = 90
        [[process]]
        pid = 100
        card = 0
        memory = "8GiB"
        begin = "-5h"
        user = "mallory"
        uid = 1002
        program = "python"
        cgroup = "{OWN}/{forged}"
        [[process]]
        pid = 200
        card = 1
        memory = "8GiB"
        sm = 90
        begin = "-5h"
        user = "root"
        program = "python"
        cgroup = "/system.slice/docker-{CONTAINER}.scope"
        [[process]]
        pid = 300
        card = 2
        memory = "8GiB"
        sm = 90
        begin = "-5h"
        uid = 1000
        program = "vllm"
        cgroup = "/kubepods.slice/kubepods-pod{}.slice/cri-containerd-{}.scope"
        [[container]]
        id = "{CONTAINER}"
        name = "victims_db"
        [[pod]]
        uid = "{POD}"
        namespace = "prod"
        name = "victims-db"
        "#,
        POD.replace('-', "_"),
        "b".repeat(64),
    ))
}

fn reported(forged: &str) -> Value {
    let machine = machine(forged);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(5);
    // A clean stop stores what is not final yet.
    recorder.end();
    let told = machine.gua(&["report", "--since", "1h", "--by", "container,pod", "--json"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    serde_json::from_str(&told.stdout).unwrap()
}

/// The hours that are booked on an account of this name or id, which is nobody's in particular.
fn idle_held(report: &Value, id: &str) -> f64 {
    let accounts = report["accounts"].as_array().unwrap();
    let of = accounts.iter().filter(|it| it["id"] == id && it["user"].is_null());
    of.map(|account| account["idle_held_gpu_hours"].as_f64().unwrap()).sum()
}

#[test]
fn a_forged_container_or_pod_costs_its_victim_nothing() {
    for forged in [
        format!("docker-{CONTAINER}.scope"),
        format!("docker/{CONTAINER}"),
        format!("kubepods-pod{}.slice/docker-{CONTAINER}.scope", POD.replace('-', "_")),
        format!("kubepods/pod{POD}/{CONTAINER}"),
    ] {
        let report = reported(&forged);
        assert_eq!((idle_held(&report, CONTAINER), idle_held(&report, POD)), (0.0, 0.0));
        let accounts = report["accounts"].as_array().unwrap();
        let own = accounts.iter().find(|it| it["id"] == CONTAINER && it["user"] == "mallory");
        let own = own.unwrap_or_else(|| panic!("{forged}: {accounts:?}"));
        assert!(!own.to_string().contains("victim"), "{forged}: {own}");
    }
}
