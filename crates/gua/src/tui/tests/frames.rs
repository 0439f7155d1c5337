//! Whole frames, as they are seen.

use gua_core::Thresholds;
use insta::assert_snapshot;
use probe::units::{Bytes, Percent};
use ratatui::style::{Color, Modifier};

use super::{ASCII, COLOR, LAB, frame, press, seen, settings, text};
use crate::tui::draw::Theme;
use crate::tui::state::{Settings, State};

/// The lab after five minutes.
fn lab() -> State {
    seen(LAB, 300)
}

#[test]
fn forty_columns() {
    assert_snapshot!(text(&mut lab(), COLOR, 40, 12));
}

#[test]
fn eighty_columns() {
    assert_snapshot!(text(&mut lab(), COLOR, 80, 24));
}

#[test]
fn a_usual_terminal() {
    assert_snapshot!(text(&mut lab(), COLOR, 120, 40));
}

#[test]
fn a_whole_wall() {
    assert_snapshot!(text(&mut lab(), COLOR, 300, 60));
}

#[test]
fn plain_characters() {
    let shown = text(&mut lab(), ASCII, 120, 32);
    assert!(shown.is_ascii(), "{shown}");
    assert_snapshot!(shown);
}

#[test]
fn eight_rows_are_enough() {
    assert_snapshot!(text(&mut lab(), COLOR, 60, 8));
}

#[test]
fn nothing_seen_yet() {
    let mut state = State::new(settings());
    assert_snapshot!(text(&mut state, COLOR, 60, 8));
}

#[test]
fn no_cards_at_all() {
    assert_snapshot!(text(&mut seen("[host]\nname = \"bare\"\n", 3), COLOR, 60, 10));
}

#[test]
fn a_driver_that_is_away() {
    let scenario = "[[card]]\n[[fault]]\ncall = \"nvmlInit_v2\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    assert_snapshot!(text(&mut seen(scenario, 3), COLOR, 80, 10));
}

#[test]
fn a_card_that_was_lost_says_so() {
    let mut state = lab();
    press(&mut state, "Tab End Enter");
    assert_snapshot!(text(&mut state, COLOR, 80, 24));
}

#[test]
fn memory_that_is_not_told_is_unknown_with_its_reason() {
    let mut state = lab();
    press(&mut state, "End k Enter");
    assert_snapshot!(text(&mut state, COLOR, 90, 24));
}

#[test]
fn instances_are_cards_of_their_own() {
    let scenario = r#"
        [[card]]
        [[card.mig]]
        slot = 0
        profile = "3g.40gb"
        memory = "40GiB"
        utilization = 55
        [[card.mig]]
        slot = 2
        profile = "1g.10gb"
        memory = "10GiB"
        [[process]]
        pid = 70
        card = 0
        slot = 2
        user = "mia"
        program = "serve"
        memory = "8GiB"
    "#;
    assert_snapshot!(text(&mut seen(scenario, 60), COLOR, 100, 20));
}

#[test]
fn a_filter_while_it_is_typed() {
    let mut state = lab();
    press(&mut state, "/ b o b");
    assert_snapshot!(text(&mut state, COLOR, 80, 24));
}

#[test]
fn a_filter_that_nobody_fits() {
    let mut state = lab();
    press(&mut state, "/ z z Enter");
    assert_snapshot!(text(&mut state, COLOR, 60, 14));
}

#[test]
fn a_tree_below_those_who_started_them() {
    let mut state = lab();
    press(&mut state, "t");
    assert_snapshot!(text(&mut state, COLOR, 110, 24));
}

#[test]
fn everything_that_is_known_of_a_holder() {
    let mut state = lab();
    press(&mut state, "i Enter");
    assert_snapshot!(text(&mut state, COLOR, 100, 30));
}

#[test]
fn help() {
    let mut state = lab();
    press(&mut state, "?");
    assert_snapshot!(text(&mut state, COLOR, 100, 32));
}

#[test]
fn help_tells_the_lines_in_force() {
    let thresholds =
        Thresholds { active: Percent(25.0), held: Bytes::from_mib(512), ..Thresholds::default() };
    let mut state = State::new(Settings { thresholds, ..settings() });
    press(&mut state, "?");
    let shown = text(&mut state, COLOR, 200, 40);
    assert!(shown.contains("from 25 % on"), "{shown}");
    assert_eq!(shown.matches("more than 512 MiB").count(), 2, "{shown}");
}

#[test]
fn help_on_a_small_screen_is_scrolled() {
    let mut state = lab();
    press(&mut state, "? PgDn");
    assert_snapshot!(text(&mut state, COLOR, 40, 12));
}

#[test]
fn which_signal() {
    let mut state = lab();
    press(&mut state, "/ 5 6 7 8 Enter x Down");
    assert_snapshot!(text(&mut state, COLOR, 80, 16));
}

#[test]
fn whether_really() {
    let mut state = lab();
    press(&mut state, "/ 5 6 7 8 Enter x 3");
    assert_snapshot!(text(&mut state, COLOR, 80, 16));
}

