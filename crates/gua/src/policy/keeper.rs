//! The rules at work beside a recorder: every tick in, notices and ends out, all of it written
//! down. Whatever takes time is done elsewhere.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::actor::{Crew, Done, Look, NotEnded, Order};
use super::brake::Brake;
use super::decision::{Answer, Decision, What};
use super::deeds::{self, Moment};
use super::engine::Engine;
use super::feed::{Fed, Feed};
use super::notice::{Answers, Fields, Figures, Letter, Post, To};
use super::saved::{restored, watched};
use super::settled::{Rules, Settled};
use super::signs::SignBook;
use super::switch::Switch;
use super::watch::Token;
use crate::config::policy::Rule;
use crate::failure::Failure;
use crate::ledger::Entry;
use crate::recorder::{Attendant, Kept, Log, Seen};
use crate::store::{self, Database, Deed, DeedKind, SignRow, StoreError};

/// How often it is written down where everybody stands, when nothing happens.
const SAVE_EVERY_MILLIS: i64 = 60_000;

/// Where everything is that the rules need besides the ticks.
#[derive(Debug)]
pub struct Places {
    pub host: String,
    pub boot: String,
    pub database: PathBuf,
}

/// The rules at work.
#[derive(Debug)]
pub struct Keeper {
    /// Nothing until the first tick, which reads what is written down.
    engine: Option<Engine>,
    settled: Settled,
    /// Whether the config in the file cannot be used: then nothing is done.
    is_refused: bool,
    rules: Box<dyn Rules>,
    places: Places,
    switch: Switch,
    brake: Brake,
    was_on: Option<bool>,
    /// Whether the snoozes could be read at the last tick.
    reads_snoozes: bool,
    feed: Feed,
    /// Opened when the first notice is to be given.
    post: Option<Post>,
    answers: Answers,
    crew: Crew,
    /// Decisions whose outcome is not known yet.
    open: HashMap<Token, Decision>,
    signs: SignBook,
    saved_at_millis: Option<i64>,
    /// Time since boot at the last tick that the engine took.
    last_step: Option<Duration>,
    /// What could not be written down yet.
    unwritten: Vec<Deed>,
}

impl Keeper {
    /// Ready for the first tick.
    #[must_use]
    pub fn new(
        settled: Settled,
        rules: Box<dyn Rules>,
        places: Places,
        feed: Feed,
        look: impl Fn() -> Box<dyn Look> + Send + Sync + 'static,
    ) -> Self {
        let switch = Switch::of(&places.database);
        Self {
            engine: None,
            settled,
            is_refused: false,
            rules,
            brake: Brake::of(switch.clone()),
            switch,
            places,
            was_on: None,
            reads_snoozes: true,
            feed,
            post: None,
            answers: Answers::default(),
            crew: Crew::new(look),
            open: HashMap::new(),
            signs: SignBook::default(),
            saved_at_millis: None,
            last_step: None,
            unwritten: Vec::new(),
        }
    }
}

impl Attendant for Keeper {
    fn attend(&mut self, seen: &Seen, entry: &Entry, kept: Kept<'_>, log: &mut Log) {
        if let Err(error) = self.tend(seen, entry, kept, log) {
            // The tick is stored. What was to be written down is tried again with the next.
            log.say(&format!("what the rules did could not be stored: {error}"));
        }
    }

    fn close(&mut self, kept: Kept<'_>, log: &mut Log) {
        let Some(watched) = self.engine.as_ref().map(watched) else { return };
        let (boot, deeds) = (&self.places.boot, std::mem::take(&mut self.unwritten));
        let written = store::write_policy(kept.database, boot, Some(&watched), &[], &deeds);
        if let Err(error) = written {
            log.say(&format!("where everybody stands could not be stored: {error}"));
        }
    }
}

impl Keeper {
    fn tend(
        &mut self,
        seen: &Seen,
        entry: &Entry,
        kept: Kept<'_>,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let Kept { database, run } = kept;
        let was_at_rest = self.is_at_rest();
        let news = self.take_config();
        if was_at_rest && self.is_at_rest() {
            // A config that is none of the rules' business is nothing to tell.
            if let Some(news) = news.filter(|news| news.kind == DeedKind::ConfigRefused) {
                log.say(&format!("policy: {}; they stay off", news.detail));
            }
            return Ok(());
        }
        self.begin(database, log)?;
        let mut deeds = std::mem::take(&mut self.unwritten);
        let before = deeds.len();
        let decisions = self.decide(seen, entry, news, run, &mut deeds);
        for deed in deeds.iter().skip(before) {
            log.say(&deeds::sentence(deed));
        }
        let written = self.write_down(database, &decisions, &deeds);
        if written.is_ok() {
            self.carry_out(decisions.all);
        } else {
            self.keep_for_later(deeds);
            self.take_back(&decisions.all);
        }
        written
    }

