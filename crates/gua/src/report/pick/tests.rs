//! The choice, case by case and as laws.

use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};
use proptest::prelude::*;

use super::{Candidate, Choice, Wishes, Work, choose};
use crate::classify::State;
use crate::report::now::Identity;
use crate::report::unknowns::Unknowns;
use crate::reservation::{Reserved, Term};

const NOW: UnixMillis = UnixMillis(1_000_000);

fn card(index: u32, state: State, free_gib: u64) -> Candidate {
    let uuid = format!("GPU-{index}");
    Candidate {
        identity: Identity {
            index,
            mig_slot: None,
            uuid: Some(uuid.clone()),
            parent_uuid: None,
            name: None,
            bus_id: None,
            minor: None,
        },
        uuid: Reading::Known(uuid),
        state,
        work_now: Some(Percent(if state == Active { 90.0 } else { 0.0 })),
        past: None,
        free: Reading::Known(Bytes(free_gib << 30)),
        holders: Vec::new(),
        mig: Reading::Unknown(Why::NotSupported),
        compute_mode: Reading::Unknown(Why::NotSupported),
        is_visible: true,
        unknown: Unknowns::default(),
    }
}

fn worked(card: Candidate, percent: f64) -> Candidate {
    Candidate { past: Some(Work { percent: Percent(percent), seconds: 300.0 }), ..card }
}

fn wishes(count: usize) -> Wishes {
    Wishes { count, min_free: None, max_work: None, active: Percent(10.0) }
}

fn reserved(index: u32) -> Reserved {
    let term = Term::Until(UnixMillis(NOW.0 + 20_500));
    Reserved { card: format!("GPU-{index}"), uid: 1000, user: None, term }
}

/// The index of each chosen card in their order, and the reasons of the others.
fn shown(choice: &Choice) -> (Vec<u32>, Vec<String>) {
    let chosen = choice.chosen().map(|card| card.identity.index).collect();
    let reasons =
        choice.cards.iter().filter_map(|(_, refusal)| Some(refusal.as_ref()?.to_string()));
    (chosen, reasons.collect())
}

fn of(cards: Vec<Candidate>, wishes: &Wishes) -> (Vec<u32>, Vec<String>) {
    shown(&choose(cards, &[], wishes, NOW))
}

use State::{Active, IdleHeld, TrulyIdle};

#[test]
fn truly_idle_comes_first_then_the_most_memory() {
    let cards = || {
        vec![
            card(0, IdleHeld, 75),
            card(1, TrulyIdle, 24),
            card(2, TrulyIdle, 80),
            card(3, Active, 9),
        ]
    };
    assert_eq!(of(cards(), &wishes(1)).0, [2]);
    assert_eq!(of(cards(), &wishes(2)).0, [2, 1]);
    assert_eq!(of(cards(), &wishes(3)).0, [0; 0], "half of a choice is none");
    let share = Wishes { min_free: Some(Bytes(20 << 30)), ..wishes(3) };
    assert_eq!(of(cards(), &share).0, [2, 1, 0]);
}

