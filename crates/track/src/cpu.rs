//! The CPU time of a tree whose members come and go.
//!
//! When a process ends and its parent waits for it, its time moves into the parent's account of
//! waited-for children. So what all members have used, together with those accounts, neither
//! loses nor doubles anything, however short a child lived. Two cases remain: orphans that come
//! to us and are waited for by us, and children that a parent has asked the kernel to forget.

use std::collections::HashMap;
use std::time::Duration;

use crate::parts::Parts;

/// The accounts of waited-for children are told in clock ticks, user and system time apart and
/// both rounded down.
const ROUNDING: Duration = Duration::from_millis(20);

/// One living member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub pid: u32,
    pub is_main: bool,
    pub own: Duration,
    /// What its waited-for children have used.
    pub waited: Duration,
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
    /// Orphans that were waited for by us: in all, and since the last observation.
    reaped: Duration,
    reaped_lately: Duration,
    /// What ended without anybody waiting for it had used, as last seen.
    forgotten: Duration,
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
    pub fn reap(&mut self, time: Duration) {
        self.reaped += time;
        self.reaped_lately += time;
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
        let others: Duration = others.iter().map(Member::both).sum();
        self.told.main = Duration::ZERO;
        self.told.combined = Duration::ZERO;
        self.tell(main.min(account), account + others);
        self.told
    }

    fn tell(&mut self, main: Duration, living: Duration) {
        let combined = living + self.reaped + self.forgotten;
        let before = *self.before.get_or_insert(Before { main, combined });
        let main = main.saturating_sub(before.main).max(self.told.main);
        let combined = combined.saturating_sub(before.combined).max(self.told.combined);
        self.told = Parts { main, descendants: combined.saturating_sub(main), combined };
    }

    /// Those who vanished should show up in somebody's account of waited-for children; what
    /// does not was forgotten.
    fn settle_vanished(&mut self, living: &[Member]) {
        let gained: Duration = living
            .iter()
            .map(|member| {
                let earlier = self.living.remove(&member.pid);
                member.waited.saturating_sub(earlier.map_or(Duration::ZERO, |then| then.waited))
            })
            .sum();
        let vanished: Duration = self.living.values().map(Member::both).sum();
        let found = gained + std::mem::take(&mut self.reaped_lately) + ROUNDING;
        self.forgotten += vanished.saturating_sub(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn main(own: u64, waited: u64) -> Member {
        Member { pid: 1, is_main: true, own: ms(own), waited: ms(waited) }
    }

    fn child(pid: u32, own: u64) -> Member {
        Member { pid, is_main: false, own: ms(own), waited: ms(0) }
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
    fn a_child_that_is_forgotten_counts_as_last_seen() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 500)]);
        let later = account.observe(&[main(500, 0)]);
        assert_eq!(told(later), [500, 480, 980]);
    }

    #[test]
    fn an_orphan_that_came_to_us_counts_once() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 500)]);
        account.reap(ms(510));
        assert_eq!(told(account.observe(&[main(10, 0)])), [10, 510, 520]);
        assert_eq!(told(account.close(ms(11), ms(11), &[])), [11, 510, 521]);
    }

    #[test]
    fn the_final_account_replaces_what_was_sampled() {
        let mut account = begun();
        account.observe(&[main(10, 200), child(2, 40)]);
        let last = account.close(ms(14), ms(220), &[child(2, 60)]);
        assert_eq!(told(last), [14, 266, 280]);
    }

    #[test]
    fn rounding_takes_nothing_back() {
        let mut account = begun();
        account.observe(&[main(10, 0), child(2, 9)]);
        assert_eq!(told(account.observe(&[main(10, 0)])), [10, 9, 19]);
    }
}
