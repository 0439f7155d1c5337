//! The recent past of a card that can be read.

use crate::card::{Basis, GpuEnergy, ProcessSample, Vitals};
use crate::clocks::Clocks;
use crate::poll::{CardPoll, Exit};
use crate::reading::{Reading, Reason};
use crate::span::{HolderId, Work};
use crate::state::{State, Thresholds};
use crate::units::{Bytes, Percent};

use super::activity::{CentiPercent, Micros, PieceBasis, Stretch, WINDOW};
use super::holders::{HolderFact, HolderList, ProcessSamples, Stay, Stays, mean};
use super::open_span::PieceEnergy;
use super::piece::{NEARBY, idle_state, unknown_state};
use super::power::Power;
use super::samples::{PollTime, SampleLine, micros};

/// Time after which shares of several holders no longer change.
const SHARED_DELAY: Micros = 16_000_000;

/// Time before the final time that is needed to classify what follows it.
const LOOKBACK: Micros = NEARBY + 2 * WINDOW;

/// Time after its last work for which a holder counts as a recent worker.
const RECENTLY: Micros = 60_000_000;

/// More than any card draws. An energy counter that rises faster has leapt.
const MOST_WATTS: f64 = 1e5;

/// Thresholds with utilization as exact integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactThresholds {
    pub active: CentiPercent,
    pub worked: CentiPercent,
    pub given: Thresholds,
}

