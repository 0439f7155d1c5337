//! Cards, holders and a record for tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization, Vitals};
use gua_core::classifier::CardActivity;
use gua_core::identity::Who;
use gua_core::process::{Engines, Holder, Holders, Kinds, Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::{CardNow, HostNow, SeenProcess, Snapshot};
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Reading, Reason, Session, SessionUpdate, Thresholds};
use gua_store::{Database, Latest, Run, Tick, Writer};

pub const NOW: UnixMillis = UnixMillis(1_794_182_400_000);
pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 3_600_000;

/// Last tick of the recorder, and the time up to which its record is final.
pub const LAST_TICK: UnixMillis = UnixMillis(NOW.0 - 5 * SECOND);
pub const UNTIL: UnixMillis = UnixMillis(NOW.0 - 25 * SECOND);

pub const BOOT: &str = "boot-1";

/// A process that holds a card: pid, user, memory in MiB, SM use.
pub type HolderSpec<'a> = (u32, &'a str, u64, f64);

pub fn facts(index: u32) -> CardFacts {
    CardFacts {
        uuid: Reading::Known(format!("GPU-{index}")),
        ..CardFacts::unread(index, Reason::NotAsked)
    }
}

pub const fn process_id(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: Some(1000 + pid as u64), uid: Some(1000) }
}

pub fn process(pid: u32, user: &str) -> SeenProcess {
    process_of(pid, user, Reading::Unknown(Reason::NotAsked))
}

/// A process whose owner may be another than the person behind it.
pub fn process_behind(pid: u32, owner: &str, who: Who) -> SeenProcess {
    process_of(pid, owner, Reading::Known(Arc::new(who)))
}

fn process_of(pid: u32, user: &str, who: Reading<Arc<Who>>) -> SeenProcess {
    let facts = ProcessFacts {
        pid,
        parent: 1,
        start_ticks: 1000 + u64::from(pid),
        started: Reading::Known(UnixMillis(NOW.0 - 50 * HOUR)),
        program: "python".into(),
        uid: Reading::Known(1000),
        user: Reading::Known(Some(user.into())),
        who,
    };
    let command = Reading::Unknown(Reason::NotAsked);
    SeenProcess { pid, presence: Presence::Here(Arc::new(facts)), command }
}

/// A card of 80 GiB with holders, and used memory that is theirs plus `unlisted_mib`.
pub fn vitals(percent: f64, holders: &[HolderSpec<'_>], unlisted_mib: u64) -> Vitals {
    let holder = |(pid, _, mib, sm): &HolderSpec<'_>| Holder {
        pid: *pid,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes::from_mib(*mib)),
        sm: Reading::Known(Percent(*sm)),
        engines: Reading::Known(Engines::default()),
    };
    let used = holders.iter().map(|(_, _, mib, _)| mib).sum::<u64>() + unlisted_mib;
    let covers = Duration::from_secs(5);
    Vitals {
        utilization: Reading::Known(Utilization {
            percent: Percent(percent),
            basis: Basis::Samples { count: 30, covers },
        }),
        memory: Reading::Known(MemoryUse {
            total: Bytes::from_mib(81_920),
            used: Bytes::from_mib(used),
            free: Bytes::from_mib(81_920 - used),
            reserved: Reading::Known(Bytes(0)),
            source: MemorySource::Card,
        }),
        holders: Holders { seen: holders.iter().map(holder).collect(), unread: None },
        ..Vitals::unknown(Reason::NotAsked)
    }
}

pub fn card_of(facts: CardFacts, vitals: &Vitals, processes: &[SeenProcess]) -> CardNow {
    let (card, thresholds) = (Arc::new(facts), Thresholds::default());
    let activity = CardActivity::from_look(&card, vitals, processes, NOW, &thresholds);
    CardNow::new(&activity, vitals, processes, NOW.into(), &thresholds)
}

pub fn card(index: u32, percent: f64, holders: &[HolderSpec<'_>]) -> CardNow {
    let processes: Vec<_> = holders.iter().map(|(pid, user, ..)| process(*pid, user)).collect();
    card_of(facts(index), &vitals(percent, holders, 0), &processes)
}

pub fn snapshot(cards: Vec<CardNow>) -> Snapshot {
    Snapshot::live(NOW.into(), HostNow { host: Some("four".into()), ..HostNow::default() }, cards)
}

/// A session that goes on, of a process on a card.
pub fn session(index: u32, pid: u32, idle_ms: i64, is_begin_seen: bool) -> Session {
    Session {
        card: Arc::new(facts(index)),
        process: process_id(pid),
        period: Period::new(UnixMillis(UNTIL.0 - idle_ms), UNTIL),
        is_begin_seen,
        doubt_ms: 0,
        unused_share_ms: 0,
        idle_beside_ms: 0,
        memory: 0.0,
        peak: None,
    }
}

/// A record in a file, as a recorder writes it.
pub struct Record {
    pub path: PathBuf,
    pub writer: Writer,
    pub folder: tempfile::TempDir,
}

impl Record {
    /// Begins a run of 40 hours ago.
    pub fn begin() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gua.db");
        Database::create(&path).unwrap();
        let run = Run {
            host: "four".into(),
            boot: BOOT.into(),
            driver: Some("550.54".into()),
            recorder: "gua 2".into(),
            rule: "a rule".into(),
            thresholds: Thresholds::default(),
            interval_ms: Some(30 * SECOND),
            started: UnixMillis(NOW.0 - 40 * HOUR),
        };
        let writer = Writer::begin(Database::open_to_write(&path).unwrap(), run).unwrap();
        Self { path, writer, folder }
    }

    /// Writes the last tick: sessions that go on, and the cards as they were last seen.
    pub fn tick(&mut self, sessions: &[Session], seen: &[CardNow]) {
        let open: Vec<_> = sessions.iter().cloned().map(SessionUpdate::Open).collect();
        let latest = |card: &CardNow| Latest {
            card: Some(Arc::new(facts(card.card.index))),
            body: serde_json::to_string(card).unwrap(),
        };
        let latest: Vec<_> = seen.iter().map(latest).collect();
        let tick = Tick { sessions: &open, latest: Some(&latest), ..Tick::new(LAST_TICK, UNTIL) };
        self.writer.tick(&tick).unwrap();
    }

    pub fn open(&self) -> Database {
        Database::open(&self.path).unwrap()
    }
}
