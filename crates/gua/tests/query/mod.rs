//! `gua query` on pretend machines.

/// What it says when something cannot be read.
mod doubt;
/// What it writes to a file, whatever ends it.
mod file;
/// Held against nvidia-smi on the same machine.
mod nvidia_smi;
/// When it looks again, and when it ends.
mod pace;
/// What is refused before anything is read.
mod refused;
/// What it shows, in each format.
mod view;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use crate::machine::{Machine, Run};

/// Two cards at a steady load, three holders.
pub(super) const STEADY: &str = r#"
[host]
name = "steady"

[[card]]
uuid = "GPU-a"
name = "NVIDIA A100-SXM4-80GB"
bus_id = "00000000:3B:00.0"
memory = "80GiB"
reserved = "600MiB"
utilization = 80
memory_utilization = 35
encoder = 3
decoder = 4
power = { idle = 60, full = 400, limit = 350 }

[[card]]
uuid = "GPU-b"
name = "NVIDIA GeForce RTX 4090"
bus_id = "00000000:5E:00.0"
memory = "24GiB"
reserved = "300MiB"
utilization = 0
fan = 30

[[card]]
uuid = "GPU-c"
bus_id = "00000000:86:00.0"
utilization = 0

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
command = ["/usr/bin/python", "train.py", "--token", "hunter2"]
memory = "70000MiB"
sm = 75
memory_utilization = 30
begin = "-5h12m"

[[process]]
pid = 150
card = 0
user = "alice"
program = "ffmpeg"
kind = "compute+graphics"
memory = "1GiB"
sm = 5
encoder = 3
decoder = 4
begin = "-1h"

[[process]]
pid = 200
card = 1
user = "bob"
program = "jupyter-lab"
memory = "unknown"
begin = "-3d2h"
"#;

/// What was printed by a run that went well.
pub(super) fn printed(run: &Run) -> &str {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    &run.stdout
}

/// What is printed of some fields of a machine.
pub(super) fn query(scenario: &str, args: &[&str]) -> String {
    let run = Machine::new(scenario).gua(&[&["query"], args].concat());
    printed(&run).to_owned()
}

/// The program while it loops, read line by line, ended when dropped.
pub(super) struct Looping {
    pub child: Child,
    pub lines: Lines<BufReader<ChildStdout>>,
}

impl Looping {
    pub fn start(machine: &Machine, args: &[&str]) -> Self {
        let mut command = machine.command(&[&["query"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next line, whenever it comes.
    pub fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// The first line that is wanted; a change of the scenario takes a moment to be seen.
    pub fn wait_for(&mut self, is_wanted: impl Fn(&str) -> bool) -> String {
        let lines = self.lines.by_ref().take(2000).map(|line| line.unwrap());
        lines.into_iter().find(|line| is_wanted(line)).unwrap()
    }
}

impl Drop for Looping {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}
