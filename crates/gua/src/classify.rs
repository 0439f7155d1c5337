//! What a card was doing: working, held without working, or free.

pub(crate) use gua_core::classifier::largest_reserve;
pub use gua_core::{State, Thresholds};
use probe::card::MemorySource;
use probe::units::{Bytes, Percent};
use probe::{Holder, Reading, Vitals, Why};

/// The lines in the units in which evidence is kept: two that are the same here judge the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    pub active: CentiPercent,
    pub held: Kib,
    /// Of holders; what a card does is not judged by it.
    pub worked: CentiPercent,
}

impl From<&Thresholds> for Lines {
    fn from(thresholds: &Thresholds) -> Self {
        Self {
            active: thresholds.active.into(),
            held: thresholds.held.into(),
            worked: thresholds.worked.into(),
        }
    }
}

impl Lines {
    /// Whether cards are judged the same by both.
    #[must_use]
    pub fn judges_cards_as(&self, other: &Self) -> bool {
        (self.active, self.held) == (other.active, other.held)
    }
}

/// What a state is judged from. Small enough to be kept with every tick, so that other
/// thresholds can judge again later; whole in the units in which it is kept, so that they
/// judge the same then as now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    pub work: Reading<CentiPercent>,
    /// Held by the listed holders whose memory is known.
    pub held: Kib,
    /// Used by nobody listed; `None` where that cannot be told.
    pub unseen: Option<Kib>,
    /// Why a holder, its memory or that of the card is hidden, where one is.
    pub hidden: Option<Why>,
    pub has_holders: bool,
}

/// Hundredths of a percent, rounded down: below a line stays below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CentiPercent(pub u32);

impl From<Percent> for CentiPercent {
    fn from(percent: Percent) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        Self((percent.0 * 100.0) as u32)
    }
}

/// Kibibytes, rounded up: above a line stays above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kib(pub u64);

impl From<Bytes> for Kib {
    fn from(bytes: Bytes) -> Self {
        Self(bytes.0.div_ceil(1024))
    }
}

impl Evidence {
    #[must_use]
    pub fn of(vitals: &Vitals) -> Self {
        Self {
            work: vitals.utilization.map(|work| work.percent.into()),
            held: vitals.holders.known_memory().into(),
            unseen: unseen(vitals).map(Kib::from),
            hidden: vitals.holders.memory().why().or(vitals.memory.why()),
            has_holders: !vitals.holders.seen.is_empty(),
        }
    }

    /// Judges one card.
    #[must_use]
    pub fn state(&self, thresholds: &Thresholds) -> State {
        match self.work {
            Reading::Known(work) if work >= thresholds.active.into() => State::Active,
            Reading::Known(_) => self.idle_state(thresholds),
            // Without a figure for the work: what nobody holds cannot work, anything else may.
            Reading::Unknown(why) => match self.idle_state(thresholds) {
                State::TrulyIdle if !self.has_holders => State::TrulyIdle,
                _ => State::Unknown(why),
            },
        }
    }

    /// The state of a card that is known not to work.
    fn idle_state(&self, thresholds: &Thresholds) -> State {
        let line = Kib::from(thresholds.held);
        if self.held > line || self.unseen > Some(line) {
            return State::IdleHeld;
        }
        // What is hidden may hold it. Nothing makes such a card free.
        self.hidden.map_or(State::TrulyIdle, State::Unknown)
    }
}

/// How much of a card somebody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Enough to keep others from it.
    Much,
    /// No more than a runtime takes without any data in it.
    Little,
    /// The driver does not say.
    Untold,
}

impl Holds {
    #[must_use]
    pub fn of(memory: Reading<Bytes>, thresholds: &Thresholds) -> Self {
        match memory {
            Reading::Known(memory) if memory > thresholds.held => Self::Much,
            Reading::Known(_) => Self::Little,
            Reading::Unknown(_) => Self::Untold,
        }
    }

    /// What they were doing, by what the card did: working with it, holding it idle, or
    /// holding next to nothing.
    #[must_use]
    pub const fn state(self, card: State) -> State {
        match (card, self) {
            (State::Active | State::Unknown(_), _) => card,
            (_, Self::Much) => State::IdleHeld,
            (_, Self::Little) => State::TrulyIdle,
            (_, Self::Untold) => State::Unknown(Why::NotTold),
        }
    }
}

/// What a holder did over a tick, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    Works,
    Idle,
    /// The driver does not tell it apart from the others: it did what the card did.
    AsTheCard,
}

