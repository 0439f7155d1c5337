//! The live view: what `gua top` shows on a whole screen.
//!
//! # Layout
//!
//! What happens comes in as events; a state is made of it; the state is drawn. Everything in
//! between is pure, so that keys and frames are tested without a terminal.
//!
//! | module | what it holds |
//! |---|---|
//! | `source` | where looks come from: the driver, or a machine that does not exist |
//! | `look` | one look, with what the host says of the holders |
//! | `past` | the last hour of the graphs, from the record |
//! | `event` | looks, keys and signals, each from a thread of its own |
//! | `key`, `input` | what was pressed, and what it does |
//! | `state` | what is shown |
//! | `series` | the last hour of each card |
//! | `holding`, `tree` | the list of holders: sorted, filtered, as a tree |
//! | `draw` | the state on a screen of any size |
//! | `screen` | the terminal, given back however the program ends |
//! | `signal` | a signal to the process that was chosen, and to no other |

mod draw;
mod event;
mod holding;
mod input;
mod key;
mod look;
mod past;
mod screen;
mod series;
mod signal;
mod source;
mod state;
mod tree;

#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::low_level;

pub use draw::Theme;
pub use event::ReadPast;
pub use look::Look;
pub use past::Past;
pub use screen::Screen;
pub use source::{AddRecord, Completion, Machine, Played, Source};
pub use state::Settings;

use self::event::Event;
use self::input::Action;
use self::state::{Remembers, State};
use crate::failure::Failure;

/// How long a look is waited for before the screen is taken over: most come at once, and one
/// that fails is better told in the shell.
const BEFORE_THE_SCREEN: Duration = Duration::from_millis(300);

/// Shows the view until it is left.
///
/// # Errors
/// When there is no terminal, or nothing to look at.
pub fn run(
    settings: Settings,
    theme: Theme,
    source: Box<dyn Source>,
    past: Option<ReadPast>,
) -> Result<(), Failure> {
    let (tell, events) = event::watch(source, settings.every, past)?;
    event::catch_signals(tell.clone())?;
    let mut view = View { state: State::new(settings), theme, ending: None };
    view.wait_for_the_first(&events)?;
    if view.ending.is_none() {
        // Settled by us already, the environment included.
        crossterm::style::force_color_output(view.theme.color);
        let mut screen = Screen::enter()?;
        event::read_keys(tell)?;
        view.show(&mut screen, &events)?;
    }
    match view.ending {
        // As if it had not been caught.
        Some(Ending::Signal(signal)) => Ok(low_level::emulate_default_handler(signal)?),
        _ => Ok(()),
    }
}

/// The state, and whether it is still shown.
struct View {
    state: State,
    theme: Theme,
    ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Quit,
    Signal(i32),
}

/// What the screen has to do after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Nothing,
    Draw,
    Suspend,
    TakeAgain,
}

impl View {
    fn wait_for_the_first(&mut self, events: &Receiver<Event>) -> Result<(), Failure> {
        let deadline = Instant::now() + BEFORE_THE_SCREEN;
        while self.state.look.is_none() && self.ending.is_none() {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => drop(self.take(event)?),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Draws when something has changed, and sleeps in between.
    fn show(&mut self, screen: &mut Screen, events: &Receiver<Event>) -> Result<(), Failure> {
        screen.draw(&mut self.state, self.theme)?;
        while self.ending.is_none() {
            let Ok(first) = events.recv() else { return Ok(()) };
            let mut is_changed = false;
            for event in std::iter::once(first).chain(events.try_iter()) {
                match self.take(event)? {
                    Next::Nothing => {}
                    Next::Draw => is_changed = true,
                    Next::Suspend => {
                        screen.lend();
                        low_level::emulate_default_handler(SIGTSTP)?;
                        screen.take_again()?;
                        is_changed = true;
                    }
                    Next::TakeAgain => {
                        screen.take_again()?;
                        is_changed = true;
                    }
                }
                if self.ending.is_some() {
                    return Ok(());
                }
            }
            if is_changed {
                screen.draw(&mut self.state, self.theme)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, event: Event) -> Result<Next, Failure> {
        Ok(match event {
            Event::Look(look) => {
                self.state.see(*look);
                if self.state.is_paused { Next::Nothing } else { Next::Draw }
            }
            Event::Past(past) => {
                match past {
                    Ok(past) => self.state.remember(past),
                    Err(failure) => self.state.remembers = Remembers::not(&failure),
                }
                Next::Draw
            }
            Event::Resized => Next::Draw,
            Event::Key(key) => self.press(key),
            Event::Signal(SIGTSTP) => Next::Suspend,
            Event::Signal(SIGCONT) => Next::TakeAgain,
            Event::Signal(signal) => {
                self.ending = Some(Ending::Signal(signal));
                Next::Nothing
            }
            Event::Failed(failure) => return Err(failure),
            Event::InputEnded => {
                self.ending = Some(Ending::Quit);
                Next::Nothing
            }
        })
    }

    fn press(&mut self, key: key::Key) -> Next {
        match input::press(&mut self.state, key) {
            Action::None => Next::Draw,
            Action::Quit => {
                self.ending = Some(Ending::Quit);
                Next::Nothing
            }
            Action::Suspend => Next::Suspend,
            Action::Send(target, signal) => {
                let (pid, name) = (target.pid, signal.name());
                self.state.message = Some(match signal::send(&target, signal) {
                    Ok(()) => format!("{name} was sent to {pid} ({})", target.program),
                    Err(why) => format!("{name} was not sent to {pid}: {why}"),
                });
                Next::Draw
            }
        }
    }
}
