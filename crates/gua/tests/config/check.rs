//! Bad files: every mistake is named with its place, and nothing is guessed.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use nvidia_ml::skip::skipped;

use super::{told, with, write_user};
use crate::machine::{Machine, program, run};

/// Every kind of mistake, by what it is about.
const BAD: [(&str, &str); 23] = [
    ("a key that is near another", "[recorder]\nintervall = \"5s\"\n"),
    ("a key like no other", "[thresholds]\nzebra = 1\n"),
    ("a key of another section", "[recorder]\n  active_percent = 5\n"),
    ("a key without a section", "interval = \"5s\"\n"),
    ("a section that is near another", "[databse]\npath = \"/x\"\n"),
    ("a section of a later version", "[weather]\nsun = true\n"),
    ("a section that is none", "recorder = 5\n[[cost]]\nprice = 1\n"),
    ("text without quotes", "[recorder]\ninterval = 30s\n[database]\npath = /var/lib/gua.db\n"),
    ("a number for a time", "[recorder]\ninterval = 30\n[retention]\nsamples = 30\n"),
    ("a time out of range", "[recorder]\ninterval = \"99ms\"\n"),
    (
        "keys of an earlier version",
        "[recorder]\nsensors_every = \"10s\"\n[retention]\nspans = \"400d\"\n",
    ),
    ("what is no time", "[retention]\nsamples = \"a month\"\nhours = \"-5d\"\n"),
    ("percentages", "[thresholds]\nactive_percent = 0\nworked_percent = 100.1\n"),
    ("sizes", "[thresholds]\nheld_mb = -1\ncontext_mb = 1.5\n"),
    ("no room for a tick", "[remote_write]\ngive_up_above_mb = 0\n"),
    ("paths", "[database]\npath = \"gua.db\"\n"),
    ("a path of a folder", "[database]\npath = \"/var/lib/\"\n"),
    ("prices", "[cost]\nprice = nan\ncurrency = \"\"\n[cost.models]\nA100 = -1\nH100 = \"6\"\n"),
    ("models", "[cost.models]\n\"A100\" = 1\n\"a100\" = 2\n\" \" = 3\n\"e\\u001Bsc\" = 4\n"),
    ("a price list that is none", "[cost]\nmodels = [3.2]\n"),
    ("a switch", "[identity]\nstore_command = \"yes\"\n"),
    ("a key twice", "[retention]\nhours = \"1d\"\nhours = \"2d\"\n[retention]\nsamples = \"1d\"\n"),
    ("no TOML at all", "Dear admin,\nplease = \"\"\"set\nthe price\n"),
];

#[test]
fn every_mistake_is_named_with_its_place() {
    let machine = Machine::bundled("lab.toml");
    let mut all = String::new();
    for (about, text) in BAD {
        let path = machine.dir().join("bad.toml");
        fs::write(&path, text).unwrap();
        let checked = machine.gua(&["config", "check", path.to_str().unwrap()]);
        assert_eq!(checked.code, Some(2), "{about}");
        all += &format!("== {about}\n{}\n", told(&machine, &checked));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn one_mistake_hides_no_other() {
    let machine = Machine::bundled("lab.toml");
    let all = "[recorder]\ninterval = 30s\nintervl = \"1s\"\n[thresholds]\nheld_mb = \"x\"\n\
               active_percent 5\nworked_percent: 5\n[cost]\nprice = \n\n[identity]\n\
               store_command = 1\n";
    write_user(&machine, all);
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "check"])));
}

