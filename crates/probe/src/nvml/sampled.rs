//! What the driver has sampled of each process since the last look, however often it was asked.

use super::raw::ProcessSample;
use crate::process::Engines;
use crate::reading::Reading;
use crate::units::Percent;

/// A process's share of a card's SMs and of its other engines.
pub(super) type Share = (Reading<Percent>, Reading<Engines>);

/// Sums by process.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    /// In the order of pids.
    processes: Vec<(u32, Sums)>,
    /// Whether it was asked for between looks, be it in vain.
    pub was_drained: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    sm: Mean,
    memory: Mean,
    encoder: Mean,
    decoder: Mean,
}

/// Of the periods in which there was something to tell.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: u32,
    count: u32,
}

impl Sampled {
    pub fn add(&mut self, sample: &ProcessSample) {
        let place = match self.processes.binary_search_by_key(&sample.pid, |(pid, _)| *pid) {
            Ok(place) => place,
            Err(place) => {
                self.processes.insert(place, (sample.pid, Sums::default()));
                place
            }
        };
        if let Some((_, sums)) = self.processes.get_mut(place) {
            // The driver tells nothing of a period in which a process did nothing. So SMs that
            // rested while another engine worked count for nothing either: however short a
            // burst was, the mean is never below one percent for it.
            sums.sm.add(sample.sm, 1);
            sums.memory.add(sample.memory, 0);
            sums.encoder.add(sample.encoder, 0);
            sums.decoder.add(sample.decoder, 0);
        }
    }

    /// A process's share; `none` where nothing was sampled of it.
    pub fn share(&self, pid: u32, none: Share) -> Share {
        let found = self.processes.binary_search_by_key(&pid, |(pid, _)| *pid);
        found
            .ok()
            .and_then(|place| self.processes.get(place))
            .map_or(none, |(_, sums)| sums.share())
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.was_drained = false;
    }
}

/// The share of a process of which the driver has sampled nothing: it did nothing.
pub(super) fn no_share() -> Share {
    Sums::default().share()
}

impl Sums {
    fn share(&self) -> Share {
        let engines = Engines {
            memory: self.memory.percent(),
            encoder: self.encoder.percent(),
            decoder: self.decoder.percent(),
        };
        (Reading::Known(self.sm.percent()), Reading::Known(engines))
    }
}

impl Mean {
    /// A single figure may be garbage too.
    const fn add(&mut self, percent: u32, least: u32) {
        if percent >= least && percent <= 100 {
            self.sum += percent;
            self.count += 1;
        }
    }

    fn percent(self) -> Percent {
        Percent(if self.count == 0 { 0.0 } else { f64::from(self.sum) / f64::from(self.count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(pid: u32, sm: u32, encoder: u32) -> ProcessSample {
        ProcessSample { pid, micros: 1, sm, memory: 0, encoder, decoder: 0 }
    }

    fn sm(sampled: &Sampled, pid: u32) -> f64 {
        sampled.share(pid, no_share()).0.known().unwrap().0
    }

    #[test]
    fn each_process_has_the_mean_of_its_own() {
        let mut sampled = Sampled::default();
        for (pid, percent) in [(7, 40), (3, 10), (7, 60)] {
            sampled.add(&sample(pid, percent, 0));
        }
        assert_eq!([3, 7, 8].map(|pid| sm(&sampled, pid)), [10.0, 50.0, 0.0]);
    }

    /// Who encodes for a second and computes for a moment has computed.
    #[test]
    fn a_burst_does_not_drown_in_the_work_of_other_engines() {
        let mut sampled = Sampled::default();
        (0..20).for_each(|_| sampled.add(&sample(1, 0, 80)));
        sampled.add(&sample(1, 2, 80));
        assert_eq!(sm(&sampled, 1), 2.0);
        let (_, engines) = sampled.share(1, no_share());
        assert_eq!(engines.known().unwrap().encoder, Percent(80.0));
    }

    proptest! {
        /// The law: who was sampled at work at all has worked.
        #[test]
        fn work_stays_work(samples in proptest::collection::vec((0_u32..4, 0_u32..120), 0..50)) {
            let mut sampled = Sampled::default();
            samples.iter().for_each(|(pid, percent)| sampled.add(&sample(*pid, *percent, 1)));
            for pid in 0..4 {
                let own = samples.iter().filter(|(other, _)| *other == pid);
                let worked = own.clone().any(|(_, percent)| (1..=100).contains(percent));
                prop_assert_eq!(sm(&sampled, pid) >= 1.0, worked);
            }
        }
    }
}
