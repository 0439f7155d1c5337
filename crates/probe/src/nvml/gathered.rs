//! The samples since the last look as one mean, however often the buffer was read meanwhile.

use std::time::Duration;

use super::raw::Sample;
use crate::card::{Basis, Utilization};
use crate::units::Percent;

/// How far back a first look averages. Long enough to bridge the pauses of a data
/// loader, short enough to be called now.
pub(super) const FIRST_LOOK: Duration = Duration::from_secs(5);

/// What has been taken out of a card's buffer. Times are microseconds in the driver's
/// own clock.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The newest sample taken, ever.
    newest: Option<u64>,
    /// How far apart the samples were when there were last two or more at once.
    period: Option<u64>,
    /// Since the last look: the sum of whole percents, which is exact in a float.
    sum: f64,
    count: u32,
    covers: u64,
}

impl Gathered {
    /// The time of the newest sample taken.
    pub const fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// How far apart the samples are.
    pub fn period(&self) -> Option<Duration> {
        self.period.map(Duration::from_micros)
    }

    /// Adds what is new among the samples; at first, what is of the last few seconds.
    /// Values above 100 are garbage: they do not count, and neither do their times.
    pub fn add(&mut self, samples: impl Iterator<Item = Sample> + Clone) {
        let valid = samples.filter(|sample| sample.percent <= 100);
        let Some(newest) = valid.clone().map(|sample| sample.micros).max() else { return };
        let after = self.newest.unwrap_or(newest.saturating_sub(micros(FIRST_LOOK)));
        let fresh = valid.filter(|sample| sample.micros > after);
        let Some(oldest) = fresh.clone().map(|sample| sample.micros).min() else { return };
        let (count, sum) = fresh
            .fold((0, 0.0), |(count, sum), sample| (count + 1, sum + f64::from(sample.percent)));
        let span = newest - oldest;
        self.period = span.checked_div(count - 1).filter(|period| *period > 0).or(self.period);
        let before = covered_before(oldest - after, self.period);
        self.covers = self.covers.saturating_add(span.saturating_add(before));
        self.sum += sum;
        self.count = self.count.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.newest = Some(newest);
    }

    /// The mean of what was added since this was last asked.
    pub fn hand_out(&mut self) -> Option<Utilization> {
        let Self { newest, period, sum, count, covers } = *self;
        *self = Self { newest, period, ..Self::default() };
        (count > 0).then(|| Utilization {
            percent: Percent(sum / f64::from(count)),
            basis: Basis::Samples { count, covers: Duration::from_micros(covers) },
        })
    }
}