    /// Takes up what is written down, at the first tick.
    fn begin(&mut self, database: &Database, log: &mut Log) -> Result<(), StoreError> {
        if self.engine.is_some() {
            return Ok(());
        }
        self.engine = Some(restored(database, &self.places.boot)?);
        if let Err(error) = self.feed.make_snoozes() {
            log.say(&format!("policy: nobody can snooze a process: {error}"));
        }
        Ok(())
    }

    /// What one tick comes to, and what happened on the way there.
    fn decide(
        &mut self,
        seen: &Seen,
        entry: &Entry,
        news: Option<News>,
        run: i64,
        deeds: &mut Vec<Deed>,
    ) -> Decisions {
        let now = Moment { at: entry.at, clock_millis: self.clock() };
        deeds.extend(news.map(|news| deeds::general(now, news.kind, news.detail)));
        let is_on = self.look_at_switch(now, deeds);
        self.brake.hold(self.is_refused || !is_on);
        self.hear(now, deeds);
        self.step(seen, entry, is_on, run, now, deeds)
    }

    /// Where everybody stands is written with whatever happens, else every now and then.
    fn write_down(
        &mut self,
        database: &mut Database,
        decisions: &Decisions,
        deeds: &[Deed],
    ) -> Result<(), StoreError> {
        let is_due = self.saved_at_millis.is_none_or(|at| self.clock() - at >= SAVE_EVERY_MILLIS);
        // Work that was seen must not be forgotten by a restart.
        let has_begun_anew = self.engine.as_mut().is_some_and(Engine::has_begun_anew);
        let is_due = is_due || has_begun_anew || !deeds.is_empty() || !decisions.all.is_empty();
        let watched = is_due.then(|| self.engine.as_ref().map(watched).unwrap_or_default());
        let (boot, signs) = (&self.places.boot, &decisions.signs);
        store::write_policy(database, boot, watched.as_ref(), signs, deeds)?;
        if watched.is_some() {
            self.saved_at_millis = Some(self.clock());
        }
        Ok(())
    }

    /// What could not be written down is, with the next tick. An end that cannot be does not happen.
    fn keep_for_later(&mut self, mut deeds: Vec<Deed>) {
        deeds.retain(|deed| deed.kind != DeedKind::EndBegun);
        self.unwritten = deeds;
        self.signs.forget();
    }

    /// Whether the rules are not followed, and nothing is left of the time when they were.
    fn is_at_rest(&self) -> bool {
        !self.settled.policy.enabled && self.was_on != Some(true) && self.open.is_empty()
    }

    fn clock(&self) -> i64 {
        self.engine.as_ref().map_or(0, Engine::clock_millis)
    }

    /// A config that cannot be used changes nothing but that nothing is done any more: the
    /// last good rules observe.
    fn take_config(&mut self) -> Option<News> {
        match self.rules.changed()? {
            Err(failure) => {
                self.is_refused = true;
                let why = first_line(&failure);
                let detail = format!("the config cannot be used, so the rules only observe: {why}");
                Some(News { kind: DeedKind::ConfigRefused, detail })
            }
            Ok(settled) => {
                if settled.notify != self.settled.notify {
                    self.post = None;
                    self.forget_notices_on_their_way();
                }
                self.is_refused = false;
                self.settled = settled;
                let detail = "the config was changed and read again".to_owned();
                Some(News { kind: DeedKind::ConfigTaken, detail })
            }
        }
    }

    /// They are given anew.
    fn forget_notices_on_their_way(&mut self) {
        let is_notice = |decision: &Decision| matches!(decision.what, What::Notice { .. });
        let open = self.open.iter().filter(|(_, decision)| is_notice(decision));
        let tokens: Vec<Token> = open.map(|(token, _)| *token).collect();
        for token in tokens {
            self.open.remove(&token);
            self.answer(token, Answer::NotTold);
        }
        self.answers = Answers::default();
    }

    fn look_at_switch(&mut self, now: Moment, deeds: &mut Vec<Deed>) -> bool {
        let is_on = self.switch.is_on() && self.settled.policy.enabled;
        match self.was_on.replace(is_on) {
            Some(was) if was != is_on => {
                let (kind, word) = if is_on {
                    (DeedKind::SwitchedOn, "on")
                } else {
                    (DeedKind::SwitchedOff, "off")
                };
                deeds.push(deeds::general(now, kind, format!("the rules were switched {word}")));
            }
            _ => {}
        }
        is_on
    }

