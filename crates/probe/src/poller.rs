//! Polls the cards and the processes that hold them, for the classifier.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use gua_core::Poll;
use gua_core::poll::{CardPoll, Exit, HolderProcess, ProcessPoll};
use gua_core::process::ProcessId;
use gua_core::slices::Unpartitioned;

use crate::card::{CardFacts, CardLook};
use crate::clocks::{self, Clocks};
use crate::nvml::{DriverFacts, Look, Prober, Wants, call_count};
use crate::proc::Host;
use crate::process::{Presence, ProcessFacts};
use crate::reading::{Reading, Why};
use crate::units::Percent;

/// How often graphics and MPS lists and temperatures are read. Each of them is a call to the driver.
const SLOW_INTERVAL: Duration = Duration::from_secs(15);

/// Longest look whose end is taken for the time of its readings. In a longer one a card hangs, and
/// the others were read at its beginning.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// Reads the cards and their holders at each poll, and what changes slowly at some of them.
#[derive(Debug)]
pub struct Poller {
    prober: Prober,
    host: Host,
    /// Number of polls in [`SLOW_INTERVAL`], and how many are left of them.
    slow_every: u32,
    until_slow: u32,
    /// True if a card has no energy counter, so that its power is needed.
    needs_power: bool,
    /// Adds the unused parts of partitioned GPUs as cards.
    unpartitioned: Unpartitioned,
    /// CPU time of the holders at the last poll.
    cpu_times: HashMap<ProcessId, CpuTime>,
    /// Exits that were noticed since the last poll.
    exits: Vec<Exit>,
    /// When exits were last looked for.
    checked: Option<Duration>,
}

/// CPU time that a process has used up to a moment, since boot without suspend.
#[derive(Debug, Clone, Copy)]
struct CpuTime {
    used: Duration,
    at: Duration,
}

impl Poller {
    /// Returns a poller that is going to be asked for a poll at this interval.
    #[must_use]
    pub fn new(prober: Prober, host: Host, interval: Duration) -> Self {
        let slow_every = SLOW_INTERVAL.as_millis() / interval.as_millis().max(1);
        Self {
            prober,
            host,
            slow_every: u32::try_from(slow_every).unwrap_or(u32::MAX).max(1),
            until_slow: 0,
            needs_power: false,
            unpartitioned: Unpartitioned::default(),
            cpu_times: HashMap::new(),
            exits: Vec::new(),
            checked: None,
        }
    }

    /// Returns the host, for more about the holders.
    pub const fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Returns the driver, unless it is away.
    #[must_use]
    pub const fn driver(&self) -> Option<&DriverFacts> {
        self.prober.driver()
    }

    /// Returns the number of calls of the driver so far, in this process.
    #[must_use]
    pub fn calls(&self) -> u64 {
        call_count()
    }

    /// Reads all cards and their holders. Returns within the prober's patience.
    pub fn poll(&mut self) -> Poll {
        self.poll_by(Prober::look)
    }

    /// Reads all cards and their holders if they are read only once: cards whose counters need two
    /// readings get the second one a moment later.
    pub fn first_poll(&mut self) -> Poll {
        self.poll_by(Prober::first_look)
    }

    fn poll_by(&mut self, read: impl FnOnce(&mut Prober) -> Look) -> Poll {
        self.notice_exits();
        let wants = self.next_wants();
        self.prober.want(wants);
        let begin = clocks::now();
        let look = read(&mut self.prober);
        let end = clocks::now();
        let is_long = end.since_boot.saturating_sub(begin.since_boot) > LONGEST_LOOK;
        let cpu_times = std::mem::take(&mut self.cpu_times);
        let cards = match look.driver {
            Ok(_) => Ok(self.card_polls(look.cards, &cpu_times, &end)),
            Err(error) => Err(error.why()),
        };
        let mut later = Vec::new();
        if let Ok(cards) = &cards {
            let listed: HashSet<u32> =
                cards.iter().flat_map(|card| &card.processes).map(|it| it.id.pid).collect();
            let known = self.exits.len();
            // Some may have ended since the look began: this poll still has those that it lists.
            self.notice_exits();
            later = self.exits.extract_if(known.., |it| listed.contains(&it.id.pid)).collect();
            self.host.keep_only(|pid| listed.contains(&pid));
        }
        let exits = std::mem::replace(&mut self.exits, later);
        Poll { clocks: if is_long { begin } else { end }, cards, exits }
    }

    /// Reads only the process samples since the last poll or the last call, of the wanted cards.
    pub fn process_samples(&mut self, is_wanted: impl Fn(&CardFacts) -> bool) -> Vec<ProcessPoll> {
        self.notice_exits();
        self.prober.process_samples(is_wanted)
    }

    /// Finds the holders that have ended since the last call. The next poll returns them. Polls call it
    /// themselves; one call a second places an end within half a second.
    pub fn notice_exits(&mut self) {
        let now = clocks::now().since_boot;
        let at = self.checked.replace(now).map_or(now, |before| before + (now - before) / 2);
        // Without an answer of the kernel nothing is known of any end.
        let ended = self.host.forget_the_ended().unwrap_or_default();
        self.exits.extend(ended.iter().map(|facts| Exit { id: id(facts), at }));
    }