impl Work {
    /// What it was doing, with how much in its hands.
    #[must_use]
    pub const fn state(self, holds: Holds, card: State) -> State {
        match self {
            Self::Works => State::Active,
            Self::Idle => holds.state(State::TrulyIdle),
            Self::AsTheCard => holds.state(card),
        }
    }
}

/// What tells how much each holder of a card worked.
#[derive(Debug, Clone, Copy)]
pub struct Workers {
    worked: Percent,
    /// What to say of a card's work that nobody was seen to do, where there was any.
    unexplained: Option<Work>,
}

impl Workers {
    /// Those of a card that was in this state.
    #[must_use]
    pub fn of(vitals: &Vitals, card: State, thresholds: &Thresholds) -> Self {
        let Thresholds { worked, held, .. } = *thresholds;
        let seen = &vitals.holders.seen;
        let has_worked = |holder: &Holder| holder.sm.is_known_and(|sm| sm >= worked);
        if card != State::Active || seen.iter().any(has_worked) {
            return Self { worked, unexplained: None };
        }
        // The driver samples now and then only. What it missed was done by the only one who
        // could have.
        let is_alone = seen.len() == 1
            && vitals.holders.unread.is_none()
            && unseen(vitals).is_none_or(|unseen| unseen <= held);
        let unexplained = if is_alone { Work::Works } else { Work::AsTheCard };
        Self { worked, unexplained: Some(unexplained) }
    }

    /// What one of them did.
    #[must_use]
    pub fn work(&self, holder: &Holder) -> Work {
        match holder.sm {
            // What a client of MPS does is told of its server.
            Reading::Known(sm) if sm < self.worked && holder.kinds.mps => Work::AsTheCard,
            Reading::Known(sm) if sm < self.worked => self.unexplained.unwrap_or(Work::Idle),
            Reading::Known(_) => Work::Works,
            Reading::Unknown(_) => Work::AsTheCard,
        }
    }
}

/// Judges one card.
#[must_use]
pub fn state(vitals: &Vitals, thresholds: &Thresholds) -> State {
    Evidence::of(vitals).state(thresholds)
}

