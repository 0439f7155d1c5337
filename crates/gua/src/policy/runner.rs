//! The rules beside a recorder: ticks in, notices and ends out, all of it logged. What takes time is
//! done on other threads.
//!
//! What a tick comes to is stored in its transaction and takes effect after COMMIT: neither time nor a
//! decision counts that could not be stored.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gua_core::poll::{Poll, ProcessPoll};
use gua_core::process::{Kinds, ProcessId};
use gua_core::sign::{Sign as StoredSign, SignSpan};
use gua_core::units::UnixMillis;
use gua_core::{Period, Thresholds};
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{
    Database, LogEntry, LogKind, Problem, ProcessEntry, StoreError, TickTransaction, Writer,
};

use super::actor::{Crew, Done, Look, NotEnded, Order};
use super::brake::Brake;
use super::company::together;
use super::decision::{Answer, Decision, Step, What, time_of_day};
use super::deeds::{self, Moment};
use super::engine::Engine;
use super::input::{Advance, Cell, Held, LiveFacts, LiveInput, sign};
use super::notice::{Answers, Fields, Figures, Letter, Post, To};
use super::settled::{Rules, Settled};
use super::state::{policy_state, read_engine};
use super::subject::{Activity, Holding, Signs, Subject};
use super::switch::Switch;
use super::watch::Token;
use crate::config::policy::Rule;
use crate::failure::Failure;

/// Observed time after which idle counts are stored if nothing happens.
const SAVE_EVERY_MS: i64 = 60_000;

/// Where everything is that the rules need besides the ticks.
#[derive(Debug)]
pub struct RunnerPlaces {
    pub host: String,
    /// UUID of the boot.
    pub boot: String,
    pub database: PathBuf,
}

/// The rules beside a recorder.
#[derive(Debug)]
pub struct PolicyRunner {
    engine: Engine,
    /// True once the engine of an earlier run was read.
    is_restored: bool,
    /// True once the folder of snoozes was asked for.
    has_made_snoozes: bool,
    /// `None` while the rules are off.
    input: Option<LiveInput>,
    step_ms: i64,
    /// Thresholds of the recorder.
    thresholds: Thresholds,
    settled: Settled,
    /// True if the config in the file cannot be used: then the rules only observe.
    is_refused: bool,
    rules: Box<dyn Rules>,
    places: RunnerPlaces,
    switch: Switch,
    brake: Brake,
    was_on: Option<bool>,
    reads_snoozes: bool,
    facts: LiveFacts,
    /// Opened with the first notice.
    post: Option<Post>,
    answers: Answers,
    crew: Crew,
    /// Decisions whose outcome is not known yet.
    open: HashMap<Token, Decision>,
    saved_at_ms: Option<i64>,
    /// Holders of the last step.
    holdings: Vec<Holding>,
    /// Time since boot at the last tick.
    last_tick: Option<Duration>,
    /// Entries of the log that are not stored yet.
    unwritten: Vec<LogEntry>,
    /// What the tick that is being stored comes to.
    pending: Option<Pending>,
}

/// What a tick comes to once it is stored.
#[derive(Debug)]
struct Pending {
    engine: Engine,
    input: LiveInput,
    signs: Vec<SignSpan>,
    decisions: Vec<Decision>,
    deeds: Vec<LogEntry>,
    holdings: Vec<Holding>,
    is_saved: bool,
}

impl PolicyRunner {
    /// Returns the rules for a recorder with this length of steps and these thresholds.
    #[must_use]
    pub fn new(
        settled: Settled,
        rules: Box<dyn Rules>,
        places: RunnerPlaces,
        facts: LiveFacts,
        (step_ms, thresholds): (i64, Thresholds),
        look: impl Fn() -> Box<dyn Look> + Send + Sync + 'static,
    ) -> Self {
        let switch = Switch::of(&places.database);
        let begin = UnixMillis(i64::MIN);
        let input = settled.policy.enabled.then(|| LiveInput::new(step_ms, thresholds, begin));
        Self {
            engine: Engine::default(),
            is_restored: false,
            has_made_snoozes: false,
            input,
            step_ms,
            thresholds,
            settled,
            is_refused: false,
            rules,
            brake: Brake::of(switch.clone()),
            switch,
            places,
            was_on: None,
            reads_snoozes: true,
            facts,
            post: None,
            answers: Answers::default(),
            crew: Crew::new(look),
            open: HashMap::new(),
            saved_at_ms: None,
            holdings: Vec::new(),
            last_tick: None,
            unwritten: Vec::new(),
            pending: None,
        }
    }

