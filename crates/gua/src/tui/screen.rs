//! The terminal, taken over and given back as it was, however the program ends.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use super::draw::{self, Theme};
use super::state::State;

/// Buttons and the wheel only. Moves of the mouse would wake us up for nothing.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";
/// A frame is sent in one go.
const FRAME: usize = 1 << 16;

/// Whether the terminal is ours now. One for the process, as the terminal is.
static IS_OURS: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The screen while it is ours. Given back when dropped, and before a panic is told.
#[derive(Debug)]
pub struct Screen {
    terminal: Whole,
}

type Whole = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

fn terminal() -> io::Result<Whole> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(FRAME, io::stdout())))
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none.
    pub fn enter() -> io::Result<Self> {
        HOOK.call_once(give_back_before_a_panic_is_told);
        let terminal = terminal()?;
        take()?;
        Ok(Self { terminal })
    }

    /// Draws a frame: only what has changed is sent.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, state: &mut State, theme: Theme) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let area: Rect = frame.area();
            draw::draw(state, theme, area, frame.buffer_mut());
        })?;
        Ok(())
    }

    /// Lets the shell have it for a while.
    pub fn lend(&mut self) {
        give_back();
    }

    /// Takes it again. What it shows by now is not known.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn take_again(&mut self) -> io::Result<()> {
        // The modes may have been changed, also by who did not ask us.
        give_back();
        // A new one, which knows of nothing that is on the screen. Clearing the one that is
        // there asks for the cursor's place, and the answer would be taken for keys.
        self.terminal = terminal()?;
        take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    // Said first, so that what was done half is undone.
    IS_OURS.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| {
        let mut out = io::stdout().lock();
        execute!(out, EnterAlternateScreen, Clear(ClearType::All), cursor::Hide)?;
        out.write_all(MOUSE_ON)?;
        out.flush()
    });
    if taken.is_err() {
        give_back();
    }
    taken
}

/// Does nothing where it is not ours. What fails is passed over: there is nothing left to
/// show it on.
fn give_back() {
    if IS_OURS.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(MOUSE_OFF);
        let _ = execute!(out, cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// On any thread: what it says would be lost on a screen that is about to go.
fn give_back_before_a_panic_is_told() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}
