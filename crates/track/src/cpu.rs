//! The CPU time of a tree whose members come and go.
//!
//! When a process ends and its parent waits for it, its time moves into the parent's account of
//! waited-for children. So what all members have used, together with those accounts, neither
//! loses nor doubles anything, however short a child lived. Two cases remain: orphans that come
//! to us and are waited for by us, and children that nobody waits for, since their parent has
//! asked the kernel to drop them (SIGCHLD ignored, or `SA_NOCLDWAIT`). Their time is in no account.
//! What was last seen of them counts, and the sum is a lower bound.

use std::collections::HashMap;
use std::time::Duration;

use crate::parts::Parts;

/// The accounts of waited-for children are told in clock ticks, user and system time apart and
/// both rounded down.
const ROUNDING: Duration = Duration::from_millis(20);

/// How exact the final account is.
const EXACT: Duration = Duration::from_millis(1);

/// One living member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub pid: u32,
    pub is_main: bool,
    pub own: Duration,
    /// What its waited-for children have used.
    pub waited: Duration,
    pub parent: u32,
    /// Page faults, those of its waited-for children included. They move into the parent's account
    /// together with the time, and unlike it to the last one.
    pub faults: u64,
    pub waited_faults: u64,
}

impl Member {
    fn both(&self) -> Duration {
        self.own + self.waited
    }
}

/// The CPU time since the begin.
#[derive(Debug, Default)]
pub struct CpuAccount {
    /// What was used before the begin.
    before: Option<Before>,
    /// As of the last observation.
    living: HashMap<u32, Member>,
    /// Orphans that were waited for by us.
    reaped: Duration,
    /// CPU times of those that ended without being waited for by us, as last seen.
    ended: Duration,
    /// What ended without anybody waiting for it had used, as last seen.
    dropped: Duration,
    /// A member has ended and is in nobody's account.
    has_dropped: bool,
    /// Nothing that was counted is taken back.
    told: Parts<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    main: Duration,
    combined: Duration,
}

impl CpuAccount {
    /// An orphan came to us, ended, and was waited for.
    pub fn reap(&mut self, pid: u32, time: Duration) {
        self.reaped += time;
        self.living.remove(&pid);
    }

    /// Returns true if a member has ended whose time is in nobody's account.
    #[must_use]
    pub const fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    /// Takes in what the members have used by now. The first observation is the begin.
    pub fn observe(&mut self, living: &[Member]) -> Parts<Duration> {
        self.settle_vanished(living);
        let main = living.iter().find(|member| member.is_main);
        let main_own = main.map_or(Duration::ZERO, |main| main.own);
        self.tell(main_own, living.iter().map(Member::both).sum());
        self.living = living.iter().map(|member| (member.pid, *member)).collect();
        self.told
    }

    /// The end of the main process with the kernel's final account of it and of all that it,
    /// directly or not, has waited for; `others` go on.
    pub fn close(
        &mut self,
        main: Duration,
        account: Duration,
        others: &[Member],
    ) -> Parts<Duration> {
        let main = main.min(account);
        self.settle_account(main, account, others);
        let others: Duration = others.iter().map(Member::both).sum();
        self.told.main = Duration::ZERO;
        self.told.combined = Duration::ZERO;
        self.tell(main, account + others);
        self.told
    }

    /// The final account is exact, so what was seen of those that ended is in it or in that of somebody
    /// who goes on. What is not was dropped, however little each of them had used.
    fn settle_account(&mut self, main: Duration, account: Duration, others: &[Member]) {
        let waited: Duration = others.iter().map(|other| other.waited + ROUNDING).sum();
        let accounted = account.saturating_sub(main) + waited + self.dropped;
        let missing = self.ended.saturating_sub(accounted);
        if missing > EXACT {
            self.has_dropped = true;
            self.dropped += missing;
        }
    }

