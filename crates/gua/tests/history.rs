//! A history made by the real writer, tick by tick: for tests of what reads it.

use std::path::Path;
use std::sync::Arc;

use gua_core::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization, Vitals};
use gua_core::classifier::CardActivity;
use gua_core::identity::{Source, Told, User, Who};
use gua_core::process::{Holder, Holders, Kinds, Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::{CardNow, HostNow, SeenProcess};
use gua_core::span::{Gap, GapReason, HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Reading, Reason, SessionBuilder, SessionUpdate, Span, State, Thresholds};
use gua_store::{CardSample, Database, Latest, Person, ProcessEntry, Run, Tick, Writer};

pub(crate) const MINUTE: i64 = 60_000;
const QUARTER_HOUR: i64 = 15 * MINUTE;

/// What one card does over a tick.
#[derive(Clone)]
pub(crate) struct CardUse {
    name: &'static str,
    /// `None` if it is lost.
    percent: Option<f64>,
    holders: Vec<HolderUse>,
    /// Memory that no listed process holds.
    unlisted_mib: u64,
}

#[derive(Clone)]
struct HolderUse {
    user: Option<String>,
    uid: Option<u32>,
    mib: u64,
    /// Pid and start in clock ticks, if that matters.
    process: Option<(u32, u64)>,
    /// `None` if the driver does not tell.
    sm: Option<f64>,
    who: Option<Arc<Who>>,
}

/// A card that is so busy and held by nobody.
pub(crate) fn card(name: &'static str, percent: f64) -> CardUse {
    CardUse { name, percent: Some(percent), holders: Vec::new(), unlisted_mib: 0 }
}

impl CardUse {
    pub(crate) fn held_by(self, user: &str, uid: u32, mib: u64) -> Self {
        self.held(Some(user), Some(uid), mib, None)
    }

    pub(crate) fn held_by_nobody_known(self, mib: u64) -> Self {
        self.held(None, None, mib, None)
    }

    pub(crate) fn held_by_nameless(self, uid: u32, mib: u64) -> Self {
        self.held(None, Some(uid), mib, None)
    }

    /// By the process of a pid that started at a time, in clock ticks since boot.
    pub(crate) fn held_by_process(self, pid: u32, start_ticks: u64, mib: u64) -> Self {
        self.held(Some("somebody"), Some(1000), mib, Some((pid, start_ticks)))
    }

    fn held(
        mut self,
        user: Option<&str>,
        uid: Option<u32>,
        mib: u64,
        process: Option<(u32, u64)>,
    ) -> Self {
        let user = user.map(str::to_owned);
        self.holders.push(HolderUse { user, uid, mib, process, sm: Some(0.0), who: None });
        self
    }

    /// By a certain process of somebody, with its own SM use.
    pub(crate) fn held_at_work(
        mut self,
        user: &str,
        process: (u32, u64),
        mib: u64,
        sm: f64,
    ) -> Self {
        let (user, process, sm) = (Some(user.to_owned()), Some(process), Some(sm));
        self.holders.push(HolderUse { user, uid: Some(1000), mib, process, sm, who: None });
        self
    }

    /// Sets what the last holder runs for; the person is still its owner.
    pub(crate) fn running_for(mut self, who: Who) -> Self {
        if let Some(holder) = self.holders.last_mut() {
            let name = holder.user.as_deref().map(Into::into);
            let user =
                holder.uid.map(|uid| Told { value: User { uid, name }, source: Source::Uid });
            holder.who = Some(Arc::new(Who { user, ..who }));
        }
        self
    }

    /// Makes the process of the last holder that of another user.
    pub(crate) fn of_uid(mut self, uid: u32) -> Self {
        if let Some(holder) = self.holders.last_mut() {
            holder.uid = Some(uid);
        }
        self
    }

    /// Makes the SM use of the last holder unknown.
    pub(crate) fn with_unknown_work(mut self) -> Self {
        if let Some(holder) = self.holders.last_mut() {
            holder.sm = None;
        }
        self
    }

    pub(crate) const fn with_unlisted(mut self, mib: u64) -> Self {
        self.unlisted_mib = mib;
        self
    }

    pub(crate) fn lost(mut self) -> Self {
        self.percent = None;
        self
    }

    fn state(&self) -> State {
        let listed: u64 = self.holders.iter().map(|holder| holder.mib).sum();
        match self.percent {
            None => State::Unknown(Reason::Lost),
            Some(percent) if percent >= 10.0 => State::Active,
            Some(_) if listed > 100 || self.unlisted_mib > 100 => State::IdleHeld,
            Some(_) => State::TrulyIdle,
        }
    }

    /// Returns the use that a holder makes of the card.
    fn work(&self, holder: &HolderUse) -> Work {
        let works = |holder: &HolderUse| holder.sm.is_some_and(|sm| sm >= 1.0);
        if works(holder) {
            return Work::Working;
        }
        if self.state() != State::Active || self.holders.iter().any(works) {
            return Work::Idle;
        }
        let is_alone = self.holders.len() == 1 && self.unlisted_mib <= 100;
        if is_alone { Work::Working } else { Work::Unknown }
    }
}

/// A run that is recorded.
pub(crate) struct Recording {
    writer: Writer,
    at: i64,
    thresholds: Thresholds,
    sessions: SessionBuilder,
    /// Time that was skipped since the last tick.
    gaps: Vec<Gap>,
}

impl Recording {
    /// Begins a run, in a new database or in one that is there.
    pub(crate) fn begin(path: &Path, started: i64, interval_ms: i64) -> Self {
        Self::begin_in("boot", path, started, interval_ms)
    }

    /// Begins a run after a certain boot.
    pub(crate) fn begin_in(boot: &str, path: &Path, started: i64, interval_ms: i64) -> Self {
        Self::begin_with(Thresholds::default(), boot, path, started, interval_ms)
    }

    /// Begins a run with thresholds of its own. States follow the usual ones all the same.
    pub(crate) fn begin_with(
        thresholds: Thresholds,
        boot: &str,
        path: &Path,
        started: i64,
        interval_ms: i64,
    ) -> Self {
        if !path.exists() {
            Database::create(path).unwrap();
        }
        let run = Run {
            host: "lab-a100".to_owned(),
            boot: boot.to_owned(),
            driver: Some("560.35.05".to_owned()),
            recorder: "gua 0.1.0".to_owned(),
            rule: "by hand".to_owned(),
            thresholds,
            interval_ms: Some(interval_ms),
            started: UnixMillis(started),
        };
        let database = Database::open_to_write(path).unwrap();
        let mut sessions = SessionBuilder::new(&thresholds);
        sessions.resume(database.open_sessions(boot).unwrap());
        let writer = Writer::begin(database, run).unwrap();
        Self { writer, at: started, thresholds, sessions, gaps: Vec::new() }
    }

    /// Records the next tick, which covers the time since the last one.
    pub(crate) fn tick(&mut self, millis: i64, cards: &[CardUse]) {
        let spans = self.spans(millis, cards);
        self.write(&spans, cards);
    }

    /// Records nothing for some time.
    pub(crate) fn skip(&mut self, millis: i64) {
        let period = Period::new(UnixMillis(self.at), UnixMillis(self.at + millis));
        self.gaps.push(Gap { period, reason: GapReason::Late });
        self.at += millis;
    }

    /// Returns the time of the last tick.
    pub(crate) const fn now(&self) -> i64 {
        self.at
    }

    /// Records what cards do at each time, in steps of minutes.
    pub(crate) fn until(&mut self, end: i64, minutes: i64, cards: impl Fn(i64) -> Vec<CardUse>) {
        let (mut spans, mut last) = (Vec::new(), Vec::new());
        while self.at < end {
            last = cards(self.at);
            spans.extend(self.spans(minutes * MINUTE, &last));
        }
        self.write(&spans, &last);
    }

    /// Ends the run with a word for the reason. Its sessions stay open.
    pub(crate) fn end(self, ending: &str) {
        self.writer.end(ending).unwrap();
    }

    fn spans(&mut self, millis: i64, cards: &[CardUse]) -> Vec<Span> {
        let end = self.at + millis;
        let mut spans = Vec::new();
        while self.at < end {
            let to = end.min((self.at.div_euclid(QUARTER_HOUR) + 1) * QUARTER_HOUR);
            let period = Period::new(UnixMillis(self.at), UnixMillis(to));
            spans.extend((0..).zip(cards).map(|(index, card)| span(index, card, period)));
            self.at = to;
        }
        spans
    }

    fn write(&mut self, spans: &[Span], cards: &[CardUse]) {
        let at = UnixMillis(self.at);
        spans.iter().for_each(|span| self.sessions.add(span));
        let sessions: Vec<SessionUpdate> = self.sessions.take_updates(&[], at);
        let processes: Vec<_> = (0..)
            .zip(cards)
            .flat_map(|(index, card)| {
                (0..).zip(&card.holders).map(move |(place, it)| entry(index, place, it))
            })
            .collect();
        let latest = self.latest(cards);
        let samples: Vec<_> = (0..).zip(cards).map(|(index, it)| sample(index, it)).collect();
        let gaps = std::mem::take(&mut self.gaps);
        let tick = Tick {
            closed: spans,
            gaps: &gaps,
            sessions: &sessions,
            processes: &processes,
            latest: Some(&latest),
            samples: &samples,
            recorded_ms: spans.first().map_or(0, |first| self.at - first.period.from.0),
            ..Tick::new(at, at)
        };
        self.writer.tick(&tick).unwrap();
    }

    fn latest(&self, cards: &[CardUse]) -> Vec<Latest> {
        let host = HostNow {
            host: Some("lab-a100".to_owned()),
            driver_version: Some("560.35.05".to_owned()),
            ..HostNow::default()
        };
        let mut rows = vec![Latest { card: None, body: serde_json::to_string(&host).unwrap() }];
        for (index, card) in (0..).zip(cards) {
            let facts = facts(index, card);
            let processes: Vec<_> =
                (0..).zip(&card.holders).map(|(place, it)| seen(index, place, it)).collect();
            let vitals = vitals(index, card);
            let activity = CardActivity::from_look(
                &facts,
                &vitals,
                &processes,
                UnixMillis(self.at),
                &self.thresholds,
            );
            let at = jiff::Timestamp::from_millisecond(self.at).unwrap();
            let now = CardNow::new(&activity, &vitals, &processes, at, &self.thresholds);
            rows.push(Latest { card: Some(facts), body: serde_json::to_string(&now).unwrap() });
        }
        rows
    }
}

fn facts(index: u32, card: &CardUse) -> Arc<CardFacts> {
    let mut facts = CardFacts::unread(index, Reason::NotAsked);
    facts.uuid = Reading::Known(format!("GPU-0000000{index}"));
    facts.name = Reading::Known(card.name.to_owned());
    Arc::new(facts)
}

/// Returns pid and start of a holder.
fn process_of(index: u32, place: u32, holder: &HolderUse) -> (u32, u64) {
    holder.process.unwrap_or((100 + place + 100 * index, 7))
}

fn process_id(index: u32, place: u32, holder: &HolderUse) -> ProcessId {
    let (pid, start_ticks) = process_of(index, place, holder);
    match holder.uid {
        Some(uid) => ProcessId { pid, start_ticks: Some(start_ticks), uid: Some(uid) },
        None => ProcessId::unread(pid),
    }
}

fn entry(index: u32, place: u32, holder: &HolderUse) -> ProcessEntry {
    let id = process_id(index, place, holder);
    if holder.uid.is_none() {
        return ProcessEntry::unread(id);
    }
    ProcessEntry {
        started: Some(UnixMillis(0)),
        program: Some("python".into()),
        person: Person {
            user: holder.user.as_deref().map(Into::into),
            uid: holder.uid,
            source: Some(Source::Uid),
        },
        kinds: Kinds::COMPUTE,
        workload: holder.who.clone(),
        ..ProcessEntry::unread(id)
    }
}

fn seen(index: u32, place: u32, holder: &HolderUse) -> SeenProcess {
    let (pid, start_ticks) = process_of(index, place, holder);
    let here = |uid| {
        Presence::Here(Arc::new(ProcessFacts {
            pid,
            parent: 1,
            start_ticks,
            started: Reading::Known(UnixMillis(0)),
            program: "python".into(),
            uid: Reading::Known(uid),
            user: Reading::Known(holder.user.as_deref().map(Into::into)),
            who: holder.who.clone().map_or(Reading::Unknown(Reason::NotAsked), Reading::Known),
        }))
    };
    let command = Reading::Unknown(Reason::NotAsked);
    SeenProcess { pid, presence: holder.uid.map_or(Presence::Gone, here), command }
}

fn vitals(index: u32, card: &CardUse) -> Vitals {
    let Some(percent) = card.percent else { return Vitals::unknown(Reason::Lost) };
    let holder = |(place, holder): (u32, &HolderUse)| Holder {
        pid: process_of(index, place, holder).0,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes::from_mib(holder.mib)),
        sm: holder.sm.map_or(Reading::Unknown(Reason::NotTold), |sm| Reading::Known(Percent(sm))),
        engines: Reading::Unknown(Reason::NotAsked),
    };
    let (used, total) = (used(card), Bytes::from_mib(80_000));
    Vitals {
        utilization: Reading::Known(Utilization {
            percent: Percent(percent),
            basis: Basis::Instant,
        }),
        memory: Reading::Known(MemoryUse {
            total,
            used,
            free: total.saturating_sub(used),
            reserved: Reading::Known(Bytes(0)),
            source: MemorySource::Card,
        }),
        holders: Holders { seen: (0..).zip(&card.holders).map(holder).collect(), unread: None },
        ..Vitals::unknown(Reason::NotAsked)
    }
}

