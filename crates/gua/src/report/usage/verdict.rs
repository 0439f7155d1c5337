//! Is it a matter of allocation, or of too few cards?

use serde::Serialize;

use super::session::Culprits;
use super::times::{Times, share};

/// Above this share of the card time, what is missing is not hardware.
pub const LINE: f64 = 0.2;

/// Less than this share of the window is little to rest on, and so is much less than an
/// hour. Not a whole one: of the last hour, the last seconds are never observed yet.
const LITTLE_COVERAGE: f64 = 0.5;
const LITTLE_SECONDS: f64 = 3_000.0;

/// What the figures mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// A stable word for the rule.
    pub rule: &'static str,
    /// The share above which it is exceeded.
    pub threshold: f64,
    pub idle_held_share: Option<f64>,
    /// Null where it cannot be told.
    pub exceeded: Option<bool>,
    /// Whether little was observed.
    pub rests_on_little: bool,
    pub sentence: String,
    /// The few sessions that make up most of it; null where there are none, or they are not known.
    pub culprits: Option<Culprits>,
}

/// How much the figures rest on.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Basis {
    pub seconds: f64,
    /// Of the window.
    pub coverage: Option<f64>,
}

pub(in crate::report) fn verdict(times: Times, basis: Basis) -> Verdict {
    let idle_held_share = share(times.idle_held, times.all());
    let unknown = share(times.unknown, times.all()).unwrap_or(0.0);
    let is_little =
        basis.seconds < LITTLE_SECONDS || basis.coverage.is_none_or(|part| part < LITTLE_COVERAGE);
    let exceeded = idle_held_share.and_then(|idle_held| exceeded(idle_held, unknown));
    let mut sentence = idle_held_share.map_or_else(
        || "Nothing was observed in this window, so there is nothing to judge.".to_owned(),
        |idle_held| sentence(idle_held, unknown, exceeded),
    );
    let rests_on_little = idle_held_share.is_some() && is_little;
    if rests_on_little {
        sentence.push(' ');
        sentence.push_str(&doubt(basis));
    }
    Verdict {
        rule: "idle_held_share_over_threshold",
        threshold: LINE,
        idle_held_share,
        exceeded,
        rests_on_little,
        sentence,
        culprits: None,
    }
}

/// What is not known may be idle-held too.
fn exceeded(idle_held: f64, unknown: f64) -> Option<bool> {
    if idle_held > LINE {
        return Some(true);
    }
    (idle_held + unknown <= LINE).then_some(false)
}

fn sentence(idle_held: f64, unknown: f64, exceeded: Option<bool>) -> String {
    let [idle_held, unknown, line] = [idle_held, unknown, LINE].map(percent);
    let line = line.trim_end_matches(".0");
    match exceeded {
        Some(true) => format!(
            "Idle-held is {idle_held} % of the observed card time, over the {line} % line: \
             a matter of allocation, not of too few cards."
        ),
        Some(false) => format!(
            "Idle-held is {idle_held} % of the observed card time, not over the {line} % line: \
             idle holders are not what makes cards scarce."
        ),
        None => format!(
            "Idle-held is at least {idle_held} % of the observed card time, but {unknown} % of it \
             is unknown: whether it is over the {line} % line cannot be told."
        ),
    }
}

fn doubt(basis: Basis) -> String {
    let observed = match basis.seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds => format!("{:.0} hours", seconds / 3600.0),
    };
    let of_window = basis
        .coverage
        .map_or_else(String::new, |coverage| format!(", {} % of the window", percent(coverage)));
    format!("It rests on little: {observed}{of_window}.")
}

/// With more decimals where fewer would make it look like the line itself.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.1".to_owned();
    }
    let is_the_line = (share - LINE).abs() < 1e-9;
    let is_near = !is_the_line && (share - LINE).abs() < 0.0005;
    let decimals = if is_near { 4 } else { 1 };
    format!("{:.decimals$}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: 29 seconds of a week were "0.0 % of the window".
    #[test]
    fn a_small_share_is_not_none() {
        assert_eq!([0.0, 0.000_05, 0.0005, 0.25].map(percent), ["0.0", "<0.1", "0.1", "25.0"]);
        let basis = Basis { seconds: 29.0, coverage: Some(29.0 / 604_800.0) };
        assert_eq!(doubt(basis), "It rests on little: 29 seconds, <0.1 % of the window.");
    }
}
