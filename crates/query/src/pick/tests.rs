//! The choice, case by case and as invariants.

use gua_core::card::ComputeMode;
use gua_core::snapshot::{CardNow, Reservation};
use gua_core::state::State;
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Reason, Span};
use gua_store::Tick;
use proptest::prelude::*;

use super::{PastWork, PastWorks, Pick, PickRequest, Refusal, VisibleDevices, choose};
use crate::snapshot::fixtures::{self, MINUTE, Record, UNTIL, snapshot};

use State::{Active, IdleHeld, TrulyIdle};

fn card(index: u32, state: State, free_gib: u64) -> CardNow {
    let holders: &[_] = if state == TrulyIdle { &[] } else { &[(7, "bob", 4000, 0.0)] };
    let percent = if state == Active { 90.0 } else { 0.0 };
    CardNow {
        state,
        memory_free_bytes: Some(free_gib << 30),
        ..fixtures::card(index, percent, holders)
    }
}

fn request(count: usize) -> PickRequest {
    PickRequest { count, min_free: None, max_utilization: None, active: Percent(10.0), uid: None }
}

fn past(cards: &[(u32, f64)]) -> PastWorks {
    let work = |(index, percent): &(u32, f64)| {
        (format!("GPU-{index}"), PastWork { percent: Percent(*percent), seconds: 300.0 })
    };
    PastWorks::new(300.0, cards.iter().map(work))
}

fn pick_from(cards: Vec<CardNow>, worked: &[(u32, f64)], request: &PickRequest) -> Pick {
    choose(&snapshot(cards), &past(worked), &VisibleDevices::default(), request)
}

/// The index of each chosen card, best first, and the reasons of the others.
fn shown(pick: &Pick) -> (Vec<u32>, Vec<String>) {
    let chosen = pick.chosen().iter().map(|card| card.card.index).collect();
    let reasons = pick.cards.iter().filter_map(|card| Some(card.refusal.as_ref()?.to_string()));
    (chosen, reasons.collect())
}

fn chosen(cards: Vec<CardNow>, request: &PickRequest) -> Vec<u32> {
    shown(&pick_from(cards, &[], request)).0
}

fn reserve(card: CardNow) -> CardNow {
    let by = Reservation { user: None, uid: 1000, pid: None, seconds_left: Some(21) };
    CardNow { reservations: vec![by], ..card }
}

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
    assert_eq!(chosen(cards(), &request(1)), [2]);
    assert_eq!(chosen(cards(), &request(2)), [2, 1]);
    assert_eq!(chosen(cards(), &request(3)), [0; 0], "half of a choice is none");
    let share = PickRequest { min_free: Some(Bytes(20 << 30)), ..request(3) };
    assert_eq!(chosen(cards(), &share), [2, 1, 0]);
    let pick = pick_from(cards(), &[], &request(2));
    assert_eq!(pick.cuda_visible_devices.as_deref(), Some("GPU-2,GPU-1"));
}

#[test]
fn each_card_that_is_not_chosen_has_its_reason() {
    let lost = CardNow { state: State::Unknown(Reason::Lost), ..card(2, TrulyIdle, 0) };
    let cards = vec![
        card(0, Active, 9),
        card(1, IdleHeld, 70),
        lost,
        card(3, TrulyIdle, 80),
        reserve(card(4, TrulyIdle, 80)),
        card(5, TrulyIdle, 80),
    ];
    let pick = pick_from(cards, &[(3, 42.0)], &request(2));
    assert_eq!((pick.enough, pick.suitable()), (false, 1));
    let expected = [
        "busy: 90 % now",
        "held by bob, 70.0 GiB left",
        "unknown: lost from the bus",
        "busy: 42 % over the last 5m",
        "reserved by uid 1000 for another 21 s",
        "would do",
    ];
    assert_eq!(shown(&pick), (vec![], expected.map(str::to_owned).to_vec()));
    let json = serde_json::to_value(&pick).unwrap();
    assert_eq!(json["cards"][4]["reason"], "reserved");
    assert_eq!(json["cards"][3]["recorded_utilization_percent"], 42.0);
    assert_eq!(json["cards"][5]["unknown"]["recorded_utilization_percent"], "not_recorded");
}

