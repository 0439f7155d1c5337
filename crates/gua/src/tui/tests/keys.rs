//! What each key does.

use super::{LAB, Machine, OWN_UID, frame, press, seen, settings};
use crate::tui::holding::{Column, Order};
use crate::tui::input::Action;
use crate::tui::signal::Signal;
use crate::tui::state::{Focus, Mode, State};
use crate::tui::tree::{What, tree};

fn lab() -> State {
    let mut state = seen(LAB, 2);
    // A page is as long as was drawn.
    frame(&mut state, super::COLOR, 80, 14);
    state
}

/// The pids of the lines, 0 for one that holds nothing, without those that are not listed.
fn pids(state: &State) -> Vec<u32> {
    let pid = |line: &crate::tui::tree::Line| match &line.what {
        What::Holder(holding) => Some(holding.key.pid),
        What::Parent(_) => Some(0),
        What::Unseen(_) => None,
    };
    state.lines.iter().filter_map(pid).collect()
}

fn chosen(keys: &str) -> u32 {
    let mut state = lab();
    press(&mut state, keys);
    state.holding().unwrap().key.pid
}

#[test]
fn arrows_and_letters_move() {
    let cases = [
        ("", 31_337),
        ("j", 5_678),
        ("Down Down", 9_999),
        ("Down Down k", 5_678),
        ("Up", 31_337),
        ("End k", 2_211),
        ("End Home", 31_337),
        ("PgDn", 41_077),
        ("PgDn PgDn PgDn PgDn PgUp", 41_077),
        ("Wheel", 41_077),
        ("j j j j j j j j j k", 2_211),
    ];
    for (keys, pid) in cases {
        assert_eq!(chosen(keys), pid, "{keys}");
    }
}

#[test]
fn each_column_sorts_and_turns_round() {
    let cases = [
        ("m", Column::Memory, [31_337, 41_200, 41_077, 5_678, 9_999, 2_211]),
        ("m m", Column::Memory, [9_999, 5_678, 41_077, 41_200, 31_337, 2_211]),
        ("s", Column::Sm, [31_337, 41_200, 9_999, 41_077, 5_678, 2_211]),
        ("u", Column::User, [31_337, 5_678, 41_077, 41_200, 2_211, 9_999]),
        ("r", Column::RunTime, [5_678, 41_077, 31_337, 2_211, 41_200, 9_999]),
        ("r r", Column::RunTime, [41_200, 2_211, 31_337, 41_077, 5_678, 9_999]),
        ("m c", Column::Card, [31_337, 5_678, 9_999, 41_077, 41_200, 2_211]),
        ("c", Column::Card, [2_211, 41_077, 41_200, 5_678, 9_999, 31_337]),
    ];
    for (keys, by, expected) in cases {
        let mut state = lab();
        press(&mut state, keys);
        assert_eq!(state.order.by, by, "{keys}");
        let mut sorted = (pids(&state), expected.to_vec());
        if matches!(by, Column::Sm | Column::User) {
            // Those who are alike stand in an order of their own.
            sorted = (sorted.0[..2].to_vec(), sorted.1[..2].to_vec());
        }
        assert_eq!(sorted.0, sorted.1, "{keys}");
    }
}

#[test]
fn the_longest_idle_come_first_and_the_unknown_last() {
    let mut state = lab();
    press(&mut state, "i");
    assert_eq!(state.order, Order { by: Column::Idle, is_reversed: false });
    let idle: Vec<_> = pids(&state).into_iter().take(3).collect();
    assert!([5_678, 9_999].iter().all(|pid| idle.contains(pid)), "{idle:?}");
    assert!(idle.contains(&41_077), "it sleeps beside another that works: {idle:?}");
}

#[test]
fn the_chosen_one_stays_chosen_wherever_it_goes() {
    let mut state = lab();
    press(&mut state, "j m m");
    assert_eq!(state.holding().unwrap().key.pid, 5_678);
    press(&mut state, "t");
    assert_eq!(state.holding().unwrap().key.pid, 5_678);
}

#[test]
fn a_filter_works_as_it_is_typed_and_can_be_left() {
    let mut state = lab();
    press(&mut state, "/ B O");
    assert_eq!(pids(&state), [5_678, 41_077], "whatever its case");
    press(&mut state, "Backspace Backspace 4 1");
    assert_eq!(pids(&state), [41_077, 41_200], "by pid");
    press(&mut state, "^U j u p");
    assert_eq!(pids(&state), [5_678], "by program");
    press(&mut state, "Enter");
    assert_eq!((&state.mode, pids(&state).len()), (&Mode::List, 1));
    press(&mut state, "/ x Esc");
    assert_eq!(state.choice.text, "jup", "Esc leaves what was there");
    assert_eq!(press(&mut state, "Esc"), Action::None);
    assert_eq!(pids(&state).len(), 6);
    assert_eq!(press(&mut state, "Esc"), Action::None, "it closes nothing more");
    assert_eq!(press(&mut state, "q"), Action::Quit);
}