    /// Returns the idle counts and notices now.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl TickObserver for PolicyRunner {
    /// Reads idle counts and notices of an earlier run. Those in memory go on in another file.
    fn opened(&mut self, database: &Database) -> Result<(), StoreError> {
        if !self.is_restored {
            self.engine = read_engine(database, &self.places.boot)?;
            self.is_restored = true;
        }
        Ok(())
    }

    fn polled(&mut self, poll: &Poll) {
        if let Some(input) = &mut self.input {
            input.polled(poll);
        }
    }

    fn sampled(&mut self, samples: &ProcessPoll) {
        if let Some(input) = &mut self.input {
            input.sampled(samples);
        }
    }

    fn write(
        &mut self,
        tick: &RecordedTick<'_>,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        self.pending = None;
        let now = Moment { at: tick.tick.at, clock_millis: self.engine.clock_millis() };
        let was_at_rest = self.is_at_rest();
        self.take_config(now, was_at_rest);
        if was_at_rest && self.is_at_rest() {
            return Ok(());
        }
        let is_on = self.look_at_switch(now);
        self.brake.hold(self.is_refused || !is_on);
        self.take_reports(now);
        let pending = self.decide(tick, is_on);
        for sign in &pending.signs {
            transaction.write_sign(sign)?;
        }
        if pending.is_saved {
            transaction.write_policy_state(&policy_state(&pending.engine))?;
        }
        for deed in self.unwritten.iter().chain(&pending.deeds) {
            transaction.write_log_entry(deed)?;
        }
        self.pending = Some(pending);
        Ok(())
    }

    fn stored(&mut self, tick: &RecordedTick<'_>, _writer: &mut Writer, log: &mut Log) {
        self.last_tick = Some(tick.poll.clocks.since_boot);
        if self.is_at_rest() {
            self.input = None;
        } else {
            self.make_snoozes(log);
        }
        let Some(pending) = self.pending.take() else {
            self.say_refusal(log);
            return;
        };
        for deed in self.unwritten.drain(..).chain(pending.deeds) {
            log.write(&deeds::sentence(&deed));
        }
        if pending.is_saved {
            self.saved_at_ms = Some(pending.engine.clock_millis());
        }
        self.engine = pending.engine;
        self.input = Some(pending.input).filter(|_| !self.is_at_rest());
        self.holdings = pending.holdings;
        self.carry_out(pending.decisions);
    }

    fn close(&mut self, writer: &mut Writer, log: &mut Log) {
        let Some(mut input) = self.input.take() else { return };
        let until = writer.database().final_until().ok().flatten();
        let Some(until) = until else { return };
        let advance = input.finish(until);
        let mut deeds = std::mem::take(&mut self.unwritten);
        for cell in advance.cells {
            let step = self.step(cell, &input, &HashMap::new(), self.was_on == Some(true));
            // What is decided now is decided again after the start.
            let decisions = self.engine.step(&self.settled.policy, &step);
            let now = Moment { at: step.covers.to, clock_millis: self.engine.clock_millis() };
            let relieved = decisions.iter().filter(|it| matches!(it.what, What::Relieved { .. }));
            deeds.extend(relieved.filter_map(|decision| deeds::decided(now, decision)));
        }
        let written = writer.write_between(|transaction| {
            advance.signs.iter().try_for_each(|sign| transaction.write_sign(sign))?;
            deeds.iter().try_for_each(|entry| transaction.write_log_entry(entry))?;
            transaction.write_policy_state(&policy_state(&self.engine))
        });
        if let Err(error) = written {
            log.write(&format!("policy: idle counts could not be stored: {error}"));
        }
    }
}

