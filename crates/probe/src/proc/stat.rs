//! `/proc/PID/stat`: the line of a process, and what is read from it; and the boot time in
//! `/proc/stat`.

use std::str::FromStr;
use std::time::Duration;

use crate::units::Bytes;

/// Field of the line, by its place after the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    State = 0,
    Parent = 1,
    Terminal = 4,
    Flags = 6,
    MinorFaults = 7,
    ChildMinorFaults = 8,
    MajorFaults = 9,
    ChildMajorFaults = 10,
    UserTicks = 11,
    SystemTicks = 12,
    ChildUserTicks = 13,
    ChildSystemTicks = 14,
    StartTicks = 19,
    ResidentPages = 21,
}

/// Number of fields that are read.
const FIELDS: usize = Field::ResidentPages as usize + 1;

/// Line of `/proc/PID/stat`, split into its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatLine<'a> {
    name: &'a [u8],
    /// Empty after the end of the line.
    fields: [&'a str; FIELDS],
}

impl<'a> StatLine<'a> {
    /// Parses the line; `None` if it is not one. The name of a process may contain parentheses and
    /// blanks, so it ends at the last parenthesis.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
        let (before, rest) = bytes.split_at(name_end);
        let name_begin = before.iter().position(|byte| *byte == b'(')? + 1;
        let rest = str::from_utf8(rest.get(1..)?).ok()?;
        let mut fields = [""; FIELDS];
        for (place, field) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
            *place = field;
        }
        Some(Self { name: before.get(name_begin..)?, fields })
    }

    /// Returns the name of the process, which need not be UTF-8.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// Returns a field as text; empty if it is missing.
    #[must_use]
    pub fn text(&self, field: Field) -> &'a str {
        self.fields.get(field as usize).copied().unwrap_or_default()
    }

    /// Returns a field as a number; `None` if it is missing or not a number.
    #[must_use]
    pub fn number<T: FromStr>(&self, field: Field) -> Option<T> {
        self.text(field).parse().ok()
    }

    /// Returns the sum of several fields.
    #[must_use]
    pub fn sum(&self, fields: &[Field]) -> Option<u64> {
        fields.iter().try_fold(0_u64, |sum, field| Some(sum.saturating_add(self.number(*field)?)))
    }
}

/// Facts that identify a process and place it in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub comm: String,
    /// True if it has ended and its parent has not waited for it.
    pub is_ended: bool,
    pub parent: u32,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

/// Parses a stat line; `None` if it is not one.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<ProcessStat> {
    let line = StatLine::parse(bytes)?;
    Some(ProcessStat {
        comm: String::from_utf8_lossy(line.name()).into_owned(),
        is_ended: matches!(line.text(Field::State), "Z" | "X"),
        parent: line.number(Field::Parent)?,
        start_ticks: line.number(Field::StartTicks)?,
    })
}

/// Returns the boot time in seconds since the Unix epoch, from the whole `/proc/stat`.
#[must_use]
pub fn boot_seconds(text: &str) -> Option<i64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Processor time and memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Start in clock ticks since boot, which identifies the process.
    pub start_ticks: u64,
    /// Processor time since the start.
    pub cpu: Duration,
    /// Resident memory, with shared pages.
    pub resident: Bytes,
}

impl ProcessUsage {
    /// Parses a stat line; `None` if it is not one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let line = StatLine::parse(bytes)?;
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let cpu_ticks = line.sum(&[Field::UserTicks, Field::SystemTicks])?;
        let pages: u64 = line.number(Field::ResidentPages)?;
        Some(Self {
            start_ticks: line.number(Field::StartTicks)?,
            cpu: Duration::from_millis(cpu_ticks.saturating_mul(1000) / per_second),
            resident: Bytes(pages.saturating_mul(page)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line =
            StatLine::parse(b"7 (a) S 1 (\xffb) Z 17 7 7 34816 7 0 5 6 7 8 1 2 3 4\n").unwrap();
        assert_eq!(line.name(), b"a) S 1 (\xffb");
        assert_eq!((line.text(Field::State), line.number(Field::Parent)), ("Z", Some(17)));
        assert_eq!(line.number(Field::Terminal), Some(34_816));
        assert_eq!(line.sum(&[Field::ChildMinorFaults, Field::ChildMajorFaults]), Some(6 + 8));
        assert_eq!(line.sum(&[Field::UserTicks, Field::ChildSystemTicks]), Some(1 + 4));
    }

    #[test]
    fn what_is_not_there_is_no_figure() {
        let line = StatLine::parse(b"7 (a) S x").unwrap();
        assert_eq!(line.text(Field::StartTicks), "");
        assert_eq!(line.number::<u64>(Field::StartTicks), None);
        assert_eq!(line.number::<u32>(Field::Parent), None);
        assert_eq!(line.sum(&[Field::UserTicks]), None);
        for no_line in [&b""[..], b")", b"(", b") (", b"7 a S 1", b"7 (a) \xff"] {
            assert_eq!(StatLine::parse(no_line), None);
        }
    }

    /// A capture, with a name that tries to look like the rest of the line.
    const CAPTURE: &[u8] = b"4242 (py) S 1 (thon) S 17 4242 4242 34816 4242 4194304 5 0 0 0 7 3 0 0 \
        20 0 4 0 777123 11223344 900 18446744073709551615 1 1 0 0 0 0 0 16781312 16386 0 0 0 17 1 0 \
        0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_process_has_the_fields_behind_its_name() {
        let stat = parse(CAPTURE).unwrap();
        assert_eq!((stat.comm.as_str(), stat.is_ended), ("py) S 1 (thon", false));
        assert!(parse(b"7 (a) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0").unwrap().is_ended);
        assert_eq!((stat.parent, stat.start_ticks), (17, 777_123));
    }

    #[test]
    fn our_own_stat_can_be_read() {
        let stat = parse(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert_eq!(stat.parent, std::os::unix::process::parent_id());
        assert!(stat.start_ticks > 0);
    }

    #[test]
    fn the_boot_time_is_found_among_the_counters() {
        assert_eq!(
            boot_seconds("cpu  1 2 3\nintr 5\nctxt 1\nbtime 1763200000\n"),
            Some(1_763_200_000)
        );
        assert_eq!(boot_seconds("cpu 1\n"), None);
    }

    #[test]
    fn time_and_memory_are_found_behind_any_name() {
        let line =
            b"4242 (py) S 1 (thon) S 17 4242 4242 34816 4242 4194304 5 0 0 0 7 3 0 0 20 0 4 \
            0 777123 11223344 900 18446744073709551615 1 1 0 0 0\n";
        let per_second = rustix::param::clock_ticks_per_second();
        let page = u64::try_from(rustix::param::page_size()).unwrap();
        let expected = ProcessUsage {
            start_ticks: 777_123,
            cpu: Duration::from_millis(10_000 / per_second),
            resident: Bytes(900 * page),
        };
        assert_eq!(ProcessUsage::parse(line), Some(expected));
        assert_eq!(ProcessUsage::parse(b"1 (x) S 1 2 3"), None);
        assert_eq!(ProcessUsage::parse(b""), None);
    }

    #[test]
    fn our_own_memory_is_not_nothing() {
        let usage = ProcessUsage::parse(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(usage.resident.0 > 0);
    }
}
