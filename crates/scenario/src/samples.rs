//! The driver's sample buffers at one moment: which samples they hold, and what these say.

use std::time::Duration;

use crate::load::Load;
use crate::model::{Card, Process, ProcessUtilization, Scenario};
use crate::moment::{Moment, micros};
use crate::noise;
use crate::state::{Place, mean_while_running};

/// Milliseconds by which the time stamp of a process's mean may lie before now.
const MEAN_STAMP_AGES: u64 = 9_000;

/// What the driver says about one process over one span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessSample<'a> {
    pub process: &'a Process,
    /// The moment that its time stamp shows.
    pub stamp: Moment,
    from: Moment,
    to: Moment,
    seed: u64,
}

impl ProcessSample<'_> {
    /// Returns what the process took of one engine in percent, noise included.
    #[must_use]
    pub fn share(&self, load: &Load) -> f64 {
        let Self { process, from, to, .. } = *self;
        let ran_throughout = process.begin <= from && process.end.is_none_or(|end| to <= end);
        if ran_throughout {
            return load.sampled(from, to, self.seed, u64::from(process.pid));
        }
        mean_while_running(process, load, from, to)
    }
}

impl Scenario {
    /// What the driver reports for the period that ends at `at`, noise included.
    #[must_use]
    pub fn sampled_utilization(&self, place: Place<'_>, at: Moment) -> f64 {
        let from = at - self.samples.period;
        match place.load() {
            Some(load) => load.sampled(from, at, self.seed, place.salt()),
            None => self.mean_utilization(place, from, at),
        }
    }

    /// Returns the moments at which the samples in a card's buffer were taken, oldest first. Each
    /// sample is about the period that ends there.
    pub fn samples_at(&self, card: &Card, now: Moment) -> impl Iterator<Item = Moment> {
        self.periods_until(now).filter(|at| !self.is_lost(card, *at))
    }

    /// Returns true if the utilization sample of this moment is missing, since the card was idle.
    #[must_use]
    pub fn is_dry(&self, card: &Card, at: Moment) -> bool {
        // Half a percent and more is reported as 1.
        self.samples.dry_when_idle && self.sampled_utilization(Place::card(card), at) < 0.5
    }

    /// The newest slot of the ring buffer at a moment.
    #[must_use]
    pub fn newest_sample(&self, now: Moment) -> Moment {
        let period = micros(self.samples.period);
        Moment::from_micros(now.as_micros().div_euclid(period).saturating_mul(period))
    }

