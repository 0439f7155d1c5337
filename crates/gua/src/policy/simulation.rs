//! The rules over a history: whom they would have told and ended, and what that would have won
//! (pure).

use std::collections::BTreeMap;
use std::sync::Arc;

use probe::units::UnixMillis;

use super::decision::{Answer, Decision, Step, What};
use super::engine::Engine;
use super::matching::Missing;
use super::standing::{Doubt, Phase};
use super::subject::{Activity, Facts, Subject};
use crate::config::policy::Policy;

/// One holder that the rules would have come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub subject: Subject,
    pub facts: Arc<Facts>,
    pub rule: Arc<str>,
    /// When each notice would have been given.
    pub notices: Vec<UnixMillis>,
    pub ended: Option<UnixMillis>,
    /// Card time that it went on to hold idle after its end: what would have been won.
    pub won_millis: i64,
    /// Card time in which it worked after its end: what would have been lost.
    pub lost_millis: i64,
}

/// One holder of which the rules could not tell whether they are for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unjudged {
    pub subject: Subject,
    pub facts: Arc<Facts>,
    pub missing: Missing,
    /// The time that it held its cards idle meanwhile.
    pub idle_millis: i64,
}

/// The rules on their way through a history.
#[derive(Debug)]
pub struct Simulation<'a> {
    policy: &'a Policy,
    engine: Engine,
    cases: Vec<Case>,
    /// The case of each holder that the rules are at.
    open: BTreeMap<Subject, usize>,
    /// Those that would be gone.
    ended: BTreeMap<Subject, Ended>,
    decisions: Vec<Decision>,
    unjudged: BTreeMap<(Missing, Subject), Unjudged>,
}

#[derive(Debug, Clone, Copy)]
struct Ended {
    case: usize,
    /// Whether it has worked since.
    woke: bool,
}

impl<'a> Simulation<'a> {
    #[must_use]
    pub fn new(policy: &'a Policy) -> Self {
        Self {
            policy,
            engine: Engine::default(),
            cases: Vec::new(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            decisions: Vec::new(),
            unjudged: BTreeMap::new(),
        }
    }

    /// Takes one tick. Every notice reaches its person, and every end succeeds.
    pub fn step(&mut self, mut step: Step) {
        self.account(&step);
        step.holdings.retain(|holding| !self.ended.contains_key(&holding.subject));
        for decision in self.engine.step(self.policy, &step) {
            match decision.what {
                What::Notice { token, .. } => drop(self.engine.answer(token, Answer::Told)),
                What::End { token } => drop(self.engine.answer(token, Answer::Ended)),
                What::WouldNotice { .. } | What::WouldEnd | What::Relieved { .. } => {}
            }
            self.note(&decision);
            self.decisions.push(decision);
        }
        self.pass_over(&step);
    }

    /// Who held a card idle and could not be judged: else an unknown would be told as nobody.
    fn pass_over(&mut self, step: &Step) {
        let idle = step.holdings.iter().filter(|holding| holding.activity == Activity::Idle);
        for holding in idle {
            let subject = holding.subject;
            let phase = self.engine.standing(subject).map(|standing| standing.phase);
            let Some(Phase::Unknown(Doubt::Missing(missing))) = phase else { continue };
            let fresh =
                || Unjudged { subject, facts: Arc::clone(&holding.facts), missing, idle_millis: 0 };
            let unjudged = self.unjudged.entry((missing, subject)).or_insert_with(fresh);
            unjudged.idle_millis += step.covers.millis();
        }
    }

    fn note(&mut self, decision: &Decision) {
        match decision.what {
            What::Notice { .. } | What::WouldNotice { .. } => {
                self.case(decision).notices.push(decision.at);
            }
            What::End { .. } | What::WouldEnd => {
                self.case(decision).ended = Some(decision.at);
                if let Some(case) = self.open.remove(&decision.subject) {
                    self.ended.insert(decision.subject, Ended { case, woke: false });
                }
            }
            What::Relieved { .. } => drop(self.open.remove(&decision.subject)),
        }
    }

    fn case(&mut self, decision: &Decision) -> &mut Case {
        let Decision { subject, rule, evidence, .. } = decision;
        let fresh = || Case {
            subject: *subject,
            facts: Arc::clone(&evidence.facts),
            rule: Arc::clone(rule),
            notices: Vec::new(),
            ended: None,
            won_millis: 0,
            lost_millis: 0,
        };
        let place = *self.open.entry(*subject).or_insert(self.cases.len());
        if place >= self.cases.len() {
            self.cases.push(fresh());
        }
        let last = self.cases.len() - 1;
        &mut self.cases[place.min(last)]
    }

    /// What those did who would be gone.
    fn account(&mut self, step: &Step) {
        let is_here = |subject: &Subject| step.holdings.iter().any(|it| it.subject == *subject);
        if step.is_whole && !step.covers.is_empty() {
            self.ended.retain(|subject, _| is_here(subject));
        }
        for holding in &step.holdings {
            let Some(ended) = self.ended.get_mut(&holding.subject) else { continue };
            let Some(case) = self.cases.get_mut(ended.case) else { continue };
            let cards = i64::try_from(holding.facts.cards.len()).unwrap_or(1);
            let time = step.covers.millis().saturating_mul(cards);
            match holding.activity {
                Activity::Works(_) => {
                    ended.woke = true;
                    case.lost_millis += time;
                }
                Activity::Idle if !ended.woke => case.won_millis += time,
                Activity::Idle | Activity::HoldsLittle | Activity::Unknown(_) => {}
            }
        }
    }

    /// Everybody the rules have come to, in the order of time.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Everybody who could not be judged, by what is missing.
    pub fn unjudged(&self) -> impl Iterator<Item = &Unjudged> {
        self.unjudged.values()
    }

    /// Everything that was decided.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}
