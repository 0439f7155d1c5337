//! What a key does: to the state, and what it asks of the world.

use super::holding::{Column, Order};
use super::key::Key;
use super::signal::{Signal, Target};
use super::state::{Cursor, Focus, Mode, Scroll, State};

/// What is to be done besides showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    None,
    Quit,
    /// Let the shell have the terminal, until we are called back.
    Suspend,
    Send(Target, Signal),
}

/// More than any list is long.
const FAR: isize = isize::MAX;

/// Takes a key.
pub fn press(state: &mut State, key: Key) -> Action {
    state.message = None;
    match key {
        Key::Ctrl('c') => return Action::Quit,
        Key::Ctrl('z') => return Action::Suspend,
        _ => {}
    }
    match state.mode.clone() {
        Mode::List => in_the_list(state, key),
        Mode::Filter { before } => in_the_filter(state, key, before),
        Mode::Details { of, scroll } => {
            let scrolled = scrolled(scroll, key);
            state.mode = scrolled.map_or(Mode::List, |scroll| Mode::Details { of, scroll });
            Action::None
        }
        Mode::Help { scroll } => {
            let scrolled = scrolled(scroll, key);
            state.mode = scrolled.map_or(Mode::List, |scroll| Mode::Help { scroll });
            Action::None
        }
        Mode::Signal { target, choice, is_asked } => {
            let (mode, action) = if is_asked {
                (Mode::List, answered(state, key, target, choice))
            } else {
                choosing(key, target, choice)
            };
            state.mode = mode;
            action
        }
    }
}

fn in_the_list(state: &mut State, key: Key) -> Action {
    if let Some(by) = steps(key, page(state)) {
        go(state, by);
        return Action::None;
    }
    match key {
        Key::Char('q') => return Action::Quit,
        // It closes what is open, and never the view: that takes q or Ctrl-C.
        Key::Esc => {
            state.choice.text.clear();
            state.arrange();
        }
        Key::Left | Key::Char('h') => state.focus = Focus::Cards,
        Key::Right | Key::Char('l') => state.focus = Focus::Holders,
        Key::Tab => {
            let is_cards = state.focus == Focus::Cards;
            state.focus = if is_cards { Focus::Holders } else { Focus::Cards };
        }
        Key::Enter => open_details(state),
        Key::Char(letter) => typed(state, letter),
        _ => {}
    }
    Action::None
}

fn typed(state: &mut State, letter: char) {
    match letter {
        '?' => state.mode = Mode::Help { scroll: Scroll::default() },
        '/' => {
            state.focus = Focus::Holders;
            state.mode = Mode::Filter { before: state.choice.text.clone() };
        }
        'p' | ' ' => state.pause(),
        'x' => ask_for_a_signal(state),
        '+' | '=' => state.zoom(-1),
        '-' => state.zoom(1),
        't' => state.is_tree = !state.is_tree,
        'g' => state.choice.hides_graphics = !state.choice.hides_graphics,
        'o' => {
            let own = state.settings.uid;
            state.choice.only_of = if state.choice.only_of.is_some() { None } else { Some(own) };
        }
        'c' => sort(state, Column::Card),
        'm' => sort(state, Column::Memory),
        's' => sort(state, Column::Sm),
        'i' => sort(state, Column::Idle),
        'u' => sort(state, Column::User),
        'r' => sort(state, Column::RunTime),
        _ => return,
    }
    state.arrange();
}

/// By another column, or by the same one the other way round.
fn sort(state: &mut State, by: Column) {
    let is_reversed = state.order.by == by && !state.order.is_reversed;
    state.order = Order { by, is_reversed };
}

fn in_the_filter(state: &mut State, key: Key, before: String) -> Action {
    match key {
        Key::Char(c) => state.choice.text.push(c),
        Key::Backspace => {
            state.choice.text.pop();
        }
        Key::Ctrl('u') => state.choice.text.clear(),
        Key::Enter => state.mode = Mode::List,
        Key::Esc => {
            state.choice.text = before;
            state.mode = Mode::List;
        }
        // The line below may be chosen while the filter is typed.
        key => {
            if let Some(by) = steps(key, page(state)) {
                go(state, by);
            }
        }
    }
    state.arrange();
    Action::None
}

