//! `/proc/loadavg`: the pid that was given out last.

/// The newest pid of our namespace, a thread's included.
#[must_use]
pub fn newest_pid(text: &str) -> Option<u32> {
    text.split_ascii_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_pid_is_the_fifth_word() {
        assert_eq!(newest_pid("0.09 0.33 0.67 2/81 20234\n"), Some(20_234));
        assert_eq!(newest_pid("0.09 0.33 0.67 2/81\n"), None);
        assert_eq!(newest_pid(""), None);
    }
}