#[test]
fn letters_in_a_filter_are_letters() {
    let mut state = lab();
    assert_eq!(press(&mut state, "/ q t p x"), Action::None);
    assert_eq!((&*state.choice.text, state.is_tree, state.is_paused), ("qtpx", false, false));
}

#[test]
fn own_processes_and_graphics() {
    let scenario = "[[card]]\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\nkind = \"graphics\"\nuser = \"x\"\n\
        [[process]]\npid = 6\ncard = 0\nmemory = \"1GiB\"\nkind = \"compute+graphics\"\nuser = \"y\"\n";
    let mut state = seen(scenario, 1);
    press(&mut state, "g");
    assert_eq!(pids(&state), [6], "who computes too stays");
    press(&mut state, "g");
    assert_eq!(pids(&state), [5, 6]);
    let mut state = lab();
    let own = state.lines.iter().filter(|line| match &line.what {
        What::Holder(holding) => holding.uid == Some(OWN_UID),
        What::Unseen(_) | What::Parent(_) => false,
    });
    let own = own.count();
    assert!(own > 0 && own < 6);
    press(&mut state, "o");
    assert_eq!(pids(&state).len(), own);
    press(&mut state, "o");
    assert_eq!(pids(&state).len(), 6);
}

#[test]
fn a_tree_shows_who_started_several() {
    let mut state = lab();
    press(&mut state, "t");
    let lines = pids(&state);
    let launcher = lines.windows(3).any(|lines| lines == [0, 41_077, 41_200]);
    assert!(launcher, "{lines:?}");
    assert_eq!(lines.iter().filter(|pid| **pid > 0).count(), 6, "nobody is lost: {lines:?}");
    assert!(tree(Vec::new()).is_empty());
}

#[test]
fn a_pause_shows_what_was_and_goes_on_with_what_is() {
    let mut machine = Machine::new(LAB);
    let mut state = State::new(settings());
    state.see(machine.look());
    let at = |state: &State| state.look.as_ref().unwrap().at().0;
    let first = at(&state);
    press(&mut state, "Space");
    state.see(machine.look());
    state.see(machine.look());
    assert_eq!(at(&state), first);
    press(&mut state, "p");
    assert_eq!(at(&state), first + 2_000);
}

#[test]
fn cards_and_holders_have_the_arrows_in_turn() {
    let mut state = lab();
    press(&mut state, "h Down");
    assert_eq!((state.focus, state.cards.at, state.holders.at), (Focus::Cards, 1, 0));
    press(&mut state, "l Down");
    assert_eq!((state.focus, state.cards.at, state.holders.at), (Focus::Holders, 1, 1));
    press(&mut state, "Tab End");
    assert_eq!((state.focus, state.cards.at), (Focus::Cards, 5));
}

#[test]
fn what_is_open_is_closed_first() {
    for open in ["?", "Enter", "Tab Enter", "/"] {
        let mut state = lab();
        press(&mut state, open);
        assert_ne!(state.mode, Mode::List, "{open}");
        assert_eq!(press(&mut state, "Esc"), Action::None, "{open}");
        assert_eq!(state.mode, Mode::List, "{open}");
    }
    for key in ["q", "^C", "? ^C", "/ ^C", "Enter ^C"] {
        assert_eq!(press(&mut lab(), key), Action::Quit, "{key}");
    }
    assert_eq!(press(&mut lab(), "^Z"), Action::Suspend);
}

/// Bob's uid in the lab is ours.
fn own_uid(pid: u32) -> State {
    let mut state = lab();
    let uid = state.lines.iter().find_map(|line| match &line.what {
        What::Holder(holding) if holding.key.pid == pid => holding.uid,
        _ => None,
    });
    state.settings.uid = uid.unwrap();
    state
}

