//! How things look: the terminal's own colours, or none; Unicode, or plain characters.

use ratatui::style::{Color, Modifier, Style};

use gua_core::State;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub color: bool,
    pub is_ascii: bool,
}

/// What a piece of text is, not what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Good,
    Notice,
    Bad,
    /// Of the memory, beside the work.
    Other,
    Quiet,
    Strong,
    Title,
    Chosen,
}

impl Theme {
    /// Only the sixteen colours that the terminal's owner has chosen, on its own background,
    /// so that light and dark both work.
    #[must_use]
    pub fn style(self, ink: Ink) -> Style {
        let (color, modifier) = match ink {
            Ink::Plain => (None, Modifier::empty()),
            Ink::Good => (Some(Color::Green), Modifier::empty()),
            Ink::Notice => (Some(Color::Yellow), Modifier::BOLD),
            Ink::Bad => (Some(Color::Red), Modifier::empty()),
            // Blue is hard to read on black, cyan on white.
            Ink::Other => (Some(Color::Magenta), Modifier::empty()),
            Ink::Quiet => (None, Modifier::DIM),
            Ink::Strong => (None, Modifier::BOLD),
            Ink::Title => (None, Modifier::BOLD.union(Modifier::UNDERLINED)),
            Ink::Chosen => (None, Modifier::REVERSED),
        };
        let style = Style::new().add_modifier(modifier);
        match color.filter(|_| self.color) {
            Some(color) => style.fg(color),
            None => style,
        }
    }

    /// A mark that goes with the word of a state.
    #[must_use]
    pub const fn mark(self, state: State) -> &'static str {
        match (state, self.is_ascii) {
            (State::Active, false) => "●",
            (State::IdleHeld, false) => "◐",
            (State::TrulyIdle, false) => "○",
            (State::Active, true) => "*",
            (State::IdleHeld, true) => "=",
            (State::TrulyIdle, true) => ".",
            (State::Unknown(_), _) => "?",
        }
    }
}

#[must_use]
pub const fn ink(state: State) -> Ink {
    match state {
        State::Active => Ink::Good,
        State::IdleHeld => Ink::Notice,
        State::TrulyIdle => Ink::Plain,
        State::Unknown(_) => Ink::Bad,
    }
}
