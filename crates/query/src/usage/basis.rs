//! Rules by which the time of a window was classified.

use gua_core::Period;
use gua_store::StoredRun;
use jiff::Timestamp;
use serde::Serialize;

use super::answer::Host;

/// Rule and thresholds of the runs that recorded a stretch of the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Basis {
    pub from: Timestamp,
    pub to: Timestamp,
    /// How time was classified, in one sentence.
    pub rule: String,
    /// True if another program recorded it.
    pub imported: bool,
    #[serde(flatten)]
    pub thresholds: RuleThresholds,
}

/// Thresholds of a rule; null if they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RuleThresholds {
    /// Utilization from which on a card is active.
    pub active_percent: Option<f64>,
    /// Memory above which a card is held, in MB of 1024² bytes.
    pub held_mb: Option<u64>,
    /// Utilization from which on a holder works.
    pub worked_percent: Option<f64>,
}

impl RuleThresholds {
    fn new(run: &StoredRun) -> Self {
        let thresholds = &run.run.thresholds;
        // A rule without a threshold has 0 there.
        let percent = |percent: f64| (percent > 0.0).then_some(percent);
        Self {
            active_percent: percent(thresholds.active.0),
            held_mb: (!run.is_imported || thresholds.held.0 > 0).then_some(thresholds.held.0 >> 20),
            worked_percent: percent(thresholds.worked.0),
        }
    }
}

/// Returns the rules of a window in order of time. Runs that follow each other with one rule are one
/// stretch.
pub(super) fn basis(runs: &[StoredRun], window: Period) -> Vec<Basis> {
    let mut runs: Vec<_> = runs.iter().collect();
    runs.sort_by_key(|run| run.period());
    let mut basis: Vec<Basis> = Vec::new();
    for run in runs {
        let period = run.period().overlap(&window);
        if period.is_empty() {
            continue;
        }
        let thresholds = RuleThresholds::new(run);
        match basis.last_mut() {
            Some(last)
                if last.rule == run.run.rule
                    && last.thresholds == thresholds
                    && last.imported == run.is_imported =>
            {
                last.to = last.to.max(period.to.into());
            }
            _ => basis.push(Basis {
                from: period.from.into(),
                to: period.to.into(),
                rule: run.run.rule.clone(),
                imported: run.is_imported,
                thresholds,
            }),
        }
    }
    basis
}

/// Returns the host of the newest run in the window, else of the newest run.
pub(super) fn host(runs: &[StoredRun], window: Period) -> Option<Host> {
    let newest = |run: &&StoredRun| (run.run.started, run.id);
    let inside = runs.iter().filter(|run| !run.period().overlap(&window).is_empty());
    let run = inside.max_by_key(newest).or_else(|| runs.iter().max_by_key(newest))?;
    Some(Host { name: run.run.host.clone(), driver_version: run.run.driver.clone() })
}
