//! What the rules have done, as text: a line each.

use super::super::paint::Ink;
use super::super::words::safe;
use super::{View, second, window};
use crate::report::policy::log::{Line, Log};

/// The log as lines, below one that tells which time it is of.
#[must_use]
pub fn lines(log: &Log, view: &View) -> Vec<String> {
    let time = window(log.from_unix_ms, log.until_unix_ms, &view.zone);
    let headline = match log.deeds.is_empty() {
        true => format!("{time}: the rules have done nothing"),
        false => format!("{time}: what the rules did"),
    };
    let headline = view.paint.text(Ink::Strong, &headline);
    std::iter::once(headline).chain(log.deeds.iter().map(|deed| line(deed, view))).collect()
}

fn line(deed: &Line, view: &View) -> String {
    let at = second(deed.at_unix_ms, &view.zone);
    let whose = deed.pid.map(|pid| {
        let program = deed.program.as_deref().map_or("?".to_owned(), safe);
        let user = deed.user.as_deref().map_or("unattributed".to_owned(), safe);
        format!("{program} {pid} of {user}: ")
    });
    let rule = deed.rule.as_ref().map(|rule| format!("  [{}]", safe(rule)));
    let (whose, rule) = (whose.unwrap_or_default(), rule.unwrap_or_default());
    format!("{at}  {whose}{}{rule}", safe(&deed.detail))
}
