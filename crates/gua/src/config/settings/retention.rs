//! `[retention]`: how long what was recorded is kept.

use std::time::Duration;

use super::origin::{Origin, Setting};
use super::section::{self, Visit};
use super::value::{Age, Value};
use crate::failure::Failure;

const DAY: Duration = Duration::from_secs(86_400);

/// How long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The detail of every tick.
    pub samples: Duration,
    /// What reports are made of.
    pub spans: Duration,
}

impl Default for Retention {
    /// A month to judge anew by other thresholds, and a year with some of the one before to
    /// compare.
    fn default() -> Self {
        Self { samples: DAY * 30, spans: DAY * 400 }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub samples: Setting<Age>,
    pub spans: Setting<Age>,
}

impl Section {
    pub fn usual() -> Self {
        let Retention { samples, spans } = Retention::default();
        Self { samples: Setting::usual(Age(samples)), spans: Setting::usual(Age(spans)) }
    }

    /// Samples are held against spans, and so kept no longer than they are.
    pub fn bound(&mut self) {
        if self.samples.value > self.spans.value {
            self.samples = Setting { value: self.spans.value, origin: Origin::Bounded("spans") };
        }
    }

    /// What there is to say where samples would outlast spans: `None` where they do not.
    ///
    /// # Errors
    /// When it was typed: what cannot be followed is refused, before anything is deleted.
    pub fn check(&self) -> Result<Option<String>, Failure> {
        let Self { samples, spans } = self;
        if samples.value <= spans.value {
            return Ok(None);
        }
        let [longer, shorter] = [samples, spans].map(|kept| shown(&kept.value));
        if let Origin::Flag(flag) = samples.origin {
            return Err(Failure::Usage {
                what: format!(
                    "`{flag} {longer}` cannot be followed: spans are kept for {shorter} \
                     ({})",
                    spans.origin
                ),
                next: "Samples are held against spans: keep spans as long (--keep-spans), or \
                       samples no longer."
                    .to_owned(),
            });
        }
        Ok(Some(format!(
            "samples are kept for {shorter} and not for {longer} ({}): they are held against \
             spans, which are kept no longer ({})",
            samples.origin, spans.origin
        )))
    }

    pub fn settled(&self) -> Retention {
        let Self { samples, spans } = self;
        Retention { samples: samples.value.min(spans.value).0, spans: spans.value.0 }
    }
}

/// As it is written in a file.
fn shown(age: &Age) -> String {
    age.toml().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("samples", &mut self.samples);
        keys.key("spans", &mut self.spans);
    }
}
