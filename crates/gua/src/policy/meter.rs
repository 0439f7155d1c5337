//! How much of the processors the trees of idle holders take, from tick to tick.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use probe::proc::tree::{self, Members};
use probe::units::Percent;
use probe::{Reading, Why};

use super::subject::Subject;

/// What each tree had used at the last tick.
#[derive(Debug, Default)]
pub struct Meter(HashMap<Subject, (Instant, Members)>);

impl Meter {
    /// Since the last tick at which it was asked for, in percent of one core.
    pub fn read(&mut self, root: &Path, subject: Subject, now: Instant) -> Reading<Percent> {
        let members = match tree::members(root, subject.pid) {
            Reading::Known(members) => members,
            Reading::Unknown(why) => return Reading::Unknown(why),
        };
        let start = members.get(&subject.pid).map(|member| member.start_ticks);
        if start != subject.start_ticks {
            return Reading::Unknown(Why::Gone);
        }
        let before = self.0.insert(subject, (now, members));
        let (Some((then, before)), Some((_, members))) = (before, self.0.get(&subject)) else {
            return Reading::Unknown(Why::FirstLook);
        };
        percent(used(&before, members), now.saturating_duration_since(then).as_secs_f64())
    }

    /// Forgets all but these.
    pub fn keep(&mut self, is_wanted: impl Fn(&Subject) -> bool) {
        self.0.retain(|subject, _| is_wanted(subject));
    }
}

/// In clock ticks. Who is new has used all of it since.
fn used(before: &Members, now: &Members) -> u64 {
    let since = |(pid, member): (&u32, &tree::Member)| {
        let earlier = before.get(pid).filter(|earlier| earlier.start_ticks == member.start_ticks);
        member.cpu_ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.cpu_ticks))
    };
    now.iter().map(since).sum()
}

#[expect(clippy::cast_precision_loss, reason = "a share is told")]
fn percent(ticks: u64, seconds: f64) -> Reading<Percent> {
    if seconds <= 0.0 {
        return Reading::Unknown(Why::FirstLook);
    }
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Reading::Known(Percent(ticks as f64 / per_second as f64 / seconds * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree::Member;

    #[test]
    fn who_is_new_has_used_all_of_it_and_who_has_the_pid_of_another_too() {
        let member = |start_ticks, cpu_ticks| Member { start_ticks, cpu_ticks };
        let before = Members::from([(1, member(5, 100)), (2, member(6, 50)), (3, member(7, 9))]);
        let now = Members::from([(1, member(5, 110)), (2, member(99, 4)), (4, member(98, 2))]);
        assert_eq!(used(&before, &now), 16);
    }

    #[test]
    fn a_second_reading_is_needed() {
        let start = crate::policy::own::start_ticks(std::process::id());
        let subject = Subject { pid: std::process::id(), start_ticks: start };
        let mut meter = Meter::default();
        let now = Instant::now();
        let root = Path::new("/");
        assert_eq!(meter.read(root, subject, now), Reading::Unknown(Why::FirstLook));
        let later = now + std::time::Duration::from_secs(1000);
        assert!(meter.read(root, subject, later).is_known_and(|percent| percent.0 < 100.0));
        let other = Subject { start_ticks: Some(1), ..subject };
        assert_eq!(meter.read(root, other, later), Reading::Unknown(Why::Gone));
    }
}
