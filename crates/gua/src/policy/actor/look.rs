//! Whether an end that was decided on is still due at this moment: everything is read anew, the
//! config, the driver, the process, its person's groups and the snoozes.

use std::fmt;
use std::sync::Arc;

use gua_core::Thresholds;
use probe::Why;
use probe::proc::Host;

use super::order::Order;
use crate::config::Machine;
use crate::failure::Failure;
use crate::policy::company::beside;
use crate::policy::input::{LiveFacts, Look as OnePoll, poll_once};
use crate::policy::{
    Activity, Followed, Holding, Judged, Relief, Settled, SnoozePlace, Spared, Step,
};

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// The same rule is still for it.
    Holds(Activity),
    /// It is in no list.
    LetGo,
    /// It is to be left alone.
    Relieved(Relief),
    /// Not everything could be read.
    Untold(String),
}

/// Looks at one process, and at others that must be idle too.
pub trait Look {
    fn look(&mut self, order: &Order) -> Looked;
}

/// Reads the config, and tells what is wrong with it.
pub type ReadConfig = Arc<dyn Fn() -> Result<Settled, Failure> + Send + Sync>;

/// Through the driver, opened for this look alone: the recorder's own may be at work.
#[derive(Clone)]
pub struct DriverLook {
    pub machine: Machine,
    pub snoozes: SnoozePlace,
    /// Thresholds of the recorder.
    pub thresholds: Thresholds,
    pub read_config: ReadConfig,
}

impl fmt::Debug for DriverLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverLook").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Look for DriverLook {
    fn look(&mut self, order: &Order) -> Looked {
        let settled = match (self.read_config)() {
            Ok(settled) => settled,
            Err(failure) => return Looked::Untold(format!("the config cannot be used: {failure}")),
        };
        if !settled.policy.enabled {
            return Looked::Relieved(Relief::SwitchedOff);
        }
        match self.step(&settled) {
            Ok(step) => judged(order, &settled, &step),
            Err(why) => Looked::Untold(why.to_string()),
        }
    }
}

impl DriverLook {
    fn step(&self, settled: &Settled) -> Result<Step, Failure> {
        let root = Host::new(self.machine.host_root.clone()).root().to_owned();
        let mut facts = LiveFacts::new(root, self.snoozes.clone()).for_one_look();
        let poll = poll_once(&self.machine)?;
        Ok(OnePoll::new(&poll, &mut facts, &settled.policy, &self.thresholds, true).step)
    }
}

fn judged(order: &Order, settled: &Settled, step: &Step) -> Looked {
    let of = |holding: &&Holding| holding.subject == order.subject;
    let Some(holding) = step.holdings.iter().find(of) else {
        return match step.is_whole {
            true => Looked::LetGo,
            false => Looked::Untold(Why::NotTold.to_string()),
        };
    };
    match Judged::of(&settled.policy, holding, step.time_of_day) {
        Judged::Under(rule) if Followed::of(&rule) == Followed::of(&order.rule) => {
            let is_meant = |other: &&Holding| order.company.contains(&other.subject);
            let others = step.holdings.iter().filter(is_meant).map(|other| other.activity);
            Looked::Holds(beside(holding.activity, others))
        }
        Judged::Under(rule) if rule.name == order.rule.name => {
            Looked::Relieved(Relief::RuleChanged)
        }
        Judged::Under(_) | Judged::NoRule => Looked::Relieved(Relief::OtherRule),
        Judged::Spared(_, Spared::Listed) => Looked::Relieved(Relief::Exempt),
        Judged::Spared(_, Spared::Guarded(guard)) => Looked::Untold(guard.to_string()),
        Judged::Snoozed(..) => Looked::Relieved(Relief::Snoozed),
        Judged::Unknown(missing) => {
            Looked::Untold(format!("its {} {} not known", missing.word(), missing.verb()))
        }
    }
}