impl PolicyRunner {
    /// Returns what a tick comes to.
    fn decide(&mut self, tick: &RecordedTick<'_>, is_on: bool) -> Pending {
        let mut engine = self.engine.clone();
        let begin = tick.tick.until;
        let mut input = self
            .input
            .clone()
            .unwrap_or_else(|| LiveInput::new(self.step_ms, self.thresholds, begin));
        let mut deeds = self.begin_facts(tick);
        let read = self.read(tick, &input);
        let Advance { cells, signs, working, was_set_back } = input.advance(tick.tick, &read);
        let policy = self.policy();
        let mut decisions = Vec::new();
        let mut holdings = std::mem::take(&mut self.holdings);
        let mut since_last = was_set_back.then(|| self.since_last_tick(tick));
        for cell in cells {
            let mut step = self.step(cell, &input, tick.processes, is_on);
            step.since_last = since_last
                .take()
                .flatten()
                .map(|time| time + Duration::from_millis(step.covers.millis().unsigned_abs()));
            decisions.extend(engine.step(&policy, &step));
            holdings = step.holdings;
        }
        let now = Moment { at: tick.tick.at, clock_millis: engine.clock_millis() };
        deeds.extend(decisions.iter().filter_map(|decision| deeds::decided(now, decision)));
        let seen = step_now(&holdings, &working, tick.tick.at, is_on);
        deeds.extend(veto(&mut engine, &decisions, &seen, now));
        let relieved = engine.see_work(&policy, &seen);
        deeds.extend(relieved.iter().filter_map(|decision| deeds::decided(now, decision)));
        let is_due = self.saved_at_ms.is_none_or(|at| engine.clock_millis() - at >= SAVE_EVERY_MS);
        // A restart must not forget work that was seen.
        let has_begun_anew = engine.has_begun_anew();
        let has_happened = has_begun_anew || !decisions.is_empty() || !deeds.is_empty();
        let is_saved = is_due || has_happened || !self.unwritten.is_empty();
        self.holdings = holdings.clone();
        Pending { engine, input, signs, decisions, deeds, holdings, is_saved }
    }

    /// Creates the folder of snoozes, once.
    fn make_snoozes(&mut self, log: &mut Log) {
        if std::mem::replace(&mut self.has_made_snoozes, true) {
            return;
        }
        if let Err(error) = self.facts.make_snoozes() {
            log.write(&format!("policy: nobody can snooze a process: {error}"));
        }
    }

    /// Reads the snoozes, and forgets processes that are gone.
    fn begin_facts(&mut self, tick: &RecordedTick<'_>) -> Vec<LogEntry> {
        let known: Vec<Subject> = tick.processes.keys().map(|id| Subject::from(*id)).collect();
        let error = self.facts.begin(|subject| known.contains(subject)).err();
        let was_read = std::mem::replace(&mut self.reads_snoozes, error.is_none());
        let Some(error) = error.filter(|_| was_read) else { return Vec::new() };
        let detail = format!("snoozes cannot be read, so no process is touched: {error}");
        let now = Moment { at: tick.tick.at, clock_millis: self.engine.clock_millis() };
        vec![deeds::general(now, LogKind::SnoozesUnread, detail)]
    }

    /// Reads the signs of all processes of the newest poll since the last tick. Of those that work by
    /// their samples nothing needs to be read.
    fn read(
        &mut self,
        tick: &RecordedTick<'_>,
        input: &LiveInput,
    ) -> Vec<(Subject, Option<StoredSign>)> {
        let cards = tick.poll.cards.iter().flatten();
        let mut subjects: Vec<Subject> =
            cards.flat_map(|card| &card.processes).map(|it| Subject::from(it.id)).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let (thresholds, busy_cpu) = (self.thresholds, self.settled.policy.busy_cpu);
        let read = |subject: Subject| {
            let sign = (!input.has_worked(subject)).then(|| {
                let cpu = self.facts.cpu(subject);
                sign(input.engines(subject), cpu, &thresholds, busy_cpu)
            });
            (subject, sign)
        };
        subjects.into_iter().map(read).collect()
    }

