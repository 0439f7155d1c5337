//! `gua stat` on pretend machines.

/// What it shows when something cannot be read.
mod doubt;
/// How it fits the screen, and what it keeps off it.
mod screen;
/// What it shows, and the options that choose it.
mod view;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::machine::{Machine, Run};

pub(super) const TWO_CARDS: &str = r#"
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

pub(super) fn json(machine: &Machine) -> Value {
    let run = machine.gua(&["stat", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

pub(super) fn card(scenario: &str) -> Value {
    json(&Machine::new(scenario))["cards"][0].clone()
}

/// The output without its first line, which holds the time.
pub(super) fn body(run: &Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout.split_once('\n').unwrap().1.to_owned()
}

/// The program with an interval, read look by look, ended when dropped.
pub(super) struct Live {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Live {
    pub(super) fn start(machine: &Machine, args: &[&str]) -> Self {
        let args = [&["stat", "--json", "-i", "0.1"], args].concat();
        let mut child = machine.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(super) fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
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
