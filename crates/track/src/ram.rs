//! From the memory of single processes to that of several, with shared pages counted once.
//!
//! The kernel tells for each process its share of every page it has (a page that four have
//! counts a quarter in each). Over all who share a page these shares add up to the page, so
//! added shares count each page once, as long as all sharers are among those added. Where some
//! are outside (a library that everybody uses) the sum is too small, but never smaller than
//! what the largest of them has for itself. Both are bounds from below; the larger one counts,
//! for each kind of memory apart.

use probe::units::Bytes;

use crate::proc::rollup::{ByKind, Rollup};
use crate::proc::status::Memory;
use crate::sample::Ram;

/// The memory of one process: its counters now, and its page map as it was when last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    pub now: Memory,
    pub map: Map,
    /// Bytes of the pages that it has faulted in since the map was read; of a newcomer, since it
    /// was forked. A copy on a write changes no counter of memory, but it takes a fault.
    pub faulted: u64,
    /// The most that it can have copied on writes since it forked children that share its memory, where
    /// its map is older than they are.
    pub copied_for_children: u64,
}

/// What is known of whose pages they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// Read together with those of the others, when the counters were these.
    Read { rollup: Rollup, then: ByKind },
    /// A newcomer since then, with what it can have inherited from its parent. That counts as
    /// the parent's: a fork begins with nothing of its own. A program that was executed since
    /// has inherited nothing.
    Newcomer { first: ByKind },
    /// It may not be read: the counters have to do.
    Hidden,
}

impl Map {
    /// A map that was read between two readings of the counters. What was gained meanwhile may be
    /// in it or not: the map itself tells how many anonymous pages it has seen, as far as the
    /// counters agree, which the kernel rounds.
    #[must_use]
    pub fn read(rollup: Rollup, before: ByKind, after: ByKind) -> Self {
        let least = before.anonymous.min(after.anonymous);
        let most = before.anonymous.max(after.anonymous);
        let seen = rollup.anonymous.unwrap_or(after.anonymous);
        let then = ByKind { anonymous: seen.clamp(least, most), ..after };
        Map::Read { rollup, then }
    }
}

/// One of the figures that are told by kind.
type Kind = fn(&ByKind) -> u64;

const ANONYMOUS: Kind = |by| by.anonymous;
const SHARED_MEMORY: Kind = |by| by.shared_memory;
const KINDS_THAT_ARE_SHARED: [Kind; 2] = [|by| by.file, SHARED_MEMORY];

/// An error of a peak up to this share, or up to [`SMALL`], is not worth a word.
const SMALL_SHARE: u64 = 50;
const SMALL: u64 = 4_000_000;

/// Returns true if `more` is so much beside `total` that a peak without it is a lower bound.
#[must_use]
pub fn is_much(more: u64, total: u64) -> bool {
    more > (total / SMALL_SHARE).max(SMALL)
}

/// The memory of all these together. `blur` is how much of what may be shared came or went while
/// the maps were read: it may be counted as one's own in one map and as shared in another.
#[must_use]
pub fn together(group: &[Resident], blur: u64) -> Ram {
    let total = KINDS_THAT_ARE_SHARED
        .iter()
        .map(|kind| shared_kind(group, *kind, blur))
        .fold(anonymous(group), u64::saturating_add);
    let private = sum(group, Resident::private).min(total);
    Ram { total: Bytes(total), private: Bytes(private), shared: Bytes(total - private) }
}

/// How much more than `total` these may have together: pages that were copied on a write since the
/// maps were read, and shared memory that was gained since. Never more than all of them have added
/// up.
#[must_use]
pub fn doubt(group: &[Resident], total: Bytes) -> u64 {
    let resident = sum(group, |one| one.now.resident);
    sum(group, Resident::doubt).min(resident.saturating_sub(total.0))
}

/// Anonymous memory that is gained is gained for oneself: fresh, or copied on a write.
fn anonymous(group: &[Resident]) -> u64 {
    sum(group, Resident::anonymous_share).max(largest(group, ANONYMOUS))
}

/// Pages of a file or of shared memory that one has gained since the maps were read may be
/// those that another one has already, so they do not add up.
fn shared_kind(group: &[Resident], kind: Kind, blur: u64) -> u64 {
    sum(group, |one| one.share(kind)).saturating_sub(blur).max(largest(group, kind))
}

fn sum(group: &[Resident], figure: impl Fn(&Resident) -> u64) -> u64 {
    group.iter().map(figure).fold(0, u64::saturating_add)
}