    fn step(
        &mut self,
        cell: Cell,
        input: &LiveInput,
        processes: &HashMap<ProcessId, ProcessEntry>,
        is_on: bool,
    ) -> Step {
        let entry_of = |subject: Subject| {
            let mut entries = processes.iter().filter(|(id, _)| Subject::from(**id) == subject);
            entries.next().map(|(_, entry)| entry)
        };
        let mut holdings = Vec::new();
        for (subject, holder) in cell.holders {
            let entry = entry_of(subject);
            let engines = input.engines(subject);
            let signs = Signs {
                encoder: engines.encoder,
                decoder: engines.decoder,
                ..Signs::unknown(gua_core::Reason::NotAsked)
            };
            let held = Held {
                subject,
                entry,
                kinds: entry.map_or_else(Kinds::default, |entry| entry.kinds),
                cards: holder.cards.iter().filter_map(|place| input.card(*place)).collect(),
                memory: holder.memory,
                activity: holder.activity,
                signs,
            };
            holdings.push(self.facts.holding(&self.settled.policy, cell.covers.to, &held));
        }
        together(&mut holdings);
        Step {
            covers: cell.covers,
            since_last: None,
            time_of_day: time_of_day(cell.covers.to),
            holdings,
            is_whole: cell.is_whole,
            is_on,
        }
    }

    /// Returns the rules that apply: they only observe while the config cannot be used.
    fn policy(&self) -> crate::config::policy::Policy {
        match self.is_refused {
            true => self.settled.policy.observing(),
            false => self.settled.policy.clone(),
        }
    }

    fn since_last_tick(&self, tick: &RecordedTick<'_>) -> Option<Duration> {
        self.last_tick.map(|last| tick.poll.clocks.since_boot.saturating_sub(last))
    }

    /// Returns true if the rules are off, and nothing is left of the time when they were on.
    fn is_at_rest(&self) -> bool {
        !self.settled.policy.enabled && self.was_on != Some(true) && self.open.is_empty()
    }

    /// Follows the config. One that cannot be used lets the last good rules observe.
    fn take_config(&mut self, now: Moment, was_at_rest: bool) {
        let news = match self.rules.changed() {
            None => return,
            Some(Err(failure)) => {
                self.is_refused = true;
                let why = first_line(&failure);
                let detail = format!("the config cannot be used, so the rules only observe: {why}");
                deeds::general(now, LogKind::ConfigRefused, detail)
            }
            Some(Ok(settled)) => {
                if settled.notify != self.settled.notify {
                    self.post = None;
                    self.forget_notices();
                }
                self.is_refused = false;
                self.settled = settled;
                let detail = "the config was changed and read again".to_owned();
                deeds::general(now, LogKind::ConfigTaken, detail)
            }
        };
        // While the rules are off, a good config is nothing to tell.
        if !(was_at_rest && self.is_at_rest() && news.kind == LogKind::ConfigTaken) {
            self.unwritten.push(news);
        }
    }

    /// Says that a config cannot be used while the rules are off.
    fn say_refusal(&mut self, log: &mut Log) {
        for deed in self.unwritten.drain(..) {
            log.write(&format!("policy: {}; they stay off", deed.detail));
        }
    }

    /// Forgets notices that are on their way. They are given again.
    fn forget_notices(&mut self) {
        let is_notice = |decision: &Decision| matches!(decision.what, What::Notice { .. });
        let open = self.open.iter().filter(|(_, decision)| is_notice(decision));
        let tokens: Vec<Token> = open.map(|(token, _)| *token).collect();
        for token in tokens {
            self.open.remove(&token);
            self.engine.answer(token, Answer::NotTold);
        }
        self.answers = Answers::default();
    }

    fn look_at_switch(&mut self, now: Moment) -> bool {
        let is_on = self.switch.is_on() && self.settled.policy.enabled;
        match self.was_on.replace(is_on) {
            Some(was) if was != is_on => {
                let (kind, word) = match is_on {
                    true => (LogKind::SwitchedOn, "on"),
                    false => (LogKind::SwitchedOff, "off"),
                };
                let detail = format!("the rules were switched {word}");
                self.unwritten.push(deeds::general(now, kind, detail));
            }
            _ => {}
        }
        is_on
    }

