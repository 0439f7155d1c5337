//! Pid files that are not what they seem: nobody is signalled by mistake, nothing is lost.

use std::fs;
use std::process::{Child, Command, Stdio};

use nvidia_ml::skip::skipped;

use super::refused::as_nobody;
use super::{Background, Recorder, TWO_CARDS, at_home, plain, status};
use crate::machine::{Machine, Run, run};

/// A machine with a home and this in its pid file.
fn with_pid_file(text: &str) -> Machine {
    let machine = Machine::new(TWO_CARDS);
    fs::create_dir(machine.home().join(".gua")).unwrap();
    fs::write(at_home(&machine, "gua.pid"), text).unwrap();
    machine
}

/// A program that has nothing to do with us, for as long as the test runs.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// As the host counts it; a name without blanks makes the fields easy to tell apart.
    fn start_ticks(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.split_whitespace().nth(21).unwrap().to_owned()
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nobody records, the file is cleared, and a recorder can start as if it were not there.
fn is_stale(text: &str) -> Run {
    let machine = with_pid_file(text);
    assert_eq!(status(&machine, &[]).0, Some(3), "{text}");
    let stopped = machine.gua(&["stop"]);
    assert_eq!((stopped.code, stopped.stderr.as_str()), (Some(0), ""), "{text}");
    assert!(stopped.stdout.contains("a stale pid file was deleted: "), "{stopped:?}");
    assert!(!at_home(&machine, "gua.pid").exists());
    fs::write(at_home(&machine, "gua.pid"), text).unwrap();
    let (told, _recorder) = Background::start(&machine, &[]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    assert_eq!(status(&machine, &[]).0, Some(0), "{text}");
    assert_eq!(machine.gua(&["stop"]).code, Some(0));
    stopped
}

#[test]
fn of_a_process_that_is_gone() {
    let told = is_stale("2147483647 12\n/x.db\n");
    assert!(told.stdout.ends_with("process 2147483647 is gone\n"), "{told:?}");
    is_stale("2147483647\n");
    is_stale("");
}

#[test]
fn of_another_program() {
    let mut bystander = Bystander::new();
    let (pid, start) = (bystander.pid(), bystander.start_ticks());
    for text in [format!("{pid} {start}\n/x.db\n"), format!("{pid} 7\n"), format!("{pid}\n")] {
        let told = is_stale(&text);
        assert!(told.stdout.contains("another program, which was left alone"), "{told:?}");
        assert!(bystander.lives(), "{text}");
    }
}

/// The number of a recorder that was given to another recorder.
#[test]
fn of_a_recorder_that_started_at_another_time() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    let file = machine.dir().join("copy.pid");
    let database = recorder.database.display();
    fs::write(&file, format!("{} 7\n{database}\n", recorder.pid().as_raw_nonzero())).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(status(&machine, &["--pid-file", file]).1["pid"], serde_json::Value::Null);
    let told = machine.gua(&["stop", "--pid-file", file]);
    assert!(told.stdout.contains("another program, which was left alone"), "{told:?}");
    recorder.goes_on();
    recorder.end();
}

#[test]
fn of_the_python_gua() {
    let script = Machine::new(TWO_CARDS);
    let program = script.dir().join("gua");
    crate::doctor::write_program(&program, "read line");
    let mut python =
        Bystander(Command::new(&program).arg("daemon").stdin(Stdio::piped()).spawn().unwrap());
    let cmdline = format!("/proc/{}/cmdline", python.pid());
    super::until("the shell has taken over", || {
        fs::read_to_string(&cmdline).unwrap().contains("daemon")
    });
    let text = format!("{}\n", python.pid());
    let machine = with_pid_file(&text);
    let stop = machine.gua(&["stop"]);
    assert_eq!((stop.code, stop.stdout.as_str()), (Some(1), ""), "{stop:?}");
    let start = machine.gua(&["start"]);
    assert_eq!((start.code, start.stdout.as_str()), (Some(1), ""), "{start:?}");
    insta::assert_snapshot!(plain(&(stop.stderr + &start.stderr), &machine), @"
    gua: process [PID] is a recorder of another gua, maybe the Python one
         Stop it with that program; it was left alone.
    gua: cannot use the pid file [DIR]/home/.gua/gua.pid: process [PID] is a recorder of another gua, maybe the Python one; use another one with --pid-file PATH
    ");
    assert!(python.lives());
    assert_eq!(fs::read_to_string(at_home(&machine, "gua.pid")).unwrap(), text);
    assert_eq!(status(&machine, &[]).0, Some(0), "somebody does record");
}

/// Trap: a file that was named by mistake must not be taken for a stale one and lost.
#[test]
fn that_is_no_pid_file_is_left_alone() {
    for text in ["my notes\n", "\n5", "gua 5", "-5", "0", "99999999999"] {
        let machine = with_pid_file(text);
        assert_eq!(status(&machine, &[]).0, Some(3), "{text}");
        let (stop, start) = (machine.gua(&["stop"]), machine.gua(&["start"]));
        assert_eq!((stop.code, start.code), (Some(1), Some(1)), "{stop:?} {start:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(plain(&(stop.stderr + &start.stderr), &machine), @"
            gua: [DIR]/home/.gua/gua.pid is not a pid file of gua; it was left alone
                 Look at it, and delete it if nobody needs it.
            gua: cannot use the pid file [DIR]/home/.gua/gua.pid: it is not a pid file; use another one with --pid-file PATH
            ");
        }
        assert_eq!(fs::read_to_string(at_home(&machine, "gua.pid")).unwrap(), text);
    }
}

#[test]
fn that_cannot_be_read_or_is_no_file() {
    let machine = Machine::new(TWO_CARDS);
    for special in [machine.dir().to_str().unwrap(), "/dev/null"] {
        for command in ["stop", "start"] {
            let told = machine.gua(&[command, "--pid-file", special]);
            assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
            assert!(told.stderr.contains("it is not a file"), "{told:?}");
        }
    }
    let file = machine.dir().join("their.pid");
    fs::write(&file, "1 1\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    for arguments in [["stop"], ["status"]] {
        let Some(mut command) = as_nobody(&machine, &arguments) else {
            return skipped("a pid file that cannot be read", "no other user can be played");
        };
        command.arg("--pid-file").arg(&file);
        let told = run(command);
        assert_eq!(told.code, Some(1), "{told:?}");
    }
    assert!(file.exists());
}

/// Trap: "not recording" would be a lie.
#[test]
fn that_was_taken_away() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    fs::remove_file(at_home(&machine, "gua.pid")).unwrap();
    assert_eq!(status(&machine, &[]).0, Some(0));
    let stop = machine.gua(&["stop"]);
    assert_eq!((stop.code, stop.stdout.as_str()), (Some(1), ""), "{stop:?}");
    insta::assert_snapshot!(plain(&stop.stderr, &machine), @"
    gua: a process records into [DIR]/home/.gua/gua.db, but there is no pid file [DIR]/home/.gua/gua.pid that names it
         Name its pid file with --pid-file PATH, or find it: `pgrep -af 'gua (daemon|start)'`.
    ");
    let start = machine.gua(&["start"]);
    assert_eq!((start.code, start.stderr.as_str()), (Some(0), ""), "{start:?}");
    assert!(start.stdout.starts_with("gua is recording already into "), "{start:?}");
    recorder.end();
}