#[test]
fn hostile_text_breaks_no_line() {
    let machine = Machine::bundled("lab.toml");
    let long = "x".repeat(5000);
    write_user(
        &machine,
        &format!("\"a\\n\\u001B[2J\" = 1\n[recorder]\ninterval = \"\\u001B[31m\u{202e}{long}\"\n"),
    );
    let checked = told(&machine, &machine.gua(&["config", "check"]));
    insta::assert_snapshot!(checked, @r#"
    [DIR]/etc-gua-config.toml: not there, so the defaults count
    [DIR]/home/.gua/config.toml:1:1: there is no section `a??[2J`; there are database, recorder, thresholds, retention, cost, identity, metrics, remote_write, policy, notify
    [DIR]/home/.gua/config.toml:3:12: `interval` is "\u001B[31m?xxxxxxxxxxxxxxxxxxxxxxxxxxxx…; expected a time in quotes from 100ms to 1h, such as "30s"
    [DIR]/home/.gua/config.toml: 2 mistakes
    [Some(2)]
    "#);
}

#[test]
fn json_has_the_same() {
    let machine = with("[recorder]\n", "[recorder]\nintervall = 1\nö = 2\n");
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "check", "--json"])));
}

#[test]
fn what_can_be_used_is_said_to_be() {
    let machine = with("", "\u{feff}[recorder]\r\ninterval = \"1s\"\r\n");
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "check"])));
    let path = machine.home().join(".gua/config.toml");
    fs::remove_file(&path).unwrap();
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "check"])));
}

