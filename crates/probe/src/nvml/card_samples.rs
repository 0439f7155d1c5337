//! Samples of a card since the last look and their mean, however often the buffer was read meanwhile.

use std::time::Duration;

use super::raw::MOST_SAMPLES;
use crate::card::{Basis, Sample, Samples, Utilization};
use crate::clocks::Clocks;
use crate::units::Percent;

/// Time that a first look averages over: long enough to bridge the pauses of a data loader, short
/// enough to be current.
pub(super) const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Furthest that a time stamp may lie in the future. Beyond this the sample is garbage.
pub(super) const AHEAD: Duration = Duration::from_secs(10);

/// Longest time between two samples of a card. A buffer that got none for longer has run dry.
pub(super) const LONGEST_PERIOD: Duration = Duration::from_secs(2);

/// Samples taken out of a card's buffer. Times are microseconds on the driver's own clock.
///
/// A sample is new if no answer since the last full one had its time stamp. So neither a clock that
/// is set nor a wrong time stamp can hide the samples that follow.
#[derive(Debug, Default)]
pub(super) struct CardSamples {
    /// Samples of the answers since the last look, in order, each time stamp once.
    answers: Samples,
    /// Time stamps up to the last look: those of the last full answer and since then, in order;
    /// empty before the first.
    seen: Vec<u64>,
    /// Number of samples in the longest answer so far. A full answer is as long as that.
    longest: usize,
    /// Time stamp of the newest sample in the last answer that had new ones.
    newest: Option<u64>,
    /// Median time between samples, from the last answer with two or more.
    period: Option<u64>,
}

impl CardSamples {
    /// Returns the time of the newest sample taken.
    pub const fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Returns the time between two samples.
    pub fn period(&self) -> Option<Duration> {
        self.period.map(Duration::from_micros)
    }

    /// Adds the samples of an answer, which is the driver's whole buffer.
    pub fn add(&mut self, answer: impl Iterator<Item = Sample>, is_full: bool, now: &Clocks) {
        let mut answer: Vec<_> =
            answer.filter(|sample| sample.percent <= 100 && sample.stamp > 0).collect();
        put_in_order(&mut answer);
        let Samples { samples, is_full: was_full } = &mut self.answers;
        let is_new = |sample: &&Sample| {
            self.seen.binary_search(&sample.stamp).is_err()
                && samples.binary_search_by_key(&sample.stamp, |known| known.stamp).is_err()
        };
        let valid = valid(&answer, now);
        self.newest = valid.iter().rfind(is_new).map(|sample| sample.stamp).or(self.newest);
        self.period = median_distance(&valid).or(self.period);
        self.longest = self.longest.max(answer.len());
        *was_full |= is_full;
        samples.extend(answer);
        put_in_order(samples);
        samples.drain(..samples.len().saturating_sub(MOST_SAMPLES));
    }

    /// Makes the next answer count like the first one, after the clock was set.
    pub fn forget_times(&mut self) {
        self.seen.clear();
        self.newest = None;
    }

    /// Returns the samples that were added since the last call, and the mean of those that are new.
    pub fn take(&mut self, now: &Clocks) -> (Option<Utilization>, Samples) {
        let answers = std::mem::take(&mut self.answers);
        let valid = valid(&answers.samples, now);
        let mean = self.mean_of_new(&valid);
        self.remember(&valid);
        (mean, answers)
    }

    /// Returns the mean of the new samples among these; of the first ones, that of the last few
    /// seconds.
    fn mean_of_new(&self, samples: &[Sample]) -> Option<Utilization> {
        let newest = samples.last()?.stamp;
        let is_first = self.seen.is_empty();
        let after = if is_first { newest.saturating_sub(micros(FIRST_LOOK)) } else { 0 };
        // The percentages are whole numbers, so their sum is exact.
        let (mut sum, mut count, mut covers) = (0.0, 0_u32, 0_u64);
        let mut before = None;
        for Sample { stamp, percent } in samples.iter().copied() {
            if stamp > after && self.seen.binary_search(&stamp).is_err() {
                let gap = stamp - before.max(self.seen_before(stamp)).unwrap_or(after);
                covers = covers.saturating_add(covered_before(gap, self.period));
                sum += f64::from(percent);
                count = count.saturating_add(1);
            }
            before = Some(stamp);
        }
        (count > 0).then(|| Utilization {
            percent: Percent(sum / f64::from(count)),
            basis: Basis::Samples { count, covers: Duration::from_micros(covers) },
        })
    }

