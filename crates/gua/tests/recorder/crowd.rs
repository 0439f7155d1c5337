//! What a tick costs does not follow the processes of the host, and little those on the cards.

use std::fs;
use std::process::{Child, Command, Stdio};

use nvidia_ml::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};

use super::{Recorder, until};
use crate::machine::Machine;

const CARDS: usize = 8;
const TICKS: i64 = 30;

/// Processes that really run; they end with the test.
struct Crowd(Vec<Child>);

impl Crowd {
    fn new(count: usize) -> Self {
        let one = |_| Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        Self((0..count).map(one).collect())
    }

    /// A machine with eight cards that they hold between them, each at work.
    fn machine(&self) -> Machine {
        let cards = "[[card]]\n".repeat(CARDS);
        let process = |(place, child): (usize, &Child)| {
            format!(
                "[[process]]\npid = {}\ncard = {}\nmemory = \"300MiB\"\nsm = 2\nbegin = \"-1h\"\n",
                child.id(),
                place % CARDS
            )
        };
        let processes: String = self.0.iter().enumerate().map(process).collect();
        Machine::new(&format!("{cards}{processes}"))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// The system calls of a recorder over some ticks, once it has settled: each of them, and how
/// many ticks there were. `None` where nobody may look.
fn traced(machine: &Machine) -> Option<(Vec<String>, i64)> {
    // The holders are processes of this host.
    let prepare = |command: &mut Command| {
        command.env_remove("GUA_HOST_ROOT");
    };
    let mut recorder = Recorder::with(machine, &["--interval", "100ms"], prepare);
    recorder.has_ticked(10);
    let file = machine.dir().join("calls");
    let pid = recorder.pid().as_raw_nonzero().to_string();
    let mut trace = Command::new("strace");
    trace.args(["-f", "-qq", "-p", &pid, "-o"]).arg(&file).stderr(Stdio::null());
    let mut trace = trace.spawn().ok()?;
    let mut has_begun = false;
    until("calls are traced", || {
        has_begun = fs::metadata(&file).is_ok_and(|found| found.len() > 0);
        has_begun || trace.try_wait().unwrap().is_some()
    });
    if !has_begun {
        return None;
    }
    let ticks = || recorder.number(super::POLLS);
    let first = ticks();
    until("it ticks", || ticks() >= first + TICKS);
    kill_process(Pid::from_child(&trace), Signal::INT).unwrap();
    let last = ticks();
    trace.wait().unwrap();
    recorder.end();
    Some((fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect(), last - first))
}

/// System calls that a holder may cost a tick: its CPU time is read.
const CALLS_PER_HOLDER: f64 = 8.0;

#[test]
#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn many_who_stay_cost_no_more_than_their_cpu_time() {
    const MANY: usize = 200;
    let per_tick = |count: usize| {
        let crowd = Crowd::new(count);
        let (calls, ticks) = traced(&crowd.machine())?;
        // Who is there is known by handles: nobody lists the processes of the host.
        let listed = calls.iter().find(|call| call.contains("getdents"));
        assert_eq!(listed, None, "with {count}");
        Some(calls.len() as f64 / ticks as f64)
    };
    let (Some(few), Some(many)) = (per_tick(CARDS), per_tick(MANY)) else {
        skipped("many_who_stay_cost_no_more_than_their_cpu_time", "strace is not to be had here");
        return;
    };
    let more = CALLS_PER_HOLDER * (MANY - CARDS) as f64;
    assert!(many <= 1.5 * few + more, "{many:.1} calls a tick instead of {few:.1}");
}
