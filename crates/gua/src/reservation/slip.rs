//! What stands in a reservation's file.

use std::fs;

use probe::proc::stat;
use probe::units::UnixMillis;

/// What may stand in it at most.
pub(super) const LONGEST_TEXT: usize = 200;
/// What nobody can ask for more than.
const LONGEST_MILLIS: i64 = 3_600_000;
/// How far ahead of now a clock may be that two processes read.
const JITTER_MILLIS: i64 = 2_000;

/// How long a card is given to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slip {
    pub made: UnixMillis,
    pub pid: u32,
    pub kind: Kind,
}

/// What ends a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A time.
    Until(UnixMillis),
    /// The end of the process that started then, in clock ticks since boot.
    Command { start_ticks: u64 },
}

impl Slip {
    /// For this process, which becomes the command; `None` where its start cannot be told, as
    /// nobody could tell then whether it still runs.
    #[must_use]
    pub fn of_command(made: UnixMillis) -> Option<Self> {
        let pid = std::process::id();
        Some(Self { made, pid, kind: Kind::Command { start_ticks: start_ticks(pid)? } })
    }

    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        let (kind, number) = match self.kind {
            Kind::Until(until) => ("until", until.0.to_string()),
            Kind::Command { start_ticks } => ("command", start_ticks.to_string()),
        };
        format!("gua 1 {} {} {kind} {number}\n", self.made.0, self.pid)
    }

    /// Reads it; `None` where it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        if (words.next()?, words.next()?) != ("gua", "1") {
            return None;
        }
        let made = UnixMillis(words.next()?.parse().ok()?);
        let pid = words.next()?.parse().ok()?;
        let kind = match (words.next()?, words.next()?) {
            ("until", at) => Kind::Until(UnixMillis(at.parse().ok()?)),
            ("command", ticks) => Kind::Command { start_ticks: ticks.parse().ok()? },
            _ => return None,
        };
        Some(Self { made, pid, kind })
    }

    /// Whether it still says something. A time that nobody may ask for, or that was written by
    /// another clock, says nothing: a card must not be lost to a slip.
    #[must_use]
    pub fn holds(&self, now: UnixMillis) -> bool {
        match self.kind {
            Kind::Until(until) => {
                let is_made = self.made.0 <= now.0.saturating_add(JITTER_MILLIS);
                let length = until.0.saturating_sub(self.made.0);
                is_made && length <= LONGEST_MILLIS && now < until
            }
            Kind::Command { start_ticks: since } => start_ticks(self.pid) == Some(since),
        }
    }
}

/// When a process started; `None` where it is gone or has only not been taken note of.
fn start_ticks(pid: u32) -> Option<u64> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let is_over = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty());
    stat::parse(&bytes).filter(|_| !is_over).map(|stat| stat.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn until(made: i64, until: i64) -> Slip {
        Slip { made: UnixMillis(made), pid: 7, kind: Kind::Until(UnixMillis(until)) }
    }

    #[test]
    fn a_time_holds_until_it_is_over() {
        let slip = until(100_000, 130_000);
        let holds = |now| slip.holds(UnixMillis(now));
        assert!(holds(100_000) && holds(129_999) && holds(99_000));
        assert!(!holds(130_000) && !holds(90_000), "over, or of another clock");
        assert!(!until(0, 3_600_001).holds(UnixMillis(5)), "longer than may be");
    }

    #[test]
    fn a_command_holds_while_it_runs() {
        let slip = Slip::of_command(UnixMillis(0)).unwrap();
        assert!(slip.holds(UnixMillis(i64::MAX)));
        let another = Slip { kind: Kind::Command { start_ticks: 1 }, ..slip };
        assert!(!another.holds(UnixMillis(0)));
        assert!(!Slip { pid: i32::MAX.cast_unsigned(), ..slip }.holds(UnixMillis(0)));
    }

    proptest! {
        #[test]
        fn it_comes_back_as_itself(made: i64, pid: u32, number: u64, is_command: bool) {
            let at = UnixMillis(number.cast_signed());
            let command = Kind::Command { start_ticks: number };
            let kind = if is_command { command } else { Kind::Until(at) };
            let slip = Slip { made: UnixMillis(made), pid, kind };
            prop_assert!(slip.text().len() < LONGEST_TEXT);
            prop_assert_eq!(Slip::parse(&slip.text()), Some(slip));
        }

        #[test]
        fn nothing_makes_it_fall_over(text in "\\PC*", now: i64) {
            if let Some(slip) = Slip::parse(&text) {
                let _ = slip.holds(UnixMillis(now));
            }
        }
    }
}
