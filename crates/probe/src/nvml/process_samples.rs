//! Samples of processes since the last look and their mean, however often the driver was asked meanwhile.

use std::collections::BTreeMap;

use super::card_samples::{AHEAD, FIRST_LOOK, LONGEST_PERIOD, micros};
use super::raw::ProcessSample;
use crate::card;
use crate::clocks::Clocks;
use crate::process::Engines;
use crate::reading::Reading;
use crate::units::Percent;

/// A process's share of a card's SMs and of its other engines.
pub(super) type Share = (Reading<Percent>, Reading<Engines>);

/// Samples of processes.
#[derive(Debug, Default)]
pub(super) struct ProcessSamples {
    /// Entries as the driver returned them, except those that cannot be valid.
    returned: Vec<card::ProcessSample>,
    /// Samples that count, by pid and time stamp: a driver may return one again between two looks.
    counted: BTreeMap<(u32, u64), ProcessSample>,
    /// True if an answer had samples but none that counts, which does not prove that a process
    /// without samples did nothing.
    pub had_only_garbage: bool,
    /// True if the driver was asked since the last look, even if it had no samples.
    pub was_drained: bool,
}

/// The times at which process samples count, in microseconds on the driver's clock. Samples outside
/// of it are stale or garbage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Time up to which samples were taken before. Without it, those of the last few seconds count.
    pub after: Option<u64>,
    /// Time now, as the card's samples show it. Without it, the host's clock that is nearest to a
    /// sample does.
    card_time: Option<u64>,
    now: Clocks,
}

impl Window {
    /// Starts at what was taken before. Where that lies in the future, the driver's clock was set
    /// back; by up to one period it may be later than the card's newest sample.
    pub fn new(taken_until: Option<u64>, card_time: Option<u64>, now: Clocks) -> Self {
        let window = Self { after: None, card_time, now };
        let period = card_time.map_or(0, |_| micros(LONGEST_PERIOD));
        let has_come = |taken: &u64| *taken <= window.time_at(*taken).saturating_add(period);
        Self { after: taken_until.filter(has_come), ..window }
    }

    /// Returns the time stamp after which the driver is asked for samples. It is 0, which asks for
    /// all, while it is unknown which clock the driver uses.
    pub fn asked_since(&self) -> u64 {
        let recent = self.card_time.map(|newest| newest.saturating_sub(micros(FIRST_LOOK)));
        self.after.or(recent).unwrap_or(0)
    }

    /// Returns the newest time that is known to have come, on the clock of a time stamp.
    fn time_at(&self, stamp: u64) -> u64 {
        self.card_time.unwrap_or_else(|| self.now.nearest(stamp))
    }

    /// Returns where a sample lies, or `None` if it is garbage.
    fn place(&self, sample: &ProcessSample) -> Option<Place> {
        let time = self.time_at(sample.micros);
        if sample.sm > 100 || sample.micros > time.saturating_add(micros(AHEAD)) {
            return None;
        }
        let after = self.after.unwrap_or(time.saturating_sub(micros(FIRST_LOOK)));
        Some(if sample.micros > after { Place::Inside } else { Place::Before })
    }
}

/// Place of a sample relative to a [`Window`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Inside,
}

/// Newest time stamps of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Newest of the samples in the window, but not beyond the current time: a wrong time stamp
    /// would hide the samples that follow.
    pub newest: Option<u64>,
    /// Newest of the samples before the window. It shows which clock the driver uses.
    pub newest_stale: Option<u64>,
}

impl ProcessSamples {
    /// Adds the samples of an answer that lie in the window. Entries without a pid are unused.
    pub fn add_those_in(
        &mut self,
        window: &Window,
        samples: impl Iterator<Item = ProcessSample>,
    ) -> Taken {
        let (mut taken, mut is_empty) = (Taken::default(), true);
        for sample in samples.filter(|sample| sample.pid != 0) {
            is_empty = false;
            let ProcessSample { pid, micros: stamp, sm: percent, .. } = sample;
            if percent <= 100 {
                self.returned.push(card::ProcessSample { pid, stamp, percent });
            }
            match window.place(&sample) {
                Some(Place::Inside) => {
                    let stamp = sample.micros.min(window.time_at(sample.micros));
                    taken.newest = taken.newest.max(Some(stamp));
                    self.add(sample);
                }
                Some(Place::Before) => {
                    taken.newest_stale = taken.newest_stale.max(Some(sample.micros));
                }
                None => {}
            }
        }
        self.had_only_garbage |= !is_empty && taken.newest.is_none();
        taken
    }