#[test]
fn what_is_no_file_is_told() {
    let machine = Machine::bundled("lab.toml");
    let path = machine.dir().join("odd.toml");
    let check = || told(&machine, &machine.gua(&["config", "check", path.to_str().unwrap()]));
    insta::assert_snapshot!(check(), @"
    [DIR]/odd.toml: cannot be read: it is not there
    [Some(2)]
    ");
    fs::write(&path, b"[cost]\ncurrency = \"\xff\"\n").unwrap();
    insta::assert_snapshot!(check(), @"
    [DIR]/odd.toml:2:13: this is no text in UTF-8
    [DIR]/odd.toml: 1 mistake
    [Some(2)]
    ");
    fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
    insta::assert_snapshot!(check(), @"
    [DIR]/odd.toml: cannot be read: it is larger than 1 MiB
    [Some(2)]
    ");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    insta::assert_snapshot!(check(), @"
    [DIR]/odd.toml: cannot be read: Is a directory (os error 21)
    [Some(2)]
    ");
}

/// Trap: whoever opens a pipe waits for the other end.
#[test]
fn a_pipe_that_nobody_writes_into_is_not_waited_for() {
    let machine = Machine::bundled("lab.toml");
    let path = machine.home().join(".gua/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
    insta::assert_snapshot!(told(&machine, &machine.gua(&["stat"])), @"
    gua: cannot read the config file [DIR]/home/.gua/config.toml: nobody writes into this pipe
         Let this user read it, or name another one with --config FILE; /dev/null stands for none.
    [Some(2)]
    ");
}

/// As a shell makes one of `<(…)`.
#[test]
fn a_pipe_that_is_written_into_is_read() {
    let machine = Machine::bundled("lab.toml");
    let mut command = machine.command(&["config", "check", "/dev/stdin"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text = format!("{}[recorder]\nintervall = 5\n", "# long\n".repeat(20_000));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("/dev/stdin:20002:1: there is no key `intervall`"), "{output:?}");
}

#[test]
fn a_bad_file_stops_who_would_use_it_and_nobody_else() {
    let machine = with("", "[recorder]\nintervall = \"5s\"\n[thresholds]\nheld_mb = \"x\"\n");
    let stopped = machine.gua(&["stat"]);
    insta::assert_snapshot!(told(&machine, &stopped), @"
    gua: cannot use the config file [DIR]/home/.gua/config.toml: line 2, column 1: there is no key `intervall` in `[recorder]`; did you mean `interval`? (and 1 more)
         Mend it: `gua config check [DIR]/home/.gua/config.toml` names every mistake.
    [Some(2)]
    ");
    for args in [
        ["daemon"].as_slice(),
        &["daemon", "--foreground"],
        &["report"],
        &["status"],
        &["pick", "--no-reserve"],
        &["who"],
        &["query", "--fields", "state"],
        &["db", "info"],
        &["db", "prune"],
        &["config", "show"],
    ] {
        let run = machine.gua(args);
        assert_eq!((run.code, &run.stderr), (Some(2), &stopped.stderr), "{args:?}");
        assert_eq!(run.stdout, "", "{args:?}");
    }
    assert!(!machine.home().join(".gua/gua.db").exists(), "nothing was done");
    for args in [
        ["version"].as_slice(),
        &["help"],
        &["query", "--list-fields"],
        &["demo", "--ticks", "3"],
        &["track", "--gpus", "none", "--", "true"],
    ] {
        assert_eq!(machine.gua(args).code, Some(0), "{args:?}");
    }
}

/// A mistake that is made while it records must not keep anybody from stopping it.
#[test]
fn a_bad_file_does_not_keep_a_recorder_running() {
    let machine = Machine::bundled("lab.toml");
    assert_eq!(machine.gua(&["daemon", "--interval", "1s"]).code, Some(0));
    write_user(&machine, "nonsense");
    let stopped = machine.gua(&["stop"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(machine.gua(&["stop"]).code, Some(2), "where else to look is not known");
}

#[test]
fn doctor_goes_on_and_tells() {
    let machine = with("", "[recorder]\nintervall = \"5s\"\n");
    let line = |machine: &Machine| {
        let text = told(machine, &machine.gua(&["doctor"]));
        let at = text.find(" config ").unwrap();
        let begin = text[..at].rfind('\n').unwrap() + 1;
        let end = text[at..].find(" database ").unwrap() + at;
        text[begin..text[..end].rfind('\n').unwrap()].to_owned()
    };
    insta::assert_snapshot!(line(&machine), @"
    error    config      cannot use the config file [DIR]/home/.gua/config.toml: line 2, column 1: there is no key `intervall` in `[recorder]`; did you mean `interval`?
                         → Mend it: `gua config check [DIR]/home/.gua/config.toml` names every mistake.
    ");
    assert_eq!(machine.gua(&["doctor"]).code, Some(1));
    write_user(&machine, "[recorder]\ninterval = \"5s\"\n");
    insta::assert_snapshot!(line(&machine), @"ok       config      [DIR]/etc-gua-config.toml, [DIR]/home/.gua/config.toml");
    let path = machine.system_config();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    insta::assert_snapshot!(line(&machine), @"
    warning  config      [DIR]/etc-gua-config.toml: every user may change it
                         → `chmod o-w [DIR]/etc-gua-config.toml`
    ");
    fs::remove_file(path).unwrap();
    fs::remove_file(machine.home().join(".gua/config.toml")).unwrap();
    insta::assert_snapshot!(line(&machine), @"ok       config      no config file; the defaults count");
}

/// Root may read anything, so somebody else has to ask.
#[test]
fn a_file_that_may_not_be_read_is_told_and_not_ignored() {
    const NOBODY: u32 = 65_534;
    let mut trial = program(&["version"]);
    trial.uid(NOBODY).gid(NOBODY).stdout(Stdio::null());
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || !trial.status().is_ok_and(|status| status.success()) {
        return skipped("a_file_that_may_not_be_read", "no other user can be played");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.path().join("config.toml");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = program(&["db", "info"]);
    command.env("GUA_SYSTEM_CONFIG", &path).env_remove("HOME").uid(NOBODY).gid(NOBODY);
    let refused = run(command);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("config.toml: Permission denied"), "{}", refused.stderr);
    // In a folder that is somebody else's the user's own file cannot be.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = program(&["config", "check", "--json"]);
    command.env("GUA_HOME", dir.path()).uid(NOBODY).gid(NOBODY);
    let checked = run(command);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(checked["files"][1]["exists"], serde_json::Value::Null, "{checked}");
}