    /// Remembers time stamps. A short answer may leave out samples that the next one has again, so
    /// it does not replace what was seen before.
    fn remember(&mut self, samples: &[Sample]) {
        if samples.len() >= self.longest || self.seen.len() + samples.len() > MOST_SAMPLES {
            self.seen.clear();
        }
        self.seen.extend(samples.iter().map(|sample| sample.stamp));
        self.seen.sort_unstable();
        self.seen.dedup();
    }

    /// Returns the newest of the time stamps seen that lies before this one.
    fn seen_before(&self, stamp: u64) -> Option<u64> {
        let place = self.seen.partition_point(|seen| *seen < stamp);
        self.seen.get(..place)?.last().copied()
    }
}

/// Sorts samples by time, and drops those with the time stamp of another.
fn put_in_order(samples: &mut Vec<Sample>) {
    samples.sort_by_key(|sample| sample.stamp);
    samples.dedup_by_key(|sample| sample.stamp);
}

/// Returns the samples that are not stamped in the future.
///
/// Where most time stamps lie in the future and none is near the host's time, the driver's clock
/// runs ahead of the host's, or the host's was just set back. Then the others are the garbage.
fn valid(samples: &[Sample], now: &Clocks) -> Vec<Sample> {
    let is_ahead = |sample: &Sample| now.is_ahead(sample.stamp, AHEAD);
    let is_current =
        |sample: &Sample| now.nearest(sample.stamp).abs_diff(sample.stamp) <= micros(AHEAD);
    let ahead = samples.iter().filter(|sample| is_ahead(sample)).count();
    let runs_ahead = 2 * ahead > samples.len() && !samples.iter().any(is_current);
    samples.iter().copied().filter(|sample| is_ahead(sample) == runs_ahead).collect()
}

/// Returns the median time between samples, which are in the order of time.
fn median_distance(samples: &[Sample]) -> Option<u64> {
    let later = samples.iter().skip(1);
    let mut distances: Vec<_> =
        samples.iter().zip(later).map(|(one, next)| next.stamp - one.stamp).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied()
}