/// Who asks again soon may have the same card, if there is no other.
#[test]
fn own_reservation_for_a_time_refuses_nothing() {
    let own = PickRequest { uid: Some(1000), ..request(1) };
    let cards = || vec![reserve(card(0, TrulyIdle, 80)), card(1, TrulyIdle, 24)];
    assert_eq!(chosen(cards(), &own), [1], "another program of theirs may be about to use card 0");
    assert_eq!(chosen(cards(), &PickRequest { count: 2, ..own }), [1, 0]);
    assert_eq!(chosen(vec![reserve(card(0, TrulyIdle, 80))], &own), [0]);
    let mut command = reserve(card(0, TrulyIdle, 80));
    command.reservations[0] =
        Reservation { pid: Some(9), seconds_left: None, ..command.reservations[0].clone() };
    assert_eq!(chosen(vec![command], &own), [0; 0], "a command has the card until it ends");
}

#[test]
fn requests_are_kept_to() {
    let reasons = |card, worked: &[(u32, f64)], request: &PickRequest| {
        shown(&pick_from(vec![card], worked, request)).1
    };
    let twenty = PickRequest { min_free: Some(Bytes(20 << 30)), ..request(1) };
    let small = reasons(card(0, TrulyIdle, 10), &[], &twenty);
    assert_eq!(small, ["10.0 GiB of memory left, 20.0 GiB wanted"]);
    let mut unread = CardNow { memory_free_bytes: None, ..card(0, TrulyIdle, 0) };
    unread.unknown.note("memory_free_bytes", Reason::NoPermission);
    let unread = reasons(unread, &[], &twenty);
    assert_eq!(unread, ["how much memory is left is unknown: no permission"]);
    let at_most = |percent| PickRequest { max_utilization: Some(Percent(percent)), ..request(1) };
    assert_eq!(reasons(card(0, IdleHeld, 80), &[(0, 42.0)], &at_most(42.0)), [""; 0]);
    let busy = reasons(card(0, IdleHeld, 80), &[(0, 42.0)], &at_most(41.0));
    assert_eq!(busy, ["busy: 42 % over the last 5m"]);
    assert_eq!(chosen(vec![card(0, Active, 80)], &at_most(100.0)), [0]);
}

/// A card that cannot be named cannot be given to anybody.
#[test]
fn card_without_a_uuid_is_not_chosen() {
    let mut nameless = card(0, TrulyIdle, 80);
    nameless.card.uuid = None;
    nameless.unknown.note("uuid", Reason::Code(999));
    let reasons = shown(&pick_from(vec![nameless], &[], &request(1))).1;
    assert_eq!(reasons, ["unknown: its UUID cannot be read (the driver does not say why)"]);
}

#[test]
fn cards_that_cuda_cannot_use_are_not_chosen() {
    let with = |state, change: fn(&mut CardNow)| {
        let mut card = card(0, state, 80);
        change(&mut card);
        let share = PickRequest { min_free: Some(Bytes(1)), ..request(1) };
        pick_from(vec![card], &[], &share).cards[0].refusal.as_ref().map(Refusal::slug)
    };
    let prohibited =
        |card: &mut CardNow| card.requested.compute_mode = Some(ComputeMode::Prohibited);
    let exclusive =
        |card: &mut CardNow| card.requested.compute_mode = Some(ComputeMode::ExclusiveProcess);
    assert_eq!(with(TrulyIdle, prohibited), Some("compute_prohibited"));
    assert_eq!(with(TrulyIdle, exclusive), None);
    assert_eq!(with(IdleHeld, exclusive), Some("compute_exclusive"));
    assert_eq!(
        with(TrulyIdle, |card| card.requested.mig_mode = Some(true)),
        Some("no_mig_instance")
    );
    let instance = |card: &mut CardNow| {
        card.requested.mig_mode = Some(true);
        card.card.mig_slot = Some(0);
    };
    assert_eq!(with(TrulyIdle, instance), None);
}

#[test]
fn past_work_is_the_mean_of_the_known_time() {
    let mut record = Record::begin();
    let span = |index: u32, from: i64, percent: f64| {
        let period = Period::new(UnixMillis(from), UnixMillis(from + MINUTE));
        Span {
            card: std::sync::Arc::new(fixtures::facts(index)),
            period,
            state: TrulyIdle,
            holders: Vec::new(),
            busy: gua_core::span::Integral { sum: percent * 60.0, known_ms: MINUTE },
            memory: gua_core::span::Integral::default(),
            energy: gua_core::span::Integral::default(),
            energy_estimated_ms: 0,
        }
    };
    let begin = UNTIL.0 - 2 * MINUTE;
    let closed = [span(0, begin, 8.0), span(0, begin + MINUTE, 2.0), span(1, begin, 4.0)];
    record.writer.tick(&Tick { closed: &closed, ..Tick::new(UNTIL, UNTIL) }).unwrap();
    let window = Period::new(UnixMillis(begin), fixtures::NOW);
    let past = PastWorks::read(&record.open(), window).unwrap();
    let work = |percent, seconds| Some(PastWork { percent: Percent(percent), seconds });
    assert_eq!([past.get("GPU-0"), past.get("GPU-1")], [work(5.0, 120.0), work(4.0, 60.0)]);
    assert_eq!(past.get("GPU-2"), None);
}

