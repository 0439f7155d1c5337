//! A history made by the real writer, tick by tick.

use std::path::Path;
use std::sync::Arc;

use gua::classify::{Lines, Thresholds};
use gua::ledger::{Judge, Period};
use gua::sampler::{CardTick, HolderTick, Tick};
use gua::store::{self, Ending, Run, Writer};
use probe::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization, Vitals};
use probe::process::{Holder, Holders, Kinds, Presence, ProcessFacts};
use probe::units::{Bytes, Percent, UnixMillis};
use probe::who::{Source, Told, User, Who};
use probe::{Reading, Why};

pub(crate) const MINUTE: i64 = 60_000;

/// What one card does over a tick.
#[derive(Clone)]
pub(crate) struct Doing {
    name: &'static str,
    /// `None` where it is lost.
    percent: Option<f64>,
    holders: Vec<Holding>,
    /// Used by nobody who is listed.
    unseen_mib: u64,
}

#[derive(Clone)]
struct Holding {
    user: Option<String>,
    uid: Option<u32>,
    mib: u64,
    /// Which process it is, where that matters.
    process: Option<(u32, u64)>,
    /// `None` where the driver does not tell.
    sm: Option<f64>,
    who: Option<Arc<Who>>,
}

/// A card that works so much and is held by nobody.
pub(crate) fn card(name: &'static str, percent: f64) -> Doing {
    Doing { name, percent: Some(percent), holders: Vec::new(), unseen_mib: 0 }
}

impl Doing {
    pub(crate) fn held_by(self, user: &str, uid: u32, mib: u64) -> Self {
        self.held(Some(user), Some(uid), mib, None)
    }

    pub(crate) fn held_by_nobody_known(self, mib: u64) -> Self {
        self.held(None, None, mib, None)
    }

    pub(crate) fn held_by_nameless(self, uid: u32, mib: u64) -> Self {
        self.held(None, Some(uid), mib, None)
    }

    /// By the process of a number that started at a time, in clock ticks since boot.
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
        self.holders.push(Holding { user, uid, mib, process, sm: Some(0.0), who: None });
        self
    }

    /// By a certain process of somebody, which works so much itself.
    pub(crate) fn held_at_work(
        mut self,
        user: &str,
        process: (u32, u64),
        mib: u64,
        sm: f64,
    ) -> Self {
        let (user, process, sm) = (Some(user.to_owned()), Some(process), Some(sm));
        self.holders.push(Holding { user, uid: Some(1000), mib, process, sm, who: None });
        self
    }

    /// The last holder runs for this; whose it is, is still told by its owner.
    pub(crate) fn running_for(mut self, who: Who) -> Self {
        if let Some(holding) = self.holders.last_mut() {
            let name = holding.user.as_deref().map(Into::into);
            let user =
                holding.uid.map(|uid| Told { value: User { uid, name }, source: Source::Uid });
            holding.who = Some(Arc::new(Who { user, ..who }));
        }
        self
    }

    /// The driver does not tell what the last holder does.
    pub(crate) fn untold(mut self) -> Self {
        if let Some(holding) = self.holders.last_mut() {
            holding.sm = None;
        }
        self
    }

    /// And so much of it by nobody who is listed.
    pub(crate) const fn with_unseen(mut self, mib: u64) -> Self {
        self.unseen_mib = mib;
        self
    }

    pub(crate) fn lost(mut self) -> Self {
        self.percent = None;
        self
    }
}

/// A card that works by day.
pub(crate) fn lab(at: i64) -> Vec<Doing> {
    let hour = at / (60 * MINUTE) % 24;
    vec![card("A", if hour < 8 { 0.0 } else { 80.0 }).held_by("alice", 1000, 70_000)]
}

/// A run being recorded.
pub(crate) struct Recording {
    writer: Writer,
    at: i64,
    thresholds: Thresholds,
}

impl Recording {
    /// Begins one, in a new database or in one that is there.
    pub(crate) fn begin(path: &Path, started: i64, interval_millis: i64) -> Self {
        Self::begin_in("boot", path, started, interval_millis)
    }

