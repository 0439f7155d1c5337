//! `[retention]`: how long what was recorded is kept.

use std::time::Duration;

use super::origin::{Origin, Setting};
use super::section::{self, Visit};
use super::value::{Age, Value};
use crate::cli::KeepOptions;
use crate::failure::Failure;

const DAY: Duration = Duration::from_secs(86_400);

/// How long rows of each kind are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Exact spans, before they are summed up as quarter hours.
    pub exact: Duration,
    /// Quarter hours.
    pub quarters: Duration,
    /// Hours, sessions, gaps and events.
    pub hours: Duration,
    /// Samples for plots.
    pub samples: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { exact: DAY * 2, quarters: DAY * 30, hours: DAY * 400, samples: DAY * 7 }
    }
}

impl From<Retention> for gua_store::Retention {
    fn from(kept: Retention) -> Self {
        let millis = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Self {
            exact_ms: millis(kept.exact),
            quarters_ms: millis(kept.quarters),
            hours_ms: millis(kept.hours),
            samples_ms: millis(kept.samples),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub exact: Setting<Age>,
    pub quarters: Setting<Age>,
    pub hours: Setting<Age>,
    pub samples: Setting<Age>,
}

impl Section {
    pub fn usual() -> Self {
        let Retention { exact, quarters, hours, samples } = Retention::default();
        Self {
            exact: Setting::usual(Age(exact)),
            quarters: Setting::usual(Age(quarters)),
            hours: Setting::usual(Age(hours)),
            samples: Setting::usual(Age(samples)),
        }
    }

    /// Sets what was typed.
    pub fn flags(&mut self, typed: KeepOptions) {
        self.exact.flag("--keep-exact", typed.keep_exact.map(Age));
        self.quarters.flag("--keep-quarters", typed.keep_quarters.map(Age));
        self.hours.flag("--keep-hours", typed.keep_hours.map(Age));
        self.samples.flag("--keep-samples", typed.keep_samples.map(Age));
    }

    /// Bounds each kind of row by the coarser one that it is summed up to.
    pub fn bound(&mut self) {
        let Self { exact, quarters, hours, .. } = self;
        for (finer, coarser, name) in [(quarters, &*hours, "hours"), (exact, &*hours, "hours")] {
            if finer.value > coarser.value {
                *finer = Setting { value: coarser.value, origin: Origin::Bounded(name) };
            }
        }
        if self.exact.value > self.quarters.value {
            let value = self.quarters.value;
            self.exact = Setting { value, origin: Origin::Bounded("quarters") };
        }
    }

    /// Returns a sentence for each kind of row that would outlast what it is summed up to.
    ///
    /// # Errors
    /// If that was typed as an option: it is refused before anything is deleted.
    pub fn check(&self) -> Result<Option<String>, Failure> {
        let Self { exact, quarters, hours, .. } = self;
        let pairs =
            [(quarters, "quarters", hours, "hours"), (exact, "exact", quarters, "quarters")];
        let mut sentences = Vec::new();
        for (finer, name, coarser, coarser_name) in pairs {
            if finer.value <= coarser.value {
                continue;
            }
            let [longer, shorter] = [finer, coarser].map(|kept| shown(&kept.value));
            let sums = format!("`{coarser_name}` are kept for {shorter} ({})", coarser.origin);
            if let Origin::Flag(flag) = finer.origin {
                return Err(Failure::Usage {
                    what: format!("`{flag} {longer}` is too long: {sums}"),
                    next: format!(
                        "Rows are summed up as `{coarser_name}`: keep those as long \
                         (--keep-{coarser_name}), or `{name}` no longer."
                    ),
                });
            }
            sentences.push(format!(
                "`{name}` is {shorter} instead of {longer} ({}), as {sums}",
                finer.origin
            ));
        }
        Ok((!sentences.is_empty()).then(|| sentences.join("; ")))
    }

    pub fn settled(&self) -> Retention {
        let mut bounded = self.clone();
        bounded.bound();
        let Self { exact, quarters, hours, samples } = bounded;
        Retention {
            exact: exact.value.0,
            quarters: quarters.value.0,
            hours: hours.value.0,
            samples: samples.value.0,
        }
    }
}

/// Returns an age as it is written in a file.
fn shown(age: &Age) -> String {
    age.toml().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("exact", &mut self.exact);
        keys.key("quarters", &mut self.quarters);
        keys.key("hours", &mut self.hours);
        keys.key("samples", &mut self.samples);
    }
}