    fn add(&mut self, sample: ProcessSample) {
        self.counted.entry((sample.pid, sample.micros)).or_insert(sample);
    }

    /// A process's share; `none` where nothing was sampled of it.
    pub fn share(&self, pid: u32, none: Share) -> Share {
        let own = || self.counted.range((pid, 0)..=(pid, u64::MAX)).map(|(_, sample)| sample);
        if own().next().is_none() {
            return none;
        }
        let engines = Engines {
            memory: mean(own().map(|sample| sample.memory), 0),
            encoder: mean(own().map(|sample| sample.encoder), 0),
            decoder: mean(own().map(|sample| sample.decoder), 0),
        };
        // The driver tells nothing of a period in which a process did nothing. So SMs that
        // rested while another engine worked count for nothing either: however short a
        // burst was, the mean is never below one percent for it.
        (Reading::Known(mean(own().map(|sample| sample.sm), 1)), Reading::Known(engines))
    }

    /// Removes all samples, and returns what the driver gave.
    pub fn take(&mut self) -> Vec<card::ProcessSample> {
        std::mem::take(self).returned
    }

    /// Returns what the driver gave. It still counts in the shares.
    pub fn take_returned(&mut self) -> Vec<card::ProcessSample> {
        std::mem::take(&mut self.returned)
    }
}

/// The share of a process of which the driver has sampled nothing: it did nothing.
pub(super) fn no_share() -> Share {
    (Reading::Known(Percent(0.0)), Reading::Known(Engines::default()))
}