    /// The same, after a certain boot.
    pub(crate) fn begin_in(boot: &str, path: &Path, started: i64, interval_millis: i64) -> Self {
        if !path.exists() {
            store::create(path).unwrap();
        }
        let run = Run {
            host: "lab-a100".to_owned(),
            boot: boot.to_owned(),
            driver: Some("560.35.05".to_owned()),
            recorder: "gua 0.1.0".to_owned(),
            interval_millis: Some(interval_millis),
            started: UnixMillis(started),
        };
        let writer = Writer::begin(store::open_to_write(path).unwrap(), &run).unwrap();
        Self { writer, at: started, thresholds: Thresholds::default() }
    }

    /// Judged by other lines than the usual ones.
    pub(crate) fn by(mut self, thresholds: Thresholds) -> Self {
        self.writer.judged_by(Lines::from(&thresholds), UnixMillis(self.at)).unwrap();
        self.thresholds = thresholds;
        self
    }

    /// The next tick, which speaks for the time since the last.
    pub(crate) fn tick(&mut self, millis: i64, cards: &[Doing]) {
        let covers = Period::new(UnixMillis(self.at), UnixMillis(self.at + millis));
        self.at += millis;
        let cards = (0..).zip(cards).map(|(index, doing)| card_tick(index, doing)).collect();
        let driver = Err(probe::nvml::OpenError::DriverNotLoaded);
        let tick = Tick { at: covers.to, driver, cards };
        let entry = Judge::new(self.thresholds).entry(&tick, covers, None);
        self.writer.record(&entry, &[]).unwrap();
    }

    /// Nobody looks for so long; the next tick speaks for what comes after.
    pub(crate) const fn skip(&mut self, millis: i64) {
        self.at += millis;
    }

    /// When the last tick was.
    pub(crate) const fn now(&self) -> i64 {
        self.at
    }

    /// Ticks of so many minutes until then, of what the cards do at each moment.
    pub(crate) fn until(&mut self, end: i64, minutes: i64, doing: impl Fn(i64) -> Vec<Doing>) {
        self.writer.begin_batch().unwrap();
        while self.at < end {
            self.tick(minutes * MINUTE, &doing(self.at));
        }
        self.writer.commit_batch().unwrap();
    }

    pub(crate) fn end(self, ending: Ending) {
        self.writer.end(ending).unwrap();
    }
}

fn card_tick(index: u32, doing: &Doing) -> CardTick {
    let mut facts = CardFacts::unread(index, Why::NotAsked);
    facts.uuid = Reading::Known(format!("GPU-0000000{index}"));
    facts.name = Reading::Known(doing.name.to_owned());
    let (held, holders): (Vec<_>, Vec<_>) = (100..)
        .zip(&doing.holders)
        .map(|(pid, holding)| holder(pid + 100 * index, holding))
        .unzip();
    CardTick {
        facts: Arc::new(facts),
        vitals: vitals(doing, held),
        unattributed: Reading::Unknown(Why::NotAsked),
        holders: holders.into(),
    }
}

fn vitals(doing: &Doing, held: Vec<Holder>) -> Vitals {
    let Some(percent) = doing.percent else { return Vitals::unknown(Why::Lost) };
    let used: Bytes = held.iter().filter_map(|holder| holder.memory.known()).sum();
    let used = used + Bytes::from_mib(doing.unseen_mib);
    let total = Bytes::from_mib(80_000);
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
        holders: Holders { seen: held, unread: None },
        ..Vitals::unknown(Why::NotAsked)
    }
}

fn holder(pid: u32, holding: &Holding) -> (Holder, HolderTick) {
    let Holding { user, uid, mib, process, sm, who } = holding;
    let (pid, start_ticks) = process.unwrap_or((pid, 7));
    let here = |uid| {
        Presence::Here(Arc::new(ProcessFacts {
            pid,
            parent: 1,
            start_ticks,
            started: Reading::Known(UnixMillis(0)),
            program: "python".into(),
            uid: Reading::Known(uid),
            user: Reading::Known(user.as_deref().map(Into::into)),
            who: who.clone().map_or(Reading::Unknown(Why::NotAsked), Reading::Known),
        }))
    };
    let held = Holder {
        pid,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes::from_mib(*mib)),
        sm: sm.map_or(Reading::Unknown(Why::NotTold), |sm| Reading::Known(Percent(sm))),
        engines: Reading::Unknown(Why::NotAsked),
    };
    let process = uid.map_or(Presence::Gone, here);
    (held, HolderTick { pid, process, command: Reading::Unknown(Why::NotAsked) })
}
