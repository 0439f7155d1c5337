//! Three cards that repeat five ticks: one that works, is held idle and is free; one that is held idle
//! all the time; one that is free.

use gua_core::Period;
use gua_core::units::UnixMillis;
use scenario::load::Shape;
use scenario::parse::{self, Refused};
use scenario::{Load, Moment, Process, Scenario};

use super::Plan;
use super::play::{Ending, Play, Scene, Shift};

const MACHINE: &str = r#"
    [host]
    name = "lab-a100"
    [[card]]
    [[card]]
    [[card]]
    [[process]]
    pid = 4242
    card = 0
    memory = "70000MiB"
    user = "alice"
    [[process]]
    pid = 5678
    card = 1
    memory = "8000MiB"
    user = "bob"
    program = "jupyter-lab"
    begin = "-3h40m"
    [[process]]
    pid = 9999
    card = 1
    memory = "200MiB"
    gone = true
    begin = "-3h40m"
"#;

/// Cycles of one scene.
const CYCLES: i64 = 100;

#[derive(Debug)]
pub(super) struct Cycle {
    machine: Scenario,
    start: UnixMillis,
    tick_micros: i64,
}

impl Cycle {
    pub fn new(plan: &Plan) -> Result<Self, Refused> {
        let tick_micros = plan.interval_millis().saturating_mul(1000);
        let mut machine = parse::from_str("the demo's three cards", MACHINE)?;
        if let Some(visitor) = machine.processes.first_mut() {
            let points =
                vec![(Moment::from_micros(0), 80.0), (Moment::from_micros(tick_micros * 2), 0.0)];
            let repeat = Some(plan.interval * 5);
            visitor.sm = Load { shape: Shape::Points { points, repeat }, noise: 0.0 };
        }
        Ok(Self { machine, start: plan.period().from, tick_micros })
    }

    /// Returns one process for each cycle, which is there in four of its five ticks.
    fn visits(&self, visitor: &Process, scene: i64) -> impl Iterator<Item = Process> {
        let ticks = |count: i64| Moment::from_micros(self.tick_micros * count);
        (scene * CYCLES..(scene + 1) * CYCLES).map(move |cycle| Process {
            pid: visitor.pid + u32::try_from(cycle % 1000).unwrap_or(0),
            begin: ticks(5 * cycle),
            end: Some(ticks(5 * cycle + 4)),
            ..visitor.clone()
        })
    }
}

impl Play for Cycle {
    fn scene(&self, at: UnixMillis) -> Scene {
        let length = self.tick_micros * 5 * CYCLES / 1000;
        let scene = (at.0 - self.start.0).max(0).div_euclid(length);
        let mut scenario = self.machine.clone();
        if let Some((visitor, others)) = self.machine.processes.split_first() {
            scenario.processes = self.visits(visitor, scene).chain(others.to_vec()).collect();
        }
        let until = UnixMillis(self.start.0 + (scene + 1) * length - 1);
        Scene { scenario, origin: self.start, until }
    }

    fn shifts(&self, period: Period) -> Vec<Shift> {
        vec![Shift { period, ending: Ending::Complete, asleep: Vec::new() }]
    }
}