/// Returns the mean of the figures that are at least `least`. A single figure may be garbage too.
fn mean(percents: impl Iterator<Item = u32>, least: u32) -> Percent {
    let (sum, count) = percents
        .filter(|percent| (least..=100).contains(percent))
        .fold((0, 0), |(sum, count), percent| (sum + percent, count + 1));
    Percent(if count == 0 { 0.0 } else { f64::from(sum) / f64::from(count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use proptest::prelude::*;

    use crate::units::UnixMillis;

    const SECOND: u64 = 1_000_000;

    const fn sample_at(micros: u64, pid: u32, sm: u32, encoder: u32) -> ProcessSample {
        ProcessSample { pid, micros, sm, memory: 0, encoder, decoder: 0 }
    }

    /// A host that booted an hour ago.
    fn now() -> Clocks {
        let since_boot = Duration::from_secs(3600);
        Clocks { wall: UnixMillis(1_794_182_400_000), since_boot, awake: since_boot }
    }

    /// The times that the host's clocks show: Unix time, and since boot.
    const CLOCKS: [u64; 2] = [1_794_182_400 * SECOND, 3600 * SECOND];

    /// Adds samples of process 1, all of 50 %, at these times. Returns what was taken.
    fn take(samples: &mut ProcessSamples, window: &Window, times: &[u64]) -> Taken {
        samples.add_those_in(window, times.iter().map(|micros| sample_at(*micros, 1, 50, 0)))
    }

    /// Trap: process samples can be stale, or of a time that has not come yet.
    #[test]
    fn only_samples_since_the_last_look_count() {
        let second = |second: u64| second * SECOND;
        let places = |taken_until: Option<u64>| {
            let window = Window::new(taken_until.map(second), Some(second(100)), now());
            [80, 90, 96, 109, 200].map(|at| window.place(&sample_at(second(at), 1, 50, 0)))
        };
        let before = Some(Place::Before);
        let inside = Some(Place::Inside);
        assert_eq!(places(Some(90)), [before, before, inside, inside, None]);
        assert_eq!(places(Some(85)), [before, inside, inside, inside, None]);
        assert_eq!(places(None), [before, before, inside, inside, None]);
        assert_eq!(places(Some(700)), places(None), "the clock was set back");
        let later = Window::new(Some(second(101)), Some(second(100)), now());
        assert_eq!(later.after, Some(second(101)), "the next sample is due");
        let window = Window::new(Some(second(90)), Some(second(100)), now());
        assert_eq!(window.place(&sample_at(second(96), 1, 101, 0)), None);
        assert_eq!(window.asked_since(), second(90));
        assert_eq!(Window::new(None, Some(second(100)), now()).asked_since(), second(95));
    }

    #[test]
    fn without_card_times_the_nearest_clock_counts() {
        for time in CLOCKS {
            let window = Window::new(None, None, now());
            assert_eq!(window.asked_since(), 0);
            let mut samples = ProcessSamples::default();
            let times = [time - 60 * SECOND, time - SECOND, time + 60 * SECOND];
            let taken = take(&mut samples, &window, &times);
            assert_eq!(taken.newest, Some(time - SECOND));
            assert_eq!(samples.counted.len(), 1);
            assert_eq!(Window::new(taken.newest, None, now()).asked_since(), time - SECOND);
            let set_back = Window::new(Some(time + SECOND), None, now());
            assert_eq!(set_back.after, None);
            // An old sample shows the clock, so that the next answer has newer ones only.
            let taken = take(&mut samples, &window, &[time - 60 * SECOND]);
            assert_eq!((taken.newest, taken.newest_stale), (None, Some(time - 60 * SECOND)));
        }
    }

    #[test]
    fn garbage_alone_leaves_shares_unknown() {
        let [wall, _] = CLOCKS;
        let window = Window::new(Some(wall - 10 * SECOND), Some(wall), now());
        for (times, is_garbage) in [
            (&[][..], false),
            (&[wall - 20 * SECOND][..], true),
            (&[wall + 3600 * SECOND], true),
            (&[0], true),
            (&[wall - 20 * SECOND, wall], false),
        ] {
            let mut samples = ProcessSamples::default();
            take(&mut samples, &window, times);
            assert_eq!(samples.had_only_garbage, is_garbage, "{times:?}");
        }
        // An unused entry is no sample.
        let mut samples = ProcessSamples::default();
        samples.add_those_in(&window, [sample_at(0, 0, 0, 0)].into_iter());
        assert!(!samples.had_only_garbage);
        // What one answer leaves in doubt, the next does not settle.
        take(&mut samples, &window, &[0]);
        take(&mut samples, &window, &[wall]);
        assert!(samples.had_only_garbage);
        samples.take();
        assert!(!samples.had_only_garbage);
    }

    /// A sample that is newer than the card's newest is returned by the next drain again.
    #[test]
    fn samples_returned_again_count_once() {
        let mut samples = ProcessSamples::default();
        for (micros, percent) in [(1, 20), (2, 40), (1, 20), (2, 40), (3, 90)] {
            samples.add(sample_at(micros, 1, percent, 0));
        }
        assert_eq!(sm(&samples, 1), 50.0);
    }

    fn sm(samples: &ProcessSamples, pid: u32) -> f64 {
        samples.share(pid, no_share()).0.known().unwrap().0
    }

    #[test]
    fn each_process_has_the_mean_of_its_own() {
        let mut samples = ProcessSamples::default();
        for (micros, pid, percent) in [(1, 7, 40), (1, 3, 10), (2, 7, 60)] {
            samples.add(sample_at(micros, pid, percent, 0));
        }
        assert_eq!([3, 7, 8].map(|pid| sm(&samples, pid)), [10.0, 50.0, 0.0]);
    }

    /// Who encodes for a second and computes for a moment has computed.
    #[test]
    fn a_burst_does_not_drown_in_the_work_of_other_engines() {
        let mut samples = ProcessSamples::default();
        (0..20).for_each(|micros| samples.add(sample_at(micros, 1, 0, 80)));
        samples.add(sample_at(20, 1, 2, 80));
        assert_eq!(sm(&samples, 1), 2.0);
        let (_, engines) = samples.share(1, no_share());
        assert_eq!(engines.known().unwrap().encoder, Percent(80.0));
    }

    proptest! {
        /// A process that was sampled at work at all has worked.
        #[test]
        fn work_stays_work(drawn in proptest::collection::vec((0_u32..4, 0_u32..120), 0..50)) {
            let mut samples = ProcessSamples::default();
            for (micros, (pid, percent)) in (0..).zip(&drawn) {
                samples.add(sample_at(micros, *pid, *percent, 1));
            }
            for pid in 0..4 {
                let own = drawn.iter().filter(|(other, _)| *other == pid);
                let worked = own.clone().any(|(_, percent)| (1..=100).contains(percent));
                prop_assert_eq!(sm(&samples, pid) >= 1.0, worked);
            }
        }
    }
}