/// How much of the gap before it the oldest of some samples covers. Each stands for the
/// period before it, which is never quite the same; a gap by half longer than a period has
/// lost a sample, because the buffer ran over.
const fn covered_before(gap: u64, period: Option<u64>) -> u64 {
    match period {
        Some(period) if gap > period.saturating_add(period / 2) => period,
        _ => gap,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000;

    fn samples(values: &[(u64, u32)]) -> Vec<Sample> {
        values
            .iter()
            .map(|(second, percent)| Sample { micros: second * SECOND, percent: *percent })
            .collect()
    }

    fn since(micros: Option<u64>) -> Gathered {
        Gathered { newest: micros, ..Gathered::default() }
    }

    /// Percent, count and what it covers.
    fn handed_out(gathered: &mut Gathered) -> Option<(f64, u32, Duration)> {
        let found = gathered.hand_out()?;
        let Basis::Samples { count, covers } = found.basis else { panic!("not from samples") };
        Some((found.percent.0, count, covers))
    }

    fn mean(values: &[(u64, u32)], after: Option<u64>) -> Option<(f64, u32, u64)> {
        let mut gathered = since(after.map(|second| second * SECOND));
        gathered.add(samples(values).into_iter());
        handed_out(&mut gathered).map(|(percent, count, covers)| (percent, count, covers.as_secs()))
    }

    #[test]
    fn the_mean_is_over_what_is_new() {
        assert_eq!(mean(&[(1, 100), (2, 0), (3, 50), (4, 70)], Some(2)), Some((60.0, 2, 2)));
        assert_eq!(mean(&[(4, 70)], Some(3)), Some((70.0, 1, 1)));
        assert_eq!(mean(&[(4, 70)], Some(4)), None);
    }

    #[test]
    fn a_first_look_goes_back_a_few_seconds_only() {
        let values: Vec<_> = (1..=20).map(|s| (s, if s > 15 { 80 } else { 0 })).collect();
        assert_eq!(mean(&values, None), Some((80.0, 5, 5)));
        assert_eq!(mean(&[], None), None);
    }

    #[test]
    fn a_buffer_that_ran_over_says_so() {
        let values: Vec<_> = (21..=30).map(|s| (s, 10)).collect();
        assert_eq!(mean(&values, Some(0)), Some((10.0, 10, 10)));
        // One sample alone stands for no more than the samples before it did.
        let mut gathered = since(Some(0));
        gathered.add(samples(&[(1, 10), (2, 10)]).into_iter());
        gathered.add(samples(&[(60, 40)]).into_iter());
        assert_eq!(handed_out(&mut gathered), Some((20.0, 3, Duration::from_secs(3))));
    }

    /// Trap: the buffer can hold garbage.
    #[test]
    fn values_over_a_hundred_do_not_count() {
        assert_eq!(mean(&[(1, 40), (2, 4_000_000), (3, 60)], Some(0)), Some((50.0, 2, 3)));
        assert_eq!(mean(&[(2, 101)], Some(0)), None);
    }

    /// Trap: garbage from a time to come would hide every sample until then.
    #[test]
    fn the_time_of_garbage_is_garbage_too() {
        let mut gathered = since(Some(0));
        gathered.add(samples(&[(1, 40), (1_000, 255)]).into_iter());
        gathered.add(samples(&[(2, 60)]).into_iter());
        assert_eq!(handed_out(&mut gathered), Some((50.0, 2, Duration::from_secs(2))));
    }

    #[test]
    fn what_was_handed_out_is_not_handed_out_again() {
        let mut gathered = since(Some(0));
        gathered.add(samples(&[(1, 40), (2, 60)]).into_iter());
        assert_eq!(handed_out(&mut gathered), Some((50.0, 2, Duration::from_secs(2))));
        assert_eq!(handed_out(&mut gathered), None);
        gathered.add(samples(&[(1, 40), (2, 60), (3, 7)]).into_iter());
        assert_eq!(handed_out(&mut gathered), Some((7.0, 1, Duration::from_secs(1))));
    }

    #[test]
    fn the_period_is_measured_on_two_samples_or_more() {
        let mut gathered = since(Some(0));
        gathered.add(samples(&[(3, 1)]).into_iter());
        assert_eq!(gathered.period(), None);
        gathered.add(samples(&[(6, 1), (9, 1), (12, 1)]).into_iter());
        assert_eq!(gathered.period(), Some(Duration::from_secs(3)));
        gathered.add(samples(&[(15, 1)]).into_iter());
        gathered.add(samples(&[(16, 1), (16, 1)]).into_iter());
        assert_eq!(gathered.period(), Some(Duration::from_secs(3)), "no time at all is no period");
    }

    /// Samples that are roughly, not exactly, a period apart, and whether the buffer is read
    /// after each.
    fn any_samples(most: u32) -> impl Strategy<Value = Vec<(Sample, bool)>> {
        let sample = (85_u64..=115, 0..=most, any::<bool>());
        prop::collection::vec(sample, 1..200).prop_map(|steps| {
            let mut micros = 0;
            let sample = |(step, percent, is_read)| {
                micros += step * 1_000;
                (Sample { micros, percent }, is_read)
            };
            steps.into_iter().map(sample).collect()
        })
    }

    /// What comes of a buffer that is read at the given places and at the end, each time
    /// with all that it ever held.
    fn read_in_parts(samples: &[(Sample, bool)]) -> Option<(f64, u32, Duration)> {
        let mut gathered = since(Some(0));
        let so_far = |until: usize| samples[..=until].iter().map(|(sample, _)| *sample);
        for (until, _) in samples.iter().enumerate().filter(|(_, (_, is_read))| *is_read) {
            gathered.add(so_far(until));
        }
        gathered.add(so_far(samples.len() - 1));
        handed_out(&mut gathered)
    }

    fn read_at_once(samples: &[(Sample, bool)]) -> Option<(f64, u32, Duration)> {
        let unread: Vec<_> = samples.iter().map(|(sample, _)| (*sample, false)).collect();
        read_in_parts(&unread)
    }

    proptest! {
        /// However often it is read, the same comes of it as of a buffer without end.
        #[test]
        fn reading_in_parts_changes_nothing(samples in any_samples(100)) {
            let all = read_at_once(&samples);
            prop_assert_eq!(read_in_parts(&samples), all);
            let last = samples.last().map(|(sample, _)| Duration::from_micros(sample.micros));
            prop_assert_eq!(all.map(|(_, _, covers)| covers), last);
        }

        /// Garbage may make holes in the time that is covered, but not in the mean.
        #[test]
        fn reading_in_parts_does_not_let_garbage_in(samples in any_samples(150)) {
            let mean = |found: Option<(f64, u32, Duration)>| found.map(|(mean, count, _)| (mean, count));
            prop_assert_eq!(mean(read_in_parts(&samples)), mean(read_at_once(&samples)));
        }
    }
}