    /// Returns what the next poll reads.
    fn next_wants(&mut self) -> Wants {
        let is_slow = self.until_slow == 0;
        if is_slow {
            self.until_slow = self.slow_every;
        }
        self.until_slow -= 1;
        Wants {
            energy: true,
            power: self.needs_power,
            temperature: is_slow,
            // A list that is not read would still have those that ended.
            all_lists: is_slow || !self.exits.is_empty(),
            shares: true,
            idle_shares: false,
            ..Wants::ESSENTIALS
        }
    }

    fn card_polls(
        &mut self,
        looks: Vec<CardLook>,
        before: &HashMap<ProcessId, CpuTime>,
        now: &Clocks,
    ) -> Vec<CardPoll> {
        let has_no_counter = |look: &CardLook| {
            let counter = match look.facts.instance {
                None => look.vitals.energy,
                Some(_) => look.vitals.gpu_energy.counter,
            };
            counter.why() == Some(Why::NotSupported)
        };
        self.needs_power = looks.iter().any(has_no_counter);
        let mut known = HashMap::new();
        let card_poll = |CardLook { facts, vitals }| {
            let mut process =
                |pid: u32| *known.entry(pid).or_insert_with(|| self.process(pid, before, now));
            let processes = vitals.holders.seen.iter().map(|it| process(it.pid)).collect();
            CardPoll { card: facts, reading: vitals, processes }
        };
        let cards = looks.into_iter().map(card_poll).collect();
        self.unpartitioned.add_to(cards)
    }

    /// Returns the process that a pid is now, with the CPU time since the last poll.
    fn process(
        &mut self,
        pid: u32,
        before: &HashMap<ProcessId, CpuTime>,
        now: &Clocks,
    ) -> HolderProcess {
        let unread = |why| HolderProcess {
            id: ProcessId::unread(pid),
            started: None,
            cpu: Reading::Unknown(why),
        };
        let facts = match self.host.process(pid) {
            Presence::Here(facts) => facts,
            Presence::Gone => return unread(Why::Gone),
            Presence::Foreign => return unread(Why::Foreign),
            Presence::Hidden(why) => return unread(why),
        };
        let id = id(&facts);
        let cpu = match self.host.usage(&facts) {
            Reading::Known(usage) => {
                let cpu = CpuTime { used: usage.cpu, at: now.awake };
                self.cpu_times.insert(id, cpu);
                cpu.percent_since(before.get(&id))
            }
            Reading::Unknown(why) => Reading::Unknown(why),
        };
        HolderProcess { id, started: Some(since_boot(facts.start_ticks)), cpu }
    }
}

impl CpuTime {
    /// Returns the part of one core that was used since an earlier moment.
    fn percent_since(self, earlier: Option<&Self>) -> Reading<Percent> {
        let first = Reading::Unknown(Why::FirstLook);
        let Some(earlier) = earlier else { return first };
        let elapsed = self.at.saturating_sub(earlier.at);
        if elapsed.is_zero() {
            return first;
        }
        let used = self.used.saturating_sub(earlier.used);
        Reading::Known(Percent(100.0 * used.div_duration_f64(elapsed)))
    }
}

/// Returns the identity of a process.
fn id(facts: &ProcessFacts) -> ProcessId {
    ProcessId { pid: facts.pid, start_ticks: Some(facts.start_ticks), uid: facts.uid.known() }
}

/// Returns the time that clock ticks since boot stand for.
fn since_boot(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_micros(ticks.saturating_mul(1_000_000) / per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_a_percentage_of_one_core() {
        let cpu =
            |used, at| CpuTime { used: Duration::from_millis(used), at: Duration::from_millis(at) };
        let percent = |used, at| cpu(used, at).percent_since(Some(&cpu(1_000, 60_000)));
        assert_eq!(percent(1_500, 65_000), Reading::Known(Percent(10.0)));
        assert_eq!(percent(21_000, 65_000), Reading::Known(Percent(400.0)));
        assert_eq!(percent(1_000, 65_000), Reading::Known(Percent(0.0)));
        let first = Reading::Unknown(Why::FirstLook);
        assert_eq!(percent(1_500, 60_000), first);
        assert_eq!(cpu(1_000, 5_000).percent_since(None), first);
    }

    #[test]
    fn what_changes_slowly_is_read_every_15_seconds() {
        let slow_polls = |seconds: f64| {
            let prober = Prober::closed(crate::nvml::Options::default());
            let interval = Duration::from_secs_f64(seconds);
            let mut poller = Poller::new(prober, Host::new(Some("/".into())), interval);
            (0..12).map(|_| poller.next_wants().temperature).collect::<Vec<_>>()
        };
        let every = |polls: usize| (0..12).map(|at| at % polls == 0).collect::<Vec<_>>();
        for (seconds, polls) in [(5.0, 3), (2.5, 6), (4.0, 3), (10.0, 1), (30.0, 1), (0.0, 15_000)]
        {
            assert_eq!(slow_polls(seconds), every(polls), "{seconds} s");
        }
    }
}
