//! Reading one card, as far as the scenario's faults let one.

use nvidia_ml::abi::{Answer, Code};
use nvidia_ml::machine::Machine;
use nvidia_ml::reported::bus_id;
use scenario::state::Place;
use scenario::{Card, Moment, Scenario};

use crate::table::Failure;

/// One card at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub machine: &'a Machine,
    pub card: &'a Card,
    pub at: Moment,
}

/// The cards that were asked for, all when nothing was said. A card that cannot be
/// reached spoils the answer for all, as it does with the real program.
pub fn chosen<'a>(
    machine: &'a Machine,
    ids: Option<&[String]>,
) -> Result<Vec<Reader<'a>>, Failure> {
    let at = machine.now();
    let wanted = |card: &&Card| ids.is_none_or(|ids| ids.iter().any(|id| is_called(card, id)));
    let cards: Vec<_> = machine.scenario.cards.iter().filter(wanted).collect();
    if cards.is_empty() {
        return Err(Failure::no_cards());
    }
    let open =
        |card: &'a Card| match machine.admit("nvmlDeviceGetHandleByIndex_v2", Some(&card.uuid)) {
            Ok(_) => Ok(Reader { machine, card, at }),
            Err(code) => Err(Failure::card(card, code)),
        };
    cards.into_iter().map(open).collect()
}

fn is_called(card: &Card, id: &str) -> bool {
    let is_index = id.parse() == Ok(card.index);
    is_index || id == card.uuid || id == card.serial || id.eq_ignore_ascii_case(&bus_id(card.pci))
}

impl<'a> Reader<'a> {
    /// Goes through a call's faults.
    pub fn ask(&self, call: &str) -> Answer {
        self.machine.admit(call, Some(&self.card.uuid)).map(|_| ())
    }

    pub fn scenario(&self) -> &'a Scenario {
        &self.machine.scenario
    }

    pub fn place(&self) -> Place<'a> {
        Place::card(self.card)
    }

    /// Without noise; what temperature, power and clocks follow.
    pub fn load(&self) -> f64 {
        self.scenario().utilization_at(self.place(), self.at)
    }

    /// Refuses what no card in MIG mode tells.
    pub fn undivided(&self) -> Answer {
        if self.card.mig.is_some() { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
    }

    /// Goes through the faults of the first of these calls that the driver has.
    pub fn ask_newest(&self, calls: &[&str]) -> Answer {
        let has = |call: &&&str| self.scenario().driver.has(call);
        calls.iter().find(has).map_or(Err(Code::FUNCTION_NOT_FOUND), |call| self.ask(call))
    }

    /// Total, reserved, used and free, in MiB.
    pub fn memory(&self) -> Answer<[u64; 4]> {
        self.ask_newest(&["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"])?;
        let memory = self.card.memory;
        if memory.unified {
            return Err(Code::NOT_SUPPORTED);
        }
        let used = self.scenario().memory_used_at(self.place(), self.at);
        let free = memory.total.saturating_sub(memory.reserved.saturating_add(used));
        let used = memory.total - free - memory.reserved;
        Ok([memory.total, memory.reserved, used, free].map(|bytes| bytes >> 20))
    }
}