fn used(card: &CardUse) -> Bytes {
    Bytes::from_mib(card.holders.iter().map(|it| it.mib).sum::<u64>() + card.unlisted_mib)
}

fn sample(index: u32, card: &CardUse) -> CardSample {
    CardSample {
        card: facts(index, card),
        utilization: card.percent.map(Percent),
        memory: card.percent.map(|_| used(card)),
        memory_total: card.percent.map(|_| Bytes::from_mib(80_000)),
        power: None,
        temperature: None,
    }
}

fn span(index: u32, card: &CardUse, period: Period) -> Span {
    let state = card.state();
    let length = period.millis();
    let seconds = period.seconds();
    let integral = |mean: Option<f64>| match mean {
        Some(mean) => Integral { sum: mean * seconds, known_ms: length },
        None => Integral::default(),
    };
    #[expect(clippy::cast_precision_loss, reason = "a few GiB")]
    let memory = |mib: u64| Some(mib as f64);
    let mut holders: Vec<HolderTime> = (0..)
        .zip(&card.holders)
        .map(|(place, it)| HolderTime {
            holder: HolderId::Process(process_id(index, place, it)),
            work: card.work(it),
            share_ms: 0,
            memory: integral(memory(it.mib)),
            peak: Some(Bytes::from_mib(it.mib)),
            energy: 0.0,
        })
        .collect();
    if card.unlisted_mib > 100 {
        holders.push(HolderTime {
            holder: HolderId::Unlisted,
            work: if state == State::Active { Work::Unknown } else { Work::Idle },
            share_ms: 0,
            memory: integral(memory(card.unlisted_mib)),
            peak: Some(Bytes::from_mib(card.unlisted_mib)),
            energy: 0.0,
        });
    }
    if matches!(state, State::Unknown(_)) {
        holders.clear();
    }
    if state != State::TrulyIdle {
        share(&mut holders, state, card, length);
    }
    let used = card.percent.and_then(|_| memory(used(card).0 >> 20));
    Span {
        card: facts(index, card),
        period,
        state,
        holders,
        busy: integral(card.percent),
        memory: integral(used),
        energy: Integral::default(),
        energy_estimated_ms: 0,
    }
}

/// Splits the time of a card: active time by the SM use of those who work, other time by memory.
fn share(holders: &mut [HolderTime], state: State, card: &CardUse, length: i64) {
    let is_known = state == State::Active && holders.iter().any(|it| it.work == Work::Working);
    let weight = |(place, time): (usize, &HolderTime)| match (is_known, time.work) {
        (true, Work::Working) => {
            card.holders.get(place).and_then(|it| it.sm).map_or(1.0, |sm| sm.max(1.0))
        }
        (true, _) => 0.0,
        (false, _) => time.memory.sum,
    };
    let weights: Vec<f64> = holders.iter().enumerate().map(weight).collect();
    let all: f64 = weights.iter().sum();
    let (mut sum, mut done) = (0.0, 0);
    for (time, weight) in holders.iter_mut().zip(weights) {
        sum += weight;
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "rounded")]
        let until = if all > 0.0 { (length as f64 * sum / all).round() as i64 } else { 0 };
        time.share_ms = until - std::mem::replace(&mut done, until);
    }
}
