//! The machine at one moment: a pure function of the scenario and `t`.

use std::iter::once;

use crate::load::Load;
use crate::model::{Card, Instance, Process, Scenario};
use crate::moment::Moment;

/// A place that load can be on: a whole card, or one instance of it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub card: &'a Card,
    pub instance: Option<&'a Instance>,
}

impl<'a> Place<'a> {
    #[must_use]
    pub const fn card(card: &'a Card) -> Self {
        Self { card, instance: None }
    }

    /// The UUID of the instance, else of the card.
    #[must_use]
    pub fn uuid(&self) -> &'a str {
        self.instance.map_or(&self.card.uuid, |instance| &instance.uuid)
    }

    /// Returns the load of its own; `None` where it is the sum of its processes'.
    #[must_use]
    pub fn load(&self) -> Option<&'a Load> {
        match self.instance {
            Some(instance) => instance.utilization.as_ref(),
            None => self.card.utilization.as_ref(),
        }
    }

    /// Returns true if a process runs there.
    #[must_use]
    pub fn holds(&self, process: &Process) -> bool {
        process.card == self.card.index
            && self.instance.is_none_or(|instance| process.slot == Some(instance.slot))
    }

    /// Returns its memory in bytes.
    #[must_use]
    pub fn memory_total(&self) -> u64 {
        self.instance.map_or(self.card.memory.total, |instance| instance.memory)
    }

    /// Returns the memory that no process is known to use, in bytes.
    #[must_use]
    pub fn unattributed(&self) -> u64 {
        if self.instance.is_some() { 0 } else { self.card.memory.unattributed }
    }

    /// A number that tells places apart, for their noise.
    pub(crate) fn salt(&self) -> u64 {
        u64::from(self.card.index) << 8
            | self.instance.map_or(0, |instance| u64::from(instance.slot) + 1)
    }
}

impl Card {
    /// The instance in a slot, when there is one.
    #[must_use]
    pub fn instance(&self, slot: u32) -> Option<&Instance> {
        self.mig.as_ref()?.instances.iter().find(|instance| instance.slot == slot)
    }
}

impl Scenario {
    /// The processes on a place, in the order of the file.
    pub fn processes_at<'a>(
        &'a self,
        place: Place<'a>,
        t: Moment,
    ) -> impl Iterator<Item = &'a Process> {
        self.processes.iter().filter(move |process| place.holds(process) && process.runs_at(t))
    }

    /// The processes that the accounting of a place knows at a moment, ended ones included;
    /// of those that had one pid, the newest.
    pub fn accounted_at<'a>(
        &'a self,
        place: Place<'a>,
        t: Moment,
    ) -> impl Iterator<Item = &'a Process> {
        let known = move |process: &&Process| place.holds(process) && process.begin <= t;
        let is_newest = move |process: &&Process| {
            let same = self.processes.iter().filter(|other| other.pid == process.pid);
            same.filter(known).all(|other| other.begin <= process.begin)
        };
        self.processes.iter().filter(known).filter(is_newest)
    }

    /// Utilization in percent at one moment, without noise.
    #[must_use]
    pub fn utilization_at(&self, place: Place<'_>, t: Moment) -> f64 {
        self.mean_utilization(place, t, t)
    }

    /// Mean utilization in percent between two moments, without noise. This is the truth
    /// that a recorder's figures can be held against.
    #[must_use]
    pub fn mean_utilization(&self, place: Place<'_>, from: Moment, to: Moment) -> f64 {
        let mean = match place.load() {
            Some(load) => load.mean(from, to),
            None => self
                .processes
                .iter()
                .filter(|process| place.holds(process))
                .map(|process| mean_while_running(process, &process.sm, from, to))
                .sum(),
        };
        mean.clamp(0.0, 100.0)
    }

    /// Bytes used by processes, seen or unseen, without the driver's reserve.
    #[must_use]
    pub fn memory_used_at(&self, place: Place<'_>, t: Moment) -> u64 {
        let held = self.processes_at(place, t).filter_map(|process| process.memory);
        let used = held.chain(once(place.unattributed())).fold(0, u64::saturating_add);
        used.min(place.memory_total())
    }

    /// Watts at one moment.
    #[must_use]
    pub fn watts_at(&self, card: &Card, t: Moment) -> f64 {
        let Card { power, .. } = card;
        let share = self.utilization_at(Place::card(card), t) / 100.0;
        power.idle_watts + (power.full_watts - power.idle_watts) * share
    }

    /// Joules used since the driver was loaded, a day before the origin.
    #[must_use]
    pub fn joules_at(&self, card: &Card, t: Moment) -> f64 {
        let loaded = Moment::from_secs(-86_400);
        if t <= loaded {
            return 0.0;
        }
        let seconds = t.as_secs_f64() - loaded.as_secs_f64();
        let share = self.mean_utilization(Place::card(card), loaded, t) / 100.0;
        let Card { power, .. } = card;
        seconds * (power.idle_watts + (power.full_watts - power.idle_watts) * share)
    }

    /// The card or instance with this UUID.
    #[must_use]
    pub fn place(&self, uuid: &str) -> Option<Place<'_>> {
        self.cards.iter().find_map(|card| {
            if card.uuid == uuid {
                return Some(Place::card(card));
            }
            let mut instances = card.mig.iter().flat_map(|mig| &mig.instances);
            let instance = instances.find(|instance| instance.uuid == uuid)?;
            Some(Place { card, instance: Some(instance) })
        })
    }
}