#[test]
fn each_card_that_is_not_chosen_has_its_reason() {
    let mut held = card(1, IdleHeld, 70);
    held.holders = vec!["bob".to_owned(), "carol".to_owned()];
    let cards = vec![
        card(0, Active, 9),
        held,
        card(2, State::Unknown(Why::Lost), 0),
        worked(card(3, TrulyIdle, 80), 42.0),
        card(4, TrulyIdle, 80),
        card(5, TrulyIdle, 80),
    ];
    let choice = choose(cards, &[reserved(4)], &wishes(2), NOW);
    let (chosen, reasons) = shown(&choice);
    assert_eq!((chosen, choice.fit()), (vec![], 1));
    let expected = [
        "busy: 90 % now",
        "held by bob, carol, 70.0 GiB left",
        "unknown: lost from the bus",
        "busy: 42 % over the last 5m",
        "reserved by uid 1000 for another 21 s",
        "would do",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn wishes_are_kept_to() {
    let small = || vec![card(0, TrulyIdle, 10)];
    let twenty = Wishes { min_free: Some(Bytes(20 << 30)), ..wishes(1) };
    assert_eq!(of(small(), &twenty).1, ["10.0 GiB of memory left, 20.0 GiB wanted"]);
    let mut unknown = card(0, TrulyIdle, 0);
    unknown.free = Reading::Unknown(Why::NoPermission);
    let reasons = of(vec![unknown], &twenty).1;
    assert_eq!(reasons, ["how much memory is left is unknown: no permission"]);
    let half = |percent| Wishes { max_work: Some(Percent(percent)), ..wishes(1) };
    let works = || vec![worked(card(0, IdleHeld, 80), 42.0)];
    assert_eq!(of(works(), &half(42.0)).0, [0]);
    assert_eq!(of(works(), &half(41.0)).1, ["busy: 42 % over the last 5m"]);
    assert_eq!(of(vec![card(0, Active, 80)], &half(100.0)).0, [0]);
}

/// What cannot be named cannot be given to anybody.
#[test]
fn a_card_without_a_uuid_is_not_chosen() {
    let mut nameless = card(0, TrulyIdle, 80);
    nameless.uuid = Reading::Unknown(Why::Code(999));
    let reasons = of(vec![nameless], &wishes(1)).1;
    assert_eq!(reasons, ["unknown: its UUID cannot be read (the driver does not say why)"]);
}

fn any_card() -> impl Strategy<Value = Candidate> {
    let state = prop_oneof![
        1 => Just(Active),
        1 => Just(IdleHeld),
        3 => Just(TrulyIdle),
        1 => Just(State::Unknown(Why::Lost)),
    ];
    (state, 0_u64..90, proptest::option::of(0.0..100.0), 0.0..100.0).prop_map(
        |(state, free, past, now)| {
            let card = Candidate { work_now: Some(Percent(now)), ..card(0, state, free) };
            past.map_or_else(|| card.clone(), |percent| worked(card.clone(), percent))
        },
    )
}

fn any_cards() -> impl Strategy<Value = Vec<Candidate>> {
    let number = |cards: Vec<Candidate>| {
        let place = |(index, mut card): (u32, Candidate)| {
            card.identity.index = index;
            card.uuid = Reading::Known(format!("GPU-{index}"));
            card
        };
        (0..).zip(cards).map(place).collect()
    };
    proptest::collection::vec(any_card(), 0..12).prop_map(number)
}

fn any_wishes() -> impl Strategy<Value = Wishes> {
    let min_free = proptest::option::of((0_u64..90).prop_map(|gib| Bytes(gib << 30)));
    let max_work = proptest::option::of((0.0..100.0).prop_map(Percent));
    (1_usize..5, min_free, max_work).prop_map(|(count, min_free, max_work)| Wishes {
        active: Percent(10.0),
        count,
        min_free,
        max_work,
    })
}

proptest! {
    #[test]
    fn nothing_that_is_reserved_or_unknown_is_ever_chosen(
        cards in any_cards(),
        taken in proptest::collection::vec(0_u32..12, 0..6),
        wishes in any_wishes(),
    ) {
        let reserved: Vec<_> = taken.iter().map(|index| reserved(*index)).collect();
        let choice = choose(cards.clone(), &reserved, &wishes, NOW);
        prop_assert_eq!(choice.cards.len(), cards.len());
        let chosen: Vec<_> = choice.chosen().collect();
        prop_assert!(chosen.len() == wishes.count || chosen.is_empty());
        for card in chosen {
            prop_assert!(!taken.contains(&card.identity.index));
            prop_assert!(!matches!(card.state, State::Unknown(_)));
            prop_assert!(wishes.may_share() || card.state == TrulyIdle);
        }
    }

    /// Nobody who is left out would have been better.
    #[test]
    fn the_best_are_chosen(cards in any_cards(), wishes in any_wishes()) {
        let choice = choose(cards, &[], &wishes, NOW);
        let key = |card: &Candidate| (card.state != TrulyIdle, std::cmp::Reverse(card.free.known()));
        let spare = choice.cards.iter().filter(|(_, refusal)| refusal == &Some(super::Refusal::Spare));
        let best_spare = spare.map(|(card, _)| key(card)).min();
        let worst = choice.chosen().map(key).max();
        if let (Some(worst), Some(best)) = (worst, best_spare) {
            prop_assert!(worst <= best);
        }
        let keys: Vec<_> = choice.chosen().map(key).collect();
        prop_assert!(keys.is_sorted());
    }

    /// Who wishes for more is given no card that would not have done for less.
    #[test]
    fn more_wishes_fit_fewer_cards(
        cards in any_cards(),
        wishes in any_wishes(),
        more_gib in 0_u64..50,
        less_work in 0.0..50.0,
    ) {
        let stricter = Wishes {
            min_free: wishes.min_free.map(|bytes| Bytes(bytes.0 + (more_gib << 30))),
            max_work: wishes.max_work.map(|percent| Percent(percent.0 - less_work)),
            ..wishes
        };
        let fits = |wishes: &Wishes| -> Vec<bool> {
            let choice = choose(cards.clone(), &[], wishes, NOW);
            let fits = |refusal: &Option<super::Refusal>| {
                matches!(refusal, None | Some(super::Refusal::Spare))
            };
            choice.cards.iter().map(|(_, refusal)| fits(refusal)).collect()
        };
        let (before, after) = (fits(&wishes), fits(&stricter));
        prop_assert!(before.iter().zip(&after).all(|(before, after)| *before || !after));
    }
}
