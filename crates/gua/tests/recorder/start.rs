//! How a recorder is started.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use super::{
    Background, POLLS, Recorder, TWO_CARDS, ask, at_home, is_clean, number, plain, status, until,
};
use crate::machine::Machine;

#[test]
fn in_the_background_it_records_when_the_start_returns() {
    let machine = Machine::new(TWO_CARDS);
    let (told, recorder) = Background::start(&machine, &[]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    insta::assert_snapshot!(plain(&told.stdout, &machine), @"gua records every 30s into [DIR]/home/.gua/gua.db, pid [PID]; `gua report` shows it");
    let database = at_home(&machine, "gua.db");
    assert_eq!(number(&database, POLLS), 1);
    let cards = "SELECT count(*) FROM latest WHERE card IS NOT NULL";
    assert_eq!(number(&database, cards), 2);
    let pid = recorder.pid().unwrap().as_raw_nonzero();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["state"]), (Some(0), &"recording".into()));
    assert_eq!(json["pid"], pid.get());

    let again = machine.gua(&["daemon"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{again:?}");
    assert_eq!(again.stdout, format!("gua is recording already, pid {pid}\n"));

    // Regression: options were passed over in silence.
    let asked = machine.gua(&["daemon", "--interval", "7s", "--listen", "17072"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(1), ""), "{asked:?}");
    insta::assert_snapshot!(plain(&asked.stderr, &machine), @"
    gua: recording already, pid [PID]: --interval, --listen have no effect on it
         End it with `gua stop` first, then start it with that.
    ");
    let same = machine.gua(&["daemon", "--interval", "30s"]);
    assert_eq!((same.code, same.stderr.as_str()), (Some(0), ""), "{same:?}");

    let stopped = machine.gua(&["stop"]);
    assert_eq!((stopped.code, stopped.stderr.as_str()), (Some(0), ""));
    assert!(stopped.stdout.starts_with("gua stopped after "), "{stopped:?}");
    assert!(stopped.stdout.contains("everything is stored"), "{stopped:?}");
    assert!(!at_home(&machine, "gua.pid").exists());
    assert_eq!(status(&machine, &[]).0, Some(3));
    is_clean(&database);
}

#[test]
fn its_files_are_its_owners_alone() {
    let machine = Machine::new(TWO_CARDS);
    let (told, _recorder) = Background::start(&machine, &[]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let mode = |name| at_home(&machine, name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    for name in ["gua.db", "gua.pid", "gua.log", "gua.db-wal"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

#[test]
fn a_start_that_fails_shows_the_end_of_the_log() {
    let machine =
        Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"DRIVER_NOT_LOADED\"\n");
    fs::create_dir(machine.home().join(".gua")).unwrap();
    fs::write(at_home(&machine, "gua.log"), "of an earlier run\n").unwrap();
    let (told, _recorder) = Background::start(&machine, &[]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    insta::assert_snapshot!(plain(&told.stderr, &machine), @"
    gua: the recorder did not start; the end of its log:
    gua: cannot read the driver: the NVIDIA kernel driver is not loaded
         Load it with `modprobe nvidia`, or see `dmesg | grep -i nvrm` for why it did not load.
         `gua doctor` checks each step; `gua demo` shows the report without a GPU.
    ");
    assert!(!at_home(&machine, "gua.pid").exists());
    assert!(!at_home(&machine, "gua.db").exists(), "nothing was changed");
}

#[test]
fn an_interval_has_bounds() {
    let machine = Machine::new(TWO_CARDS);
    for wrong in ["99ms", "3601s", "0s", "0", "-1s", "soon", ""] {
        let told = machine.gua(&["daemon", &format!("--interval={wrong}")]);
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{wrong}: {told:?}");
    }
    assert!(!machine.home().join(".gua").exists());
    let recorder = Recorder::with(&machine, &["--interval", "1h"], |_| ());
    assert_eq!(recorder.number("SELECT interval_ms FROM run"), 3_600_000);
    recorder.end();
    let recorder = Recorder::start(&machine);
    assert_eq!(recorder.number("SELECT interval_ms FROM run WHERE id = 2"), 100);
    recorder.end();
}

/// The one at home is gone on with, without a word.
#[test]
fn the_database_at_home_is_gone_on_with() {
    let machine = Machine::new(TWO_CARDS);
    for run in 1..=2 {
        let recorder = Recorder::start(&machine);
        assert_eq!(recorder.number("SELECT count(*) FROM run"), run);
        recorder.end();
    }
    let named = at_home(&machine, "gua.db");
    let recorder = Recorder::with(&machine, &["--db", named.to_str().unwrap()], |_| ());
    recorder.end();
    assert_eq!(number(&named, "SELECT count(*) FROM run WHERE ending = 'stopped'"), 3);
}

#[test]
fn the_history_of_a_python_gua_at_home_is_taken_over() {
    let machine = Machine::new(TWO_CARDS);
    let path = at_home(&machine, "gua.db");
    fs::create_dir(path.parent().unwrap()).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch(crate::machine::PYTHON_GUA).unwrap();
    let (told, _recorder) = Background::start(&machine, &["--interval", "100ms"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    assert!(told.stdout.contains("takes over the history of the Python gua"), "{told:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM run"), 2, "theirs and ours");
    assert_eq!(number(&path, "SELECT count(*) FROM run WHERE imported"), 1);
    let log = fs::read_to_string(at_home(&machine, "gua.log")).unwrap();
    assert!(log.contains("its file is kept as"), "{log}");
    assert_eq!(machine.gua(&["stop"]).code, Some(0));
    is_clean(&path);
}

/// Trap: a pipe that nobody read ended the start before there was a recorder, with exit code 0;
/// a full disk behind stdout made a failure of a recorder that ran.
#[test]
fn who_does_not_listen_gets_a_recorder_all_the_same() {
    let (reader, gone) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = "gua: cannot write the output: No space left on device (os error 28)\n";
    for (stdout, said) in [(Stdio::from(gone), ""), (full.into(), &said.repeat(2))] {
        let machine = Machine::new(TWO_CARDS);
        let path = at_home(&machine, "gua.db");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let python = rusqlite::Connection::open(&path).unwrap();
        python.execute_batch(crate::machine::PYTHON_GUA).unwrap();
        drop(python);
        let _guard = Background::start(&machine, &["--interval", "nothing"]).1;
        let mut command = machine.command(&["start", "--interval", "100ms"]);
        let started = command.stdout(stdout).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&started.stderr), said);
        assert_eq!(started.status.code(), Some(0));
        assert_eq!(number(&path, "SELECT count(*) FROM run"), 2, "theirs and ours");
        assert_eq!(machine.gua(&["stop"]).code, Some(0));
    }
}

#[test]
fn one_recorder_a_database_by_whatever_name() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    let link = machine.dir().join("link.db");
    symlink(&recorder.database, &link).unwrap();
    let link = link.to_str().unwrap();
    let same = machine.gua(&["daemon", "--db", link, "--append"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.starts_with("gua is recording already, pid "), "{same:?}");
    let other = machine.dir().join("other.pid");
    for db in [recorder.database.to_str().unwrap(), link] {
        for foreground in [&["--foreground"][..], &[]] {
            let args = ["daemon", "--append", "--db", db, "--pid-file", other.to_str().unwrap()];
            let second = machine.gua(&[&args, foreground].concat());
            assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{second:?}");
            assert!(second.stderr.contains("another recorder writes to it"), "{second:?}");
            assert!(!other.exists());
        }
    }
    let elsewhere = machine.dir().join("elsewhere.db");
    let told = machine.gua(&["daemon", "--db", elsewhere.to_str().unwrap()]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
    insta::assert_snapshot!(plain(&told.stderr, &machine), @"gua: a recorder (pid [PID]) records into [DIR]/home/.gua/gua.db already; stop it first, or use another --pid-file for a second one");
    assert!(!elsewhere.exists());
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1);
    recorder.end();
}

/// Whichever is first, the others say that it records.
#[test]
fn of_many_that_start_at_once_one_records() {
    let machine = Machine::new(TWO_CARDS);
    let _guard = Background::start(&machine, &["--interval", "nothing"]).1;
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let mut command = machine.command(&["start", "--interval", "100ms"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut records = 0;
    for start in starts {
        let output = start.wait_with_output().unwrap();
        let (told, error) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{told}");
        records += i32::from(told.starts_with("gua records every 100ms"));
    }
    assert_eq!(records, 1);
    let path = at_home(&machine, "gua.db");
    until("it ticks", || ask::<i64>(&path, POLLS).unwrap() > 2);
    assert_eq!(machine.gua(&["stop"]).code, Some(0));
    assert_eq!(number(&path, "SELECT count(*) FROM run"), 1);
    is_clean(&path);
}

/// The recorder works from another folder than the one it was started in.
#[test]
fn paths_may_be_relative() {
    let machine = Machine::new(TWO_CARDS);
    let mut command = machine.command(&["start", "--db", "new/x.db", "--log-file", "x.log"]);
    let _guard = Background::start(&machine, &["--interval", "nothing"]).1;
    command.current_dir(machine.dir()).env("GUA_HOME", "home/.gua");
    let told = crate::machine::run(command);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    for name in ["new/x.db", "x.log", "home/.gua/gua.pid"] {
        assert!(machine.dir().join(name).is_file(), "{name}");
    }
    assert_eq!(machine.gua(&["stop"]).code, Some(0));
}

/// A link to a file that is still to be made.
#[test]
fn a_link_that_leads_nowhere_yet_is_followed() {
    let machine = Machine::new(TWO_CARDS);
    let link = machine.dir().join("link.db");
    symlink("data/real.db", &link).unwrap();
    let recorder = Recorder::with(&machine, &["--db", link.to_str().unwrap()], |_| ());
    assert!(machine.dir().join("data/real.db").is_file());
    assert!(link.is_symlink());
    recorder.end();
}

/// Somebody else may be at it just then; for longer than a moment it is told.
#[test]
fn a_database_that_is_locked_is_waited_for() {
    let machine = Machine::new(TWO_CARDS);
    Recorder::start(&machine).end();
    let path = at_home(&machine, "gua.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let told = machine.gua(&["daemon", "--foreground"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.stderr.contains("another program has it locked; try again"), "{told:?}");
    let recorder = Recorder::spawn(&machine, &["--interval", "1h"], |_| ());
    until("it notices", || recorder.said().matches("another program has it locked").count() == 1);
    other.execute_batch("ROLLBACK").unwrap();
    until("it begins", || number(&path, "SELECT count(*) FROM run") == 2);
    recorder.end();
}
