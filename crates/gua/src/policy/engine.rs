//! All holders and the rules: one tick after the other, in; what is to be done, out (pure).
//!
//! It has a clock of its own, which runs only while ticks speak for time. So no gap, no
//! restart and no clock that was set brings anything nearer.

use std::collections::BTreeMap;
use std::sync::Arc;

use probe::Why;
use probe::units::UnixMillis;

use super::decision::{Answer, Decision, Evidence, Relief, Step, What};
use super::judged::Judged;
use super::limits::Limits;
use super::standing::{Doubt, Phase, Standing, Wait, observed, standing};
use super::subject::{Activity, Holding, Subject};
use super::watch::{Due, Followed, Next, Token, Watch, millis};
use crate::config::policy::{Action, Policy, Rule};

/// Who was not seen for so long is not waited for any more.
const ABSENT_MOST_MILLIS: i64 = 3_600_000;

/// Everybody who is watched.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    watches: BTreeMap<Subject, Watch>,
    standings: BTreeMap<Subject, Standing>,
    limits: Limits,
    /// The time that ticks have spoken for.
    clock_millis: i64,
    last: Option<UnixMillis>,
    next_token: u64,
    /// Whether idle time that was counted was taken back since somebody last asked.
    has_begun_anew: bool,
}

impl Engine {
    /// Takes one tick; gives what is to be done.
    pub fn step(&mut self, policy: &Policy, step: &Step) -> Vec<Decision> {
        let missed = self.missed_before(step);
        self.last = Some(step.covers.to);
        self.clock_millis = self.clock_millis.saturating_add(step.covers.millis());
        self.limits.forget_before(self.clock_millis);
        self.standings.clear();
        if step.covers.is_empty() {
            return self.pass_over_all(policy, step, missed);
        }
        self.pass_over_the_absent(step, missed);
        self.attend_all(policy, step, missed)
    }

    /// Where everybody stands by a look that speaks for no time. Nothing comes of it.
    #[must_use]
    pub fn look(&self, policy: &Policy, step: &Step) -> BTreeMap<Subject, Standing> {
        let mut copy = self.clone();
        copy.standings.clear();
        copy.attend_all(policy, step, 0);
        copy.standings
    }

