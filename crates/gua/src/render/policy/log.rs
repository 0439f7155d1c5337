//! What the rules have done, as text: a line each.

use super::super::paint::Ink;
use super::super::words::safe;
use super::{View, said, second, window};
use crate::report::policy::log::{Line, Log};
use crate::wrap::hung;

/// The log as lines, below one that tells which time it is of.
#[must_use]
pub fn lines(log: &Log, view: &View) -> Vec<String> {
    let time = window(log.from_unix_ms, log.until_unix_ms, &view.zone);
    let headline = match log.deeds.is_empty() {
        true => format!("{time}: the rules have done nothing"),
        false => format!("{time}: what the rules did"),
    };
    let mut lines = said(&headline, Ink::Strong, view);
    for deed in &log.deeds {
        let at = second(deed.at_unix_ms, &view.zone);
        lines.extend(hung(&format!("{at}  {}", what(deed)), at.len(), view.width));
    }
    lines
}

fn what(deed: &Line) -> String {
    let whose = deed.pid.map(|pid| {
        let program = deed.program.as_deref().map_or("?".to_owned(), safe);
        let user = deed.user.as_deref().map_or("unattributed".to_owned(), safe);
        format!("{program} {pid} of {user}: ")
    });
    let rule = deed.rule.as_ref().map(|rule| format!("  [{}]", safe(rule)));
    let (whose, rule) = (whose.unwrap_or_default(), rule.unwrap_or_default());
    format!("{whose}{}{rule}", safe(&deed.detail))
}
