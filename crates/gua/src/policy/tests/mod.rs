//! The rules and their timers, as a table and as laws.

/// A recorder of made-up polls.
mod lab;
/// What holds for every history.
mod law;
/// Whom a rule is for.
mod matching;
/// Rules live and over a record.
mod record;
/// Rules beside a recorder.
mod runner;
/// From state to state, one case a row.
mod table;

use std::sync::Arc;
use std::time::Duration;

use gua_core::Period;
use jiff::civil::time;
use probe::identity::{Source, Who};
use probe::proc::status::Uids;
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};

use super::{Activity, Card, Engine, Facts, Holding, Nature, Person, Sign, Signs, Step, Subject};
use crate::config::policy::{Action, Channel, Exempt, Match, Policy, Rule};

pub(super) const MINUTE: i64 = 60_000;
pub(in crate::policy) const IDLE: Activity = Activity::Idle;
pub(in crate::policy) const WORKS: Activity = Activity::Works(Sign::Sm);
pub(in crate::policy) const UNKNOWN: Activity = Activity::Unknown(Why::DriverGone);

/// Two hours, with notices after one and after one and three quarters.
pub(in crate::policy) fn rule(action: Action) -> Rule {
    Rule {
        name: "abandoned".into(),
        matches: Match::default(),
        exempt: Exempt::default(),
        idle_for: Duration::from_secs(120 * 60),
        notices: vec![Duration::from_secs(60 * 60), Duration::from_secs(105 * 60)],
        action,
        grace: Duration::from_secs(60),
        kill: false,
        notify: vec![Channel::Tty],
        cancel: None,
    }
}

pub(super) fn policy(rules: Vec<Rule>) -> Policy {
    let rules = rules.into_iter().map(Arc::new).collect();
    Policy { enabled: true, rules, ..Policy::default() }
}

pub(in crate::policy) fn subject(pid: u32) -> Subject {
    Subject { pid, start_ticks: Some(7) }
}

pub(in crate::policy) fn facts(uid: u32, name: &str) -> Facts {
    Facts {
        person: Some(Person { uid, name: Some(name.into()), source: Source::UserSlice }),
        owner: Reading::Known(Uids::all(uid)),
        groups: Reading::Known([Arc::from("lab")].into()),
        program: Some("python".into()),
        who: Reading::Known(Arc::new(Who::default())),
        cards: vec![Card {
            number: 0,
            slot: None,
            uuid: Some("GPU-a".into()),
            model: Some("NVIDIA A100-SXM4-80GB".into()),
        }],
        nature: Nature::Ordinary,
        cgroup: Reading::Known("0::/user.slice/user-1001.slice/session-1.scope\n".into()),
    }
}

pub(in crate::policy) fn holding(pid: u32, activity: Activity) -> Holding {
    Holding {
        subject: subject(pid),
        facts: Arc::new(facts(1001, "ann")),
        memory: Reading::Known(Bytes(8_000_000_000)),
        activity,
        signs: Signs::unknown(Why::NotAsked),
        snoozed: Reading::Known(None),
        company: Vec::new(),
    }
}

/// A test that could not run is counted, and never passed.
pub(in crate::policy) fn skipped(why: &str) {
    use std::io::Write;
    let Some(path) = std::env::var_os("GUA_TEST_SKIPS") else { return };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "SKIPPED: {why}").unwrap();
}

/// Ticks of a recorder, one after the other.
pub(super) struct Ticks {
    pub engine: Engine,
    pub at: i64,
}

impl Ticks {
    pub fn new() -> Self {
        Self { engine: Engine::default(), at: 1_794_182_400_000 }
    }

    /// A tick that speaks for so much time, after so much that none speaks for.
    pub fn step(&mut self, gap: i64, covered: i64, holdings: Vec<Holding>) -> Step {
        let from = self.at + gap;
        self.at = from + covered;
        Step {
            covers: Period::new(UnixMillis(from), UnixMillis(self.at)),
            since_last: None,
            time_of_day: time(12, 0, 0, 0),
            holdings,
            is_whole: true,
            is_on: true,
        }
    }
}
