//! Everything that a command uses of its surroundings.

use std::fmt::{self, Display};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use gua_core::units::UnixMillis;
use jiff::Timestamp;
use scenario::Scenario;

use crate::cli::{Color, When};
use crate::env::Env;
use crate::terminal::{Terminal, columns_from_environment};
use crate::wrap::hung;

/// Returns the cursor to the begin of its line and clears the line.
pub const CLEARED: &str = "\r\x1b[K";

/// Prefix of each message; following lines are indented by its width.
const NAME: &str = "gua: ";

/// Surroundings of a command: those of this process, or fixed ones in a test.
pub struct Context<'a> {
    /// Data. It may be buffered: flush where a view is complete.
    pub out: &'a mut dyn Write,
    /// Messages.
    pub err: &'a mut dyn Write,
    pub env: Env,
    pub clock: Clock,
    pub stdout: Terminal,
    pub stderr: Terminal,
    pub cards: CardSource,
}

/// The wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    System,
    /// A clock that moves only when a command waits.
    Fixed(Timestamp),
}

/// A point in time that is not affected by a wall clock that is set.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    instant: Instant,
    at: Timestamp,
}

/// Where the cards are.
#[derive(Debug, Clone)]
pub enum CardSource {
    /// The driver of this host, or the one that the options name.
    Driver,
    /// A scenario whose `t = 0` is at `origin`.
    Simulated { scenario: Box<Scenario>, origin: UnixMillis },
}

impl Clock {
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Fixed(at) => at,
        }
    }

    #[must_use]
    pub fn unix_millis(self) -> UnixMillis {
        self.now().into()
    }

    /// Waits. A fixed clock is advanced instead.
    pub fn wait(&mut self, time: Duration) {
        match self {
            Self::System => thread::sleep(time),
            Self::Fixed(at) => *at = at.checked_add(time).unwrap_or(Timestamp::MAX),
        }
    }
}

impl Start {
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { instant: Instant::now(), at: clock.now() }
    }

    #[must_use]
    pub const fn instant(self) -> Instant {
        self.instant
    }

    /// Returns the present. A fixed clock has moved by what was waited for.
    #[must_use]
    pub fn now(self, clock: Clock) -> Instant {
        match clock {
            Clock::System => Instant::now(),
            Clock::Fixed(at) => {
                let passed = Duration::try_from(at.duration_since(self.at));
                self.instant + passed.unwrap_or_default()
            }
        }
    }

    #[must_use]
    pub fn elapsed(self, clock: Clock) -> Duration {
        self.now(clock).saturating_duration_since(self.instant)
    }
}

impl<'a> Context<'a> {
    /// Returns the surroundings of this process, with these streams for stdout and stderr.
    pub fn of_process(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self {
            out,
            err,
            env: Env::of_process(),
            clock: Clock::System,
            stdout: Terminal::Stdout,
            stderr: Terminal::Stderr,
            cards: CardSource::Driver,
        }
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Writes a message of one or several lines to stderr, with the name of the program. Lines are
    /// wrapped to a terminal's width. That nobody reads it is no error.
    pub fn say(&mut self, words: impl Display) {
        let words = format!("{NAME}{words}");
        let columns = || self.stderr.size().0.or_else(|| columns_from_environment(&self.env));
        let most = self.stderr.is_terminal().then(columns).flatten();
        let lines = words.lines().flat_map(|line| hung(line, NAME.len(), most));
        self.say_plainly(lines.fold(String::new(), |said, line| said + &line + "\n"));
    }

    /// Writes to stderr without a name before it and without a line end.
    pub fn say_plainly(&mut self, words: impl Display) {
        // One call of `write`, so that lines of several processes do not mix.
        let _ = self.err.write_all(words.to_string().as_bytes());
    }

    /// Returns what stdout can show.
    #[must_use]
    pub fn screen(&self, typed: &Color) -> Screen {
        Screen::new(self.stdout, &self.env, typed)
    }

    /// Returns what stderr can show.
    #[must_use]
    pub fn stderr_screen(&self, typed: &Color) -> Screen {
        Screen::new(self.stderr, &self.env, typed)
    }

    /// Returns the columns of stdout, for output without colors.
    #[must_use]
    pub fn columns(&self) -> Option<usize> {
        self.stdout.size().0.or_else(|| columns_from_environment(&self.env))
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clock, stdout, stderr, .. } = self;
        let mut shown = f.debug_struct("Context");
        shown.field("clock", clock).field("stdout", stdout).field("stderr", stderr);
        shown.finish_non_exhaustive()
    }
}

/// Colors and size of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    pub color: bool,
    pub is_terminal: bool,
    /// `None` where lines may be of any length.
    pub columns: Option<usize>,
    /// Rows of a terminal that can be drawn on; `None` where one line can only follow another.
    pub rows: Option<usize>,
}

impl Screen {
    fn new(terminal: Terminal, env: &Env, typed: &Color) -> Self {
        let is_terminal = terminal.is_terminal();
        // A terminal that does not say what it is understands no escape codes either.
        let is_dumb = env.get("TERM").is_none_or(|term| term == "dumb");
        let color = match (typed.no_color, typed.color) {
            (true, _) | (_, When::Never) => false,
            (_, When::Always) => true,
            (_, When::Auto) => is_terminal && env.get("NO_COLOR").is_none() && !is_dumb,
        };
        let (columns, rows) = if is_terminal { terminal.size() } else { (None, None) };
        Self {
            color,
            is_terminal,
            columns: columns.or_else(|| columns_from_environment(env)),
            rows: rows.filter(|_| !is_dumb),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: Color = Color { color: When::Auto, no_color: false };

    fn screen(terminal: Terminal, pairs: &[(&str, &str)]) -> Screen {
        Screen::new(terminal, &pairs.iter().copied().collect(), &AUTO)
    }

    #[test]
    fn screen_follows_terminal_and_environment() {
        let terminal = Terminal::Fixed { columns: 80, rows: 24 };
        let drawn = Screen { color: true, is_terminal: true, columns: Some(80), rows: Some(24) };
        assert_eq!(screen(terminal, &[("TERM", "xterm"), ("NO_COLOR", "")]), drawn);
        let plain = Screen { color: false, ..drawn };
        assert_eq!(screen(terminal, &[("TERM", "xterm"), ("NO_COLOR", "1")]), plain);
        let dumb = Screen { rows: None, ..plain };
        assert_eq!(screen(terminal, &[]), dumb);
        assert_eq!(screen(terminal, &[("TERM", "dumb")]), dumb);
        let piped = Screen { color: false, is_terminal: false, columns: Some(99), rows: None };
        assert_eq!(screen(Terminal::None, &[("COLUMNS", "99")]), piped);
    }

    #[test]
    fn messages_are_wrapped_to_the_terminal_only() {
        for (stderr, expected) in [
            (Terminal::None, "gua: one two three\n"),
            (Terminal::Fixed { columns: 12, rows: 24 }, "gua: one two\n     three\n"),
        ] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut context = Context { stderr, ..Context::of_process(&mut out, &mut err) };
            context.say("one two three");
            assert_eq!(String::from_utf8(err).unwrap(), expected);
        }
    }

    #[test]
    fn fixed_clock_moves_when_waiting() {
        let mut clock = Clock::Fixed(Timestamp::UNIX_EPOCH);
        let start = Start::new(clock);
        clock.wait(Duration::from_millis(1500));
        assert_eq!(start.elapsed(clock), Duration::from_millis(1500));
        assert_eq!(clock.unix_millis(), UnixMillis(1500));
        assert_eq!(clock.now(), Timestamp::from_millisecond(1500).unwrap());
    }
}