/// How many lines a key goes down.
fn steps(key: Key, page: usize) -> Option<isize> {
    let page = isize::try_from(page.saturating_sub(1).max(1)).unwrap_or(FAR);
    Some(match key {
        Key::Up | Key::Char('k') => -1,
        Key::Down | Key::Char('j') => 1,
        Key::PageUp => -page,
        Key::PageDown => page,
        Key::Home => -FAR,
        Key::End => FAR,
        Key::Wheel(by) => by,
        _ => return None,
    })
}

fn page(state: &State) -> usize {
    match state.focus {
        Focus::Cards => state.cards.page,
        Focus::Holders => state.holders.page,
    }
}

fn go(state: &mut State, by: isize) {
    let (cards, lines) = (state.card_count(), state.lines.len());
    let (cursor, count): (&mut Cursor, _) = match state.focus {
        Focus::Cards => (&mut state.cards, cards),
        Focus::Holders => (&mut state.holders, lines),
    };
    cursor.go(by, count);
    state.choose();
}

fn open_details(state: &mut State) {
    if let Some(of) = state.subject() {
        state.choose();
        state.mode = Mode::Details { of, scroll: Scroll::default() };
    }
}

/// Where a text is scrolled to, or `None` when it is closed.
fn scrolled(scroll: Scroll, key: Key) -> Option<Scroll> {
    const PAGE: usize = 10;
    match (steps(key, PAGE), key) {
        (Some(by), _) => Some(scroll.by(by)),
        (None, Key::Esc | Key::Enter | Key::Char('q' | '?')) => None,
        (None, _) => Some(scroll),
    }
}

fn ask_for_a_signal(state: &mut State) {
    match target(state) {
        Ok(target) => {
            state.choose();
            state.mode = Mode::Signal { target, choice: Signal::Term, is_asked: false };
        }
        Err(why) => state.message = Some(why.to_string()),
    }
}

/// Why a signal can go to nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NoTarget {
    #[error("choose a holder first: l or the right arrow goes to them")]
    InTheCards,
    #[error("there is no holder to send a signal to")]
    Nobody,
    #[error("this machine is a pretend one: there is no process to send it to")]
    Pretend,
    #[error("process {0} cannot be seen from here")]
    Unseen(u32),
    #[error("process {pid} is {user}'s: only they and root may do that")]
    AnothersOwn { pid: u32, user: String },
}

/// Who the signal would go to, or why to nobody.
fn target(state: &State) -> Result<Target, NoTarget> {
    const ROOT: u32 = 0;
    if state.focus == Focus::Cards {
        return Err(NoTarget::InTheCards);
    }
    let holding = state.holding().ok_or(NoTarget::Nobody)?;
    let (pid, uid) = (holding.key.pid, state.settings.uid);
    if state.settings.is_pretend {
        return Err(NoTarget::Pretend);
    }
    let start_ticks = holding.key.start_ticks.filter(|_| holding.is_here);
    let start_ticks = start_ticks.ok_or(NoTarget::Unseen(pid))?;
    if uid != ROOT && holding.owner_uid != Some(uid) {
        return Err(NoTarget::AnothersOwn { pid, user: holding.user.clone() });
    }
    let (program, user) = (holding.program.clone(), holding.user.clone());
    Ok(Target { pid, start_ticks, program, user })
}

fn choosing(key: Key, target: Target, choice: Signal) -> (Mode, Action) {
    let ask = |target, choice| Mode::Signal { target, choice, is_asked: true };
    let place = Signal::ALL.iter().position(|signal| *signal == choice).unwrap_or(0);
    let at = |place: usize| Signal::ALL.get(place).copied().unwrap_or(choice);
    let mode = match key {
        Key::Enter => ask(target, choice),
        Key::Char(digit @ '1'..='3') => {
            ask(target, at(usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0)))
        }
        Key::Esc | Key::Char('q' | 'n') => Mode::List,
        key => {
            let by = steps(key, 1).unwrap_or(0);
            let choice = at(place.saturating_add_signed(by).min(Signal::ALL.len() - 1));
            Mode::Signal { target, choice, is_asked: false }
        }
    };
    (mode, Action::None)
}

/// Only a plain yes sends it.
fn answered(state: &mut State, key: Key, target: Target, signal: Signal) -> Action {
    if matches!(key, Key::Char('y' | 'Y')) {
        return Action::Send(target, signal);
    }
    state.message = Some("nothing was sent".to_owned());
    Action::None
}
