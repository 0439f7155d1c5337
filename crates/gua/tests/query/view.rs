//! What `gua query` shows, in each format.

use super::{STEADY, query};
use crate::machine::{Machine, program, run};

const SEEDS_FIELDS: &str = "pstate,temperature.gpu,utilization.gpu,utilization.memory,\
                            memory.total,memory.free,memory.used";

#[test]
fn csv_is_as_nvidia_smi_writes_it() {
    insta::assert_snapshot!(query(STEADY, &["--fields", SEEDS_FIELDS]), @"
    pstate, temperature.gpu, utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.free [MiB], memory.used [MiB]
    P0, 60, 80 %, 35 %, 81920 MiB, 10296 MiB, 71024 MiB
    P0, 34, 0 %, 0 %, 24576 MiB, 24276 MiB, 0 MiB
    P8, 34, 0 %, 0 %, 81920 MiB, 81280 MiB, 0 MiB
    ");
    let rest = "index,name,uuid,pci.bus_id,driver_version,count,power.draw,power.limit,\
                enforced.power.limit,clocks.sm,clocks.mem,fan.speed,compute_mode,\
                persistence_mode,mig.mode.current,utilization.encoder,utilization.decoder,\
                memory.reserved,memory.unattributed,state,holders,card,mig.slot";
    insta::assert_snapshot!(query(STEADY, &["--fields", rest]), @"
    index, name, uuid, pci.bus_id, driver_version, count, power.draw [W], power.limit [W], enforced.power.limit [W], clocks.current.sm [MHz], clocks.current.memory [MHz], fan.speed [%], compute_mode, persistence_mode, mig.mode.current, utilization.encoder [%], utilization.decoder [%], memory.reserved [MiB], memory.unattributed [MiB], state, holders, card, mig.slot
    0, NVIDIA A100-SXM4-80GB, GPU-a, 00000000:3B:00.0, 560.35.05, 3, 332.00 W, 350.00 W, 350.00 W, 1170 MHz, 1593 MHz, [N/A], Default, Enabled, Disabled, 3 %, 4 %, 600 MiB, 0 MiB, active, 2, 0, [N/A]
    1, NVIDIA GeForce RTX 4090, GPU-b, 00000000:5E:00.0, 560.35.05, 3, 58.00 W, 400.00 W, 400.00 W, 210 MHz, 1593 MHz, 30 %, Default, Enabled, Disabled, 0 %, 0 %, 300 MiB, [N/A], [not judged: not told by the driver], 1, 1, [N/A]
    2, NVIDIA A100-SXM4-80GB, GPU-c, 00000000:86:00.0, 560.35.05, 3, 58.00 W, 400.00 W, 400.00 W, 210 MHz, 1593 MHz, [N/A], Default, Enabled, Disabled, 0 %, 0 %, 640 MiB, 0 MiB, free, 0, 2, [N/A]
    ");
}

#[test]
fn header_and_units_can_be_left_out() {
    let fields = ["--fields", "index,utilization.gpu,memory.used", "-i", "0"];
    let with = |more: &[&str]| query(STEADY, &[&fields, more].concat());
    insta::assert_snapshot!(with(&["--nounits"]), @"
    index, utilization.gpu [%], memory.used [MiB]
    0, 80, 71024
    ");
    insta::assert_snapshot!(with(&["--noheader"]), @"0, 80 %, 71024 MiB");
    assert_eq!(with(&["--format=csv,noheader,nounits"]), with(&["--noheader", "--nounits"]));
}

#[test]
fn a_time_stamp_has_milliseconds_and_is_local() {
    let machine = Machine::new(STEADY);
    let mut command = machine.command(&["query", "--fields", "timestamp", "--noheader"]);
    command.env("TZ", "Asia/Kolkata");
    let text = run(command).stdout;
    let shape: String = text
        .lines()
        .next()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000/00/00 00:00:00.000");
}

#[test]
fn json_has_numbers_units_and_reasons() {
    let fields = "index,name,utilization.gpu,memory.used,power.draw,fan.speed,pstate";
    let text = query(STEADY, &["--fields", fields, "--json", "-i", "0"]);
    let mut object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(object["time"].take().as_str().unwrap().ends_with('Z'));
    insta::assert_json_snapshot!(object, @r#"
    {
      "cards": [
        {
          "fan_speed_percent": null,
          "index": 0,
          "memory_used_bytes": 74474061824,
          "name": "NVIDIA A100-SXM4-80GB",
          "power_draw_watts": 332.0,
          "pstate": "P0",
          "unknown": {
            "fan_speed_percent": "not_supported"
          },
          "utilization_gpu_percent": 80.0
        }
      ],
      "driver_error": null,
      "schema": "gua.query/2",
      "time": null
    }
    "#);
}

#[test]
fn json_lines_are_objects_each() {
    let text =
        query(STEADY, &["--fields", "index", "--format", "json", "-n", "3", "--every", "10ms"]);
    let looks: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 3);
    for look in looks {
        assert_eq!(look["schema"], "gua.query/2");
        assert_eq!(look["cards"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn a_table_is_aligned_for_people() {
    let fields = "card,name,state,utilization.gpu,memory.used,memory.total,fan.speed,holders";
    insta::assert_snapshot!(query(STEADY, &["--fields", fields, "--format", "table"]), @"
    card  name                     state                                 utilization.gpu  memory.used  memory.total  fan.speed  holders
    0     NVIDIA A100-SXM4-80GB    active                                           80 %    71024 MiB     81920 MiB      [N/A]        2
    1     NVIDIA GeForce RTX 4090  [not judged: not told by the driver]              0 %        0 MiB     24576 MiB       30 %        1
    2     NVIDIA A100-SXM4-80GB    free                                              0 %        0 MiB     81920 MiB      [N/A]        0
    ");
    let args = ["--fields", "card,utilization.gpu", "--format", "table,nounits"];
    insta::assert_snapshot!(query(STEADY, &args), @"
    card  utilization.gpu [%]
    0                      80
    1                       0
    2                       0
    ");
}

#[test]
fn holders_have_a_row_each() {
    let fields = "gpu_index,gpu_uuid,gpu_name,gpu_bus_id,pid,process_name,used_memory,user,uid,\
                  program,kind,type,sm,mem,enc,dec";
    insta::assert_snapshot!(query(STEADY, &["--apps", "--fields", fields]), @"
    gpu_index, gpu_uuid, gpu_name, gpu_bus_id, pid, process_name, used_gpu_memory [MiB], user, uid, program, kind, type, sm [%], mem [%], enc [%], dec [%]
    0, GPU-a, NVIDIA A100-SXM4-80GB, 00000000:3B:00.0, 100, /usr/bin/python, 70000 MiB, alice, 1000, python, compute, C, 75 %, 30 %, 0 %, 0 %
    0, GPU-a, NVIDIA A100-SXM4-80GB, 00000000:3B:00.0, 150, ffmpeg, 1024 MiB, alice, 1000, ffmpeg, compute+graphics, C+G, 5 %, 0 %, 3 %, 4 %
    1, GPU-b, NVIDIA GeForce RTX 4090, 00000000:5E:00.0, 200, jupyter-lab, [N/A], bob, 1001, jupyter-lab, compute, C, 0 %, 0 %, 0 %, 0 %
    ");
    let fields = ["--apps", "--fields", "pid,used_memory,sm,user", "--format", "table"];
    insta::assert_snapshot!(query(STEADY, &fields), @"
    pid  used_gpu_memory    sm  user
    100        70000 MiB  75 %  alice
    150         1024 MiB   5 %  alice
    200            [N/A]   0 %  bob
    ");
}

/// Arguments may hold secrets.
#[test]
fn a_process_name_is_one_word() {
    let text = query(STEADY, &["--apps", "--json", "--fields", "pid,process_name,program"]);
    assert!(text.contains("/usr/bin/python") && !text.contains("hunter2"), "{text}");
}

#[test]
fn presets_look_like_what_they_stand_for() {
    let repeated = |preset| query(STEADY, &["--preset", preset, "-n", "1"]);
    insta::assert_snapshot!(repeated("dmon"), @"
    # gpu     sm    mem    enc    dec
    # Idx      %      %      %      %
        0     80     35      3      4
        1      0      0      0      0
        2      0      0      0      0
    ");
    insta::assert_snapshot!(repeated("pmon"), @"
    # gpu         pid   type     sm    mem    enc    dec    command
    # Idx           #    C/G      %      %      %      %    name
        0         100      C     75     30      0      0    python
        0         150    C+G      5      0      3      4    ffmpeg
        1         200      C      0      0      0      0    jupyter-lab
        2           -      -      -      -      -      -    -
    ");
}

#[test]
fn a_preset_is_a_choice_of_fields_in_other_formats() {
    let args = ["--preset", "dmon", "-n", "1", "--format", "csv"];
    insta::assert_snapshot!(query(STEADY, &args), @"
    card, utilization.gpu [%], utilization.memory [%], utilization.encoder [%], utilization.decoder [%]
    0, 80 %, 35 %, 3 %, 4 %
    1, 0 %, 0 %, 0 %, 0 %
    2, 0 %, 0 %, 0 %, 0 %
    ");
    let args = ["--preset", "pmon", "-n", "1", "--format", "csv"];
    insta::assert_snapshot!(query(STEADY, &args), @"
    card, pid, type, sm [%], mem [%], enc [%], dec [%], program
    0, 100, C, 75 %, 30 %, 0 %, 0 %, python
    0, 150, C+G, 5 %, 0 %, 3 %, 4 %, ffmpeg
    1, 200, C, 0 %, 0 %, 0 %, 0 %, jupyter-lab
    ");
}

#[test]
fn the_names_of_the_columns_come_back_for_who_watches() {
    let heads = |args: &[&str]| {
        let args = [&["-n", "10", "--every", "10ms"], args].concat();
        let text = query(STEADY, &args);
        text.lines().filter(|line| line.contains("gpu")).count()
    };
    // 3 cards a look: after 21 lines of 30.
    assert_eq!(heads(&["--preset", "dmon"]), 2);
    assert_eq!(heads(&["--fields", "card,utilization.gpu", "--format", "table"]), 2);
    assert_eq!(heads(&["--fields", "card,utilization.gpu"]), 1, "CSV has one head");
}

#[test]
fn a_mig_instance_is_a_card_with_a_slot() {
    let divided = r#"
        [[card]]
        mig_slots = 7
        gpm = true
        [[card.mig]]
        slot = 2
        profile = "3g.40gb"
        memory = "40GiB"
        uuid = "MIG-a"
        utilization = 55
        [[process]]
        pid = 7
        card = 0
        slot = 2
        memory = "8GiB"
        user = "ann"
        begin = "-1h"
    "#;
    let fields = "card,index,mig.slot,uuid,state,utilization.gpu,memory.used,memory.total,\
                  mig.mode.current,power.draw,pstate";
    insta::assert_snapshot!(query(divided, &["--fields", fields]), @"
    card, index, mig.slot, uuid, state, utilization.gpu [%], memory.used [MiB], memory.total [MiB], mig.mode.current, power.draw [W], pstate
    0:2, 0, 2, MIG-a, active, 55 %, 8192 MiB, 40960 MiB, Enabled, [N/A], [N/A]
    ");
    insta::assert_snapshot!(query(divided, &["--preset", "pmon", "-n", "1"]), @"
    # gpu         pid   type     sm    mem    enc    dec    command
    # Idx           #    C/G      %      %      %      %    name
      0:2           7      C      -      -      -      -    python
    ");
}

#[test]
fn without_fields_there_is_an_answer_too() {
    let head = |args: &[&str]| query(STEADY, args).lines().next().unwrap().to_owned();
    insta::assert_snapshot!(head(&[]), @"timestamp, card, name, state, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], holders");
    insta::assert_snapshot!(head(&["--apps"]), @"timestamp, card, pid, user, program, used_gpu_memory [MiB], sm [%], kind");
}

#[test]
fn every_field_is_explained() {
    insta::assert_snapshot!(run(program(&["query", "--list-fields"])).stdout);
    let json = run(program(&["query", "--list-fields", "--json"]));
    let fields: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(fields["schema"], "gua.query_fields/1");
    let all = ["cards", "holders"].map(|of| fields[of].as_array().unwrap().clone()).concat();
    for field in all {
        let means = field["means"].as_str().unwrap();
        assert!(means.ends_with('.') && means.len() > 10, "{field}");
    }
}

/// Every field that is listed can be asked for, by each of its names.
#[test]
fn every_field_can_be_asked_for() {
    let listed = run(program(&["query", "--list-fields", "--json"])).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    for (of, more) in [("cards", None), ("holders", Some("--apps"))] {
        let fields = listed[of].as_array().unwrap();
        let last_name = |field: &serde_json::Value| {
            let others = field["other_names"].as_array().unwrap();
            others.last().unwrap_or(&field["name"]).as_str().unwrap().to_owned()
        };
        let names: Vec<_> = fields.iter().map(last_name).collect();
        let names = names.join(",");
        let args: Vec<&str> = more.into_iter().chain(["--json", "--fields", &names]).collect();
        let answer: serde_json::Value = serde_json::from_str(&query(STEADY, &args)).unwrap();
        let row = answer[of][0].as_object().unwrap();
        for field in fields {
            let key = field["json_name"].as_str().unwrap();
            let is_told = !row[key].is_null() || row["unknown"].get(key).is_some();
            assert!(is_told, "{key}: {row:?}");
        }
        assert_eq!(row.len(), fields.len() + 1);
    }
}

#[test]
fn a_hostile_name_breaks_no_line() {
    let scenario = "[[card]]\n[[process]]\npid = 7\ncard = 0\nmemory = \"1GiB\"\nuser = \"=eve,x\"\n\
                    program = \"a\\u001b[2J\\nb,\\\"\"\n";
    for format in ["csv", "table"] {
        let args = ["--apps", "--fields", "user,program", "--noheader", "--format", format];
        let text = query(scenario, &args);
        assert_eq!(text.lines().count(), 1, "{text:?}");
        assert!(!text.contains('\x1b'), "{text:?}");
    }
    let csv = query(scenario, &["--apps", "--fields", "user,program", "--noheader"]);
    assert_eq!(csv, "\"'=eve,x\", \"a?[2J?b,\"\"\"\n");
}
