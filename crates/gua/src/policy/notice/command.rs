//! A notice through a command of the administrator's own.

use std::time::Duration;

use super::{Letter, NotDelivered, run};
use crate::config::policy::Template;

/// Runs it. It says by its exit code whether the person was reached.
pub(super) fn deliver(
    words: &[Template],
    letter: &Letter,
    timeout: Duration,
) -> Result<(), NotDelivered> {
    let words: Vec<_> = words.iter().map(|word| letter.fields.fill(word)).collect();
    run(&words, b"", timeout)
}