#[test]
fn a_pause_is_seen() {
    let mut state = lab();
    press(&mut state, "p o g");
    assert_snapshot!(text(&mut state, COLOR, 80, 10));
}

/// On a light background as on a dark one: the terminal's own, with its own colours.
#[test]
fn only_the_terminals_own_colours_are_used() {
    let mut state = lab();
    for keys in ["", "?", "Esc Enter", "Esc Tab", "Enter"] {
        press(&mut state, keys);
        let named = [Color::Reset, Color::Green, Color::Yellow, Color::Red, Color::Magenta];
        for cell in frame(&mut state, COLOR, 120, 40).content() {
            assert_eq!(cell.bg, Color::Reset, "{cell:?}");
            assert!(named.contains(&cell.fg), "{cell:?}");
        }
    }
}

#[test]
fn without_colour_nothing_is_lost() {
    let plain = Theme { color: false, is_ascii: false };
    let mut state = lab();
    assert_eq!(text(&mut state, COLOR, 120, 40), text(&mut state, plain, 120, 40));
    let buffer = frame(&mut state, plain, 120, 40);
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset));
    let chosen = buffer.content().iter().filter(|c| c.modifier.contains(Modifier::REVERSED));
    assert_eq!(chosen.count(), 120, "one row is chosen");
}

const HIDDEN: &str = "call = \"nvmlDeviceGet*RunningProcesses*\"\ncode = \"NO_PERMISSION\"";

fn with_fault(cards: usize, fault: &str) -> String {
    format!("{}[[fault]]\n{fault}\n", "[[card]]\nunattributed = \"2GiB\"\n".repeat(cards))
}

/// Trap: a list that could not be read was taken for an empty one.
#[test]
fn lists_that_cannot_be_read_are_not_empty() {
    for (cards, width, height) in [(1, 70, 12), (8, 80, 24), (2, 120, 40)] {
        let shown = text(&mut seen(&with_fault(cards, HIDDEN), 2), COLOR, width, height);
        assert!(!shown.contains("nobody"), "{shown}");
        let told = shown.matches("unlisted: no per").count();
        assert_eq!(told, cards, "{shown}");
    }
    let unknown = with_fault(1, "call = \"nvmlDeviceGet*\"\ncode = \"UNKNOWN\"");
    assert!(!text(&mut seen(&unknown, 2), COLOR, 70, 12).contains("nobody"));
}

#[test]
fn memory_of_no_visible_process_has_a_line() {
    let shown = text(&mut seen("[[card]]\nunattributed = \"40GiB\"\n", 2), COLOR, 90, 12);
    let line = shown.lines().find(|line| line.starts_with("0     no visible process")).unwrap();
    assert!(line.contains("40.0 GiB") && line.ends_with("now"), "{shown}");
}

#[test]
fn nobody_is_said_only_where_it_is_so() {
    assert!(text(&mut seen("[[card]]\n", 2), COLOR, 80, 12).contains("nobody holds a card"));
    let away = "[[card]]\n[[fault]]\ncall = \"nvmlInit_v2\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    assert!(!text(&mut seen(away, 3), COLOR, 80, 12).contains("nobody"));
}

/// Trap: the span was cut off where it matters.
#[test]
fn a_graph_says_which_time_it_shows() {
    let shown = text(&mut seen("[[card]]\n[[card]]\n", 9), COLOR, 80, 24);
    assert!(shown.contains(" last 5 min ") && !shown.contains("last 5…"), "{shown}");
    assert!(shown.contains("cards"), "{shown}");
}

#[test]
fn a_long_list_says_what_is_seen_of_it() {
    let many = include_str!("../../../../../scenarios/eight-cards.toml");
    let mut state = seen(many, 2);
    let shown = text(&mut state, COLOR, 80, 24);
    assert!(shown.contains("1–12 of 32"), "{shown}");
    press(&mut state, "End");
    let shown = text(&mut state, COLOR, 80, 24);
    assert!(shown.contains("–32 of 32"), "{shown}");
}

/// Trap: what Enter promised to show was cut off.
#[test]
fn nothing_of_a_detail_is_cut_off() {
    let uuid = "GPU-8f6a1c2e-5b7d-4e90-a1b2-c3d4e5f60718";
    let scenario = format!("[[card]]\nuuid = \"{uuid}\"\n");
    let mut state = seen(&scenario, 1);
    press(&mut state, "Tab Enter");
    let shown = text(&mut state, COLOR, 40, 40);
    let joined: String = shown.chars().filter(|c| !c.is_whitespace() && *c != '│').collect();
    assert!(joined.contains(uuid), "{shown}");
}

#[test]
fn the_signals_stand_in_line_on_a_narrow_screen() {
    let mut state = lab();
    press(&mut state, "/ 5 6 7 8 Enter x Down");
    let shown = text(&mut state, COLOR, 40, 16);
    let lines = shown.lines().filter(|line| line.contains("TERM") || line.contains("KILL"));
    let places: Vec<_> = lines.map(|line| line.find(|c: char| c.is_ascii_digit())).collect();
    assert!(places.len() == 2 && places[0] == places[1], "{shown}");
}