impl ExactThresholds {
    pub fn new(given: Thresholds) -> Self {
        // Rounded up, as values are rounded down: what is below the threshold stays below it.
        let up = |percent: Percent| centi(Percent(percent.0 + 0.009_999));
        Self { active: up(given.active), worked: up(given.worked), given }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn centi(percent: Percent) -> CentiPercent {
    (percent.0 * 100.0).min(10_000.0) as CentiPercent
}

/// The recent past of a card that can be read.
#[derive(Debug)]
pub(super) struct Observed {
    begin: Micros,
    pub samples: SampleLine,
    pub polls: Vec<PollFacts>,
    pub stays: Stays,
    pub process_samples: ProcessSamples,
    pub power: Power,
    /// End of the newest sample that reached the threshold of an active card.
    last_active: Option<Micros>,
}

/// One poll of the card.
#[derive(Debug)]
pub(super) struct PollFacts {
    pub at: Micros,
    pub list: HolderList,
    pub used: Option<Bytes>,
    /// Why it is not known how busy the card was before this poll.
    pub utilization_unknown: Option<Reason>,
    /// Joules since the driver was loaded, and watts.
    energy_counter: Option<f64>,
    pub power: Option<f64>,
    /// Energy since the poll before.
    pub energy: Option<PieceEnergy>,
}

impl Observed {
    /// Starts at a time, from which on the first poll covers. What is known of the last work goes on.
    pub fn new(begin: Micros, before: Option<&Self>) -> Self {
        Self {
            begin,
            samples: SampleLine::new(begin),
            polls: Vec::new(),
            stays: before.map_or_else(Stays::default, |before| before.stays.ended(begin)),
            process_samples: ProcessSamples::default(),
            power: before.map_or_else(Power::default, |before| before.power),
            last_active: before.and_then(|before| before.last_active),
        }
    }

    pub fn add(
        &mut self,
        poll: &CardPoll,
        exits: &[Exit],
        clocks: Clocks,
        thresholds: &ExactThresholds,
    ) {
        let at = micros(clocks);
        let last = self.polls.last();
        let before = last.map_or(self.begin, |last| last.at);
        let mut list = HolderList::new(poll, &thresholds.given);
        match last {
            Some(last) => self.stays.follow((&last.list, &mut list), (last.at, at), exits),
            None => self.stays.begin(&list, self.begin),
        }
        let before = Some(before).filter(|before| *before < at);
        let unknown = self.add_samples(&poll.reading, PollTime { at, before, clocks });
        if let Reading::Known(samples) = &poll.reading.process_samples {
            self.add_process_samples(samples, clocks, thresholds);
        }
        self.note_work(&list, thresholds);
        let facts = self.facts(poll, list, at, unknown);
        self.polls.push(facts);
    }

    /// Adds the samples of a poll. Returns why the time before it is unknown, where it is.
    fn add_samples(&mut self, reading: &Vitals, poll: PollTime) -> Option<Reason> {
        let rate = reading.utilization.map(|rate| centi(rate.percent));
        let is_known = match (&reading.samples, reading.utilization) {
            (Reading::Known(answer), _) => self.samples.add(answer, rate, poll),
            (Reading::Unknown(_), Reading::Known(utilization)) => {
                let basis = match utilization.basis {
                    Basis::Instant => PieceBasis::Moment,
                    Basis::Counters { .. } | Basis::Samples { .. } => PieceBasis::Mean,
                };
                self.samples.add_poll(centi(utilization.percent), basis, poll);
                true
            }
            (Reading::Unknown(_), Reading::Unknown(_)) => false,
        };
        (!is_known).then(|| reading.utilization.why().unwrap_or(Reason::NotTold))
    }

    /// Adds process samples, which may also be read between polls.
    pub fn add_process_samples(
        &mut self,
        samples: &[ProcessSample],
        clocks: Clocks,
        thresholds: &ExactThresholds,
    ) {
        let now = micros(clocks);
        let line = &self.samples;
        let time_of = |stamp| line.time_of(stamp, clocks);
        self.process_samples.add(samples, now, now + line.period(), time_of);
        for stay in self.stays.0.iter_mut().filter(|stay| stay.to.is_none()) {
            let HolderId::Process(id) = stay.id else { continue };
            stay.note_work(self.process_samples.last_reaching(id.pid, thresholds.worked));
        }
    }

    /// Remembers the newest work of the card and of its only holder.
    fn note_work(&mut self, list: &HolderList, thresholds: &ExactThresholds) {
        let active = self.samples.last_reaching(thresholds.active);
        self.last_active = self.last_active.max(active);
        if let [only] = list.holders.as_slice() {
            let worked = self.samples.last_reaching(thresholds.worked);
            if let Some(stay) = self.stays.open(only.id) {
                stay.note_work(worked);
            }
        }
    }

    fn facts(
        &self,
        poll: &CardPoll,
        list: HolderList,
        at: Micros,
        utilization_unknown: Option<Reason>,
    ) -> PollFacts {
        let reading = &poll.reading;
        // The energy of a GPU is divided by slices among its instances and what they leave of it.
        let (counter, power, part) = match &poll.card.instance {
            None => (reading.energy, reading.power, 1.0),
            Some(instance) => {
                let GpuEnergy { counter, power } = reading.gpu_energy;
                (counter, power, instance.slices.weight())
            }
        };
        let energy_counter = counter.known().map(|energy| energy.0 as f64 / 1e3 * part);
        let power = power.known().map(|power| f64::from(power.0) / 1e3 * part);
        let energy = self.polls.last().and_then(|last| {
            let seconds = (at - last.at) as f64 / 1e6;
            let counted = energy_counter.zip(last.energy_counter).map(|(now, then)| now - then);
            let estimated = power.zip(last.power).map(|(now, then)| (now + then) / 2.0 * seconds);
            // A counter that stands still or goes back was reset.
            let counted = counted.filter(|joules| 0.0 < *joules && *joules <= MOST_WATTS * seconds);
            let joules = counted.or(estimated)?;
            Some(PieceEnergy { joules, is_estimated: counted.is_none() })
        });
        let used = reading.memory.known().map(|memory| memory.used);
        PollFacts { at, list, used, utilization_unknown, energy_counter, power, energy }
    }

    /// Returns the time up to which nothing can change any more, as of the last poll.
    pub fn final_until(&self, done: Micros) -> Micros {
        let Some(last) = self.polls.last() else { return done };
        let newest = match last.utilization_unknown {
            Some(_) => last.at,
            None => {
                let delay = WINDOW + self.samples.delay();
                // The energy since the poll before is split by all samples since then.
                let complete = self.polls.iter().rev().nth(1).map_or(self.begin, |poll| poll.at);
                self.samples.newest().map_or(done, |newest| (newest - delay).min(complete))
            }
        };
        let recent = self.polls.iter().rev().take_while(|poll| poll.at > done);
        let is_shared = recent.map(|poll| poll.list.holders.len()).any(|holders| holders > 1);
        let shared = if is_shared { last.at - SHARED_DELAY } else { last.at };
        newest.min(shared).min(last.at)
    }

    /// Forgets what is no longer needed to classify the time from `done` on.
    pub fn forget_before(&mut self, done: Micros) {
        let from = done - LOOKBACK;
        self.samples.forget_before(from);
        self.process_samples.forget_before(from);
        self.stays.forget_before(from);
        // The poll before `done` is the nearest for some of the time after it.
        let count = self.polls.partition_point(|poll| poll.at < done).saturating_sub(1);
        if count > 0 {
            self.polls.drain(..count);
        }
    }

    /// Returns true if two or more holders have worked recently: their process samples are then needed
    /// every second.
    pub fn has_several_workers(&self, now: Micros) -> bool {
        let is_recent =
            |stay: &&Stay| stay.last_worked.is_some_and(|worked| worked > now - RECENTLY);
        let present = self.stays.0.iter().filter(|stay| stay.to.is_none());
        present.filter(is_recent).count() > 1
    }

    /// Returns the place of the poll that a time is nearest to.
    pub fn nearest_poll(&self, at: Micros) -> Option<usize> {
        let after = self.polls.partition_point(|poll| poll.at < at);
        let before = after.checked_sub(1);
        match (before.and_then(|before| self.polls.get(before)), self.polls.get(after)) {
            (Some(earlier), Some(later)) if at - earlier.at < later.at - at => before,
            (_, Some(_)) => Some(after),
            (_, None) => before,
        }
    }

    /// Returns the state now, by the mean of the last seconds.
    pub fn state_now(&self, thresholds: &ExactThresholds) -> Option<State> {
        let poll = self.polls.last()?;
        let idle = idle_state(&poll.list, poll.list.holders.iter(), thresholds.given.held);
        if let Some(reason) = poll.utilization_unknown {
            return Some(unknown_state(idle, &poll.list, reason));
        }
        let is_active = self.mean_now()? >= f64::from(thresholds.active);
        Some(if is_active { State::Active } else { idle })
    }

    /// Returns the mean utilization of the last seconds that have samples.
    fn mean_now(&self) -> Option<f64> {
        let to = self.samples.newest()?;
        let time = Stretch { from: to - WINDOW, to };
        Some(mean(&self.samples.pieces(time.from, None), time))
    }

    /// Returns the holders now: whether each works, and the newest sample in which it did.
    pub fn holders_now(
        &self,
        thresholds: &ExactThresholds,
    ) -> Vec<(HolderId, Work, Option<Micros>)> {
        let Some(poll) = self.polls.last() else { return Vec::new() };
        let is_known = poll.utilization_unknown.is_none();
        let works = || self.mean_now().is_some_and(|mean| mean >= f64::from(thresholds.worked));
        let card_works = is_known.then(works);
        let now = |holder: &HolderFact| {
            let stay = self.stays.0.iter().rev().find(|stay| stay.id == holder.id);
            let last = stay.and_then(|stay| stay.last_worked);
            let work = match poll.list.holders.as_slice() {
                // Work of before it came is not its own.
                [_] if card_works == Some(true)
                    && last > self.samples.newest().map(|it| it - WINDOW) =>
                {
                    Work::Working
                }
                [_] if is_known => Work::Idle,
                _ => self.work_now(holder, card_works, poll.at, thresholds),
            };
            (holder.id, work, last)
        };
        let mut holders: Vec<_> = poll.list.holders.iter().map(now).collect();
        let works = |(_, work, _): &(HolderId, Work, Option<Micros>)| *work == Work::Working;
        if card_works == Some(true) && holders.len() > 1 && !holders.iter().any(works) {
            // Work that nobody was seen to do may be anybody's.
            holders.iter_mut().for_each(|(_, work, _)| *work = Work::Unknown);
        }
        holders
    }

    /// Returns whether a holder works now, by its own samples. It is not known whether the card works if
    /// `card_works` is `None`.
    fn work_now(
        &self,
        holder: &HolderFact,
        card_works: Option<bool>,
        now: Micros,
        thresholds: &ExactThresholds,
    ) -> Work {
        let time = Stretch { from: now - WINDOW, to: now };
        let own = match holder.id {
            HolderId::Process(id) => mean(&self.process_samples.pieces(id.pid, time), time),
            HolderId::Unlisted => 0.0,
        };
        let is_known = self.process_samples.are_known()
            && !holder.is_mps
            && matches!(holder.id, HolderId::Process(_));
        match card_works {
            _ if own >= f64::from(thresholds.worked) => Work::Working,
            None => Work::Unknown,
            Some(true) if !is_known => Work::Unknown,
            _ => Work::Idle,
        }
    }

    pub const fn last_active(&self) -> Option<Micros> {
        self.last_active
    }
}
