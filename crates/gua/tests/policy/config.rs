//! What the config may say of rules: every mistake is named at its place.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::machine::Machine;

const BAD: [(&str, &str); 10] = [
    ("no name, no time", "[[policy.rule]]\naction = \"end\"\n"),
    (
        "an end that nobody is told of",
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\naction = \"end\"\n",
    ),
    (
        "notices that come too late or go down",
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\nnotices = [\"3h\", \"1h\"]\n",
    ),
    (
        "words that are none",
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\naction = \"kill\"\n\
         match = { kind = [\"notebook\", \"notebok\"], usr = \"ann\", hours = \"8-9\" }\n",
    ),
    (
        "two of a name",
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\n[[policy.rule]]\nname = \"x\"\n\
         idle_for = \"3h\"\n",
    ),
    ("no list", "[policy]\nrule = 5\nexempt = [\"ann\"]\nmax_ends_per_hour = -1\n"),
    ("a field that is none", "[notify]\nmessage = \"{usr}\"\ncommand = [\"tell\", \"{x}\"]\n"),
    ("no place", "[notify]\nwebhook = { url = \"ftp://x\", stile = \"slack\" }\n"),
    (
        "a name that anybody can take, to end something by",
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\nnotices = [\"1h\"]\n\
         action = \"end\"\nnotify = [\"tty\"]\ncancel = [\"stop\", \"{job}\", \"{program}\"]\n",
    ),
    ("a shell", "[notify]\ncommand = \"tell {user}\"\n"),
];

#[test]
fn every_mistake_is_named_at_its_place() {
    let machine = Machine::new("[[card]]\n");
    let path = machine.dir().join("bad.toml");
    let mut all = String::new();
    for (what, text) in BAD {
        super::write(&path, text);
        let told = machine.gua(&["config", "check", path.to_str().unwrap()]);
        let dir = machine.dir().display().to_string();
        let told =
            format!("{}{}[{:?}]", told.stdout, told.stderr, told.code).replace(&dir, "[DIR]");
        all.push_str(&format!("== {what}\n{told}\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_way_that_is_not_set_up_is_refused_before_anything_happens() {
    let machine = Machine::new("[[card]]\n");
    let path = machine.dir().join("ways.toml");
    super::write(
        &path,
        "[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\nnotices = [\"1h\"]\n\
         action = \"notify\"\nnotify = [\"webhook\"]\n",
    );
    let check = ["config", "check", path.to_str().unwrap()];
    for command in [&["policy", "check"][..], &["daemon", "--foreground"], &check] {
        let mut args = vec!["--config", path.to_str().unwrap()];
        args.extend(command);
        let told = machine.gua(&args);
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains("tells people by `webhook`, which is not set up"), "{told:?}");
    }
}

/// Trap: whoever may write the rules ends processes by the recorder's hand.
#[test]
fn rules_that_anybody_may_write_only_observe() {
    let machine = Machine::new("[[card]]\n");
    let path = machine.dir().join("open.toml");
    fs::write(&path, rules("notify")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let file = path.to_str().unwrap();
    let told = machine.gua(&["--config", file, "daemon", "--foreground"]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("open.toml can be written by anybody"), "{told:?}");
    let refused = |file: u32, folder: u32, why: &str| {
        fs::set_permissions(&path, fs::Permissions::from_mode(file)).unwrap();
        fs::set_permissions(machine.dir(), fs::Permissions::from_mode(folder)).unwrap();
        std::os::unix::fs::chown(&path, None, Some(machine_group())).unwrap();
        std::os::unix::fs::chown(machine.dir(), None, Some(machine_group())).unwrap();
        let told = machine.gua(&["--config", file_of(&path), "daemon", "--foreground"]);
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains(why), "{told:?}");
    };
    let group = format!("can be written by the group {}", machine_group());
    refused(0o664, 0o700, &format!("open.toml {group}"));
    // Whoever may write a folder puts another file in its place.
    refused(0o644, 0o770, &group);
    refused(0o644, 0o777, "can be written by anybody");
    fs::set_permissions(machine.dir(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(&path, rules("observe")).unwrap();
    let told = machine.gua(&["--config", file, "policy", "check"]);
    assert_eq!(told.code, Some(0), "{told:?}");
}

/// Trap: of a folder that is a link only its place and its end were looked at, not the folders
/// that the links between them lie in.
#[test]
fn whoever_may_turn_a_link_on_the_way_may_write_the_rules() {
    let machine = Machine::new("[[card]]\n");
    let [safe, open] = ["safe", "open"].map(|name| machine.dir().join(name));
    fs::create_dir(&safe).unwrap();
    fs::create_dir(&open).unwrap();
    super::write(&safe.join("rules.toml"), &rules("notify"));
    std::os::unix::fs::symlink("../safe/.", open.join("inner")).unwrap();
    std::os::unix::fs::symlink("open/inner", machine.dir().join("link")).unwrap();
    let path = machine.dir().join("link/rules.toml");
    let mode = |mode| fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
    // With rules that may be followed it goes on to its next refusal.
    let below_a_file = path.join("gua.db");
    let args = ["daemon", "--foreground", "--db", file_of(&below_a_file)];
    let start = || machine.gua(&[&["--config", file_of(&path)][..], &args].concat());
    mode(0o755);
    let told = start();
    assert_ne!(told.code, Some(0), "{told:?}");
    assert!(!told.stderr.contains("can be written"), "{told:?}");
    mode(0o777);
    let told = start();
    assert_eq!(told.code, Some(2), "{told:?}");
    let why = format!("{} can be written by anybody", open.display());
    assert!(told.stderr.contains(&why), "{told:?}");
}

fn rules(action: &str) -> String {
    format!(
        "[policy]\nenabled = true\n[[policy.rule]]\nname = \"x\"\nidle_for = \"2h\"\n\
         notices = [\"1h\"]\naction = \"{action}\"\nnotify = [\"tty\"]\n"
    )
}

/// A group that is not root's: as root any, else our own.
fn machine_group() -> u32 {
    if rustix::process::geteuid().is_root() { 41_000 } else { rustix::process::getegid().as_raw() }
}

fn file_of(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

/// What is in force can be written down and read again, but for what is secret.
#[test]
fn rules_that_are_shown_are_a_config_themselves() {
    let machine = Machine::new("[[card]]\n");
    let path = machine.dir().join("rules.toml");
    super::write(
        &path,
        "[policy]\nexempt = { users = [\"ann\", \"b*\"], containers = [\"serving\"] }\n\
         [[policy.rule]]\nname = \"a \\\"b\\\"\"\nidle_for = \"2h\"\nnotices = [\"1h\", \"90m\"]\n\
         action = \"end\"\ngrace = \"5s\"\nkill = true\nnotify = [\"tty\", \"webhook\"]\n\
         cancel = \"scancel\"\nexempt = { groups = \"staff\" }\n\
         match = { user = \"x*\", kind = \"job\", memory_over = \"1GB\", card = [\"A100\"], \
         hours = \"20:00-7:00\" }\n\
         [notify]\nwebhook = { url = \"https://hooks.example/T0/secret\", style = \"plain\" }\n\
         command = [\"/bin/tell\", \"{user}\"]\nmail = { domain = \"lab.example\" }\n",
    );
    let show = |path: &std::path::Path| {
        let told = machine.gua(&["--config", path.to_str().unwrap(), "config", "show", "--json"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        let mut json: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        json["settings"].take()
    };
    let first = show(&path);
    let text = machine.gua(&["--config", path.to_str().unwrap(), "config", "show"]).stdout;
    // Whoever knows the way of a webhook may write to it, so it is not shown, and not taken for one.
    assert!(text.contains("https://hooks.example/…") && !text.contains("T0/secret"), "{text}");
    assert_eq!(first["notify"]["webhook"]["value"]["url"], "https://hooks.example/…");
    let again = machine.dir().join("again.toml");
    super::write(&again, &text);
    let told = machine.gua(&["--config", again.to_str().unwrap(), "config", "show"]);
    assert_eq!(told.code, Some(2), "{told:?}");
    super::write(&again, &text.replace("hooks.example/…", "hooks.example/T0/secret"));
    let second = show(&again);
    for key in ["exempt", "rule"] {
        assert_eq!(first["policy"][key]["value"], second["policy"][key]["value"]);
    }
    for key in ["webhook", "command", "mail", "message"] {
        assert_eq!(first["notify"][key]["value"], second["notify"][key]["value"]);
    }
}
