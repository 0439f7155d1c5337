//! What holds for every state and every size.

use proptest::prelude::*;

use super::{ASCII, COLOR, LAB, Machine, frame, settings, text};
use crate::tui::input;
use crate::tui::key::Key;
use crate::tui::state::State;

const WIDE: &str = r#"
    [[card]]
    name = "NVIDIA 試作機 Blackwell Max-Q Workstation Edition"
    memory = "192GiB"
    utilization = 100
    [[card]]
    [[fault]]
    call = "nvmlDeviceGetMemoryInfo_v2"
    card = 1
    code = "UNKNOWN"
    [[process]]
    pid = 4194303
    card = 0
    user = "とても長い利用者名とても長い利用者名"
    program = "x[2J学習プログラム"
    memory = "180GiB"
    begin = "-300d"
"#;

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        8 => prop::sample::select("?/txyogpimsurc+-jkhlqn123 ".chars().collect::<Vec<_>>())
            .prop_map(Key::Char),
        1 => any::<char>().prop_map(Key::Char),
        6 => prop::sample::select(vec![
            Key::Enter, Key::Esc, Key::Tab, Key::Up, Key::Down, Key::Left, Key::Right,
            Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Backspace, Key::Wheel(3),
            Key::Wheel(-3), Key::Ctrl('u'), Key::Ctrl('z'),
        ]),
    ]
}

fn scenario() -> impl Strategy<Value = String> {
    let cards = (0_usize..20).prop_map(|count| "[[card]]\n".repeat(count));
    prop_oneof![Just(LAB.to_owned()), Just(WIDE.to_owned()), cards]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever is pressed and however large the screen is, also when both change.
    #[test]
    fn any_state_is_drawn_on_any_screen(
        scenario in scenario(),
        steps in prop::collection::vec((key(), 1_u16..=300, 1_u16..=100), 1..12),
        is_ascii: bool,
    ) {
        let mut machine = Machine::new(&scenario);
        let mut state = State::new(settings());
        let theme = if is_ascii { ASCII } else { COLOR };
        for (place, (key, width, height)) in steps.into_iter().enumerate() {
            frame(&mut state, theme, width, height);
            let _ = input::press(&mut state, key);
            if place % 2 == 0 {
                state.see(machine.look());
            }
            let shown = text(&mut state, theme, width, height);
            prop_assert!(!is_ascii || shown.is_ascii());
            prop_assert!(!shown.contains('\x1b'));
        }
    }

    /// The line that is chosen is always on the screen.
    #[test]
    fn the_chosen_line_is_seen(keys in prop::collection::vec(key(), 0..10), height in 8_u16..40) {
        let mut machine = Machine::new(LAB);
        let mut state = State::new(settings());
        state.see(machine.look());
        frame(&mut state, COLOR, 80, height);
        for key in keys {
            let _ = input::press(&mut state, key);
            frame(&mut state, COLOR, 80, height);
        }
        let cursor = state.holders;
        prop_assert!(state.lines.is_empty() || cursor.at < state.lines.len());
        prop_assert!(cursor.page == 0 || (cursor.top..cursor.top + cursor.page).contains(&cursor.at));
    }
}