    /// Restarts the count of holders that work by a step that covers no time: work that was seen after
    /// the last step counts at once. Ends that were asked for go on, and look themselves.
    pub fn see_work(&mut self, policy: &Policy, step: &Step) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for holding in &step.holdings {
            let Activity::Works(sign) = holding.activity else { continue };
            let Some(mut watch) = self.watches.remove(&holding.subject) else { continue };
            if !watch.is_ending() {
                let before = watch.clone();
                let mut turn =
                    Turn { engine: self, policy, step, holding, decisions: &mut decisions };
                turn.relieve(&before, Relief::Works(sign));
                watch.begin_anew();
                self.has_begun_anew |= before.idle_millis > 0;
            }
            self.watches.insert(holding.subject, watch);
        }
        decisions
    }

    /// Returns true if a holder waits for the answer to this.
    #[must_use]
    pub fn waits_for(&self, token: Token) -> bool {
        self.watches.values().any(|watch| watch.waits_for(token))
    }

    fn attend_all(&mut self, policy: &Policy, step: &Step, missed: i64) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for holding in &step.holdings {
            self.attend(policy, step, holding, missed, &mut decisions);
        }
        decisions
    }

    /// Whether somebody has begun anew who was idle before, since this was last asked.
    pub const fn has_begun_anew(&mut self) -> bool {
        std::mem::replace(&mut self.has_begun_anew, false)
    }

    /// The time that ticks have spoken for.
    #[must_use]
    pub const fn clock_millis(&self) -> i64 {
        self.clock_millis
    }

    /// Takes an answer; tells whether somebody still waited for it.
    pub fn answer(&mut self, token: Token, answer: Answer) -> bool {
        let clock = self.clock_millis;
        let waiting = self.watches.values_mut().find(|watch| watch.waits_for(token));
        let Some(watch) = waiting else { return false };
        match answer {
            Answer::Told => watch.told(),
            Answer::NotTold => watch.not_told(clock),
            // Where it could not be ended, all begins anew, notices included.
            Answer::Ended | Answer::NotEnded => watch.begin_anew(),
        }
        true
    }

    /// Where everybody stood at the last tick.
    pub fn standings(&self) -> impl Iterator<Item = (&Subject, &Standing)> {
        self.standings.iter()
    }

    #[must_use]
    pub fn standing(&self, subject: Subject) -> Option<&Standing> {
        self.standings.get(&subject)
    }

    /// Returns the time since the last tick that this one does not cover, by the clock that says
    /// more: a wall clock that is set back by about an interval says that there is none.
    fn missed_before(&self, step: &Step) -> i64 {
        let by_wall = self.last.map_or(0, |last| last.0.abs_diff(step.covers.from.0));
        let by_wall = i64::try_from(by_wall).unwrap_or(i64::MAX);
        let uncovered = step.since_last.map_or(0, |time| millis(time) - step.covers.millis());
        by_wall.max(uncovered)
    }

    /// Takes a tick that covers no time: at the start, and after the clock was set. The time
    /// before it counts as missing for all processes; those that work now count as working.
    fn pass_over_all(&mut self, policy: &Policy, step: &Step, missed: i64) -> Vec<Decision> {
        for watch in self.watches.values_mut() {
            watch.pass(Activity::Unknown(Why::NotTold), 0, missed);
        }
        let mut decisions = Vec::new();
        for holding in &step.holdings {
            let works = matches!(holding.activity, Activity::Works(_));
            if works && self.watches.contains_key(&holding.subject) {
                self.attend(policy, step, holding, 0, &mut decisions);
            }
        }
        decisions
    }

    /// Who is not in a list that was read has let go.
    fn pass_over_the_absent(&mut self, step: &Step, missed: i64) {
        let is_here = |subject: &Subject| step.holdings.iter().any(|it| it.subject == *subject);
        if step.is_whole {
            self.watches.retain(|subject, _| is_here(subject));
            return;
        }
        self.watches.retain(|subject, watch| {
            if is_here(subject) {
                return true;
            }
            watch.pass(Activity::Unknown(Why::NotTold), step.covers.millis(), missed);
            watch.missed_millis <= ABSENT_MOST_MILLIS
        });
    }

    fn attend(
        &mut self,
        policy: &Policy,
        step: &Step,
        holding: &Holding,
        missed: i64,
        decisions: &mut Vec<Decision>,
    ) {
        let judged = Judged::of(policy, holding, step.time_of_day);
        let activity = match judged {
            Judged::Unknown(_) => Activity::Unknown(Why::NotTold),
            _ => holding.activity,
        };
        // What was before it was first seen is nothing that was missed.
        let missed = if self.watches.contains_key(&holding.subject) { missed } else { 0 };
        let mut watch = self.watches.remove(&holding.subject).unwrap_or_default();
        let idle_before = watch.idle_millis;
        let mut turn = Turn { engine: self, policy, step, holding, decisions };
        let phase = turn.take(&mut watch, &judged, activity, missed);
        self.has_begun_anew |= watch.idle_millis < idle_before;
        let standing = standing(&watch, phase, &judged, step.is_on);
        self.standings.insert(holding.subject, standing);
        self.watches.insert(holding.subject, watch);
    }
}

/// One holder at one tick.
struct Turn<'a> {
    engine: &'a mut Engine,
    policy: &'a Policy,
    step: &'a Step,
    holding: &'a Holding,
    decisions: &'a mut Vec<Decision>,
}

