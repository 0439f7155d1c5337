//! All looks at one card as one sum.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::card::{Basis, MemorySource as Whose};
use probe::units::Bytes;
use probe::{CardFacts, Reading, Utilization, Vitals, Why};

use super::course::Course;
use super::energy::Energy;
use super::peak::Peak;
use super::tree::{Member, OnCard};
use crate::members::Role;
use crate::parts::Parts;
use crate::usage::{CardUsage, MemorySource};

/// One card since the begin.
#[derive(Debug)]
pub(super) struct CardTally {
    facts: Arc<CardFacts>,
    is_chosen: bool,
    capacity: Reading<Bytes>,
    /// Its memory is the host's, which several cards may share.
    is_hosts_memory: bool,
    memory: Parts<Peak>,
    memory_source: MemorySource,
    /// The processes of the tree that were on it, and whether the driver ever said how much
    /// they hold.
    members: HashMap<u32, Member>,
    utilization: Course,
    /// When the driver's samples were last taken.
    sampled: Option<Instant>,
    energy: Energy,
    /// It has answered at least once.
    was_read: bool,
    trouble: Option<Why>,
}

impl CardTally {
    pub fn new(facts: Arc<CardFacts>, is_chosen: bool) -> Self {
        Self {
            facts,
            is_chosen,
            capacity: Reading::Unknown(Why::NotAsked),
            is_hosts_memory: false,
            memory: Parts::default(),
            memory_source: MemorySource::Samples,
            members: HashMap::new(),
            utilization: Course::default(),
            sampled: None,
            energy: Energy::default(),
            was_read: false,
            trouble: None,
        }
    }

    /// Adds a look. Answers how busy the card was since the last one, in percent.
    pub fn see(
        &mut self,
        vitals: &Vitals,
        tree: &OnCard,
        at: Instant,
        since: Duration,
    ) -> Reading<f64> {
        self.trouble = vitals.trouble();
        self.was_read |= self.trouble.is_none();
        self.see_memory(vitals, tree);
        self.energy.see(vitals.energy);
        let busy = match vitals.utilization {
            Reading::Known(busy) => self.see_work(busy, at, since),
            Reading::Unknown(why) => Reading::Unknown(why),
        };
        if let Reading::Unknown(why) = busy {
            self.utilization.missing(why);
        }
        busy
    }

    fn see_memory(&mut self, vitals: &Vitals, tree: &OnCard) {
        if let Reading::Known(memory) = vitals.memory {
            self.capacity = Reading::Known(memory.total);
            self.is_hosts_memory = memory.source == Whose::System;
        } else if let (Reading::Unknown(_), Some(why)) = (self.capacity, vitals.memory.why()) {
            self.capacity = Reading::Unknown(why);
        }
        for (peak, share) in each(&mut self.memory).into_iter().zip(in_order(tree.memory)) {
            peak.see(share.known, share.missing);
        }
        for member in &tree.members {
            self.members.entry(member.pid).or_insert(*member).is_told |= member.is_told;
        }
    }

    /// The driver's first samples are of the time before. Later ones count for no longer than
    /// since they were last taken: a driver that was loaded anew looks further back again.
    fn see_work(&mut self, busy: Utilization, at: Instant, since: Duration) -> Reading<f64> {
        let percent = busy.percent.0;
        match busy.basis {
            Basis::Samples { covers, .. } => match self.sampled.replace(at) {
                None => return Reading::Unknown(Why::FirstLook),
                Some(before) => self.utilization.measured(percent, covers.min(at - before)),
            },
            Basis::Counters { covers } => self.utilization.measured(percent, covers),
            Basis::Instant => self.utilization.momentary(percent, since),
        }
        Reading::Known(percent)
    }

    /// The driver's accounting says that a process held this much once.
    pub fn lift(&mut self, pid: u32, role: Role, most: Bytes) {
        let told = Member { pid, role, is_told: true };
        self.members.insert(pid, told);
        if self.memory.combined.lift(most) {
            self.memory_source = MemorySource::Accounting;
        }
        of_role(&mut self.memory, role).lift(most);
        each(&mut self.memory).into_iter().for_each(Peak::complete);
    }

    /// Nobody can have had anything on it: it was lost before the first look.
    pub const fn is_dead(&self) -> bool {
        !self.was_read && matches!(self.trouble, Some(Why::Lost | Why::NeedsReset))
    }

    pub fn is(&self, facts: &CardFacts) -> bool {
        match (&self.facts.uuid, &facts.uuid) {
            (Reading::Known(ours), Reading::Known(theirs)) => ours == theirs,
            (Reading::Unknown(_), Reading::Unknown(_)) => self.place() == place(facts),
            _ => false,
        }
    }

    /// Whether this is what a card was before it could say which one it is.
    pub fn was_nameless(&self, facts: &CardFacts) -> bool {
        let is_named_now = self.facts.uuid.why().is_some() && facts.uuid.why().is_none();
        let whole = (facts.index, None);
        is_named_now && [place(facts), whole].contains(&self.place())
    }

    pub fn place(&self) -> (u32, Option<u32>) {
        place(&self.facts)
    }

    pub const fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// Its memory, and whether that is the host's.
    pub const fn capacity(&self) -> (Reading<Bytes>, bool) {
        (self.capacity, self.is_hosts_memory)
    }

    /// The most that each part of the tree held of it.
    pub fn memory(&self) -> Parts<Reading<Bytes>> {
        let untold = |role| {
            let mut members = self.members.values();
            members.any(|member| member.role == role && !member.is_told)
        };
        let (main, descendants) = (untold(Role::Main), untold(Role::Descendant));
        let untold = Parts { main, descendants, combined: main || descendants };
        self.memory.zip(untold).map(|(peak, is_untold)| match is_untold {
            true => Reading::Unknown(Why::NotTold),
            false => peak.tell(),
        })
    }

    pub fn usage(&self) -> CardUsage {
        CardUsage {
            index: self.facts.index,
            uuid: self.facts.uuid.clone(),
            name: self.facts.name.clone(),
            capacity: self.capacity,
            is_chosen: self.is_chosen,
            lost: self.trouble.filter(|_| self.is_dead()),
            memory: self.memory().combined,
            memory_source: self.memory_source,
            utilization: self.utilization.tell(),
            energy: self.energy.tell(),
        }
    }
}

fn place(facts: &CardFacts) -> (u32, Option<u32>) {
    (facts.index, facts.slot())
}

/// All three, to be changed.
pub(super) fn each<T>(parts: &mut Parts<T>) -> [&mut T; 3] {
    let Parts { main, descendants, combined } = parts;
    [main, descendants, combined]
}

/// All three, in the same order.
pub(super) fn in_order<T>(parts: Parts<T>) -> [T; 3] {
    [parts.main, parts.descendants, parts.combined]
}

/// The part that a process belongs to.
pub(super) const fn of_role<T>(parts: &mut Parts<T>, role: Role) -> &mut T {
    match role {
        Role::Main => &mut parts.main,
        Role::Descendant => &mut parts.descendants,
    }
}