fn largest(group: &[Resident], kind: Kind) -> u64 {
    group.iter().map(|one| kind(&one.now.by_kind)).max().unwrap_or(0)
}

impl Resident {
    /// Whether its map would tell something new, after a change of the fiftieth part.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let total =
            |by: &ByKind| by.anonymous.saturating_add(by.file).saturating_add(by.shared_memory);
        match &self.map {
            Map::Read { then, .. } => {
                let (then, now) = (total(then), total(&self.now.by_kind));
                then.abs_diff(now) > then / 50
            }
            Map::Newcomer { .. } => true,
            Map::Hidden => false,
        }
    }

    /// How much more it may have for itself than is counted.
    #[must_use]
    pub fn doubt(&self) -> u64 {
        let shared = SHARED_MEMORY(&self.now.by_kind);
        let gained = match &self.map {
            Map::Read { then, .. } => shared.saturating_sub(SHARED_MEMORY(then)),
            Map::Newcomer { .. } => shared,
            Map::Hidden => 0,
        };
        let copied = self.may_be_copied().min(self.faulted).max(self.copied_for_children);
        copied.min(ANONYMOUS(&self.now.by_kind)).saturating_add(gained)
    }

    /// The most that it can have copied on writes since its map was read.
    fn may_be_copied(&self) -> u64 {
        match &self.map {
            Map::Read { rollup, then } => rollup.shared_anonymous(then),
            Map::Newcomer { first } => first.anonymous,
            Map::Hidden => 0,
        }
    }

    /// Its share of one kind as the map told it, as far as that is still there.
    fn share(&self, kind: Kind) -> u64 {
        let now = kind(&self.now.by_kind);
        match &self.map {
            Map::Read { rollup, then } => {
                let lost = kind(then).saturating_sub(now);
                rollup.share(kind, then).saturating_sub(lost).min(now)
            }
            Map::Newcomer { .. } => 0,
            Map::Hidden => now,
        }
    }

    /// The same of anonymous memory, with what was gained since then.
    fn anonymous_share(&self) -> u64 {
        let now = self.now.by_kind.anonymous;
        let gained = match &self.map {
            Map::Read { then, .. } => now.saturating_sub(then.anonymous),
            Map::Newcomer { first } => now.saturating_sub(first.anonymous),
            Map::Hidden => 0,
        };
        self.share(ANONYMOUS).saturating_add(gained).min(now)
    }

    /// Pages that it alone has. What is gained between two readings of the map is private when
    /// it is anonymous.
    fn private(&self) -> u64 {
        let now = self.now.by_kind.anonymous;
        match &self.map {
            Map::Read { rollup, then } => moved(rollup.private, then.anonymous, now),
            Map::Newcomer { first } => now.saturating_sub(first.anonymous),
            Map::Hidden => now,
        }
        .min(self.now.resident)
    }
}

/// `figure` moved by as much as the counter has moved.
const fn moved(figure: u64, then: u64, now: u64) -> u64 {
    figure.saturating_add(now).saturating_sub(then)
}

impl Rollup {
    /// The most anonymous memory that it can have shared with others. A shared page counts at most
    /// half in the share of each.
    fn shared_anonymous(&self, counters: &ByKind) -> u64 {
        let all = self.anonymous.unwrap_or(counters.anonymous);
        all.saturating_sub(self.share(ANONYMOUS, counters)).saturating_mul(2).min(all)
    }