    /// Takes the outcomes of notices and ends since the last tick.
    fn take_reports(&mut self, now: Moment) {
        let reports: Vec<_> = self.post.iter().flat_map(Post::reports).collect();
        for report in reports {
            let Some(decision) = self.open.get(&report.token) else { continue };
            let deed = deeds::noticed(now, decision, report.channel, &report.outcome);
            self.unwritten.push(deed);
            if let Some(answer) = self.answers.hear(report.token, report.outcome.is_ok()) {
                self.engine.answer(report.token, answer);
            }
            if !self.answers.awaits(report.token) {
                self.open.remove(&report.token);
            }
        }
        let done: Vec<_> = self.crew.done().collect();
        for Done { order, outcome } in done {
            let Some(decision) = self.open.remove(&order.token) else { continue };
            self.unwritten.push(deeds::ended(now, &decision, &outcome));
            if matches!(outcome, Err(NotEnded::Relieved(_))) {
                // The last look knew more.
                self.facts.forget_groups();
            }
            let answer = if outcome.is_ok() { Answer::Ended } else { Answer::NotEnded };
            self.engine.answer(order.token, answer);
        }
    }

    /// Hands over what is to be done, unless work was seen meanwhile. It is stored already.
    fn carry_out(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            let Some(rule) = self.settled.policy.rule(&decision.rule).cloned() else { continue };
            match decision.what {
                What::Notice { number, token } if self.engine.waits_for(token) => {
                    self.notify(token, number, &rule, &decision);
                    self.open.insert(token, decision);
                }
                What::End { token } if self.engine.waits_for(token) => {
                    self.end(token, &rule, &decision);
                    self.open.insert(token, decision);
                }
                _ => {}
            }
        }
    }

    fn notify(&mut self, token: Token, number: usize, rule: &Arc<Rule>, decision: &Decision) {
        let Some(person) = &decision.evidence.facts.person else { return };
        let to = To { uid: person.uid, name: person.name.clone() };
        let fields = self.fields(decision, rule, number + 1);
        self.answers.expect(token, rule.notify.len());
        let Decision { subject, evidence, .. } = decision;
        let figures = Figures::of(*subject, person.uid, evidence, rule, number + 1);
        let letter = Letter { token, to, fields, figures, channels: rule.notify.clone() };
        let open = || Post::new(self.settled.notify.clone(), self.facts.root().to_owned());
        self.post.get_or_insert_with(open).send(letter);
    }

    fn end(&self, token: Token, rule: &Arc<Rule>, decision: &Decision) {
        self.crew.begin(Order {
            token,
            subject: decision.subject,
            facts: Arc::clone(&decision.evidence.facts),
            company: decision.evidence.company.clone(),
            fields: self.fields(decision, rule, rule.notices.len()),
            rule: Arc::clone(rule),
            root: self.facts.root().to_owned(),
            timeout: self.settled.notify.timeout,
            brake: self.brake.clone(),
        });
    }

    fn fields(&self, decision: &Decision, rule: &Rule, notice: usize) -> Fields {
        let (host, message) = (&self.places.host, &self.settled.notify.message);
        Fields::of(decision.subject, &decision.evidence, rule, notice, host, message)
    }
}

/// Returns the holders of the last step as a step that covers no time: who of them works now, and whose
/// group does.
fn step_now(holdings: &[Holding], working: &[Subject], at: UnixMillis, is_on: bool) -> Step {
    let mut holdings = holdings.to_vec();
    for holding in &mut holdings {
        holding.activity = match working.contains(&holding.subject) {
            true => Activity::Works(super::subject::Sign::Sm),
            false => Activity::Idle,
        };
    }
    together(&mut holdings);
    Step {
        covers: Period::none_at(at),
        since_last: None,
        time_of_day: time_of_day(at),
        holdings,
        is_whole: false,
        is_on,
    }
}

/// Takes back ends of processes that work by now. Returns the entries of the log.
fn veto(engine: &mut Engine, decisions: &[Decision], seen: &Step, now: Moment) -> Vec<LogEntry> {
    let mut deeds = Vec::new();
    for decision in decisions {
        let What::End { token } = decision.what else { continue };
        let holding = seen.holdings.iter().find(|holding| holding.subject == decision.subject);
        if let Some(Activity::Works(sign)) = holding.map(|holding| holding.activity) {
            engine.answer(token, Answer::NotEnded);
            deeds.push(deeds::ended(now, decision, &Err(NotEnded::Works(sign))));
        }
    }
    deeds
}

/// Returns the error without its next step.
fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}
