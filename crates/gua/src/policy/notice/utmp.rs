//! `/run/utmp`: who is logged in on which terminal.

/// The size of a record, and where things are in it: the same on all 64-bit Linux hosts.
const RECORD: usize = 384;
const LINE: std::ops::Range<usize> = 8..40;
const USER: std::ops::Range<usize> = 44..76;
/// A login, among boots and other things.
const USER_PROCESS: i16 = 7;

/// Somebody at a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// Below `/dev`.
    pub line: String,
}

/// Every login.
#[must_use]
pub fn parse(bytes: &[u8]) -> Vec<Login> {
    bytes.chunks_exact(RECORD).filter_map(login).collect()
}

fn login(record: &[u8]) -> Option<Login> {
    let kind = i16::from_le_bytes(*record.first_chunk()?);
    let login = Login { user: text(record.get(USER)?), line: text(record.get(LINE)?) };
    (kind == USER_PROCESS && !login.line.is_empty()).then_some(login)
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(field.get(..end).unwrap_or(field)).into_owned()
}

#[cfg(test)]
pub(super) fn record(kind: i16, user: &str, line: &str) -> Vec<u8> {
    let mut record = vec![0; RECORD];
    record[..2].copy_from_slice(&kind.to_le_bytes());
    record[LINE][..line.len()].copy_from_slice(line.as_bytes());
    record[USER][..user.len()].copy_from_slice(user.as_bytes());
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logins_are_told_from_the_rest() {
        let mut file = record(2, "reboot", "~");
        file.extend(record(USER_PROCESS, "ann", "pts/3"));
        file.extend(record(8, "bob", "pts/4"));
        file.extend([7, 0, 0]);
        let ann = Login { user: "ann".into(), line: "pts/3".into() };
        assert_eq!(parse(&file), [ann]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..1200)) {
            let _ = parse(&bytes);
        }
    }
}