    fn tell(&mut self, main: Duration, living: Duration) {
        let combined = living + self.reaped + self.dropped;
        let before = *self.before.get_or_insert(Before { main, combined });
        let main = main.saturating_sub(before.main).max(self.told.main);
        let combined = combined.saturating_sub(before.combined).max(self.told.combined);
        self.told = Parts { main, descendants: combined.saturating_sub(main), combined };
    }

    /// Those who vanished should show up in somebody's account of waited-for children. Where the
    /// account of the parent gained nothing, their time was dropped; where accounts gained less
    /// than they should have, the difference was.
    fn settle_vanished(&mut self, living: &[Member]) {
        let before = std::mem::take(&mut self.living);
        let mut gains: HashMap<u32, Gain> =
            living.iter().map(|now| (now.pid, Gain::new(now, before.get(&now.pid)))).collect();
        let vanished = before.values().filter(|member| !gains.contains_key(&member.pid));
        let vanished: Vec<&Member> = vanished.collect();
        self.ended += vanished.iter().map(|member| member.own).sum::<Duration>();
        for member in &vanished {
            if let Some(heir) = nearest_living(member, &before, &gains)
                && let Some(gain) = gains.get_mut(&heir)
            {
                gain.expected = gain.expected.saturating_add(member.faults);
            }
        }
        self.has_dropped |= gains.values().any(|gain| gain.faults < gain.expected);
        let is_dropped = |member: &&Member| {
            gains.get(&member.parent).is_some_and(|gain| gain.faults == 0 && gain.expected > 0)
        };
        let (dropped, others): (Vec<_>, Vec<_>) = vanished.into_iter().partition(is_dropped);
        let time = |members: Vec<&Member>| members.into_iter().map(Member::both).sum::<Duration>();
        let gained: Duration = gains.values().map(|gain| gain.time).sum();
        self.dropped += time(dropped) + time(others).saturating_sub(gained + ROUNDING);
    }
}

/// Growth of the account of a member's waited-for children since the last observation.
#[derive(Debug)]
struct Gain {
    time: Duration,
    faults: u64,
    /// The faults of those who vanished and belong there.
    expected: u64,
}

impl Gain {
    fn new(now: &Member, before: Option<&Member>) -> Self {
        let (time, faults) = before.map_or_else(Default::default, |b| (b.waited, b.waited_faults));
        Self {
            time: now.waited.saturating_sub(time),
            faults: now.waited_faults.saturating_sub(faults),
            expected: 0,
        }
    }
}

