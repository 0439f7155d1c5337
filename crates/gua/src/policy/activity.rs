//! What a process did over a tick, judged from all of its cards and every other sign (pure).
//!
//! The recorder judges what it sees by it, and a simulation what was written down.

use probe::units::Percent;
use probe::{Reading, Why};

use super::subject::{Activity, Sign};
use crate::classify::{CentiPercent, Holds, State, Work};
use crate::store::SignCode;

/// What a process did on one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnCard {
    pub card: State,
    pub utilization: Reading<CentiPercent>,
    pub holds: Holds,
    pub work: Work,
}

/// What it did on all of them.
#[must_use]
pub fn on_cards(cards: &[OnCard], worked: Percent) -> Activity {
    let activities = || cards.iter().map(|card| card.activity(worked));
    let works = activities().find(|one| matches!(one, Activity::Works(_)));
    let unknown = || activities().find(|one| matches!(one, Activity::Unknown(_)));
    let idle = || activities().find(|one| *one == Activity::Idle);
    works.or_else(unknown).or_else(idle).unwrap_or(Activity::HoldsLittle)
}

impl OnCard {
    fn activity(&self, worked: Percent) -> Activity {
        match self.work.state(self.holds, self.card) {
            State::Active => Activity::Works(Sign::Sm),
            State::TrulyIdle => Activity::HoldsLittle,
            State::Unknown(why) => Activity::Unknown(why),
            // What the card does is what it may have done: only nothing at all is nothing.
            State::IdleHeld if self.work == Work::AsTheCard => match self.utilization {
                Reading::Known(done) if done < worked.into() => Activity::Idle,
                Reading::Known(_) => Activity::Unknown(Why::NotTold),
                Reading::Unknown(why) => Activity::Unknown(why),
            },
            State::IdleHeld => Activity::Idle,
        }
    }
}

/// With what else tells that it works.
#[must_use]
pub const fn with_sign(on_cards: Activity, sign: SignCode) -> Activity {
    match (on_cards, sign) {
        (Activity::Idle, SignCode::Encoder) => Activity::Works(Sign::Encoder),
        (Activity::Idle, SignCode::Decoder) => Activity::Works(Sign::Decoder),
        (Activity::Idle, SignCode::Cpu) => Activity::Works(Sign::Cpu),
        (Activity::Idle, SignCode::Unknown(why)) => Activity::Unknown(why),
        (activity, _) => activity,
    }
}

/// The sign of figures: what is below its line is quiet.
#[must_use]
pub fn sign(
    encoder: Reading<Percent>,
    decoder: Reading<Percent>,
    cpu: Reading<Percent>,
    worked: Percent,
    busy_cpu: Percent,
) -> SignCode {
    let engine = |of: Reading<Percent>, busy| match of {
        Reading::Known(done) if done >= worked => Some(busy),
        // A card without such an engine does nothing with it.
        Reading::Known(_) | Reading::Unknown(Why::NotSupported) => None,
        Reading::Unknown(why) => Some(SignCode::Unknown(why)),
    };
    let cpu = match cpu {
        Reading::Known(done) if done >= busy_cpu => Some(SignCode::Cpu),
        Reading::Known(_) => None,
        Reading::Unknown(why) => Some(SignCode::Unknown(why)),
    };
    let all = [engine(encoder, SignCode::Encoder), engine(decoder, SignCode::Decoder), cpu];
    let is_busy = |sign: &SignCode| !matches!(sign, SignCode::Unknown(_));
    let found = || all.into_iter().flatten();
    found().find(is_busy).or_else(|| found().next()).unwrap_or(SignCode::Quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKED: Percent = Percent(1.0);

    fn on(card: State, work: Work, centi: u32) -> OnCard {
        let utilization = Reading::Known(CentiPercent(centi));
        OnCard { card, utilization, holds: Holds::Much, work }
    }

    #[test]
    fn who_works_on_one_card_is_not_idle_on_another() {
        let idle = on(State::IdleHeld, Work::Idle, 0);
        let works = on(State::Active, Work::Works, 9000);
        let lost = on(State::Unknown(Why::Lost), Work::AsTheCard, 0);
        let little = OnCard { holds: Holds::Little, ..idle };
        assert_eq!(on_cards(&[idle], WORKED), Activity::Idle);
        assert_eq!(on_cards(&[idle, works, lost], WORKED), Activity::Works(Sign::Sm));
        assert_eq!(on_cards(&[idle, lost], WORKED), Activity::Unknown(Why::Lost));
        assert_eq!(on_cards(&[idle, little], WORKED), Activity::Idle);
        assert_eq!(on_cards(&[little], WORKED), Activity::HoldsLittle);
        // Beside somebody else's work.
        assert_eq!(on_cards(&[on(State::Active, Work::Idle, 9000)], WORKED), Activity::Idle);
    }

    #[test]
    fn where_only_the_card_tells_it_must_have_done_nothing() {
        let as_card = |state, centi| on_cards(&[on(state, Work::AsTheCard, centi)], WORKED);
        assert_eq!(as_card(State::IdleHeld, 0), Activity::Idle);
        assert_eq!(as_card(State::IdleHeld, 500), Activity::Unknown(Why::NotTold));
        assert_eq!(as_card(State::Active, 5000), Activity::Works(Sign::Sm));
    }

    #[test]
    fn every_sign_must_be_low() {
        let (low, high) = (Reading::Known(Percent(0.0)), Reading::Known(Percent(60.0)));
        let none = Reading::Unknown(Why::NotSupported);
        let late = Reading::Unknown(Why::TimedOut);
        let sign = |encoder, decoder, cpu| sign(encoder, decoder, cpu, WORKED, Percent(10.0));
        assert_eq!(sign(low, low, low), SignCode::Quiet);
        assert_eq!(sign(none, none, low), SignCode::Quiet);
        assert_eq!(sign(high, low, low), SignCode::Encoder);
        assert_eq!(sign(late, high, low), SignCode::Decoder);
        assert_eq!(sign(low, late, high), SignCode::Cpu);
        assert_eq!(sign(low, low, none), SignCode::Unknown(Why::NotSupported));
        assert_eq!(sign(low, late, low), SignCode::Unknown(Why::TimedOut));
        let idle = |code| with_sign(Activity::Idle, code);
        assert_eq!(idle(SignCode::Quiet), Activity::Idle);
        assert_eq!(idle(SignCode::Cpu), Activity::Works(Sign::Cpu));
        assert_eq!(idle(SignCode::Unknown(Why::Gone)), Activity::Unknown(Why::Gone));
        let works = Activity::Works(Sign::Sm);
        assert_eq!(with_sign(works, SignCode::Quiet), works);
    }
}
