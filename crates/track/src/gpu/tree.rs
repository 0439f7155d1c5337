//! What of one card's holders belongs to the tree.

use std::collections::HashMap;

use probe::units::Bytes;
use probe::{Holder, Holders, Reading, Why};

use super::sum::sum;
use crate::members::Role;
use crate::parts::Parts;

/// The tree on one card at one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnCard {
    pub memory: Parts<Share>,
    /// Its share of the card's SMs, in percent.
    pub work: Reading<f64>,
    pub members: Vec<Member>,
}

/// A process of the tree on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub pid: u32,
    pub role: Role,
    /// Whether the driver said how much it holds.
    pub is_told: bool,
}

/// As much as is known of an amount, and why there may be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    pub known: Bytes,
    pub missing: Option<Why>,
}

impl Share {
    pub fn and(self, other: Self) -> Self {
        Self {
            known: [self.known, other.known].into_iter().sum(),
            missing: self.missing.or(other.missing),
        }
    }

    pub const fn tell(self) -> Reading<Bytes> {
        match self.missing {
            None => Reading::Known(self.known),
            Some(why) => Reading::Unknown(why),
        }
    }
}

impl From<Reading<Bytes>> for Share {
    fn from(reading: Reading<Bytes>) -> Self {
        Self { missing: reading.why(), known: reading.known().unwrap_or_default() }
    }
}

/// Joins a card's holders with the processes of the tree.
pub(super) fn on_card(holders: &Holders, roles: &HashMap<u32, Role>) -> OnCard {
    let role = |holder: &Holder| roles.get(&holder.pid).copied();
    let found: Vec<(&Holder, Role)> =
        holders.seen.iter().filter_map(|holder| Some((holder, role(holder)?))).collect();
    let unseen = Share { missing: holders.unread, ..Share::default() };
    let held_by = |part: Role| {
        let of_part = found.iter().filter(|(_, role)| *role == part);
        of_part.fold(unseen, |sum, (holder, _)| sum.and(holder.memory.into()))
    };
    let (main, descendants) = (held_by(Role::Main), held_by(Role::Descendant));
    let work = sum(found.iter().map(|(holder, _)| holder.sm.map(|share| share.0)));
    let member = |(holder, role): &(&Holder, Role)| Member {
        pid: holder.pid,
        role: *role,
        is_told: holder.memory.why().is_none(),
    };
    OnCard {
        memory: Parts { main, descendants, combined: main.and(descendants) },
        work: holders.unread.map_or(work, Reading::Unknown),
        members: found.iter().map(member).collect(),
    }
}

#[cfg(test)]
mod tests {
    use probe::Kinds;
    use probe::units::Percent;

    use super::*;

    const UNTOLD: Reading<Bytes> = Reading::Unknown(Why::NotTold);

    fn holder(pid: u32, memory: Reading<Bytes>, sm: Reading<f64>) -> Holder {
        let engines = Reading::Unknown(Why::NotAsked);
        Holder { pid, kinds: Kinds::COMPUTE, memory, sm: sm.map(Percent), engines }
    }

    fn joined(seen: Vec<Holder>, unread: Option<Why>) -> OnCard {
        let roles = HashMap::from([(1, Role::Main), (2, Role::Descendant), (3, Role::Descendant)]);
        on_card(&Holders { seen, unread }, &roles)
    }

    fn memory(joined: &OnCard) -> [Reading<u64>; 3] {
        let Parts { main, descendants, combined } = joined.memory;
        [main, descendants, combined].map(|share| share.tell().map(|bytes| bytes.0))
    }

    #[test]
    fn only_processes_of_the_tree_count() {
        let own = |pid, bytes, sm| holder(pid, Reading::Known(Bytes(bytes)), Reading::Known(sm));
        let card =
            joined(vec![own(1, 10, 5.0), own(2, 20, 6.0), own(3, 40, 7.0), own(9, 80, 8.0)], None);
        assert_eq!(memory(&card), [10, 60, 70].map(Reading::Known));
        assert_eq!(card.work, Reading::Known(18.0));
        assert_eq!(card.members.len(), 3);
    }

    #[test]
    fn a_card_without_the_tree_has_nothing_of_it() {
        let card = joined(vec![holder(9, UNTOLD, Reading::Unknown(Why::NotSupported))], None);
        assert_eq!(memory(&card), [0, 0, 0].map(Reading::Known));
        assert_eq!(card.work, Reading::Known(0.0));
    }

    #[test]
    fn a_process_whose_memory_is_not_told_makes_its_part_unknown() {
        let card = joined(
            vec![
                holder(1, Reading::Known(Bytes(10)), Reading::Known(5.0)),
                holder(2, UNTOLD, Reading::Unknown(Why::NotSupported)),
            ],
            None,
        );
        let untold = Reading::Unknown(Why::NotTold);
        assert_eq!(memory(&card), [Reading::Known(10), untold, untold]);
        assert_eq!(card.memory.combined.known, Bytes(10));
        assert_eq!(card.work, Reading::Unknown(Why::NotSupported));
        assert_eq!(card.members.iter().map(|one| one.is_told).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_list_that_was_not_read_makes_everything_unknown() {
        let denied = Reading::Unknown(Why::NoPermission);
        let card = joined(vec![], Some(Why::NoPermission));
        assert_eq!(memory(&card), [denied; 3]);
        assert_eq!(card.work, Reading::Unknown(Why::NoPermission));
    }
}
