//! What is in force: defaults, then the system's file, then the user's, then options.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `files` | where the config files are, and why one cannot be used |
//! | `reader`, `mistake` | a file's text, read over what is in force; every mistake with its place |
//! | `names` | sections and keys, and what may have been meant by one that is none |
//! | `section`, `value`, `origin` | keys, kinds of values, and where a value came from |
//! | `database`, `recorder`, `thresholds`, `retention`, `cost`, `identity`, `metrics`, `remote_write`, `policy`, `notify` | one file a section |
//! | `rules`, `rule_values`, `fields`, `many` | values of many parts, each mistake at its place |
//! | `flags` | options that stand for a setting |
//! | `listing` | everything as a list, to be shown |
//! | `surroundings` | the folders that paths begin at |

mod cost;
mod database;
mod fields;
mod files;
mod flags;
mod identity;
mod listing;
mod many;
mod metrics;
mod mistake;
mod names;
mod notify;
mod origin;
mod policy;
mod reader;
mod recorder;
mod remote_write;
mod retention;
mod rule_values;
mod rules;
mod section;
mod surroundings;
mod thresholds;
mod value;

pub use cost::Cost;
pub use files::{ConfigFile, FileError, Files, Presence};
pub use flags::Flags;
pub use identity::Identity;
pub use listing::{Listed, Row};
pub use metrics::Metrics;
pub use mistake::Mistake;
pub use origin::{Origin, Whose};
pub use recorder::Recorder;
pub use remote_write::RemoteWrite;
pub use retention::Retention;
pub use surroundings::Surroundings;
pub use thresholds::Thresholds;

use std::path::PathBuf;

use super::policy::{Channel, Notify, Policy};
use crate::failure::Failure;

use self::names::Names;
use self::section::Section;
use self::value::Interval;

/// Every value in force, with its origin.
#[derive(Debug, Clone)]
pub struct Settings {
    database: database::Section,
    recorder: recorder::Section,
    thresholds: thresholds::Section,
    retention: retention::Section,
    cost: cost::Section,
    identity: identity::Section,
    metrics: metrics::Section,
    remote_write: remote_write::Section,
    policy: policy::Section,
    notify: notify::Section,
}

/// The same, for who only needs the values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The history; `None` for a user without a home.
    pub database: Option<PathBuf>,
    pub recorder: Recorder,
    pub thresholds: Thresholds,
    pub retention: Retention,
    pub cost: Cost,
    pub identity: Identity,
    pub metrics: Metrics,
    pub remote_write: RemoteWrite,
    pub policy: Policy,
    pub notify: Notify,
}

impl Settings {
    /// Without any file.
    #[must_use]
    pub fn usual(around: &Surroundings) -> Self {
        Self {
            database: database::Section::usual(around),
            recorder: recorder::Section::usual(),
            thresholds: thresholds::Section::usual(),
            retention: retention::Section::usual(),
            cost: cost::Section::usual(),
            identity: identity::Section::usual(),
            metrics: metrics::Section::usual(),
            remote_write: remote_write::Section::usual(),
            policy: policy::Section::usual(),
            notify: notify::Section::usual(),
        }
    }

    /// With the options that were typed.
    #[must_use]
    pub fn with(mut self, flags: Flags) -> Self {
        self.database.path.flag("--db", flags.db.map(Some));
        self.recorder.interval.flag("--interval", flags.interval.map(Interval));
        self.retention.flags(flags.keep);
        self.retention.bound();
        self
    }

    /// What there is to say of how long what is kept, with the options that were typed.
    ///
    /// # Errors
    /// When rows were asked to outlast what they are summed up to.
    pub fn check_kept(&self, flags: &Flags) -> Result<Option<String>, Failure> {
        let mut retention = self.retention.clone();
        retention.flags(flags.keep);
        retention.check()
    }

    /// The values alone.
    #[must_use]
    pub fn settled(&self) -> Config {
        Config {
            database: self.database.path.value.clone(),
            recorder: self.recorder.settled(),
            thresholds: self.thresholds.settled(),
            retention: self.retention.settled(),
            cost: self.cost.settled(),
            identity: self.identity.settled(),
            metrics: self.metrics.settled(),
            remote_write: self.remote_write.settled(),
            policy: self.policy.settled(),
            notify: self.notify.settled(),
        }
    }

    /// Whether every way that a rule names is set up.
    ///
    /// # Errors
    /// When one is not: then nobody would be told.
    pub fn check_ways(&self) -> Result<(), Failure> {
        let (policy, notify) = (self.policy.settled(), self.notify.settled());
        let is_missing = |channel: &&Channel| match channel {
            Channel::Tty | Channel::Mail => false,
            Channel::Webhook => notify.webhook.is_none(),
            Channel::Command => notify.command.is_none(),
        };
        for rule in &policy.rules {
            if let Some(channel) = rule.notify.iter().find(is_missing) {
                let (word, origin) = (channel.word(), self.policy.origin());
                return Err(Failure::Usage {
                    what: format!(
                        "the rule `{}` ({origin}) tells people by `{word}`, which is not set up",
                        rule.name
                    ),
                    next: format!("Say how with `{word}` below `[notify]`, or leave it out."),
                });
            }
        }
        Ok(())
    }

    /// Every key with its value and its origin, in the order of the sections.
    #[must_use]
    pub fn listed(&self) -> Vec<Listed> {
        listing::of(self.clone().sections())
    }

    fn sections(&mut self) -> [&mut dyn Section; 10] {
        [
            &mut self.database,
            &mut self.recorder,
            &mut self.thresholds,
            &mut self.retention,
            &mut self.cost,
            &mut self.identity,
            &mut self.metrics,
            &mut self.remote_write,
            &mut self.policy,
            &mut self.notify,
        ]
    }

    fn names(&mut self) -> Names {
        Names::of(self.sections())
    }
}