fn any_card() -> impl Strategy<Value = (CardNow, Option<f64>)> {
    let state = prop_oneof![
        1 => Just(Active),
        1 => Just(IdleHeld),
        3 => Just(TrulyIdle),
        1 => Just(State::Unknown(Reason::Lost)),
    ];
    (state, 0_u64..90, proptest::option::of(0.0..100.0), 0.0..100.0, any::<bool>()).prop_map(
        |(state, free, past, now, is_reserved)| {
            let card = CardNow { utilization_percent: Some(now), ..card(0, state, free) };
            (if is_reserved { reserve(card) } else { card }, past)
        },
    )
}

fn any_cards() -> impl Strategy<Value = (Vec<CardNow>, Vec<(u32, f64)>)> {
    proptest::collection::vec(any_card(), 0..12).prop_map(|cards| {
        let mut worked = Vec::new();
        let number = |(index, (mut card, past)): (u32, (CardNow, Option<f64>))| {
            card.card.index = index;
            card.card.uuid = Some(format!("GPU-{index}"));
            worked.extend(past.map(|percent| (index, percent)));
            card
        };
        let cards = (0..).zip(cards).map(number).collect();
        (cards, worked)
    })
}

fn any_request() -> impl Strategy<Value = PickRequest> {
    let min_free = proptest::option::of((0_u64..90).prop_map(|gib| Bytes(gib << 30)));
    let max_utilization = proptest::option::of((0.0..100.0).prop_map(Percent));
    (1_usize..5, min_free, max_utilization).prop_map(|(count, min_free, max_utilization)| {
        PickRequest { count, min_free, max_utilization, active: Percent(10.0), uid: None }
    })
}

proptest! {
    #[test]
    fn reserved_and_unknown_cards_are_never_chosen(
        (cards, worked) in any_cards(),
        request in any_request(),
    ) {
        let pick = pick_from(cards.clone(), &worked, &request);
        prop_assert_eq!(pick.cards.len(), cards.len());
        let chosen = pick.chosen();
        prop_assert!(chosen.len() == request.count || chosen.is_empty());
        prop_assert_eq!(pick.enough, !chosen.is_empty());
        for card in chosen {
            let now = cards.iter().find(|now| now.card == card.card).unwrap();
            prop_assert!(now.reservations.is_empty());
            prop_assert!(!matches!(card.state, State::Unknown(_)));
            prop_assert!(request.may_share() || card.state == TrulyIdle);
        }
    }

    #[test]
    fn the_best_are_chosen((cards, worked) in any_cards(), request in any_request()) {
        let pick = pick_from(cards, &worked, &request);
        let spare = pick.cards.iter().filter(|card| card.refusal == Some(Refusal::Spare));
        let best_spare = spare.map(super::PickCard::rank).min();
        let ranks: Vec<_> = pick.chosen().into_iter().map(super::PickCard::rank).collect();
        prop_assert!(ranks.is_sorted());
        if let (Some(worst), Some(best)) = (ranks.last(), best_spare) {
            prop_assert!(*worst <= best);
        }
    }

    #[test]
    fn stricter_requests_fit_fewer_cards(
        (cards, worked) in any_cards(),
        request in any_request(),
        more_gib in 0_u64..50,
        less in 0.0..50.0,
    ) {
        let stricter = PickRequest {
            min_free: request.min_free.map(|bytes| Bytes(bytes.0 + (more_gib << 30))),
            max_utilization: request.max_utilization.map(|percent| Percent(percent.0 - less)),
            ..request
        };
        let fits = |request: &PickRequest| -> Vec<bool> {
            let pick = pick_from(cards.clone(), &worked, request);
            let fits = |card: &super::PickCard| {
                matches!(card.refusal, None | Some(Refusal::Spare))
            };
            pick.cards.iter().map(fits).collect()
        };
        let (before, after) = (fits(&request), fits(&stricter));
        prop_assert!(before.iter().zip(&after).all(|(before, after)| *before || !after));
    }
}
