//! What the rules have done, as text: a line each.

use super::super::words::safe;
use super::{View, moment};
use crate::report::policy::log::{Line, Log};

/// The log as lines; one where there is nothing.
#[must_use]
pub fn lines(log: &Log, view: &View) -> Vec<String> {
    if log.deeds.is_empty() {
        let from = moment(log.from_unix_ms, &view.zone);
        return vec![format!("The rules have done nothing since {from}.")];
    }
    log.deeds.iter().map(|deed| line(deed, view)).collect()
}

fn line(deed: &Line, view: &View) -> String {
    let at = moment(deed.at_unix_ms, &view.zone);
    let whose = deed.pid.map(|pid| {
        let program = deed.program.as_deref().map_or("?".to_owned(), safe);
        let user = deed.user.as_deref().map_or("unattributed".to_owned(), safe);
        format!("{program} {pid} of {user}: ")
    });
    let rule = deed.rule.as_ref().map(|rule| format!("  [{}]", safe(rule)));
    let (whose, rule) = (whose.unwrap_or_default(), rule.unwrap_or_default());
    format!("{at}  {whose}{}{rule}", safe(&deed.detail))
}