#[test]
fn a_signal_is_sent_only_after_a_plain_yes() {
    for (keys, signal) in [("x Enter y", Signal::Term), ("x 2 y", Signal::Int)] {
        let mut state = own_uid(5_678);
        press(&mut state, "j");
        let Action::Send(target, sent) = press(&mut state, keys) else { panic!("{keys}") };
        assert_eq!((target.pid, sent, &state.mode), (5_678, signal, &Mode::List));
    }
    let keys = ["x", "x Enter", "x 3", "x Enter n", "x Enter Enter", "x Enter Space", "x Esc y"];
    for keys in keys {
        let mut state = own_uid(5_678);
        press(&mut state, "j");
        assert_eq!(press(&mut state, keys), Action::None, "{keys}");
    }
    let mut state = own_uid(5_678);
    press(&mut state, "j x Down Down Enter n");
    assert_eq!(state.message.as_deref(), Some("nothing was sent"));
}

#[test]
fn who_may_not_send_one_is_told_why() {
    let mut state = own_uid(5_678);
    press(&mut state, "x");
    let message = state.message.clone().unwrap();
    assert_eq!(message, "process 31337 is alice's: only they and root may do that");
    press(&mut state, "j j x");
    assert_eq!(state.message.as_deref(), Some("process 9999 cannot be seen from here"));
    state.settings.is_pretend = true;
    press(&mut state, "x");
    assert!(state.message.unwrap().contains("pretend"));
    let mut root = lab();
    root.settings.uid = 0;
    press(&mut root, "x");
    assert!(matches!(root.mode, Mode::Signal { .. }));
}

#[test]
fn the_graphs_show_more_or_less_time() {
    let mut state = lab();
    assert_eq!(state.span_millis(), 300_000);
    press(&mut state, "- - - - -");
    assert_eq!(state.span_millis(), 3_600_000);
    press(&mut state, "+ + + + + +");
    assert_eq!(state.span_millis(), 60_000);
}

/// Trap: they silently became those of the next process in the list.
#[test]
fn details_of_a_holder_that_ends_say_so() {
    let scenario = "[[card]]\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\nend = \"2s\"\n\
        [[process]]\npid = 6\ncard = 0\nmemory = \"1GiB\"\n";
    let mut machine = Machine::new(scenario);
    let mut state = State::new(settings());
    state.see(machine.look());
    press(&mut state, "Enter");
    assert!(super::text(&mut state, super::COLOR, 80, 30).contains("process 5 on card 0"));
    state.see(machine.look());
    state.see(machine.look());
    let shown = super::text(&mut state, super::COLOR, 80, 30);
    assert!(shown.contains("process 5: gone"), "{shown}");
    press(&mut state, "Esc Enter");
    assert!(super::text(&mut state, super::COLOR, 80, 30).contains("process 6 on card 0"));
}

/// Trap: keys were counted beyond the end, and as many had to be pressed back.
#[test]
fn a_text_is_not_scrolled_past_its_end() {
    let mut state = lab();
    press(&mut state, "?");
    let first = super::text(&mut state, super::COLOR, 60, 12);
    press(&mut state, "End");
    let last = super::text(&mut state, super::COLOR, 60, 12);
    assert_ne!(first, last);
    press(&mut state, "PgDn k");
    assert_ne!(super::text(&mut state, super::COLOR, 60, 12), last, "one line up");
    press(&mut state, "j");
    assert_eq!(super::text(&mut state, super::COLOR, 60, 12), last);
    assert!(first.contains("1–10 of "), "{first}");
}

/// Trap: those that are alike went by the UUID of their card, which says nothing to anybody.
#[test]
fn who_is_alike_stands_in_the_order_of_the_cards() {
    let card = |uuid: &str, place: u32| {
        let pid = 10 - place;
        format!(
            "[[card]]\nuuid = \"{uuid}\"\n[[process]]\npid = {pid}\ncard = {place}\nuser = \"a\"\nmemory = \"1GiB\"\n"
        )
    };
    let mut state = seen(
        &["GPU-c", "GPU-b", "GPU-a"].iter().zip(0..).map(|(u, p)| card(u, p)).collect::<String>(),
        1,
    );
    for key in ["u", "m", "s"] {
        press(&mut state, key);
        assert_eq!(pids(&state), [10, 9, 8], "{key}");
    }
}

/// Trap: during a pause, who has ended since was suddenly not idle any more.
#[test]
fn a_pause_keeps_what_was_known_then() {
    let scenario = "[[card]]\nutilization = 0\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\nend = \"3s\"\n";
    let mut machine = Machine::new(scenario);
    let mut state = State::new(settings());
    state.see(machine.look());
    state.see(machine.look());
    press(&mut state, "p");
    let before = state.holding().unwrap().idle;
    for _ in 0..5 {
        state.see(machine.look());
    }
    press(&mut state, "m m");
    assert_eq!(state.holding().unwrap().idle, before);
}
