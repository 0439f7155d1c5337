//! `/proc/PID/status`: whose process it is.

/// The effective uid, which the signal and file rules go by.
#[must_use]
pub fn uid(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_uid_is_the_second() {
        let text = "Name:\tpython\nUmask:\t0022\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t2\t3\t4\n";
        assert_eq!(uid(text), Some(1001));
        assert_eq!(uid("Name:\tUid\n"), None);
        assert_eq!(uid("Uid:\t5\n"), None);
    }
}