/// The nearest ancestor that is still there: into whose account a member's time goes by way of those
/// in between.
fn nearest_living(
    member: &Member,
    before: &HashMap<u32, Member>,
    living: &HashMap<u32, Gain>,
) -> Option<u32> {
    let up = std::iter::successors(Some(member.parent), |pid| Some(before.get(pid)?.parent));
    // A pid that was given out again may lead in a circle.
    up.take(before.len() + 1).find(|pid| living.contains_key(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// The faults of waited-for children are as many as their milliseconds.
    fn member(pid: u32, parent: u32, own: u64, waited: u64, faults: u64) -> Member {
        Member {
            pid,
            is_main: pid == 1,
            own: ms(own),
            waited: ms(waited),
            parent,
            faults: faults + waited,
            waited_faults: waited,
        }
    }

    fn main(own: u64, waited: u64) -> Member {
        member(1, 0, own, waited, 0)
    }

    fn child(pid: u32, own: u64) -> Member {
        member(pid, 1, own, 0, 100)
    }

    fn told(parts: Parts<Duration>) -> [u128; 3] {
        [parts.main, parts.descendants, parts.combined].map(|time| time.as_millis())
    }

    fn begun() -> CpuAccount {
        let mut account = CpuAccount::default();
        account.observe(&[main(0, 0)]);
        account
    }

    #[test]
    fn what_was_used_before_the_begin_does_not_count() {
        let mut account = CpuAccount::default();
        assert_eq!(told(account.observe(&[main(500, 300), child(2, 70)])), [0, 0, 0]);
        let later = account.observe(&[main(600, 300), child(2, 100)]);
        assert_eq!(told(later), [100, 30, 130]);
    }

    #[test]
    fn a_child_that_is_waited_for_is_neither_lost_nor_doubled() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 500)]);
        assert_eq!(told(account.observe(&[main(20, 520)])), [20, 520, 540]);
    }

    #[test]
    fn a_child_that_nobody_saw_is_in_its_parents_account() {
        let mut account = begun();
        assert_eq!(told(account.observe(&[main(20, 900)])), [20, 900, 920]);
    }

    #[test]
    fn a_child_that_is_dropped_counts_as_last_seen() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 500)]);
        assert!(!account.has_dropped());
        let later = account.observe(&[main(500, 0)]);
        assert_eq!(told(later), [500, 500, 1000]);
        assert!(account.has_dropped());
    }

    /// Regression: a child of less than the rounding of the accounts left no trace.
    #[test]
    fn a_short_child_that_is_dropped_leaves_its_faults() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 3)]);
        account.observe(&[main(10, 0)]);
        assert!(account.has_dropped());
    }

    #[test]
    fn a_child_that_is_dropped_beside_one_that_is_waited_for_is_noticed() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 300), child(3, 300)]);
        let waited = Member { waited_faults: 150, ..main(10, 310) };
        assert_eq!(told(account.observe(&[waited])), [10, 600, 610]);
        assert!(account.has_dropped());
    }

    #[test]
    fn a_grandchild_goes_into_the_account_above_its_parent() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 5), member(3, 2, 400, 0, 200)]);
        assert_eq!(told(account.observe(&[main(10, 410)])), [10, 410, 420]);
        assert!(!account.has_dropped());
    }

    #[test]
    fn an_orphan_that_came_to_us_counts_once() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 500)]);
        account.reap(2, ms(510));
        assert_eq!(told(account.observe(&[main(10, 0)])), [10, 510, 520]);
        assert!(!account.has_dropped());
        assert_eq!(told(account.close(ms(11), ms(11), &[])), [11, 510, 521]);
    }

    #[test]
    fn the_final_account_replaces_what_was_sampled() {
        let mut account = begun();
        account.observe(&[main(10, 200), child(2, 40)]);
        let last = account.close(ms(14), ms(220), &[child(2, 60)]);
        assert_eq!(told(last), [14, 266, 280]);
    }

    /// Regression: a parent that ended at once, too, left no account that could have gained nothing.
    #[test]
    fn many_short_children_that_were_dropped_are_missing_in_the_final_account() {
        let mut account = begun();
        for pid in [10, 20, 30, 40] {
            account.observe(&[main(5, 0), child(pid, 1), member(pid + 1, pid, 8, 0, 5)]);
            // The parent had more faults in the end than it was seen with.
            account.observe(&[Member { waited_faults: 100 * u64::from(pid), ..main(5, 0) }]);
        }
        assert!(!account.has_dropped(), "each is less than the rounding");
        assert_eq!(told(account.close(ms(5), ms(10), &[])), [5, 36, 41]);
        assert!(account.has_dropped());
    }

    #[test]
    fn children_of_somebody_who_goes_on_are_in_that_account() {
        let mut account = begun();
        account.observe(&[main(5, 0), child(2, 1), member(3, 2, 15, 0, 5)]);
        let waited = Member { waited_faults: 20, ..child(2, 1) };
        account.observe(&[main(5, 0), waited]);
        assert_eq!(told(account.close(ms(5), ms(5), &[waited])), [5, 1, 6]);
        assert!(!account.has_dropped());
    }

    #[test]
    fn rounding_takes_nothing_back() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 9)]);
        let waited = Member { waited_faults: 100, ..main(10, 0) };
        assert_eq!(told(account.observe(&[waited])), [10, 9, 19]);
        assert!(!account.has_dropped());
    }
}
