//! What a card was doing: working, held without working, or free.

use probe::card::MemorySource;
use probe::units::{Bytes, Percent};
use probe::{Reading, Vitals, Why};

/// The lines between the states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// From here on a card is active.
    pub active: Percent,
    /// More than this and it is held.
    pub held: Bytes,
}

impl Default for Thresholds {
    /// 100 MiB leave room for what a runtime takes without any data in it.
    fn default() -> Self {
        Self { active: Percent(10.0), held: Bytes::from_mib(100) }
    }
}

/// The state of a card over a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Active,
    /// Nothing computed, memory taken.
    IdleHeld,
    TrulyIdle,
    Unknown(Why),
}

impl State {
    /// The word for a moment: a card that is truly idle now is free.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::TrulyIdle => "free",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Judges one card.
#[must_use]
pub fn state(vitals: &Vitals, thresholds: &Thresholds) -> State {
    match vitals.utilization {
        Reading::Known(work) if work.percent >= thresholds.active => State::Active,
        Reading::Known(_) => idle_state(vitals, thresholds),
        // Without a figure for the work: what nobody holds cannot work, anything else may.
        Reading::Unknown(why) => match idle_state(vitals, thresholds) {
            State::TrulyIdle if vitals.holders.seen.is_empty() => State::TrulyIdle,
            _ => State::Unknown(why),
        },
    }
}

/// The state of a card that is known not to work.
fn idle_state(vitals: &Vitals, thresholds: &Thresholds) -> State {
    if vitals.holders.known_memory() > thresholds.held || unseen(vitals) > Some(thresholds.held) {
        return State::IdleHeld;
    }
    match vitals.holders.memory() {
        Reading::Known(_) => State::TrulyIdle,
        // Some holder or its memory is hidden. Nothing makes such a card free.
        Reading::Unknown(hidden) => State::Unknown(hidden),
    }
}

/// Used memory that no listed holder accounts for: somebody has it, seen or not. It tells
/// nothing where the driver's reserve is counted in, or where the memory is the host's.
fn unseen(vitals: &Vitals) -> Option<Bytes> {
    let memory = vitals.memory.known()?;
    memory.reserved.known()?;
    let is_cards_own = memory.source == MemorySource::Card;
    is_cards_own.then(|| memory.used.saturating_sub(vitals.holders.known_memory()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::card::MemoryUse;
    use probe::{Basis, Holder, Holders, Kinds, Utilization};

    fn vitals(percent: Option<f64>, held: &[Option<u64>], used: Option<u64>) -> Vitals {
        let reading = |mib: Option<u64>| match mib {
            Some(mib) => Reading::Known(Bytes::from_mib(mib)),
            None => Reading::Unknown(Why::NotTold),
        };
        let holder = |(pid, mib): (u32, &Option<u64>)| Holder {
            pid,
            kinds: Kinds::COMPUTE,
            memory: reading(*mib),
            sm: Reading::Known(Percent(0.0)),
        };
        Vitals {
            utilization: match percent {
                Some(percent) => {
                    Reading::Known(Utilization { percent: Percent(percent), basis: Basis::Instant })
                }
                None => Reading::Unknown(Why::NotSupported),
            },
            memory: match used {
                Some(used) => Reading::Known(MemoryUse {
                    total: Bytes::from_mib(80_000),
                    used: Bytes::from_mib(used),
                    free: Bytes::from_mib(80_000 - used),
                    reserved: Reading::Known(Bytes::from_mib(600)),
                    source: MemorySource::Card,
                }),
                None => Reading::Unknown(Why::NotSupported),
            },
            holders: Holders { seen: (1..).zip(held).map(holder).collect(), unread: None },
            ..Vitals::unknown(Why::NotAsked)
        }
    }

    fn judge(vitals: &Vitals) -> State {
        state(vitals, &Thresholds::default())
    }

    #[test]
    fn the_lines_are_where_they_are_said_to_be() {
        assert_eq!(judge(&vitals(Some(10.0), &[], Some(0))), State::Active);
        assert_eq!(judge(&vitals(Some(9.99), &[Some(101)], Some(101))), State::IdleHeld);
        assert_eq!(judge(&vitals(Some(0.0), &[Some(100)], Some(100))), State::TrulyIdle);
        assert_eq!(judge(&vitals(Some(0.0), &[Some(60), Some(60)], Some(120))), State::IdleHeld);
        assert_eq!(judge(&vitals(Some(0.0), &[], Some(5))), State::TrulyIdle);
    }

    /// Trap: unknown process memory must not make a card free.
    #[test]
    fn a_holder_of_unknown_memory_is_judged_by_the_cards_own_figure() {
        assert_eq!(judge(&vitals(Some(0.0), &[None], Some(40_000))), State::IdleHeld);
        assert_eq!(judge(&vitals(Some(0.0), &[None], Some(50))), State::Unknown(Why::NotTold));
        assert_eq!(judge(&vitals(Some(0.0), &[None], None)), State::Unknown(Why::NotTold));
        assert_eq!(judge(&vitals(Some(0.0), &[None, Some(200)], None)), State::IdleHeld);
    }

    /// Trap: a denied list is unknown, not empty.
    #[test]
    fn a_denied_list_is_held_when_used_memory_says_so_and_never_free() {
        let denied = |used| Vitals {
            holders: Holders::unread(Why::NoPermission),
            ..vitals(Some(0.0), &[], used)
        };
        assert_eq!(judge(&denied(Some(40_000))), State::IdleHeld);
        assert_eq!(judge(&denied(Some(4))), State::Unknown(Why::NoPermission));
        assert_eq!(judge(&denied(None)), State::Unknown(Why::NoPermission));
    }

    /// In a container the list may be empty while others on the host hold the card.
    #[test]
    fn memory_of_nobody_visible_is_held_all_the_same() {
        assert_eq!(judge(&vitals(Some(0.0), &[], Some(40_000))), State::IdleHeld);
        assert_eq!(judge(&vitals(Some(0.0), &[Some(60)], Some(150))), State::TrulyIdle);
    }

    #[test]
    fn where_the_reserve_is_counted_in_used_memory_decides_nothing() {
        let mut old = vitals(Some(0.0), &[None], Some(700));
        old.memory = old
            .memory
            .map(|memory| MemoryUse { reserved: Reading::Unknown(Why::NotSupported), ..memory });
        assert_eq!(judge(&old), State::Unknown(Why::NotTold));
    }

    #[test]
    fn without_a_figure_for_the_work_only_an_empty_card_is_sure() {
        assert_eq!(judge(&vitals(None, &[], Some(3))), State::TrulyIdle);
        assert_eq!(
            judge(&vitals(None, &[Some(4000)], Some(4000))),
            State::Unknown(Why::NotSupported)
        );
        assert_eq!(judge(&vitals(None, &[Some(4)], Some(4))), State::Unknown(Why::NotSupported));
        assert_eq!(judge(&Vitals::unknown(Why::Lost)), State::Unknown(Why::Lost));
    }
}