    /// Returns what the driver has to say about the processes on a place, to a caller whose newest
    /// sample is of `last_seen`. Processes that did nothing are among them.
    #[must_use]
    pub fn process_samples_at<'a>(
        &'a self,
        place: Place<'a>,
        last_seen: Moment,
        now: Moment,
    ) -> Vec<ProcessSample<'a>> {
        let newest = self.newest_sample(now);
        if newest <= last_seen {
            return Vec::new();
        }
        let (seed, period) = (self.seed, self.samples.period);
        match self.samples.processes {
            ProcessUtilization::Newest => self
                .processes_at(place, now)
                .map(|process| {
                    let from = newest - period;
                    ProcessSample { process, stamp: newest, from, to: newest, seed }
                })
                .collect(),
            ProcessUtilization::Complete => self
                .periods_until(now)
                .filter(|to| *to > last_seen)
                .flat_map(|to| {
                    let from = to - period;
                    self.processes_between(place, from, to).map(move |process| ProcessSample {
                        process,
                        stamp: to,
                        from,
                        to,
                        seed,
                    })
                })
                .collect(),
            ProcessUtilization::Mean => {
                let from = last_seen.max(newest - period.saturating_mul(self.samples.capacity));
                self.processes_between(place, from, newest)
                    .zip(0..)
                    .map(|(process, index)| {
                        let stamp = now - self.mean_stamp_age(process.pid, newest, index);
                        ProcessSample { process, stamp, from, to: newest, seed }
                    })
                    .collect()
            }
        }
    }

    /// Returns the ends of the periods that a full buffer covers, oldest first.
    fn periods_until(&self, now: Moment) -> impl Iterator<Item = Moment> {
        let period = micros(self.samples.period);
        let newest = now.as_micros().div_euclid(period);
        (newest - i64::from(self.samples.capacity) + 1..=newest)
            .map(move |slot| Moment::from_micros(slot.saturating_mul(period)))
    }

    fn is_lost(&self, card: &Card, at: Moment) -> bool {
        // Another seed than that of the loads' noise, so that low values are not lost more often.
        let chance = noise::at(noise::mix(self.seed), u64::from(card.index), at.as_micros());
        (chance + 1.0) * 50.0 < self.samples.lose_percent
    }

    fn processes_between<'a>(
        &'a self,
        place: Place<'a>,
        from: Moment,
        to: Moment,
    ) -> impl Iterator<Item = &'a Process> {
        let runs = move |process: &&Process| place.holds(process) && process.touches(from, to);
        self.processes.iter().filter(runs)
    }

    /// Returns how far before now the mean of a process is stamped: by whole milliseconds that vary
    /// with the pid and the time, and by its index in the answer, so that no two stamps are the same.
    fn mean_stamp_age(&self, pid: u32, newest: Moment, index: u64) -> Duration {
        let key = noise::mix(self.seed ^ noise::mix(u64::from(pid)));
        let millis = noise::mix(key ^ newest.as_micros().cast_unsigned()) % MEAN_STAMP_AGES;
        Duration::from_micros(millis * 1_000 + index % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn machine(samples: &str, rest: &str) -> Scenario {
        parse::from_str("test.toml", &format!("[samples]\n{samples}\n[[card]]\n{rest}")).unwrap()
    }

    fn ring(machine: &Scenario, secs: i64) -> Vec<i64> {
        let moments = machine.samples_at(&machine.cards[0], Moment::from_secs(secs));
        moments.map(|at| at.as_micros() / 1_000_000).collect()
    }

    /// Two that work in turn for 4 s each; the second ends at 30 s.
    const IN_TURN: &str = r#"
        [[process]]
        pid = 1
        card = 0
        memory = "1GiB"
        sm = { points = [["0s", 80], ["4s", 0]], repeat = "8s" }
        begin = "-1h"
        [[process]]
        pid = 2
        card = 0
        memory = "1GiB"
        sm = { points = [["0s", 0], ["4s", 40]], repeat = "8s" }
        begin = "-1h"
        end = "30s"
    "#;

    /// Pid, stamp and share of each process that worked, as whole seconds and percentages.
    fn shares(machine: &Scenario, last_seen: i64, now: i64) -> Vec<(u32, i64, f64)> {
        let place = Place::card(&machine.cards[0]);
        let (last_seen, now) = (Moment::from_secs(last_seen), Moment::from_secs(now));
        let samples = machine.process_samples_at(place, last_seen, now);
        let whole = |sample: &ProcessSample<'_>| {
            let share = sample.share(&sample.process.sm).round();
            (sample.process.pid, sample.stamp.as_micros() / 1_000_000, share)
        };
        samples.iter().map(whole).filter(|(_, _, share)| *share > 0.0).collect()
    }

    #[test]
    fn the_ring_holds_as_many_samples_as_it_can_and_no_more() {
        let machine = machine("period = \"1s\"\ncapacity = 5", "");
        assert_eq!(ring(&machine, 100), [96, 97, 98, 99, 100]);
    }

    #[test]
    fn lost_samples_are_few_and_always_the_same() {
        let full = machine("period = \"1s\"\ncapacity = 10000", "");
        let lossy = machine("period = \"1s\"\ncapacity = 10000\nlose = 2", "");
        let kept = ring(&lossy, 20_000);
        assert_eq!(ring(&full, 20_000).len(), 10_000);
        assert!((9_750..9_850).contains(&kept.len()), "{}", kept.len());
        // A sample that is lost stays lost while the ring moves on.
        let later: Vec<_> = ring(&lossy, 20_005).into_iter().filter(|at| *at <= 20_000).collect();
        assert_eq!(kept[kept.len() - later.len()..], later);
        assert_eq!(ring(&machine("lose = 100", ""), 9), []);
    }

    #[test]
    fn only_a_period_without_any_work_is_dry() {
        let work = "utilization = { points = [[\"0s\", 0], [\"10500ms\", 90], [\"12s\", 0]] }";
        let dry = machine("period = \"1s\"\ncapacity = 5\ndry_when_idle = true", work);
        let at = |machine: &Scenario, secs| {
            [secs, secs + 1, secs + 2, secs + 3]
                .map(|at| machine.is_dry(&machine.cards[0], Moment::from_secs(at)))
        };
        assert_eq!(at(&dry, 10), [true, false, false, true]);
        assert_eq!(at(&machine("period = \"1s\"", work), 10), [false; 4]);
    }

    #[test]
    fn newest_process_samples_are_of_the_last_period() {
        let machine = machine("period = \"1s\"\ncapacity = 10", IN_TURN);
        assert_eq!(shares(&machine, 0, 20), [(1, 20, 80.0)]);
        assert_eq!(shares(&machine, 0, 22), [(2, 22, 40.0)]);
        assert_eq!(shares(&machine, 22, 22), []);
    }

    #[test]
    fn complete_process_samples_are_of_all_periods_since_the_last_one_seen() {
        let samples = "period = \"1s\"\ncapacity = 10\nprocesses = \"complete\"";
        let machine = machine(samples, IN_TURN);
        let turn = |pid, share, from| (from..from + 4).map(move |at| (pid, at, share));
        let expected: Vec<_> = turn(2, 40.0, 21).chain([(1, 25, 80.0)]).collect();
        assert_eq!(shares(&machine, 20, 25), expected);
        // No further back than the buffer reaches, and what has ended is still in it.
        let expected: Vec<_> = turn(1, 80.0, 25).chain([(2, 29, 40.0), (2, 30, 40.0)]).collect();
        assert_eq!(shares(&machine, 0, 32)[2..], expected);
        assert_eq!(shares(&machine, 0, 32)[..2], [(2, 23, 40.0), (2, 24, 40.0)]);
        assert_eq!(shares(&machine, 30, 32), []);
    }

    #[test]
    fn the_mean_of_processes_is_over_all_the_time_since_the_last_one_seen() {
        let samples = "period = \"1s\"\ncapacity = 16\nprocesses = \"mean\"";
        let machine = machine(samples, IN_TURN);
        let means = |last_seen, now| {
            let shares = shares(&machine, last_seen, now);
            shares.into_iter().map(|(pid, _, share)| (pid, share)).collect::<Vec<_>>()
        };
        assert_eq!(means(16, 24), [(1, 40.0), (2, 20.0)]);
        assert_eq!(means(20, 24), [(2, 40.0)]);
        assert_eq!(means(-9_999, 24), [(1, 40.0), (2, 20.0)]);
        // The second ended in the middle of its turn.
        assert_eq!(means(24, 40), [(1, 40.0), (2, 5.0)]);
        assert_eq!(means(24, 24), []);
    }

    #[test]
    fn means_are_stamped_up_to_nine_seconds_late_in_no_order() {
        let samples = "period = \"1s\"\ncapacity = 16\nprocesses = \"mean\"";
        let machine = machine(samples, IN_TURN);
        let place = Place::card(&machine.cards[0]);
        let stamps = |secs| {
            let now = Moment::from_secs(secs);
            let samples = machine.process_samples_at(place, Moment::from_secs(-60), now);
            let stamps = samples.into_iter().map(|sample| sample.stamp);
            stamps
                .inspect(|at| assert!((now - Duration::from_secs(9)..=now).contains(at)))
                .collect()
        };
        let answers: Vec<Vec<Moment>> = (0..29).map(stamps).collect();
        assert!(answers.iter().all(|stamps| stamps.len() == 2 && stamps[0] != stamps[1]));
        assert!(answers.windows(2).any(|pair| pair[1][0] < pair[0][0]));
        assert_eq!(answers[7], stamps(7));
    }
}