impl Process {
    /// Its own mean load over a span, of the part of it in which it runs: what it did since a
    /// driver was last asked.
    #[must_use]
    pub fn mean_sm(&self, from: Moment, to: Moment) -> f64 {
        let begin = from.max(self.begin);
        let end = self.end.map_or(to, |end| to.min(end));
        if begin >= end {
            return if self.runs_at(to) { self.sm.at(to) } else { 0.0 };
        }
        self.sm.integral(begin, end) / (end.as_secs_f64() - begin.as_secs_f64())
    }
}

/// The mean of one of a process's loads over a span, counting the time in which it does not run as
/// zero.
pub(crate) fn mean_while_running(process: &Process, load: &Load, from: Moment, to: Moment) -> f64 {
    if from == to {
        return if process.runs_at(to) { load.at(to) } else { 0.0 };
    }
    let begin = from.max(process.begin);
    let end = process.end.map_or(to, |end| to.min(end));
    if begin >= end {
        return 0.0;
    }
    load.integral(begin, end) / (to.as_secs_f64() - from.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn shared_card() -> Scenario {
        parse::from_str(
            "shared.toml",
            r#"
            [[card]]
            memory = "80GiB"
            unattributed = "1GiB"
            power = { idle = 100, full = 300 }

            [[process]]
            pid = 10
            card = 0
            memory = "8GiB"
            sm = 50
            begin = "10s"
            end = "20s"

            [[process]]
            pid = 11
            card = 0
            memory = "unknown"
            sm = 0
            "#,
        )
        .unwrap()
    }

    #[test]
    fn a_card_without_a_load_of_its_own_adds_up_its_processes() {
        let machine = shared_card();
        let place = Place::card(&machine.cards[0]);
        let at = |secs| machine.utilization_at(place, Moment::from_secs(secs));
        assert_eq!([at(0), at(10), at(19), at(20)], [0.0, 50.0, 50.0, 0.0]);
        let mean = machine.mean_utilization(place, Moment::from_secs(0), Moment::from_secs(20));
        assert!((mean - 25.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn what_a_process_did_is_told_of_the_time_in_which_it_was_there() {
        let machine = shared_card();
        let mean =
            |from, to| machine.processes[0].mean_sm(Moment::from_secs(from), Moment::from_secs(to));
        assert_eq!([mean(0, 12), mean(12, 18), mean(18, 40)], [50.0; 3]);
        assert_eq!([mean(10, 10), mean(0, 5), mean(30, 40)], [50.0, 0.0, 0.0]);
    }

    #[test]
    fn memory_is_what_processes_and_the_unseen_take() {
        let machine = shared_card();
        let place = Place::card(&machine.cards[0]);
        let used = |secs| machine.memory_used_at(place, Moment::from_secs(secs)) >> 30;
        assert_eq!([used(0), used(15), used(25)], [1, 9, 1]);
    }

    /// Trap: after a process has ended, the accounting still has it.
    #[test]
    fn the_accounting_knows_the_newest_process_of_each_pid_ended_or_not() {
        let process = |pid: u32, begin: &str, end: &str| {
            format!(
                "[[process]]\npid = {pid}\ncard = 0\nmemory = \"1GiB\"\nbegin = \"{begin}\"\nend = \"{end}\"\n"
            )
        };
        let processes = [process(1, "0s", "5s"), process(2, "1s", "2s"), process(1, "6s", "9s")];
        let machine =
            parse::from_str("a.toml", &format!("[[card]]\n{}", processes.concat())).unwrap();
        let known = |secs| {
            let known =
                machine.accounted_at(Place::card(&machine.cards[0]), Moment::from_secs(secs));
            known.map(|process| (process.pid, process.begin)).collect::<Vec<_>>()
        };
        let at = |pid, begin| (pid, Moment::from_secs(begin));
        assert_eq!(known(0), [at(1, 0)]);
        assert_eq!(known(5), [at(1, 0), at(2, 1)]);
        assert_eq!(known(20), [at(2, 1), at(1, 6)]);
    }

    #[test]
    fn energy_is_the_integral_of_power() {
        let machine = shared_card();
        let joules = |secs| machine.joules_at(&machine.cards[0], Moment::from_secs(secs));
        assert!((joules(20) - joules(10) - 10.0 * 200.0).abs() < 1e-3);
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_time_line_or_beyond_all_memory() {
        let text = "[samples]\nperiod = \"1h\"\ncapacity = 100000\n[[card]]\n\
                    unattributed = \"15EiB\"\n[[process]]\npid = 1\ncard = 0\n\
                    memory = \"15EiB\"\n";
        let machine = parse::from_str("huge.toml", text).unwrap();
        let card = &machine.cards[0];
        for t in [i64::MIN, 0, i64::MAX].map(Moment::from_micros) {
            assert_eq!(machine.samples_at(card, t).count(), 100_000);
            assert!(machine.newest_sample(t) <= t);
            assert!((0.0..=100.0).contains(&machine.utilization_at(Place::card(card), t)));
            assert!(machine.joules_at(card, t) >= 0.0);
        }
        let used = machine.memory_used_at(Place::card(card), Moment::ORIGIN);
        assert_eq!(used, card.memory.total);
    }
}
