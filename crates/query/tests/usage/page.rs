//! A window with its timeline.

use gua_core::State;
use gua_core::units::UnixMillis;
use gua_query::page::usage_page;
use gua_query::usage::{TotalState, UsageRequest};

use crate::lab::{HOUR, Holder, Lab, START, holder, request, scene};

#[test]
fn page_of_one_person_has_only_their_cards() {
    let lab = Lab::new();
    let held = scene(0, State::IdleHeld, &[holder(100, "bob", 8_000), holder(101, "carol", 4_000)]);
    let busy = scene(1, State::Active, &[holder(200, "erin", 8_000).working()]);
    lab.begin(0).record(HOUR, &[held, busy]);
    let store = lab.read();
    let page = usage_page(&store, &request(0, HOUR)).unwrap();
    assert_eq!(page.timeline.unwrap().cards.len(), 2);
    let of_bob = UsageRequest { user: Some("bob".to_owned()), ..request(0, HOUR) };
    let page = usage_page(&store, &of_bob).unwrap();
    let timeline = page.timeline.unwrap();
    let card = timeline.cards.first().unwrap();
    assert_eq!((timeline.cards.len(), card.uuid.as_deref()), (1, Some("GPU-0")));
    let stretch = card.stretches.first().unwrap();
    let names: Vec<_> = stretch.people.iter().map(|person| person.user.as_deref()).collect();
    assert_eq!((stretch.state, names), (Some(TotalState::IdleHeld), vec![Some("bob")]));
    assert_eq!(card.stretches.len(), 1);
    assert_eq!(page.now, None, "a page of one person is not about all cards now");
}

/// What others did on a card is no part of a page of one person.
#[test]
fn timeline_of_one_person_shows_what_they_did() {
    let lab = Lab::new();
    let [bob, carol] = [holder(100, "bob", 8_000), holder(900, "carol", 4_000)];
    let both = [bob.clone(), Holder { pid: 101, ..bob.clone() }.working(), carol.clone().working()];
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[scene(0, State::Active, &[bob, carol.clone().working()])]);
    recording.record(HOUR, &[scene(0, State::Active, &both)]);
    recording.record(HOUR, &[scene(0, State::Active, &[carol.working()])]);
    let of_bob = UsageRequest { user: Some("bob".to_owned()), ..request(0, 3 * HOUR) };
    let page = usage_page(&lab.read(), &of_bob).unwrap();
    let timeline = page.timeline.unwrap();
    let states: Vec<_> = timeline.cards[0].stretches.iter().map(|it| it.state).collect();
    assert_eq!(states, [Some(TotalState::IdleHeld), Some(TotalState::Active), None]);
}

#[test]
fn last_tick_is_that_of_the_newest_run() {
    let lab = Lab::new();
    assert_eq!(lab.read().last_tick().unwrap(), None);
    let scenes = [scene(0, State::TrulyIdle, &[])];
    lab.begin(0).record(2 * HOUR, &scenes);
    assert_eq!(lab.read().last_tick().unwrap(), Some(UnixMillis(START + 2 * HOUR)));
    // The clock was set back.
    lab.begin(HOUR).record(HOUR / 2, &scenes);
    assert_eq!(lab.read().last_tick().unwrap(), Some(UnixMillis(START + HOUR + HOUR / 2)));
}
