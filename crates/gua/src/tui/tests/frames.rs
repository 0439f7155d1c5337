//! Whole frames, as they are seen.

use insta::assert_snapshot;
use probe::units::{Bytes, Percent};
use ratatui::style::{Color, Modifier};

use super::{ASCII, COLOR, LAB, frame, press, seen, settings, text};
use crate::classify::Thresholds;
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

/// The documents are tested too.
#[test]
fn the_frame_in_the_readme_is_real() {
    let readme = include_str!("../../../../../README.md");
    for line in text(&mut lab(), COLOR, 80, 24).lines().take(15) {
        assert!(readme.lines().any(|shown| shown == line), "not in the README: {line}");
    }
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
    press(&mut state, "End Enter");
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
