//! Verdict: whether cards are scarce because of idle holders, or because there are too few.

use gua_store::CardTimes;
use serde::Serialize;

use super::session::LargestSessions;
use super::states::share;

/// Share of the card time above which the problem is allocation.
pub const THRESHOLD: f64 = 0.2;

/// Coverage and time below which figures rest on little. Less than an hour, as the last seconds are never
/// final yet.
const LITTLE_COVERAGE: f64 = 0.5;
const LITTLE_SECONDS: f64 = 3_000.0;

/// What the figures mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// A stable word for the rule.
    pub rule: &'static str,
    /// Share above which it is exceeded.
    pub threshold: f64,
    pub idle_held_share: Option<f64>,
    /// Null if it is not known.
    pub exceeded: Option<bool>,
    /// True if little was observed.
    pub rests_on_little: bool,
    pub sentence: String,
    /// The few sessions that make up most of the idle-held time.
    pub largest_sessions: Option<LargestSessions>,
}

impl Verdict {
    /// Judges the times of all cards. `coverage` is the observed part of the window.
    #[must_use]
    pub fn new(
        times: &CardTimes<f64>,
        observed_seconds: f64,
        coverage: Option<f64>,
        largest_sessions: Option<LargestSessions>,
    ) -> Self {
        let idle_held_share = share(times.idle_held_ms, times.observed_ms());
        let unknown = share(times.unknown_ms, times.observed_ms()).unwrap_or(0.0);
        let exceeded = idle_held_share.and_then(|idle_held| is_exceeded(idle_held, unknown));
        let mut sentence = idle_held_share.map_or_else(
            || "Nothing was observed in this window, so there is nothing to judge.".to_owned(),
            |idle_held| format_verdict(idle_held, unknown, exceeded),
        );
        let rests_on_little =
            idle_held_share.is_some() && is_little_observed(observed_seconds, coverage);
        if rests_on_little {
            sentence.push(' ');
            sentence.push_str(&format_doubt(observed_seconds, coverage));
        }
        Self {
            rule: "idle_held_share_over_threshold",
            threshold: THRESHOLD,
            idle_held_share,
            exceeded,
            rests_on_little,
            sentence,
            largest_sessions,
        }
    }
}

/// Returns true if so little was observed that figures say little.
pub(super) fn is_little_observed(observed_seconds: f64, coverage: Option<f64>) -> bool {
    observed_seconds < LITTLE_SECONDS || coverage.is_none_or(|coverage| coverage < LITTLE_COVERAGE)
}

/// Returns whether the threshold is exceeded. Unknown time may be idle-held too.
fn is_exceeded(idle_held: f64, unknown: f64) -> Option<bool> {
    if idle_held > THRESHOLD {
        return Some(true);
    }
    (idle_held + unknown <= THRESHOLD).then_some(false)
}

fn format_verdict(idle_held: f64, unknown: f64, exceeded: Option<bool>) -> String {
    let [idle_held, unknown, line] = [idle_held, unknown, THRESHOLD].map(format_percent);
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
             is unknown: it may or may not be over the {line} % line."
        ),
    }
}

fn format_doubt(observed_seconds: f64, coverage: Option<f64>) -> String {
    let observed = match observed_seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds => format!("{:.0} hours", seconds / 3600.0),
    };
    let of_window = coverage
        .map_or_else(String::new, |part| format!(", {} % of the window", format_percent(part)));
    format!("It rests on little: {observed}{of_window}.")
}

/// Formats a share with more decimals where fewer would make it look like the threshold itself.
fn format_percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.1".to_owned();
    }
    let distance = (share - THRESHOLD).abs();
    let decimals = if distance > 1e-9 && distance < 0.0005 { 4 } else { 1 };
    format!("{:.decimals$}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(active: f64, idle_held: f64, unknown: f64) -> Verdict {
        let times = CardTimes {
            active_ms: active,
            idle_held_ms: idle_held,
            unknown_ms: unknown,
            ..CardTimes::default()
        };
        Verdict::new(&times, 86_400.0, Some(1.0), None)
    }

    #[test]
    fn unknown_time_may_be_idle_held() {
        assert_eq!(verdict(79.0, 21.0, 0.0).exceeded, Some(true));
        assert_eq!(verdict(80.0, 20.0, 0.0).exceeded, Some(false));
        assert_eq!(verdict(79.9, 15.0, 5.1).exceeded, None);
        assert!(verdict(79.9, 15.0, 5.1).sentence.contains("at least 15.0 %"));
        assert_eq!(verdict(0.0, 0.0, 0.0).exceeded, None);
        assert!(verdict(79.99, 20.01, 0.0).sentence.contains("20.0100 %"));
    }

    /// Regression: 29 seconds of a week were "0.0 % of the window".
    #[test]
    fn small_share_is_not_none() {
        let shares = [0.0, 0.000_05, 0.0005, 0.25].map(format_percent);
        assert_eq!(shares, ["0.0", "<0.1", "0.1", "25.0"]);
        let doubt = format_doubt(29.0, Some(29.0 / 604_800.0));
        assert_eq!(doubt, "It rests on little: 29 seconds, <0.1 % of the window.");
    }
}
