//! Three cards that repeat five ticks: one that works, is held and is let go; one that is
//! held all the time; one that nobody wants.

use probe::units::UnixMillis;
use scenario::load::Shape;
use scenario::parse::{self, Refused};
use scenario::{Load, Moment, Process, Scenario};

use super::Plan;
use super::play::{Play, Scene, Shift};
use crate::ledger::Period;
use crate::store::Ending;

const MACHINE: &str = r#"
    [host]
    name = "lab-a100"
    [[card]]
    [[card]]
    utilization = 2
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
        let tick = |count: i64| Moment::from_micros(tick_micros.saturating_mul(count));
        if let Some(card) = machine.cards.first_mut() {
            let points = vec![(tick(0), 80.0), (tick(2), 2.0), (tick(4), 0.0)];
            let repeat = Some(plan.interval * 5);
            card.utilization = Some(Load { shape: Shape::Points { points, repeat }, noise: 0.0 });
        }
        Ok(Self { machine, start: plan.period().from, tick_micros })
    }

    /// One who comes in every cycle, and is there at four of its five ticks.
    fn visits(&self, visitor: &Process, scene: i64) -> impl Iterator<Item = Process> {
        let half_ticks = |count: i64| Moment::from_micros(self.tick_micros * count / 2);
        (scene * CYCLES..(scene + 1) * CYCLES).map(move |cycle| Process {
            pid: visitor.pid + u32::try_from(cycle % 1000).unwrap_or(0),
            begin: half_ticks(10 * cycle + 1),
            end: Some(half_ticks(10 * cycle + 9)),
            ..visitor.clone()
        })
    }
}

impl Play for Cycle {
    fn scene(&self, at: UnixMillis) -> Scene {
        let length = self.tick_micros * 5 * CYCLES / 1000;
        // A tick at the end of a scene speaks for the time before it.
        let scene = (at.0 - self.start.0 - 1).max(0).div_euclid(length);
        let mut scenario = self.machine.clone();
        if let Some((visitor, others)) = self.machine.processes.split_first() {
            scenario.processes = self.visits(visitor, scene).chain(others.to_vec()).collect();
        }
        let until = UnixMillis(self.start.0 + (scene + 1) * length);
        Scene { scenario, origin: self.start, until }
    }

    fn shifts(&self, period: Period) -> Vec<Shift> {
        vec![Shift { period, ending: Ending::Complete, asleep: Vec::new() }]
    }
}
