//! Which rule is for each holder now, where does it stand, and what comes next?

use std::collections::BTreeMap;

use probe::units::UnixMillis;
use serde::Serialize;

use super::{cards, reason, seconds, state};
use crate::config::policy::{Action, Policy};
use crate::policy::{Activity, Grouping, Holding, Next, Person, Phase, Standing, Subject};

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    pub schema: &'static str,
    pub at_unix_ms: i64,
    /// Whether the config lets a recorder follow the rules.
    pub enabled: bool,
    /// Whether `gua policy off` has stopped them.
    pub switched_off: bool,
    /// When a recorder last wrote down where everybody stands; null where none has.
    pub watched_at_unix_ms: Option<i64>,
    pub rules: Vec<RuleNamed>,
    /// The nearest to its end first.
    pub holders: Vec<Holder>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleNamed {
    pub name: String,
    pub action: &'static str,
}

/// One process that holds cards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub pid: u32,
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    pub cards: Vec<String>,
    pub memory_bytes: Option<u64>,
    pub works_by: Option<&'static str>,
    /// Evidence for which processes are judged together with it: `job`, `environment`,
    /// `launcher`, `siblings` or `alone`; null where nothing is known of the process.
    pub grouped_by: Option<&'static str>,
    /// The group in words; null where it is alone.
    pub group: Option<String>,
    /// The pids of others of the group that hold cards.
    pub grouped_with: Vec<u32>,
    pub rule: Option<String>,
    pub action: Option<&'static str>,
    pub state: &'static str,
    pub reason: Option<String>,
    pub snoozed_until_unix_ms: Option<i64>,
    pub idle_seconds: f64,
    pub missed_seconds: f64,
    pub notices: usize,
    /// Null where nothing comes as long as it stays as it is.
    pub next: Option<Coming>,
}

/// What comes when it stays idle and is seen to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coming {
    pub what: &'static str,
    /// Of a notice, from 1.
    pub number: Option<usize>,
    pub in_seconds: f64,
}

/// What is known besides the holders.
#[derive(Debug, Clone, Copy)]
pub struct Around {
    pub at: UnixMillis,
    pub is_on: bool,
    pub watched_at: Option<UnixMillis>,
}

/// Where everybody stands.
#[must_use]
pub fn check(
    policy: &Policy,
    holdings: &[Holding],
    standings: &BTreeMap<Subject, Standing>,
    around: Around,
) -> Check {
    let holder = |holding: &Holding| Some(holder(holding, standings.get(&holding.subject)?));
    let mut holders: Vec<_> = holdings.iter().filter_map(holder).collect();
    holders.sort_by(|one, other| {
        let near = |holder: &Holder| holder.next.as_ref().map_or(f64::MAX, |next| next.in_seconds);
        near(one).total_cmp(&near(other)).then(one.pid.cmp(&other.pid))
    });
    Check {
        schema: "gua.policy_check/1",
        at_unix_ms: around.at.0,
        enabled: policy.enabled,
        switched_off: !around.is_on,
        watched_at_unix_ms: around.watched_at.map(|at| at.0),
        rules: policy
            .rules
            .iter()
            .map(|rule| RuleNamed { name: rule.name.to_string(), action: rule.action.word() })
            .collect(),
        holders,
    }
}

fn holder(holding: &Holding, standing: &Standing) -> Holder {
    let facts = &holding.facts;
    let rule = standing.rule.as_ref();
    let grouping = Grouping::of(holding);
    Holder {
        pid: holding.subject.pid,
        user: facts.person.as_ref().map(Person::shown),
        uid: facts.person.as_ref().map(|person| person.uid),
        program: facts.program.as_ref().map(ToString::to_string),
        cards: cards(facts),
        memory_bytes: holding.memory.known().map(|bytes| bytes.0),
        works_by: match holding.activity {
            Activity::Works(sign) => Some(sign.word()),
            Activity::Idle | Activity::HoldsLittle | Activity::Unknown(_) => None,
        },
        grouped_by: grouping.map(Grouping::slug),
        group: grouping.and_then(Grouping::shown),
        grouped_with: holding.company.iter().map(|other| other.pid).collect(),
        rule: rule.map(|rule| rule.name.to_string()),
        action: rule.map(|rule| rule.action.word()),
        state: state(standing.phase),
        reason: reason(standing.phase),
        snoozed_until_unix_ms: match standing.phase {
            Phase::Snoozed(until) => Some(until.0),
            _ => None,
        },
        idle_seconds: seconds(standing.idle_millis),
        missed_seconds: seconds(standing.missed_millis),
        notices: standing.notices,
        next: standing.next.and_then(|next| coming(next, rule.map(|rule| rule.action))),
    }
}

fn coming(next: Next, action: Option<Action>) -> Option<Coming> {
    let observes = action == Some(Action::Observe);
    let (what, number, in_millis) = match next {
        Next::Notice { number, in_millis } => ("notice", Some(number + 1), in_millis),
        Next::End { in_millis } if observes => ("would_end", None, in_millis),
        Next::End { in_millis } => ("end", None, in_millis),
        Next::Answer => ("answer", None, 0),
        Next::Nothing => return None,
    };
    Some(Coming { what, number, in_seconds: seconds(in_millis) })
}