    /// What has come of notices and ends since the last tick.
    fn hear(&mut self, now: Moment, deeds: &mut Vec<Deed>) {
        let reports: Vec<_> = self.post.iter().flat_map(Post::reports).collect();
        for report in reports {
            let Some(decision) = self.open.get(&report.token) else { continue };
            deeds.push(deeds::noticed(now, decision, report.channel, &report.outcome));
            if let Some(answer) = self.answers.hear(report.token, report.outcome.is_ok()) {
                self.answer(report.token, answer);
            }
            if !self.answers.awaits(report.token) {
                self.open.remove(&report.token);
            }
        }
        let done: Vec<_> = self.crew.done().collect();
        for Done { order, outcome } in done {
            let Some(decision) = self.open.remove(&order.token) else { continue };
            deeds.push(deeds::ended(now, &decision, &outcome));
            if matches!(outcome, Err(NotEnded::Relieved(_))) {
                // The last look knew more than we do.
                self.feed.ask_anew();
            }
            let answer = if outcome.is_ok() { Answer::Ended } else { Answer::NotEnded };
            self.answer(order.token, answer);
        }
    }

    fn answer(&mut self, token: Token, answer: Answer) {
        if let Some(engine) = &mut self.engine {
            // Nobody may wait for it any more: it works again, or is gone.
            let _ = engine.answer(token, answer);
        }
    }

    fn step(
        &mut self,
        seen: &Seen,
        entry: &Entry,
        is_on: bool,
        run: i64,
        now: Moment,
        deeds: &mut Vec<Deed>,
    ) -> Decisions {
        let observing;
        let settled = if self.is_refused {
            observing = Settled { policy: self.settled.policy.observing(), ..self.settled.clone() };
            &observing
        } else {
            &self.settled
        };
        let Fed { mut step, signs, unread_snoozes } =
            self.feed.feed(settled, &seen.tick, entry, is_on);
        let now_since_boot = seen.clocks.since_boot;
        let last = self.last_step.replace(now_since_boot);
        step.since_last = last.map(|last| now_since_boot.saturating_sub(last));
        if let Some(error) = &unread_snoozes
            && self.reads_snoozes
        {
            let detail = format!("who is snoozed cannot be told, so nobody is touched: {error}");
            deeds.push(deeds::general(now, DeedKind::SnoozesUnread, detail));
        }
        self.reads_snoozes = unread_snoozes.is_none();
        let Some(engine) = &mut self.engine else { return Decisions::default() };
        let all = engine.step(&settled.policy, &step);
        let now = Moment { clock_millis: engine.clock_millis(), ..now };
        deeds.extend(all.iter().filter_map(|decision| deeds::decided(now, decision)));
        let signs = self.signs.rows(signs, entry, run);
        Decisions { all, signs }
    }

    /// What cannot be written down is not done.
    fn take_back(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            match decision.what {
                What::Notice { token, .. } => self.answer(token, Answer::NotTold),
                What::End { token } => self.answer(token, Answer::NotEnded),
                What::WouldNotice { .. } | What::WouldEnd | What::Relieved { .. } => {}
            }
        }
    }

    /// Hands over what is to be done. It was written down before.
    fn carry_out(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            let Some(rule) = self.settled.policy.rule(&decision.rule).cloned() else { continue };
            match decision.what {
                What::Notice { number, token } => {
                    self.tell(token, number, &rule, &decision);
                    self.open.insert(token, decision);
                }
                What::End { token } => {
                    self.end(token, &rule, &decision);
                    self.open.insert(token, decision);
                }
                What::WouldNotice { .. } | What::WouldEnd | What::Relieved { .. } => {}
            }
        }
    }

    fn tell(&mut self, token: Token, number: usize, rule: &Arc<Rule>, decision: &Decision) {
        let Some(person) = &decision.evidence.facts.person else { return };
        let to = To { uid: person.uid, name: person.name.clone() };
        let fields = self.fields(decision, rule, number + 1);
        self.answers.expect(token, rule.notify.len());
        let Decision { subject, evidence, .. } = decision;
        let figures = Figures::of(*subject, person.uid, evidence, rule, number + 1);
        let letter = Letter { token, to, fields, figures, channels: rule.notify.clone() };
        let open = || Post::new(self.settled.notify.clone(), self.feed.root().to_owned());
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
            root: self.feed.root().to_owned(),
            timeout: self.settled.notify.timeout,
            brake: self.brake.clone(),
        });
    }

    fn fields(&self, decision: &Decision, rule: &Rule, notice: usize) -> Fields {
        let (host, message) = (&self.places.host, &self.settled.notify.message);
        Fields::of(decision.subject, &decision.evidence, rule, notice, host, message)
    }
}

/// What one tick has come to.
#[derive(Debug, Default)]
struct Decisions {
    all: Vec<Decision>,
    signs: Vec<SignRow>,
}

/// That the config was changed.
struct News {
    kind: DeedKind,
    detail: String,
}

/// What it is, without the next step.
fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}
