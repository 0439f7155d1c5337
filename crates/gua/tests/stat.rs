//! `gua stat` on pretend machines: whole outputs, every option, every kind of doubt.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use nvidia_ml::skip::skipped;
use serde_json::Value;

use crate::machine::{Machine, Run};

const TWO_CARDS: &str = r#"
[host]
name = "two"

[[card]]
memory = "80GiB"
utilization = 80

[[card]]
name = "NVIDIA GeForce RTX 4090"
memory = "24GiB"
utilization = 1
fan = 30
encoder = 7

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
command = ["python", "train.py", "--token", "hunter2"]
memory = "70000MiB"
sm = 75
begin = "-5h12m"

[[process]]
pid = 200
card = 1
user = "bob"
program = "jupyter-lab"
memory = "8000MiB"
begin = "-3d2h"
"#;

fn json(machine: &Machine) -> Value {
    let run = machine.gua(&["stat", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

fn card(scenario: &str) -> Value {
    json(&Machine::new(scenario))["cards"][0].clone()
}

/// The output without its first line, which holds the time.
fn body(run: &Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn the_lab_reads_at_a_glance() {
    let machine = Machine::bundled("lab.toml");
    let run = machine.gua(&["stat"]);
    insta::with_settings!({filters => vec![
        (r"\d\d:\d\d:\d\d", "HH:MM:SS"),
        // The loads of the two working cards are noisy on purpose.
        (r"active     +\d+ %  \d+ °C  \d+/400 W", "active     NN %  NN °C  NNN/400 W"),
        (r"idle-held   [012] %  3\d °C   \d\d/400 W", "idle-held   N %  NN °C   NN/400 W"),
    ]}, {
        insta::assert_snapshot!(run.stdout, @"
        lab-a100  driver 560.35.05  6 cards:  2 active  2 idle-held  1 free  1 unknown  HH:MM:SS
        [0]  A100-SXM4-80GB  active     NN %  NN °C  NNN/400 W  68.4/80.0 GiB  alice  python           68.4 GiB  SM 91 %   5h12m
        [1]  A100-SXM4-80GB  idle-held   N %  NN °C   NN/400 W   8.0/80.0 GiB  bob    jupyter-lab       7.8 GiB   SM 0 %   3d02h
                                                                               ?      pid 9999 (gone)   0.2 GiB   SM 0 %
        [2]  A100-SXM4-80GB  free        0 %  34 °C   58/400 W   0.0/80.0 GiB
        [3]  A100-SXM4-80GB  active     NN %  NN °C  NNN/400 W  51.0/80.0 GiB  bob    python            9.0 GiB   SM 0 %  20h00m
                                                                               carol  python3.11       42.0 GiB  SM 60 %     47m
        [4]  A100-SXM4-80GB  idle-held   N %  NN °C   NN/400 W  12.0/80.0 GiB  dora   python              ? GiB   SM 0 %   2h30m
        [5]  ?               unknown       –                                   not judged: lost from the bus
        ");
    });
    assert_eq!(run.stderr, "");
}

#[test]
fn options_that_people_know_add_what_they_say() {
    let machine = Machine::new(TWO_CARDS);
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  python       68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob    jupyter-lab   7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-cup"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  100  python       68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob    200  jupyter-lab   7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-F", "-P=draw"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C    no fan  332 W  68.4/80.0 GiB  alice  python       68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C  fan 30 %   61 W   7.8/24.0 GiB  bob    jupyter-lab   7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-f"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  68.4 GiB  SM 75 %  5h12m  python train.py --token hunter2
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob     7.8 GiB   SM 0 %  3d02h  jupyter-lab
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-a", "--no-processes"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C    no fan  enc/dec 0/0 %  1170/1593 MHz  332/400 W  68.4/80.0 GiB
    [1]  RTX 4090        idle-held   1 %  34 °C  fan 30 %  enc/dec 7/0 %   222/1593 MHz   61/400 W   7.8/24.0 GiB
    ");
    insta::assert_snapshot!(machine.gua(&["stat", "--no-header", "--id", "1"]).stdout, @"[1]  RTX 4090  idle-held  1 %  34 °C  61/400 W  7.8/24.0 GiB  bob  jupyter-lab  7.8 GiB  SM 0 %  3d02h");
}

/// Options are bundled out of habit, in any order.
#[test]
fn options_can_be_bundled() {
    let machine = Machine::new(TWO_CARDS);
    let shown = |args: &[&str]| {
        let run = machine.gua(&[&["stat", "--no-header"], args].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    };
    let all = shown(&["-c", "-u", "-p", "-P", "-F", "-f", "-a"]);
    assert_eq!(shown(&["-cupPFfa"]), all);
    assert_eq!(shown(&["-PcupFfa"]), all);
    assert!(shown(&["-FP=limit"]).contains("limit 400 W"));
    assert_eq!(shown(&["-FP=limit"]), shown(&["-F", "--show-power=limit"]));
}

#[test]
fn the_interval_may_have_a_value_or_end_a_bundle() {
    let machine = Machine::new(TWO_CARDS);
    for args in [&["-i"][..], &["-i", "0.1"], &["-cpi"], &["-cpi", "0.1"], &["--watch"], &["-i0.1"]]
    {
        let mut command = machine.command(&[&["stat", "--json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let looks = lines.take(2).filter(Result::is_ok).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(looks, 2, "{args:?}");
    }
}

/// Trap: with an interval, a card that cannot be read any more ended the view.
#[test]
fn a_chosen_card_that_becomes_unreadable_is_shown_as_such() {
    let whole = "[[card]]\nuuid = \"GPU-a\"\n[[card]]\nuuid = \"GPU-b\"\nutilization = 50\n";
    let fault = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\n";
    for code in ["GPU_IS_LOST", "UNINITIALIZED", "UNKNOWN"] {
        let machine = Machine::new(whole);
        let mut live = Live::start(&machine, &["--id", "GPU-b"]);
        live.wait_for(|look| look["cards"][0]["state"] == "active");
        machine.becomes(&format!("{whole}{fault}code = \"{code}\"\n"));
        let away = live.wait_for(|look| look["cards"][0]["state"] == "unknown");
        assert_eq!(away["cards"].as_array().unwrap().len(), 1, "{code}");
        assert_eq!(away["cards"][0]["index"], 1, "{code}");
        machine.becomes(whole);
        live.wait_for(|look| look["cards"][0]["state"] == "active");
    }
}

/// The program with an interval, read look by look, ended when dropped.
struct Live {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Live {
    fn start(machine: &Machine, args: &[&str]) -> Self {
        let args = [&["stat", "--json", "-i", "0.1"], args].concat();
        let mut child = machine.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let lines = self.lines.by_ref().take(200);
        let looks = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        looks.into_iter().find(|look| is_wanted(look)).unwrap()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn cards_are_chosen_by_index_or_uuid() {
    let machine = Machine::new(TWO_CARDS);
    let uuid = json(&machine)["cards"][1]["uuid"].as_str().unwrap().to_owned();
    let chosen =
        |id: &str| machine.gua(&["stat", "--no-header", "--id", id]).stdout.lines().count();
    assert_eq!([chosen("0"), chosen("0,1"), chosen(&uuid)], [1, 2, 1]);
}

#[test]
fn sixteen_cards_with_wide_names_fit_eighty_columns() {
    let mut scenario = String::from("[host]\nname = \"研究室のとても長い名前のサーバー\"\n");
    for index in 0..16 {
        scenario += &format!(
            "[[card]]\nname = \"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition 試作機\"\n\
             utilization = 100\nmemory = \"192GiB\"\nfan = 100\n\
             [[process]]\npid = {}\ncard = {index}\nuser = \"とても長い利用者名とても長い利用者名\"\n\
             program = \"とても長いプログラム名\"\nmemory = \"180GiB\"\nsm = 100\nbegin = \"-300d\"\n",
            4_194_000 + index,
        );
    }
    let machine = Machine::new(&scenario);
    for columns in ["40", "80", "100", "140", "300"] {
        let mut command = machine.command(&["stat", "-a"]);
        command.env("COLUMNS", columns);
        let run = crate::machine::run(command);
        assert_eq!(run.code, Some(0));
        let most: usize = columns.parse().unwrap();
        for line in run.stdout.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= most, "{width} > {most}: {line}");
        }
        let beginnings = run.stdout.lines().filter(|line| line.starts_with('[')).count();
        assert_eq!(beginnings, 16, "{}", run.stdout);
    }
    let mut command = machine.command(&["stat"]);
    command.env("COLUMNS", "80");
    let run = crate::machine::run(command);
    let line = run.stdout.lines().find(|line| line.starts_with("[15]")).unwrap();
    for figure in ["active", "100 %", "66 °C", "400/400 W", "180.0/192.0 GiB"] {
        assert!(line.contains(figure), "{figure} is missing: {line}");
    }
}

#[test]
fn colour_comes_only_where_it_is_wanted() {
    let machine = Machine::new(TWO_CARDS);
    let has_escape = |args: &[&str], variable: Option<&str>| {
        let mut command = machine.command(args);
        if let Some(variable) = variable {
            command.env(variable, "1");
        }
        crate::machine::run(command).stdout.contains('\x1b')
    };
    assert!(!has_escape(&["stat"], None));
    assert!(has_escape(&["stat", "--color", "always"], None));
    assert!(!has_escape(&["stat", "--color", "always", "--no-color"], None));
    assert!(!has_escape(&["stat"], Some("NO_COLOR")));
}

#[test]
fn json_has_numbers_as_numbers_and_the_same_truth() {
    let cards = json(&Machine::new(TWO_CARDS));
    assert_eq!(cards["schema"], "gua.stat/1");
    assert_eq!(cards["host"], "two");
    assert_eq!(cards["driver_version"], "560.35.05");
    let (first, second) = (&cards["cards"][0], &cards["cards"][1]);
    assert_eq!(first["state"], "active");
    assert_eq!(first["utilization_percent"], 80.0);
    assert_eq!(first["utilization_basis"], "samples");
    assert_eq!(first["memory_total_bytes"], 80_u64 << 30);
    assert_eq!(first["memory_used_bytes"], 70_000_u64 << 20);
    assert_eq!(second["state"], "idle-held");
    assert_eq!(second["fan_percent"], 30.0);
    assert_eq!(second["encoder_percent"], 7.0);
    let holder = &first["holders"][0];
    assert_eq!(holder["pid"], 100);
    assert_eq!(holder["user"], "alice");
    assert_eq!(holder["uid"], 1000);
    assert_eq!(holder["sm_percent"], 75.0);
    assert_eq!(holder["memory_bytes"], 70_000_u64 << 20);
    let running = holder["running_seconds"].as_f64().unwrap();
    assert!((18_720.0..18_780.0).contains(&running), "{running}");
}

/// Arguments carry secrets: they are shown only to who asks for them.
#[test]
fn arguments_are_not_told_unless_asked_for() {
    let machine = Machine::new(TWO_CARDS);
    for args in [&["stat"][..], &["stat", "-a"], &["stat", "--json"]] {
        assert!(!machine.gua(args).stdout.contains("hunter2"), "{args:?}");
    }
    for args in [&["stat", "-f"][..], &["stat", "-f", "--json"]] {
        assert!(machine.gua(args).stdout.contains("hunter2"), "{args:?}");
    }
}

#[test]
fn repeating_prints_one_object_a_line() {
    let machine = Machine::new(TWO_CARDS);
    let mut command = machine.command(&["stat", "--json", "-i", "0.1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let looks: Vec<Value> =
        lines.take(3).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(looks.len(), 3);
    assert!(looks.iter().all(|look| look["cards"].as_array().unwrap().len() == 2));
    assert!(looks[0]["time"].as_str() < looks[2]["time"].as_str());
}

#[test]
fn a_machine_without_cards_says_so() {
    let run = Machine::new("[host]\nname = \"empty\"\n").gua(&["stat"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.starts_with("empty  driver 560.35.05  no cards"), "{}", run.stdout);
}

#[test]
fn a_lost_card_leaves_the_others_whole() {
    let cards = json(&Machine::bundled("lab.toml"));
    let states: Vec<_> =
        cards["cards"].as_array().unwrap().iter().map(|card| card["state"].clone()).collect();
    assert_eq!(states, ["active", "idle-held", "free", "active", "idle-held", "unknown"]);
    let lost = &cards["cards"][5];
    assert_eq!(lost["state_reason"], "lost from the bus");
    assert_eq!(lost["utilization_percent"], Value::Null);
    assert_eq!(lost["unknown"]["uuid"], "lost");
    assert_eq!(lost["holders_complete"], false);
}

#[test]
fn a_denied_process_list_is_not_an_empty_card() {
    let denied = r#"
        [[card]]
        memory = "80GiB"
        utilization = 0
        [[process]]
        pid = 1
        card = 0
        memory = "40GiB"
        [[fault]]
        call = "nvmlDeviceGet*RunningProcesses*"
        code = "NO_PERMISSION"
    "#;
    let card = card(denied);
    assert_eq!(card["state"], "idle-held");
    assert_eq!(card["holders_complete"], false);
    assert_eq!(card["unknown"]["holders"], "no_permission");
    let text = Machine::new(denied).gua(&["stat"]).stdout;
    assert!(text.contains("holders not readable: no permission"), "{text}");
}

#[test]
fn a_process_with_a_hostile_name_cannot_break_the_view() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[process]]\npid = 7\ncard = 0\nmemory = \"1GiB\"\n\
         user = \"eve\"\nprogram = \"x\\u001b[2J\\ny\\u202e\"\n",
    );
    let text = machine.gua(&["stat"]).stdout;
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text:?}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_card_without_a_sample_buffer_is_marked() {
    let text = Machine::new(
        "[[card]]\nutilization = 30\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n",
    )
    .gua(&["stat"])
    .stdout;
    assert!(text.contains("~30 %"), "{text}");
    assert!(text.ends_with("~ the value of the last moment only\n"), "{text}");
}

#[test]
fn mig_instances_are_cards_of_their_own() {
    let machine = Machine::new(
        r#"
        [[card]]
        name = "NVIDIA H100 80GB HBM3"
        gpm = true
        [[card.mig]]
        slot = 0
        profile = "3g.40gb"
        memory = "40GiB"
        utilization = 50
        [[card.mig]]
        slot = 4
        profile = "1g.10gb"
        memory = "10GiB"
        utilization = 0
        [[process]]
        pid = 9
        card = 0
        slot = 4
        memory = "5GiB"
        user = "mia"
        begin = "-2h"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0:0]  H100 80GB HBM3 MIG 3g.40gb  active     50 %  0.0/40.0 GiB
    [0:4]  H100 80GB HBM3 MIG 1g.10gb  idle-held   0 %  5.0/10.0 GiB  mia  python  5.0 GiB  2h00m
    ");
    assert_eq!(machine.gua(&["stat", "--no-header", "--id", "0:4"]).stdout.lines().count(), 1);
}

#[test]
fn a_hung_card_is_unknown_and_the_others_are_shown() {
    let run = Machine::new(
        "[[card]]\nutilization = 50\n[[card]]\nutilization = 0\n\
         [[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 0\nhang = true\n",
    )
    .gua(&["stat"]);
    insta::assert_snapshot!(body(&run), @"
    [0]  A100-SXM4-80GB  unknown    –                                 not judged: no answer in time
    [1]  A100-SXM4-80GB  free     0 %  34 °C  58/400 W  0.0/80.0 GiB
    ");
}

#[test]
fn a_driver_that_goes_away_is_told_and_picked_up_again() {
    let whole = "[[card]]\nutilization = 50\n";
    let machine = Machine::new(whole);
    let mut live = Live::start(&machine, &[]);
    live.wait_for(|look| look["cards"][0]["state"] == "active");
    machine.becomes(&format!("{whole}[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n"));
    let away = live.wait_for(|look| look["driver_error"].is_string());
    assert_eq!(away["driver_error"], "the NVIDIA kernel driver is not loaded");
    assert_eq!(away["cards"][0]["state"], "unknown");
    machine.becomes(whole);
    live.wait_for(|look| look["cards"][0]["state"] == "active" && look["driver_error"].is_null());
}

/// Trap: an empty list on a card whose memory cannot be read was called free.
#[test]
fn a_card_of_unknown_memory_is_not_free() {
    for code in ["UNKNOWN", "NO_PERMISSION", "GPU_IS_LOST"] {
        let card = card(&format!(
            "[[card]]\nutilization = 0\n[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\n\
             code = \"{code}\"\n"
        ));
        assert_eq!(card["state"], "unknown", "{code}");
    }
}

#[test]
fn what_cannot_be_read_is_marked_and_explained() {
    let machine = Machine::new(
        r#"
        [[card]]
        utilization = 0
        [[card]]
        utilization = 50
        [[fault]]
        call = "nvmlDeviceGetMemoryInfo*"
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetTemperature*"
        card = 0
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetPowerUsage"
        card = 0
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetTemperature*"
        card = 1
        code = "NOT_SUPPORTED"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  unknown   0 %  ? °C    ?/400 W  ?/? GiB  memory not readable: no permission
    [1]  A100-SXM4-80GB  active   50 %        229/400 W  ?/? GiB  memory not readable: no permission
    ");
    let cards = json(&machine);
    let unknown = &cards["cards"][0]["unknown"];
    for field in ["used", "free", "total", "reserved", "unattributed"] {
        assert_eq!(unknown[format!("memory_{field}_bytes")], "no_permission", "{field}");
    }
    assert_eq!(unknown["power_watts"], "no_permission");
}

/// Every reason belongs to a field, and the field is null or not complete; every null has
/// one, but for what does not apply or was not asked for.
#[test]
fn reasons_are_given_by_field() {
    let machine = Machine::bundled("lab.toml");
    let look = json(&machine);
    assert_eq!(look["unknown"], serde_json::json!({}));
    for card in look["cards"].as_array().unwrap() {
        let holders = card["holders"].as_array().unwrap();
        for place in std::iter::once(card).chain(holders) {
            let unknown = place["unknown"].as_object().unwrap();
            for (field, why) in unknown {
                let value = place.get(field).unwrap_or_else(|| panic!("{field} is no field"));
                assert!(value.is_null() || field == "holders", "{field}: {value} {why}");
            }
            let nulls = place.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
            for (field, _) in nulls.filter(|(field, _)| !MAY_BE_NULL.contains(&field.as_str())) {
                assert!(unknown.contains_key(field), "{field} is null without a reason");
            }
        }
    }
}

const MAY_BE_NULL: [&str; 4] = ["mig_slot", "parent_uuid", "state_reason", "command"];

/// A driver that counts its reserve as used: some used memory shows nothing, much does.
#[test]
fn an_old_driver_shows_who_holds_much() {
    let machine = Machine::new(
        r#"
        [driver]
        version = "450.80.02"
        lacks = ["nvmlDeviceGetMemoryInfo_v2"]
        [[card]]
        utilization = 0
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[fault]]
        call = "*RunningProcesses*"
        card = 2
        code = "NO_PERMISSION"
        [[card]]
        utilization = 0
        [[fault]]
        call = "*RunningProcesses*"
        card = 3
        code = "NO_PERMISSION"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  free       0 %  34 °C  58/400 W   0.6/80.0 GiB
    [1]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W  40.6/80.0 GiB  40.6 GiB of no visible process, the driver's reserve among them
    [2]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W  40.6/80.0 GiB  holders not readable: no permission
    [3]  A100-SXM4-80GB  unknown    0 %  34 °C  58/400 W   0.6/80.0 GiB  holders not readable: no permission
    ");
    let reserved = &json(&machine)["cards"][0]["unknown"]["memory_reserved_bytes"];
    assert_eq!(reserved, "not_supported");
}

/// The first lines of the program on a terminal of so many rows and columns; `None` where
/// none can be had.
fn on_a_terminal(machine: &Machine, size: &str, term: &str, lines: usize) -> Option<Vec<String>> {
    let gua = machine.command(&[]);
    let mut terminal = Command::new("script");
    let shell = format!("stty {size}; exec {} stat -i 0.1", gua.get_program().to_str().unwrap());
    terminal.args(["-qfc", &shell, "/dev/null"]);
    for (name, value) in gua.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.env("TERM", term);
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let out = BufReader::new(child.stdout.take().unwrap()).lines();
    let shown = out.take(lines).map(|line| line.unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    Some(shown)
}

/// On a terminal the view is drawn in place, and what is below its edge is counted.
#[test]
fn a_low_terminal_counts_what_it_cannot_show() {
    let machine = Machine::new(&"[[card]]\nutilization = 0\n".repeat(9));
    let Some(shown) = on_a_terminal(&machine, "rows 6 cols 100", "xterm", 5) else {
        return skipped("a_low_terminal_counts_what_it_cannot_show", "there is no `script`");
    };
    // Trap: cleared after its text, a line that fills the screen loses its last character.
    assert!(shown[3].starts_with("\x1b[K[2]"), "{shown:?}");
    assert!(shown[4].contains("… 6 more lines"), "{shown:?}");
    assert!(shown[0].starts_with("\x1b[2J\x1b[H\x1b[K"), "{shown:?}");
}

#[test]
fn a_dumb_terminal_gets_no_escape_codes() {
    let machine = Machine::new("[[card]]\nutilization = 0\n");
    for term in ["dumb", ""] {
        let Some(shown) = on_a_terminal(&machine, "rows 20 cols 70", term, 5) else {
            return skipped("a_dumb_terminal_gets_no_escape_codes", "there is no `script`");
        };
        assert!(shown.iter().all(|line| !line.contains('\x1b')), "{shown:?}");
        assert_eq!(shown[0].trim_end().chars().count(), 70, "the time is at the edge: {shown:?}");
    }
}

/// Trap: the time was put at the right edge of a screen that nobody has.
#[test]
fn absurd_columns_are_no_columns() {
    let machine = Machine::new(TWO_CARDS);
    for columns in ["18446744073709551615", "1000000000000", "65535", "0", "-1", "wide"] {
        let mut command = machine.command(&["stat"]);
        command.env("COLUMNS", columns);
        let run = crate::machine::run(command);
        assert_eq!(run.code, Some(0), "{columns}: {run:?}");
        let longest = run.stdout.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(200), "{columns}: {longest:?}");
    }
}

#[test]
fn a_narrow_header_tells_whole_counts_or_none() {
    let machine = Machine::bundled("lab.toml");
    let header = |columns: &str| {
        let mut command = machine.command(&["stat"]);
        command.env("COLUMNS", columns);
        crate::machine::run(command).stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("60"), "lab-a100  6 cards:  2 active  2 idle-held  1 free  1 unknown");
    assert_eq!(header("50"), "6 cards:  2 active  2 idle-held  1 free  1 unknown");
    assert_eq!(header("49"), "6 cards:  2 active  2 idle-held  1 free  …");
    assert_eq!(header("8"), "6 cards");
    assert_eq!(header("5"), "6 ca…");
}

#[test]
fn unknown_memory_and_memory_of_nobody_are_said() {
    let run = Machine::new(
        r#"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        unified_memory = true
        utilization = 0
        [[process]]
        pid = 5
        card = 1
        memory = "unknown"
        user = "ann"
        begin = "-2h"
        "#,
    )
    .gua(&["stat"]);
    insta::assert_snapshot!(body(&run), @"
    [0]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W   40.0/80.0 GiB  40.0 GiB held by no visible process
    [1]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W   40.0/80.0 GiB  ann  python  ? GiB  SM 0 %  2h00m
    [2]  A100-SXM4-80GB  free       0 %  34 °C  58/400 W  32.0/128.0 GiB  shares the host's memory
    ");
}

/// Trap: inside a container the driver reports the host's pids. Pid 1 is there in both
/// worlds, and is not the same process.
#[test]
fn in_a_container_a_pid_of_the_host_is_not_taken_for_one_of_ours() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nbegin = \"-1h\"\n",
    );
    let inside = machine.command(&["stat", "--json"]);
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(inside.get_program())
        .args(inside.get_args());
    let changes = inside.get_envs().filter(|(name, _)| *name != "GUA_HOST_ROOT");
    command
        .envs(changes.filter_map(|(name, value)| Some((name, value?))))
        .env_remove("GUA_HOST_ROOT");
    let output = command.output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return skipped("the host's pids in a container", "no pid namespace can be made here");
    };
    let look: Value = serde_json::from_slice(&output.stdout).unwrap();
    let holder = &look["cards"][0]["holders"][0];
    assert_eq!(holder["presence"], "foreign", "{look}");
    assert_eq!(holder["program"], Value::Null);
    assert_eq!(holder["memory_bytes"], 1_u64 << 30);
}