/// Used memory that no listed holder and no reserve of the driver accounts for: somebody
/// has it, seen or not. Where the memory is the host's it tells nothing.
#[must_use]
pub fn unseen(vitals: &Vitals) -> Option<Bytes> {
    let memory = vitals.memory.known().filter(|memory| memory.source == MemorySource::Card)?;
    let reserve = match memory.reserved {
        // It is not counted as used.
        Reading::Known(_) => Bytes(0),
        Reading::Unknown(_) => largest_reserve(memory.total),
    };
    Some(memory.used.saturating_sub(vitals.holders.known_memory()).saturating_sub(reserve))
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::card::MemoryUse;
    use probe::{Basis, Holders, Kinds, Utilization};

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
            engines: Reading::Unknown(Why::NotAsked),
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

    /// Free is what is known to be free: an empty list alone is not enough.
    #[test]
    fn a_card_of_unknown_memory_is_never_free() {
        for why in [Why::NoPermission, Why::Lost, Why::NotSupported, Why::Code(999)] {
            let with = |held: &[Option<u64>]| Vitals {
                memory: Reading::Unknown(why),
                ..vitals(Some(0.0), held, None)
            };
            assert_eq!(judge(&with(&[])), State::Unknown(why));
            assert_eq!(judge(&with(&[Some(60)])), State::Unknown(why));
            assert_eq!(judge(&with(&[Some(101)])), State::IdleHeld);
        }
    }

    /// A card of 80,000 MiB, so that a sixteenth is 5,000.
    fn with_reserve_counted_in(held: &[Option<u64>], used: u64) -> Vitals {
        let mut old = vitals(Some(0.0), held, Some(used));
        old.memory = old
            .memory
            .map(|memory| MemoryUse { reserved: Reading::Unknown(Why::NotSupported), ..memory });
        old
    }

    #[test]
    fn what_may_be_the_reserve_decides_nothing() {
        assert_eq!(judge(&with_reserve_counted_in(&[], 700)), State::TrulyIdle);
        assert_eq!(judge(&with_reserve_counted_in(&[], 5_100)), State::TrulyIdle);
        let hidden = with_reserve_counted_in(&[None], 700);
        assert_eq!(judge(&hidden), State::Unknown(Why::NotTold));
        let denied = Vitals { holders: Holders::unread(Why::NoPermission), ..hidden };
        assert_eq!(judge(&denied), State::Unknown(Why::NoPermission));
    }

    #[test]
    fn what_no_reserve_can_be_is_held() {
        assert_eq!(judge(&with_reserve_counted_in(&[], 5_101)), State::IdleHeld);
        assert_eq!(judge(&with_reserve_counted_in(&[None], 40_000)), State::IdleHeld);
        assert_eq!(judge(&with_reserve_counted_in(&[Some(90)], 5_190)), State::TrulyIdle);
        assert_eq!(largest_reserve(Bytes::from_mib(16_000)), Bytes::from_mib(2048));
        assert_eq!(largest_reserve(Bytes::from_mib(80_000)), Bytes::from_mib(5_000));
    }

    /// What each holder did, by its own SM %.
    fn works(percent: f64, shares: &[Option<f64>], change: impl Fn(&mut Vitals)) -> Vec<Work> {
        let held: Vec<_> = shares.iter().map(|_| Some(4000)).collect();
        let mut vitals = vitals(Some(percent), &held, Some(4000 * shares.len() as u64));
        for (holder, sm) in vitals.holders.seen.iter_mut().zip(shares) {
            holder.sm =
                sm.map_or(Reading::Unknown(Why::NotSupported), |sm| Reading::Known(Percent(sm)));
        }
        change(&mut vitals);
        let workers = Workers::of(&vitals, judge(&vitals), &Thresholds::default());
        vitals.holders.seen.iter().map(|holder| workers.work(holder)).collect()
    }

    /// A notebook that sleeps beside a training job.
    #[test]
    fn a_holder_is_judged_by_its_own_work() {
        let (job, asleep) = (Some(80.0), Some(0.0));
        assert_eq!(works(80.0, &[job, asleep], |_| ()), [Work::Works, Work::Idle]);
        assert_eq!(works(2.0, &[Some(1.0), Some(0.99)], |_| ()), [Work::Works, Work::Idle]);
        assert_eq!(works(80.0, &[job, None], |_| ()), [Work::Works, Work::AsTheCard]);
    }

    #[test]
    fn work_that_nobody_was_seen_to_do_makes_nobody_idle() {
        assert_eq!(works(80.0, &[Some(0.0); 2], |_| ()), [Work::AsTheCard; 2]);
        assert_eq!(works(80.0, &[Some(0.0)], |_| ()), [Work::Works], "who else");
        assert_eq!(works(9.0, &[Some(0.0)], |_| ()), [Work::Idle]);
        let denied = |vitals: &mut Vitals| vitals.holders.unread = Some(Why::NoPermission);
        assert_eq!(works(80.0, &[Some(0.0)], denied), [Work::AsTheCard]);
        let more_used = |vitals: &mut Vitals| {
            vitals.memory =
                vitals.memory.map(|memory| MemoryUse { used: Bytes::from_mib(9000), ..memory });
        };
        assert_eq!(works(80.0, &[Some(0.0)], more_used), [Work::AsTheCard]);
    }

    /// Trap: under MPS the attribution is unknown, not idle.
    #[test]
    fn a_client_of_mps_does_what_the_card_does() {
        let mps = |vitals: &mut Vitals| vitals.holders.seen[1].kinds = Kinds::MPS;
        assert_eq!(works(50.0, &[Some(50.0), Some(0.0)], mps), [Work::Works, Work::AsTheCard]);
        assert_eq!(works(0.0, &[Some(0.0), Some(0.0)], mps), [Work::Idle, Work::AsTheCard]);
        assert_eq!(works(50.0, &[Some(50.0), Some(30.0)], mps), [Work::Works; 2]);
    }

    #[test]
    fn what_a_holder_did_follows_from_its_work_and_what_it_holds() {
        let lost = State::Unknown(Why::Lost);
        for card in [State::Active, State::IdleHeld, lost] {
            assert_eq!(Work::Works.state(Holds::Untold, card), State::Active);
            assert_eq!(Work::Idle.state(Holds::Much, card), State::IdleHeld);
            assert_eq!(Work::Idle.state(Holds::Little, card), State::TrulyIdle);
            assert_eq!(Work::Idle.state(Holds::Untold, card), State::Unknown(Why::NotTold));
            assert_eq!(Work::AsTheCard.state(Holds::Much, card), card);
        }
    }

    #[test]
    fn where_the_memory_is_the_hosts_the_list_decides() {
        let mut shared = vitals(Some(0.0), &[], Some(40_000));
        shared.memory =
            shared.memory.map(|memory| MemoryUse { source: MemorySource::System, ..memory });
        assert_eq!(judge(&shared), State::TrulyIdle);
        shared.holders = Holders::unread(Why::NoPermission);
        assert_eq!(judge(&shared), State::Unknown(Why::NoPermission));
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