/// Returns the time that a sample covers of the gap before it. Periods vary a little; in a gap that is
/// longer than one and a half of them a sample was lost, because the buffer overflowed.
const fn covered_before(gap: u64, period: Option<u64>) -> u64 {
    match period {
        Some(period) if gap > period.saturating_add(period / 2) => period,
        _ => gap,
    }
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::UnixMillis;

    const SECOND: u64 = 1_000_000;

    fn samples(values: &[(u64, u32)]) -> Vec<Sample> {
        values
            .iter()
            .map(|(second, percent)| Sample { stamp: second * SECOND, percent: *percent })
            .collect()
    }

    fn since(micros: Option<u64>) -> CardSamples {
        CardSamples { seen: micros.into_iter().collect(), ..CardSamples::default() }
    }

    /// A host that booted an hour ago, long after the times of these samples.
    fn now() -> Clocks {
        let since_boot = Duration::from_secs(3600);
        Clocks { wall: UnixMillis(1_794_182_400_000), since_boot, awake: since_boot }
    }

    fn wall_micros() -> u64 {
        u64::try_from(now().wall.0).unwrap() * 1000
    }

    fn add(kept: &mut CardSamples, answer: impl Iterator<Item = Sample>) {
        kept.add(answer, false, &now());
    }

    /// Percent, count and what it covers.
    fn handed_out(kept: &mut CardSamples) -> Option<(f64, u32, Duration)> {
        let found = kept.take(&now()).0?;
        let Basis::Samples { count, covers } = found.basis else { panic!("not from samples") };
        Some((found.percent.0, count, covers))
    }

    fn mean(values: &[(u64, u32)], after: Option<u64>) -> Option<(f64, u32, u64)> {
        let mut kept = since(after.map(|second| second * SECOND));
        add(&mut kept, samples(values).into_iter());
        handed_out(&mut kept).map(|(percent, count, covers)| (percent, count, covers.as_secs()))
    }

    #[test]
    fn the_mean_is_over_what_is_new() {
        let mut kept = CardSamples::default();
        add(&mut kept, samples(&[(1, 100), (2, 0)]).into_iter());
        assert_eq!(handed_out(&mut kept).map(|(percent, ..)| percent), Some(50.0));
        add(&mut kept, samples(&[(1, 100), (2, 0), (3, 50), (4, 70)]).into_iter());
        assert_eq!(handed_out(&mut kept), Some((60.0, 2, Duration::from_secs(2))));
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
        let mut kept = since(Some(0));
        add(&mut kept, samples(&[(1, 10), (2, 10)]).into_iter());
        add(&mut kept, samples(&[(60, 40)]).into_iter());
        assert_eq!(handed_out(&mut kept), Some((20.0, 3, Duration::from_secs(3))));
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
        let mut kept = since(Some(0));
        add(&mut kept, samples(&[(1, 40), (1_000, 255)]).into_iter());
        add(&mut kept, samples(&[(2, 60)]).into_iter());
        assert_eq!(handed_out(&mut kept), Some((50.0, 2, Duration::from_secs(2))));
    }

    #[test]
    fn what_was_handed_out_is_not_handed_out_again() {
        let mut kept = since(Some(0));
        add(&mut kept, samples(&[(1, 40), (2, 60)]).into_iter());
        assert_eq!(handed_out(&mut kept), Some((50.0, 2, Duration::from_secs(2))));
        assert_eq!(handed_out(&mut kept), None);
        add(&mut kept, samples(&[(1, 40), (2, 60), (3, 7)]).into_iter());
        assert_eq!(handed_out(&mut kept), Some((7.0, 1, Duration::from_secs(1))));
    }

    #[test]
    fn the_period_is_measured_on_two_samples_or_more() {
        let mut kept = since(Some(0));
        add(&mut kept, samples(&[(3, 1)]).into_iter());
        assert_eq!(kept.period(), None);
        add(&mut kept, samples(&[(6, 1), (9, 1), (12, 1)]).into_iter());
        assert_eq!(kept.period(), Some(Duration::from_secs(3)));
        add(&mut kept, samples(&[(15, 1)]).into_iter());
        add(&mut kept, samples(&[(16, 1), (16, 1)]).into_iter());
        assert_eq!(kept.period(), Some(Duration::from_secs(3)), "no time at all is no period");
    }

    /// Twenty samples, one a second, the last of them at this time.
    fn ring(end: u64, percent: u32) -> impl Iterator<Item = Sample> {
        (0..20).rev().map(move |age| Sample { stamp: end - age * SECOND, percent })
    }

    /// The driver's clock follows the wall clock. After the step its buffer has new samples, and old
    /// ones that now lie in the future.
    #[test]
    fn samples_count_at_once_after_a_clock_was_set_back() {
        for forgets in [false, true] {
            let mut kept = CardSamples::default();
            let before = wall_micros() + 600 * SECOND;
            add(&mut kept, ring(before, 0));
            handed_out(&mut kept);
            if forgets {
                kept.forget_times();
            }
            let new = Sample { stamp: wall_micros() - SECOND, percent: 65 };
            add(&mut kept, ring(before, 0).skip(1).chain([new]));
            let (percent, count, covers) = handed_out(&mut kept).unwrap();
            assert_eq!((percent, count), (65.0, 1));
            assert!(covers <= FIRST_LOOK, "{covers:?}");
            assert_eq!(kept.newest(), Some(new.stamp));
        }
    }

    /// The same where the first answer after the step has no new sample yet.
    #[test]
    fn samples_of_before_a_step_do_not_hide_the_new_ones() {
        let mut kept = CardSamples::default();
        let before = wall_micros() + 600 * SECOND;
        add(&mut kept, ring(before, 0));
        kept.forget_times();
        add(&mut kept, ring(before, 0));
        handed_out(&mut kept);
        let new = Sample { stamp: wall_micros(), percent: 65 };
        add(&mut kept, ring(before, 0).chain([new]));
        assert_eq!(handed_out(&mut kept).unwrap().0, 65.0);
        assert_eq!(kept.newest(), Some(new.stamp));
    }

    #[test]
    fn a_clock_that_was_set_ahead_does_not_stretch_the_time_covered() {
        let mut kept = CardSamples::default();
        let before = wall_micros() - 600 * SECOND;
        add(&mut kept, ring(before, 0));
        handed_out(&mut kept);
        let new = Sample { stamp: wall_micros(), percent: 65 };
        add(&mut kept, ring(before, 0).skip(1).chain([new]));
        assert_eq!(handed_out(&mut kept), Some((65.0, 1, Duration::from_secs(1))));
        assert_eq!(kept.period(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn one_sample_in_the_future_neither_counts_nor_hides_others() {
        let hour = 3600 * SECOND;
        for clock in [wall_micros(), micros(now().since_boot)] {
            let stray = Sample { stamp: clock + hour, percent: 100 };
            let mut kept = CardSamples::default();
            add(&mut kept, ring(clock, 20).chain([stray]));
            assert_eq!(handed_out(&mut kept), Some((20.0, 5, Duration::from_secs(5))));
            assert_eq!(kept.newest(), Some(clock));
            add(&mut kept, ring(clock + SECOND, 40).chain([stray]));
            assert_eq!(handed_out(&mut kept), Some((40.0, 1, Duration::from_secs(1))));
        }
    }

    /// The driver's clock is neither of the host's.
    #[test]
    fn samples_count_where_most_lie_in_the_future() {
        let day = 86_400 * SECOND;
        for strays in [&[][..], &[0], &[0, 7, wall_micros() - day]] {
            let mut kept = CardSamples::default();
            for second in 0..3 {
                let stray = strays.iter().map(|micros| Sample { stamp: *micros, percent: 100 });
                let end = wall_micros() + day + second * SECOND;
                add(&mut kept, ring(end, 30).chain(stray));
                assert_eq!(handed_out(&mut kept).unwrap().0, 30.0, "{strays:?}");
                assert_eq!(kept.newest(), Some(end));
            }
        }
    }

    #[test]
    fn time_stamps_of_zero_do_not_count() {
        assert_eq!(mean(&[(0, 100), (1, 40)], Some(3)), Some((40.0, 1, 1)));
        assert_eq!(mean(&[(0, 100)], None), None);
    }

    #[test]
    fn samples_count_once_where_an_answer_was_short() {
        let mut kept = CardSamples::default();
        add(&mut kept, ring(wall_micros(), 0));
        handed_out(&mut kept);
        for second in 1..=3 {
            let end = wall_micros() + second * SECOND;
            add(&mut kept, ring(end, 50).skip(19));
            assert_eq!(handed_out(&mut kept), Some((50.0, 1, Duration::from_secs(1))));
        }
        add(&mut kept, ring(wall_micros() + 4 * SECOND, 80));
        assert_eq!(handed_out(&mut kept), Some((80.0, 1, Duration::from_secs(1))));
        assert_eq!(kept.seen.len(), 20, "a full answer takes the place of all before");
    }

    #[test]
    fn short_answers_do_not_pile_up() {
        for hands_out in [false, true] {
            let mut kept = CardSamples::default();
            add(&mut kept, ring(wall_micros(), 0));
            let many = u64::try_from(MOST_SAMPLES).unwrap() + 10;
            for second in 1..many {
                add(&mut kept, ring(wall_micros() - second * SECOND, 0).take(1));
                if hands_out {
                    handed_out(&mut kept);
                }
            }
            let kept = kept.seen.len().max(kept.answers.samples.len());
            assert!(kept <= MOST_SAMPLES, "{kept}");
        }
    }

    /// Garbage in the future is not dropped: the classifier finds out which clock the driver uses.
    #[test]
    fn samples_are_handed_out_once_and_whole() {
        let mut kept = CardSamples::default();
        let all = |kept: &mut CardSamples| {
            let Samples { samples, is_full } = kept.take(&now()).1;
            let stamps: Vec<_> = samples.iter().map(|sample| sample.stamp / SECOND).collect();
            (stamps, is_full)
        };
        let answer = samples(&[(3, 1), (1, 1), (0, 1), (2, 101), (9_000, 1)]);
        kept.add(answer.into_iter(), true, &now());
        add(&mut kept, samples(&[(3, 1), (4, 1)]).into_iter());
        assert_eq!(all(&mut kept), (vec![1, 3, 4, 9_000], true));
        add(&mut kept, samples(&[(4, 1), (5, 1)]).into_iter());
        assert_eq!(all(&mut kept), (vec![4, 5], false));
        assert_eq!(all(&mut kept), (vec![], false));
    }

    /// Samples that are roughly, not exactly, a period apart, and whether the buffer is read
    /// after each.
    fn any_samples(most: u32) -> impl Strategy<Value = Vec<(Sample, bool)>> {
        let sample = (85_u64..=115, 0..=most, any::<bool>());
        prop::collection::vec(sample, 1..200).prop_map(|steps| {
            let mut micros = 0;
            let sample = |(step, percent, is_read)| {
                micros += step * 1_000;
                (Sample { stamp: micros, percent }, is_read)
            };
            steps.into_iter().map(sample).collect()
        })
    }

    /// What comes of a buffer that is read at the given places and at the end, each time
    /// with all that it ever held.
    fn read_in_parts(samples: &[(Sample, bool)]) -> Option<(f64, u32, Duration)> {
        let mut kept = since(Some(0));
        let so_far = |until: usize| samples[..=until].iter().map(|(sample, _)| *sample);
        for (until, _) in samples.iter().enumerate().filter(|(_, (_, is_read))| *is_read) {
            add(&mut kept, so_far(until));
        }
        add(&mut kept, so_far(samples.len() - 1));
        handed_out(&mut kept)
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
            let last = samples.last().map(|(sample, _)| Duration::from_micros(sample.stamp));
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
