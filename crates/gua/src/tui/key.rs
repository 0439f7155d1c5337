//! A key that was pressed, or the mouse's wheel.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Esc,
    Backspace,
    Tab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// Lines down; up where negative.
    Wheel(isize),
}

/// Lines that a notch of the wheel moves.
const NOTCH: isize = 3;

impl Key {
    /// `None` for what means nothing here.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Self::of_key(*key),
            Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollDown => Some(Self::Wheel(NOTCH)),
                MouseEventKind::ScrollUp => Some(Self::Wheel(-NOTCH)),
                _ => None,
            },
            _ => None,
        }
    }

    fn of_key(key: KeyEvent) -> Option<Self> {
        Some(match key.code {
            KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => Self::Ctrl(c),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => Self::Char(c),
            KeyCode::F(1) => Self::Char('?'),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Esc,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab | KeyCode::BackTab => Self::Tab,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::MouseEvent;

    fn wheel(kind: MouseEventKind) -> Option<Key> {
        let modifiers = KeyModifiers::NONE;
        Key::of(&Event::Mouse(MouseEvent { kind, column: 3, row: 4, modifiers }))
    }

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        Key::of(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn the_wheel_scrolls_and_moves_of_the_mouse_mean_nothing() {
        assert_eq!(wheel(MouseEventKind::ScrollDown), Some(Key::Wheel(3)));
        assert_eq!(wheel(MouseEventKind::ScrollUp), Some(Key::Wheel(-3)));
        assert_eq!(wheel(MouseEventKind::Moved), None);
    }

    #[test]
    fn letters_are_told_from_control_and_alt() {
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), Some(Key::Char('c')));
        assert_eq!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Char('G')));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Ctrl('c')));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::F(1), KeyModifiers::NONE), Some(Key::Char('?')));
        assert_eq!(key(KeyCode::F(9), KeyModifiers::NONE), None);
    }
}
