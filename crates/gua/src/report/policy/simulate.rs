//! Whom would the rules have told and ended over a time, and what would that have won?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gua_core::Period;
use gua_core::session::SHORTEST_SESSION_MS;
use gua_store::Precision;
use serde::Serialize;

use super::{cards, hours, seconds};
use crate::config::policy::{Policy, Rule};
use crate::policy::input::ReplayBasis;
use crate::policy::{Case, Facts, Missing, Person, Simulation, Unjudged};

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    pub schema: &'static str,
    pub from_unix_ms: i64,
    pub until_unix_ms: i64,
    /// Observed part of the window.
    pub observed_seconds: f64,
    /// Idle time of holders of which only the use of the cards is recorded; CPU and video engines are
    /// taken to have been quiet.
    pub assumed_seconds: f64,
    /// By how much a time may be off, at worst: older rows are sums. 0 over exact spans; null if a rule
    /// counts shorter idle time than sums have.
    pub uncertainty_seconds: Option<f64>,
    pub total: Total,
    /// Who held cards idle while no rule could tell whether it is for them: nothing is said of
    /// what the rules would have done to those.
    pub unjudged: Vec<NotJudged>,
    pub rules: Vec<OfRule>,
    pub people: Vec<OfPerson>,
    /// The most won first.
    pub holders: Vec<OfHolder>,
}

/// Those of whom one thing is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotJudged {
    /// A word for what is not known.
    pub missing: &'static str,
    #[serde(skip)]
    pub what: Missing,
    pub holders: usize,
    /// Whose they are, where that is known.
    pub users: Vec<String>,
    /// The time that they held cards idle meanwhile, added up.
    pub idle_seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct Total {
    pub holders: usize,
    pub notices: usize,
    pub ends: usize,
    pub won_gpu_hours: f64,
    /// What they went on to work after they would have been ended.
    pub lost_gpu_hours: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfRule {
    pub rule: String,
    pub action: &'static str,
    #[serde(flatten)]
    pub total: Total,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfPerson {
    /// Null where nobody is known.
    pub user: Option<String>,
    #[serde(flatten)]
    pub total: Total,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfHolder {
    pub user: Option<String>,
    pub pid: u32,
    pub program: Option<String>,
    pub cards: Vec<String>,
    pub rule: String,
    pub notices_at_unix_ms: Vec<i64>,
    pub ended_at_unix_ms: Option<i64>,
    pub won_gpu_hours: f64,
    pub lost_gpu_hours: f64,
}

impl Total {
    /// One holder may be told, work again and be told anew.
    fn of<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> Self {
        let holders: BTreeSet<_> = cases.clone().map(|case| case.subject).collect();
        let total = Self { holders: holders.len(), ..Self::default() };
        cases.fold(total, |sum, case| Self {
            holders: sum.holders,
            notices: sum.notices + case.notices.len(),
            ends: sum.ends + usize::from(case.ended.is_some()),
            won_gpu_hours: sum.won_gpu_hours + hours(case.won_millis),
            lost_gpu_hours: sum.lost_gpu_hours + hours(case.lost_millis),
        })
    }
}

/// What the rules would have come to.
#[must_use]
pub fn simulated(
    policy: &Policy,
    window: Period,
    simulation: &Simulation<'_>,
    basis: ReplayBasis,
) -> Simulated {
    let cases = simulation.cases();
    let rules = policy.rules.iter().map(|rule| OfRule {
        rule: rule.name.to_string(),
        action: rule.action.word(),
        total: Total::of(cases.iter().filter(|case| case.rule == rule.name)),
    });
    let mut holders: Vec<_> = cases.iter().map(of_holder).collect();
    holders.sort_by(|one, other| {
        let by_won = other.won_gpu_hours.total_cmp(&one.won_gpu_hours);
        by_won.then(other.ended_at_unix_ms.cmp(&one.ended_at_unix_ms)).then(one.pid.cmp(&other.pid))
    });
    Simulated {
        schema: "gua.policy_simulate/2",
        from_unix_ms: window.from.0,
        until_unix_ms: window.to.0,
        observed_seconds: seconds(basis.observed_ms),
        assumed_seconds: seconds(basis.assumed_ms),
        uncertainty_seconds: (!is_too_short(policy, basis.precision))
            .then(|| seconds(basis.precision.millis())),
        total: Total::of(cases.iter()),
        unjudged: unjudged(simulation),
        rules: rules.collect(),
        people: people(cases),
        holders,
    }
}

/// Returns true if a rule counts idle time that is no session, over sums whose idle time is in sessions.
fn is_too_short(policy: &Policy, precision: Precision) -> bool {
    let first = |rule: &Arc<Rule>| rule.notices.first().copied().unwrap_or(rule.idle_for);
    let shortest_kept = Duration::from_millis(SHORTEST_SESSION_MS.unsigned_abs());
    precision > Precision::HalfMinute && policy.rules.iter().any(|rule| first(rule) < shortest_kept)
}

fn user(facts: &Facts) -> Option<String> {
    facts.person.as_ref().map(Person::shown)
}

fn unjudged(simulation: &Simulation<'_>) -> Vec<NotJudged> {
    let mut by_what: BTreeMap<Missing, Vec<_>> = BTreeMap::new();
    for holder in simulation.unjudged() {
        by_what.entry(holder.missing).or_default().push(holder);
    }
    let of = |(what, holders): (Missing, Vec<&Unjudged>)| {
        let users: BTreeSet<_> = holders.iter().filter_map(|one| user(&one.facts)).collect();
        NotJudged {
            missing: what.word(),
            what,
            holders: holders.len(),
            users: users.into_iter().collect(),
            idle_seconds: seconds(holders.iter().map(|one| one.idle_millis).sum()),
        }
    };
    by_what.into_iter().map(of).collect()
}

fn people(cases: &[Case]) -> Vec<OfPerson> {
    let mut names: Vec<_> = cases.iter().map(|case| user(&case.facts)).collect();
    names.sort();
    names.dedup();
    let of = |name: Option<String>| OfPerson {
        total: Total::of(cases.iter().filter(|case| user(&case.facts) == name)),
        user: name,
    };
    let mut people: Vec<_> = names.into_iter().map(of).collect();
    people.sort_by(|one, other| other.total.won_gpu_hours.total_cmp(&one.total.won_gpu_hours));
    people
}

fn of_holder(case: &Case) -> OfHolder {
    OfHolder {
        user: user(&case.facts),
        pid: case.subject.pid,
        program: case.facts.program.as_ref().map(ToString::to_string),
        cards: cards(&case.facts),
        rule: case.rule.to_string(),
        notices_at_unix_ms: case.notices.iter().map(|at| at.0).collect(),
        ended_at_unix_ms: case.ended.map(|at| at.0),
        won_gpu_hours: hours(case.won_millis),
        lost_gpu_hours: hours(case.lost_millis),
    }
}