    /// The share of one kind. A kernel that does not tell it apart gives each kind its part of
    /// the whole, as the counters divide it.
    fn share(&self, kind: Kind, counters: &ByKind) -> u64 {
        match &self.by_kind {
            Some(by_kind) => kind(by_kind),
            None => {
                let ByKind { anonymous, file, shared_memory } = *counters;
                let sum: u128 = [anonymous, file, shared_memory].map(u128::from).iter().sum();
                let part = u128::from(self.proportional) * u128::from(kind(counters));
                u64::try_from(part / sum.max(1)).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MB: u64 = 1_000_000;

    fn counters(anonymous: u64, file: u64, shared_memory: u64) -> Memory {
        let resident = anonymous + file + shared_memory;
        let by_kind = ByKind { anonymous, file, shared_memory };
        Memory { resident, high_water: resident, by_kind }
    }

    fn read(now: Memory, private: u64, shares: [u64; 3]) -> Resident {
        let [anonymous, file, shared_memory] = shares;
        let by_kind = Some(ByKind { anonymous, file, shared_memory });
        let proportional = anonymous + file + shared_memory;
        let rollup = Rollup { private, proportional, anonymous: None, by_kind };
        Resident {
            now,
            map: Map::Read { rollup, then: now.by_kind },
            faulted: 0,
            copied_for_children: 0,
        }
    }

    fn megabytes(ram: Ram) -> [u64; 3] {
        [ram.total, ram.private, ram.shared].map(|bytes| bytes.0 / MB)
    }

    #[test]
    fn one_process_has_all_that_is_resident() {
        let alone = read(counters(100 * MB, 30 * MB, 0), 105 * MB, [100 * MB, 8 * MB, 0]);
        assert_eq!(megabytes(together(&[alone], 0)), [130, 105, 25]);
        assert_eq!(megabytes(together(&[], 0)), [0, 0, 0]);
    }

    #[test]
    fn shared_memory_of_two_counts_once() {
        let one = read(counters(10 * MB, 0, 200 * MB), 10 * MB, [10 * MB, 0, 100 * MB]);
        assert_eq!(megabytes(together(&[one, one], 0)), [220, 20, 200]);
    }

    #[test]
    fn forked_pages_count_once_also_without_the_parent() {
        // Five share 500 MB since a fork; one of them is the parent.
        let one = read(counters(500 * MB, 0, 0), 0, [100 * MB, 0, 0]);
        assert_eq!(megabytes(together(&[one; 5], 0)), [500, 0, 500]);
        assert_eq!(megabytes(together(&[one; 4], 0)), [500, 0, 500]);
    }

    #[test]
    fn a_library_that_others_use_too_counts_as_the_largest_has_it() {
        let shell = read(counters(MB, 3 * MB, 0), MB, [MB, MB / 10, 0]);
        let python = read(counters(20 * MB, 10 * MB, 0), 22 * MB, [20 * MB, 3 * MB, 0]);
        assert_eq!(megabytes(together(&[shell, python], 0)), [31, 23, 8]);
    }

    #[test]
    fn a_fork_that_was_not_read_yet_adds_only_what_it_gains() {
        let parent = read(counters(500 * MB, 0, 0), 500 * MB, [500 * MB, 0, 0]);
        let first = counters(500 * MB, 0, 0).by_kind;
        let map = Map::Newcomer { first };
        let newborn =
            Resident { now: counters(500 * MB, 0, 0), map, faulted: 0, copied_for_children: 0 };
        assert_eq!(megabytes(together(&[parent, newborn], 0)), [500, 500, 0]);
        let grown = Resident { now: counters(560 * MB, 0, 0), ..newborn };
        assert_eq!(megabytes(together(&[parent, grown], 0)), [560, 560, 0]);
    }

    #[test]
    fn growth_since_the_map_was_read_counts() {
        let mut one = read(counters(100 * MB, 10 * MB, 0), 100 * MB, [100 * MB, 5 * MB, 0]);
        one.now = counters(400 * MB, 10 * MB, 0);
        assert_eq!(megabytes(together(&[one], 0)), [410, 400, 10]);
        one.now = counters(50 * MB, 10 * MB, 0);
        assert_eq!(megabytes(together(&[one], 0)), [60, 50, 10]);
    }

    #[test]
    fn what_was_gained_while_the_map_was_read_is_private_as_well() {
        let (before, after) = (counters(280 * MB, MB, 0), counters(300 * MB, MB, 0));
        let private = |private, anonymous| {
            let rollup = Rollup { private, anonymous, ..Rollup::default() };
            let map = Map::read(rollup, before.by_kind, after.by_kind);
            megabytes(together(
                &[Resident { now: after, map, faulted: 0, copied_for_children: 0 }],
                0,
            ))[1]
        };
        assert_eq!(private(291 * MB, Some(291 * MB)), 300);
        assert_eq!(private(250 * MB, Some(291 * MB)), 259);
        // Counters that are behind the map by what each core has not told yet.
        assert_eq!(private(301 * MB, Some(301 * MB)), 301);
        assert_eq!(private(300 * MB, None), 300);
    }

    #[test]
    fn pages_that_one_has_gained_may_be_those_of_another() {
        let alone = read(counters(0, 0, 200 * MB), 200 * MB, [0, 0, 200 * MB]);
        let newborn = Map::Newcomer { first: ByKind::default() };
        let child = Resident {
            now: counters(0, 0, 200 * MB),
            map: newborn,
            faulted: 0,
            copied_for_children: 0,
        };
        assert_eq!(megabytes(together(&[alone, child], 0))[0], 200);
    }

    #[test]
    fn what_came_while_the_maps_were_read_is_not_counted_twice() {
        // The first map was read before the other one had the same 10 MB, the second after.
        let first = read(counters(0, 0, 200 * MB), 0, [0, 0, 105 * MB]);
        let second = read(counters(0, 0, 200 * MB), 0, [0, 0, 100 * MB]);
        assert_eq!(megabytes(together(&[first, second], 10 * MB)), [200, 0, 200]);
    }

    #[test]
    fn an_older_kernel_counts_shared_pages_once_as_well() {
        let now = counters(0, 0, 200 * MB);
        let rollup = Rollup { proportional: 100 * MB, ..Rollup::default() };
        let one = Resident {
            now,
            map: Map::Read { rollup, then: now.by_kind },
            faulted: 0,
            copied_for_children: 0,
        };
        assert_eq!(megabytes(together(&[one, one], 0)), [200, 0, 200]);
    }

    fn doubt_in_megabytes(group: &[Resident]) -> u64 {
        doubt(group, together(group, 0).total) / MB
    }

    /// Regression: copies on a write were neither counted nor mentioned.
    #[test]
    fn faults_of_a_fork_may_be_copies() {
        let parent = read(counters(500 * MB, 0, 0), 0, [100 * MB, 0, 0]);
        let child = Resident { faulted: 60 * MB, ..parent };
        assert_eq!(doubt_in_megabytes(&[parent, child, child, parent, parent]), 120);
        let all = Resident { faulted: 900 * MB, ..parent };
        assert_eq!(doubt_in_megabytes(&[parent, all]), 500, "it has no more than this");
        let map = Map::Newcomer { first: parent.now.by_kind };
        assert_eq!(doubt_in_megabytes(&[parent, Resident { map, ..child }]), 60);
    }

    #[test]
    fn faults_of_a_process_that_shares_nothing_are_no_copies() {
        let alone = read(counters(500 * MB, 0, 0), 500 * MB, [500 * MB, 0, 0]);
        let busy = Resident { faulted: 400 * MB, ..alone };
        assert_eq!(doubt_in_megabytes(&[busy, busy]), 0);
        let executed = Map::Newcomer { first: ByKind::default() };
        assert_eq!(doubt_in_megabytes(&[alone, Resident { map: executed, ..busy }]), 0);
        let forked = Map::Newcomer { first: alone.now.by_kind };
        let lone = Resident { map: forked, ..busy };
        assert_eq!(doubt_in_megabytes(&[lone]), 0, "one process has what is resident");
    }

    #[test]
    fn shared_memory_gained_by_two_may_be_that_of_one() {
        let begin = read(counters(0, 0, 0), 0, [0; 3]);
        let now = Resident { now: counters(0, 0, 200 * MB), ..begin };
        assert_eq!(megabytes(together(&[now, now], 0))[0], 200);
        assert_eq!(doubt_in_megabytes(&[now, now]), 200);
        assert_eq!(doubt_in_megabytes(&[now]), 0);
    }

    fn any_resident() -> impl Strategy<Value = Resident> {
        let figure = 0_u64..1 << 40;
        let kinds = (figure.clone(), figure.clone(), figure.clone());
        let then = kinds.clone().prop_map(|(a, f, s)| counters(a, f, s).by_kind);
        (kinds, then, figure.clone(), figure.clone(), figure, 0..3).prop_map(
            |((a, f, s), then, private, pss, file, which)| {
                let by_kind = Some(ByKind { anonymous: pss, file, shared_memory: pss });
                let rollup = Rollup { private, proportional: pss, anonymous: None, by_kind };
                let map = match which {
                    0 => Map::Read { rollup, then },
                    1 => Map::Newcomer { first: then },
                    _ => Map::Hidden,
                };
                Resident {
                    now: counters(a, f, s),
                    map,
                    faulted: file,
                    copied_for_children: private,
                }
            },
        )
    }

    proptest! {
        /// Whatever is read, a group has at least what its largest member has and at most what
        /// all of them have added up, and its parts are its whole.
        #[test]
        fn a_group_lies_between_its_largest_and_the_sum(
            group in prop::collection::vec(any_resident(), 0..6), blur in 0_u64..1 << 40,
        ) {
            let ram = together(&group, blur);
            let sum: u64 = group.iter().map(|one| one.now.resident).sum();
            let largest = group.iter().map(|one| one.now.resident).max().unwrap_or(0);
            prop_assert!(ram.total.0 <= sum);
            prop_assert!(ram.total.0 >= largest);
            prop_assert_eq!(ram.private.0 + ram.shared.0, ram.total.0);
            prop_assert!(ram.total.0 + doubt(&group, ram.total) <= sum);
        }
    }
}
