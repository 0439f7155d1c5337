//! As a service: the unit is one that systemd knows, and the recorder does what it promises.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nvidia_ml::skip::skipped;
use rustix::process::Signal;

use super::{Recorder, TWO_CARDS};
use crate::machine::{Machine, project};

fn unit() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(project().join("packaging/gua.service")).unwrap();
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '['])) {
        let (key, value) = line.split_once('=').unwrap();
        keys.entry(key.to_owned()).or_default().push(value.to_owned());
    }
    keys
}

fn value(key: &str) -> String {
    unit().get(key).unwrap_or_else(|| panic!("there is no {key}"))[0].clone()
}

/// The arguments of `ExecStart`, with the machine's folder for the host's.
fn arguments(state: &Path) -> Vec<String> {
    let state = state.to_str().unwrap();
    let line = value("ExecStart").replace("/var/lib/gua", state);
    let mut words = line.split_whitespace().map(str::to_owned);
    assert_eq!(words.next().unwrap(), "/usr/bin/gua");
    words.collect()
}

/// What the service manager hears.
struct Manager {
    socket: UnixDatagram,
    path: std::path::PathBuf,
}

impl Manager {
    fn new(folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { socket, path }
    }

    fn hears(&self) -> String {
        let mut bytes = [0; 512];
        let length = self.socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    }

    fn waits_for(&self, word: &str) {
        while self.hears() != word {}
    }
}

fn as_a_service(machine: &Machine, manager: &Manager, watchdog: Option<&str>) -> Recorder {
    let state = machine.dir().join("state");
    fs::create_dir_all(&state).unwrap();
    let arguments = arguments(&state);
    assert_eq!(arguments[..2], ["daemon", "--foreground"]);
    let arguments: Vec<&str> = arguments[2..].iter().map(String::as_str).collect();
    let environment = value("Environment").replace("/var/lib/gua", state.to_str().unwrap());
    let (name, home) = environment.split_once('=').unwrap();
    let mut recorder = Recorder::spawn(machine, &arguments, |command| {
        command.env_remove("HOME").env(name, home).env("NOTIFY_SOCKET", &manager.path);
        if let Some(micros) = watchdog {
            command.env("WATCHDOG_USEC", micros);
        }
    });
    recorder.database = state.join("gua.db");
    recorder
}

#[test]
fn it_is_ready_when_the_first_tick_is_stored_and_says_when_it_stops() {
    let machine = Machine::new(TWO_CARDS);
    let manager = Manager::new(machine.dir());
    // A second time as after a restart: the database is there already.
    for run in 1..=2 {
        let mut recorder = as_a_service(&machine, &manager, None);
        assert_eq!(manager.hears(), "READY=1", "{}", recorder.said());
        let ticks = format!("SELECT polls FROM run WHERE id = {run}");
        assert_eq!(recorder.number(&ticks), 1, "and not before");
        recorder.signal(Signal::TERM);
        assert_eq!(manager.hears(), "STOPPING=1");
        assert_eq!(recorder.ended().code(), Some(0));
        assert!(machine.dir().join("state/gua.db").is_file());
        assert!(!machine.home().join(".gua").exists(), "all of it is in its state folder");
    }
}

#[test]
fn a_start_that_fails_is_never_called_ready() {
    let machine =
        Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"NO_PERMISSION\"\n");
    let manager = Manager::new(machine.dir());
    let mut recorder = as_a_service(&machine, &manager, None);
    assert_eq!(recorder.ended().code(), Some(1));
    manager.socket.set_nonblocking(true).unwrap();
    assert!(manager.socket.recv(&mut [0; 64]).is_err(), "nothing was said");
}

/// Many times between two ticks: the interval is half a minute.
#[test]
fn the_watchdog_hears_from_it() {
    let machine = Machine::new(TWO_CARDS);
    let manager = Manager::new(machine.dir());
    let mut recorder = as_a_service(&machine, &manager, Some("300000"));
    manager.waits_for("READY=1");
    for _ in 0..5 {
        assert_eq!(manager.hears(), "WATCHDOG=1");
    }
    assert_eq!(recorder.number(super::POLLS), 1);
    recorder.signal(Signal::TERM);
    manager.waits_for("STOPPING=1");
    assert_eq!(recorder.ended().code(), Some(0));
}

/// What it promises, and what it must not take away.
#[test]
fn the_unit_lets_it_see_what_it_needs() {
    assert_eq!((value("Type"), value("NotifyAccess")), ("notify".into(), "main".into()));
    assert_eq!((value("User"), value("StateDirectory")), ("gua".into(), "gua".into()));
    assert_eq!(value("ExecReload"), "/bin/kill -HUP $MAINPID");
    assert_eq!(value("Restart"), "on-failure");
    let unit = unit();
    for hides in ["PrivateDevices", "ProtectProc", "ProcSubset", "PrivateUsers", "DevicePolicy"] {
        assert!(!unit.contains_key(hides), "{hides} hides the cards or who is on them");
    }
    // A look at a failing driver may take as long, and so may the last one.
    let watchdog: u64 = value("WatchdogSec").parse().unwrap();
    assert!(watchdog >= 60, "{watchdog}");
    let twice: Vec<_> = unit.iter().filter(|(_, values)| values.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn systemd_knows_every_line_of_the_unit() {
    let dir = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(project().join("packaging/gua.service")).unwrap();
    // Neither the program nor its user is installed here.
    let unit =
        unit.replace("/usr/bin/gua", env!("CARGO_BIN_EXE_gua")).replace("User=gua", "User=root");
    let path = dir.path().join("gua.service");
    fs::write(&path, unit).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output();
    let Ok(verified) = verified else {
        return skipped("systemd_knows_every_line_of_the_unit", "systemd-analyze is not there");
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<&str> = said.lines().filter(|line| line.contains("gua")).collect();
    assert!(about_it.is_empty(), "{said}");
    assert!(verified.status.success(), "{said}");
}

/// The snippet names the log of the unit's home, and has it begun anew the way we do.
#[test]
fn the_log_is_rotated_with_the_signal_that_we_know() {
    let text = fs::read_to_string(project().join("packaging/gua.logrotate")).unwrap();
    let state = value("Environment").replace("GUA_HOME=", "");
    assert!(text.contains(&format!("\n{state}/gua.log {{\n")), "{text}");
    assert!(text.contains("systemctl reload gua.service\n"), "{text}");
    assert!(!text.contains("copytruncate"), "{text}");
}