impl Turn<'_> {
    fn take(
        &mut self,
        watch: &mut Watch,
        judged: &Judged,
        activity: Activity,
        missed: i64,
    ) -> Phase {
        if watch.is_ending() {
            return Phase::Pending(Wait::Answer);
        }
        let before = watch.clone();
        watch.pass(activity, self.step.covers.millis(), missed);
        match activity {
            Activity::Works(sign) => self.relieve(&before, Relief::Works(sign)),
            Activity::HoldsLittle => self.relieve(&before, Relief::LetGo),
            Activity::Idle | Activity::Unknown(_) => {}
        }
        match judged {
            Judged::Unknown(missing) => Phase::Unknown(Doubt::Missing(*missing)),
            Judged::NoRule => {
                self.forget(watch, Relief::OtherRule);
                observed(activity)
            }
            Judged::Spared(_, why) => {
                self.forget(watch, Relief::Exempt);
                Phase::Exempt(*why)
            }
            Judged::Snoozed(_, until) => {
                self.forget(watch, Relief::Snoozed);
                Phase::Snoozed(*until)
            }
            Judged::Under(rule) => self.follow(watch, rule, activity),
        }
    }

    fn follow(&mut self, watch: &mut Watch, rule: &Arc<Rule>, activity: Activity) -> Phase {
        if !self.step.is_on {
            self.forget(watch, Relief::SwitchedOff);
        }
        let followed = Followed::of(rule);
        if watch.rule.as_ref() != Some(&followed) {
            let is_same = watch.rule.as_ref().is_some_and(|rule| rule.name == followed.name);
            self.forget(watch, if is_same { Relief::RuleChanged } else { Relief::OtherRule });
            watch.rule = Some(followed.clone());
        }
        if watch.misses_too_much_for(rule.idle_for) {
            self.relieve(&watch.clone(), Relief::NotSeen);
            watch.begin_anew();
            watch.rule = Some(followed);
        }
        match activity {
            Activity::Works(_) | Activity::HoldsLittle => Phase::Observing,
            Activity::Unknown(why) => Phase::Unknown(Doubt::Activity(why)),
            Activity::Idle if !self.step.is_on => Phase::Idle,
            Activity::Idle => self.act(watch, rule),
        }
    }

    fn act(&mut self, watch: &mut Watch, rule: &Arc<Rule>) -> Phase {
        let due = watch.due(rule, self.engine.clock_millis);
        match (due, rule.action) {
            (Due::Notice(number), Action::Observe) => {
                self.decide(watch, &rule.name, What::WouldNotice { number });
                watch.told();
            }
            (Due::Notice(number), _) => {
                let uid = self.holding.facts.person.as_ref().map(|person| person.uid);
                let Some(token) = self.engine.may_notice(self.policy, uid) else {
                    return Phase::Pending(Wait::NoticeLimit);
                };
                self.decide(watch, &rule.name, What::Notice { number, token });
                watch.ask_notice(token);
            }
            (Due::End, Action::Observe) => {
                self.decide(watch, &rule.name, What::WouldEnd);
                watch.is_through();
            }
            (Due::End, _) => {
                let Some(token) = self.engine.may_end(self.policy) else {
                    return Phase::Pending(Wait::Limit);
                };
                self.decide(watch, &rule.name, What::End { token });
                watch.ask_end(token);
                return Phase::Pending(Wait::Answer);
            }
            (Due::Wait(Next::End { in_millis: 0 }), _) => return Phase::Pending(Wait::Seen),
            (Due::Wait(_), _) => {}
        }
        if watch.delivered == 0 { Phase::Idle } else { Phase::Warned(watch.delivered) }
    }

    fn forget(&mut self, watch: &mut Watch, why: Relief) {
        self.relieve(&watch.clone(), why);
        watch.forget_notices();
    }

    /// Writes down that notices were for nothing, where there were some.
    fn relieve(&mut self, watch: &Watch, why: Relief) {
        let notices = watch.delivered;
        if let Some(rule) = watch.rule.as_ref().filter(|_| notices > 0) {
            self.decide(watch, &Arc::clone(&rule.name), What::Relieved { notices, why });
        }
    }

    fn decide(&mut self, watch: &Watch, rule: &Arc<str>, what: What) {
        let Holding { subject, facts, memory, signs, company, .. } = self.holding;
        self.decisions.push(Decision {
            at: self.step.covers.to,
            subject: *subject,
            rule: Arc::clone(rule),
            what,
            evidence: Evidence {
                facts: Arc::clone(facts),
                company: company.clone(),
                memory: *memory,
                signs: *signs,
                idle_millis: watch.idle_millis,
                missed_millis: watch.missed_millis,
                notices: watch.delivered,
            },
        });
    }
}

/// What is asked for, within the limits.
impl Engine {
    /// `None` where the person was told often enough, or there is nobody.
    fn may_notice(&mut self, policy: &Policy, uid: Option<u32>) -> Option<Token> {
        let most = policy.max_notices_per_hour;
        self.limits.notice(uid?, most, self.clock_millis).then(|| self.token())
    }

    /// `None` where enough were ended.
    fn may_end(&mut self, policy: &Policy) -> Option<Token> {
        self.limits.end(policy.max_ends_per_hour, self.clock_millis).then(|| self.token())
    }

    const fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token)
    }
}

/// What has to outlast a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Saved {
    pub watches: Vec<(Subject, Watch)>,
    pub limits: Limits,
    pub clock_millis: i64,
    /// The last tick that it knows of; what comes next has missed the time since.
    pub last: Option<UnixMillis>,
}

impl Engine {
    /// As it was when it was saved. What was asked for since is asked for again.
    #[must_use]
    pub fn restored(saved: Saved) -> Self {
        Self {
            watches: saved.watches.into_iter().collect(),
            limits: saved.limits,
            clock_millis: saved.clock_millis,
            last: saved.last,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn saved(&self) -> Saved {
        let watches = self.watches.iter();
        Saved {
            watches: watches.map(|(subject, watch)| (*subject, watch.clone())).collect(),
            limits: self.limits.clone(),
            clock_millis: self.clock_millis,
            last: self.last,
        }
    }
}
