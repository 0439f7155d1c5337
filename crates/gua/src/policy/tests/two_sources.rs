//! A law: what the rules decide while it is recorded is what they decide on the record.

use std::sync::Arc;
use std::time::Duration;

use probe::card::{CardFacts, MemorySource, MemoryUse, Utilization, Vitals};
use probe::nvml::{DriverFacts, OpenError};
use probe::proc::status::Uids;
use probe::process::{Holder, Holders, Kinds, Presence, ProcessFacts};
use probe::units::{Bytes, Percent, UnixMillis};
use probe::who::{Client, Group, GroupKind, Job, Notebook, Source, Told, User, Who};
use probe::{Basis, Reading, Why};
use proptest::prelude::*;

use crate::classify::Thresholds;
use crate::config::policy::{Action, Exempt, Kind, Match, Pattern, Policy, Rule};
use crate::ledger::{Clocks, Entry, Period};
use crate::policy::activity::{on_cards, with_sign};
use crate::policy::company::together;
use crate::policy::observed::{Observed, is_whole, observed};
use crate::policy::{
    Decision, Facts, Holding, Replay, Signs, Simulation, Step, nature, replay_all, time_of_day,
};
use crate::recorder::Observer;
use crate::sampler::{CardTick, HolderTick, Tick};
use crate::store::{self, Ending, History, Run, SignCode, SignRow, Writer};

const INTERVAL: Duration = Duration::from_secs(30);
const WORKED: Percent = Percent(1.0);

/// What a process does on a card.
#[derive(Debug, Clone, Copy)]
struct Held {
    mib: Option<u64>,
    sm: Option<f64>,
    sign: SignCode,
}

/// What one tick finds.
#[derive(Debug, Clone)]
struct Moment {
    /// On each of two cards: its utilization, and each of five processes where it is there.
    cards: [(Option<f64>, [Option<Held>; 5]); 2],
    is_unread: bool,
    happens: Happens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happens {
    Nothing,
    DriverGone,
    Late,
    ClockSet(i64),
    Restart,
    Killed,
}

/// Mostly the same as before: only then does anything come of it.
fn held() -> impl Strategy<Value = Option<Held>> {
    let mib = prop_oneof![10 => Just(Some(9000)), 1 => Just(Some(50)), 1 => Just(Some(400)), 1 => Just(None)];
    let sm = prop_oneof![14 => Just(Some(0.0)), 1 => Just(Some(0.5)), 1 => Just(Some(40.0)), 1 => Just(None)];
    let sign = prop_oneof![
        30 => Just(SignCode::Quiet),
        1 => Just(SignCode::Cpu),
        1 => Just(SignCode::Decoder),
        1 => Just(SignCode::Unknown(Why::FirstLook)),
    ];
    let held = (mib, sm, sign).prop_map(|(mib, sm, sign)| Some(Held { mib, sm, sign }));
    prop_oneof![12 => held, 1 => Just(None)]
}

fn moment() -> impl Strategy<Value = Moment> {
    let utilization = || {
        prop_oneof![
            12 => Just(Some(0.0)), 1 => Just(Some(0.5)), 1 => Just(Some(5.0)),
            1 => Just(Some(60.0)), 1 => Just(None),
        ]
    };
    let card = || (utilization(), prop::array::uniform5(held().boxed()));
    let happens = prop_oneof![
        60 => Just(Happens::Nothing),
        1 => Just(Happens::DriverGone),
        1 => Just(Happens::Late),
        1 => (-4000_i64..4000).prop_map(Happens::ClockSet),
        1 => Just(Happens::Restart),
        1 => Just(Happens::Killed),
    ];
    ([card(), card()], prop::bool::weighted(0.03), happens)
        .prop_map(|(cards, is_unread, happens)| Moment { cards, is_unread, happens })
}

/// Stretches in which nothing changes, which a day is made of.
fn moments() -> impl Strategy<Value = Vec<Moment>> {
    let stretch = (moment(), 1_usize..16).prop_map(|(moment, times)| {
        let steady = Moment { happens: Happens::Nothing, ..moment.clone() };
        std::iter::once(moment).chain(std::iter::repeat_n(steady, times)).collect::<Vec<_>>()
    });
    prop::collection::vec(stretch, 1..8).prop_map(|stretches| stretches.concat())
}

/// The first and the third are one person's, and of one job. The last two are another's, and
/// siblings whose environment cannot be read.
pub(super) fn person(place: u32) -> u32 {
    if place < 3 { place % 2 } else { 2 }
}

pub(super) fn who(place: u32) -> Who {
    let person = person(place);
    let value = User { uid: 1001 + person, name: Some(format!("user{person}").into()) };
    let job = Job { id: "7".into(), step: None };
    let kernel = Notebook { kernel: None, path: Some("a.ipynb".into()), client: Client::Jupyter };
    Who {
        user: Some(Told { value, source: Source::UserSlice }),
        job: (person == 0).then_some(Told { value: job, source: Source::Environment }),
        possible_group: (person == 2)
            .then(|| Group { kind: GroupKind::Siblings, id: "train.py of pid 7".into() }),
        ancestor_names: Some(if place == 3 { ["VLLM::x".into()].into() } else { [].into() }),
        notebook: (place == 1).then_some(Told { value: kernel, source: Source::CommandLine }),
        ..Who::default()
    }
}

fn process(place: u32) -> HolderTick {
    let facts = ProcessFacts {
        pid: 100 + place,
        parent: 1,
        start_ticks: 5000 + u64::from(place),
        started: Reading::Known(UnixMillis(1_000)),
        program: "python".into(),
        uid: Reading::Known(1001 + person(place)),
        user: Reading::Known(Some(format!("user{}", person(place)).into())),
        who: Reading::Known(Arc::new(who(place))),
    };
    HolderTick {
        pid: 100 + place,
        process: Presence::Here(Arc::new(facts)),
        command: Reading::Unknown(Why::NotAsked),
    }
}

fn known<T, U>(value: Option<T>, unit: impl Fn(T) -> U) -> Reading<U> {
    value.map_or(Reading::Unknown(Why::NotTold), |value| Reading::Known(unit(value)))
}

fn card_tick(index: u32, moment: &Moment) -> CardTick {
    let (utilization, held) = &moment.cards[index as usize];
    let there = (0_u32..).zip(held).filter_map(|(place, held)| Some((place, (*held)?)));
    let seen: Vec<Holder> = there
        .clone()
        .map(|(place, held)| Holder {
            pid: 100 + place,
            kinds: Kinds::COMPUTE,
            memory: known(held.mib, Bytes::from_mib),
            sm: known(held.sm, Percent),
            engines: Reading::Unknown(Why::NotSupported),
        })
        .collect();
    let used = there.clone().filter_map(|(_, held)| held.mib).sum();
    let unread = CardFacts::unread(index, Why::NotAsked);
    let facts = CardFacts {
        uuid: Reading::Known(format!("GPU-{index}")),
        name: Reading::Known(["NVIDIA A100", "NVIDIA H100"][index as usize].to_owned()),
        ..unread
    };
    let utilization = known(*utilization, |percent| Utilization {
        percent: Percent(percent),
        basis: Basis::Instant,
    });
    let vitals = Vitals {
        utilization,
        memory: Reading::Known(MemoryUse {
            total: Bytes::from_mib(80_000),
            used: Bytes::from_mib(used),
            free: Bytes::from_mib(80_000 - used),
            reserved: Reading::Known(Bytes(0)),
            source: MemorySource::Card,
        }),
        holders: Holders { seen, unread: moment.is_unread.then_some(Why::NoPermission) },
        ..Vitals::unknown(Why::NotAsked)
    };
    let holders = there.map(|(place, _)| process(place)).collect();
    CardTick {
        facts: Arc::new(facts),
        vitals,
        unattributed: Reading::Unknown(Why::NotAsked),
        holders,
    }
}

fn tick(at: UnixMillis, moment: &Moment) -> Tick {
    if moment.happens == Happens::DriverGone {
        return Tick { at, driver: Err(OpenError::DriverNotLoaded), cards: Vec::new() };
    }
    let untold = || Reading::Unknown(Why::NotTold);
    let driver = DriverFacts {
        version: untold(),
        nvml_version: untold(),
        cuda_version: Reading::Unknown(Why::NotTold),
        gpus: 2,
    };
    Tick { at, driver: Ok(driver), cards: vec![card_tick(0, moment), card_tick(1, moment)] }
}

/// The signs of a process are the same on all of its cards.
fn sign(one: &Observed, moment: &Moment) -> SignCode {
    let place = (one.subject.pid - 100) as usize;
    let held = moment.cards.iter().find_map(|(_, held)| held[place]);
    held.map_or(SignCode::Quiet, |held| held.sign)
}

fn holding(one: &Observed, code: SignCode) -> Holding {
    let facts = one.process.as_ref().unwrap();
    Holding {
        subject: one.subject,
        facts: Arc::new(Facts {
            person: one.person(),
            owner: facts.uid.map(Uids::all),
            groups: Reading::Unknown(Why::NotAsked),
            program: one.program.clone(),
            who: facts.who.clone(),
            cards: one.cards.clone(),
            nature: nature(one.program.as_deref(), one.kinds),
            cgroup: Reading::Unknown(Why::NotAsked),
        }),
        memory: one.memory,
        activity: with_sign(on_cards(&one.on_cards, WORKED), code),
        signs: Signs::unknown(Why::NotAsked),
        snoozed: Reading::Known(None),
        company: Vec::new(),
    }
}

/// A recorder that follows the rules, with a record of it.
struct Live<'a> {
    simulation: Simulation<'a>,
    writer: Option<Writer>,
    observer: Observer,
    wall: i64,
    boot: Duration,
    stored: Option<UnixMillis>,
}

impl Live<'_> {
    fn run(&self, started: UnixMillis) -> Run {
        Run {
            host: "lab".into(),
            boot: "boot".into(),
            driver: None,
            recorder: "test".into(),
            interval_millis: Some(30_000),
            started,
        }
    }

    fn take(&mut self, moment: &Moment) {
        let passed = if moment.happens == Happens::Late { 100 } else { 30 };
        self.boot += Duration::from_secs(passed);
        self.wall += i64::try_from(passed).unwrap() * 1000;
        match moment.happens {
            Happens::ClockSet(seconds) => self.wall += seconds * 1000,
            Happens::Restart => self.begin_again(Some(Ending::Stopped)),
            Happens::Killed => self.begin_again(None),
            Happens::Nothing | Happens::DriverGone | Happens::Late => {}
        }
        let clocks =
            Clocks { wall: UnixMillis(self.wall), since_boot: self.boot, awake: self.boot };
        let tick = tick(clocks.wall, moment);
        let (entry, events) = self.observer.see(&tick, clocks, None);
        self.record(&entry, &events);
        self.follow(&tick, &entry, moment);
    }

    fn begin_again(&mut self, ending: Option<Ending>) {
        let database = match (self.writer.take(), ending) {
            (Some(writer), Some(ending)) => writer.end(ending).unwrap(),
            (Some(writer), None) => writer.killed(),
            (None, _) => return,
        };
        self.observer = Observer::new(INTERVAL, Thresholds::default());
        self.writer = Some(self.begin(database));
    }

    fn begin(&self, database: store::Database) -> Writer {
        Writer::begin(database, &self.run(UnixMillis(self.wall))).unwrap()
    }

    /// As a recorder does.
    fn record(&mut self, entry: &Entry, events: &[crate::ledger::Event]) {
        let mut writer = self.writer.take().unwrap();
        if self.stored.is_some_and(|stored| entry.at <= stored) {
            writer = self.begin(writer.end(Ending::ClockSetBack).unwrap());
        }
        writer.record(entry, events).unwrap();
        self.stored = Some(entry.at);
        self.writer = Some(writer);
    }

    fn follow(&mut self, tick: &Tick, entry: &Entry, moment: &Moment) {
        let all: Vec<_> =
            observed(tick, entry).into_iter().map(|one| (sign(&one, moment), one)).collect();
        let writer = self.writer.as_mut().unwrap();
        let run = writer.run();
        let row = |(code, one): &(SignCode, Observed)| SignRow {
            at: entry.at,
            run,
            pid: one.subject.pid,
            start_ticks: one.subject.start_ticks,
            sign: *code,
        };
        let signs: Vec<_> = all.iter().map(row).collect();
        store::write_policy(writer.database(), "boot", None, &signs, &[]).unwrap();
        let mut holdings: Vec<_> = all.iter().map(|(code, one)| holding(one, *code)).collect();
        if entry.covers.is_empty() {
            // The record does not have what a tick saw that speaks for no time.
            holdings.clear();
        }
        together(&mut holdings);
        self.simulation.step(Step {
            covers: entry.covers,
            since_last: None,
            time_of_day: time_of_day(entry.at),
            holdings,
            is_whole: is_whole(tick, entry),
            is_on: true,
        });
    }
}

pub(super) fn rules() -> Policy {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let base = Rule {
        notices: vec![minutes(2), minutes(3)],
        idle_for: minutes(4),
        ..super::rule(Action::End)
    };
    let rule = |name: &str, matches: Match| Rule { name: name.into(), matches, ..base.clone() };
    let notebooks = Match { kinds: vec![Kind::Notebook], ..Match::default() };
    let large = Match {
        memory_over: Some(Bytes::from_mib(1000)),
        cards: vec!["h100".into()],
        ..Match::default()
    };
    let exempt = Exempt { users: vec![Pattern::new("user9")], ..Exempt::default() };
    let vllm =
        Exempt { programs: vec![Pattern::new("vllm*").ignoring_case()], ..Exempt::default() };
    let large = Rule { exempt: vllm, ..rule("large", large) };
    let watched = Rule { action: Action::Observe, ..rule("watched", notebooks) };
    let mut policy = super::policy(vec![watched, large, rule("all", Match::default())]);
    policy.exempt = exempt;
    policy.max_ends_per_hour = 2;
    policy
}

pub(super) fn told(decisions: &[Decision]) -> Vec<String> {
    let line = |it: &Decision| {
        format!(
            "{} {:?} {} {:?} {}",
            it.at.0, it.subject, it.rule, it.what, it.evidence.idle_millis
        )
    };
    decisions.iter().map(line).collect()
}

/// What is decided live, and what on the record.
fn both(moments: &[Moment]) -> (Vec<String>, Vec<String>) {
    let policy = rules();
    let mut live = Live {
        simulation: Simulation::new(&policy),
        writer: None,
        observer: Observer::new(INTERVAL, Thresholds::default()),
        wall: 1_794_182_400_000,
        boot: Duration::from_secs(1000),
        stored: None,
    };
    live.writer = Some(live.begin(store::in_memory().unwrap()));
    moments.iter().for_each(|moment| live.take(moment));
    let decided = told(live.simulation.decisions());
    let history = History::of(live.writer.take().unwrap().end(Ending::Stopped).unwrap()).unwrap();
    let window = Period::new(UnixMillis(0), UnixMillis(i64::MAX / 2));
    let groups = |_: &str| Reading::Unknown(Why::NotAsked);
    let replay = Replay::new(&history, window, &policy, WORKED, &groups).unwrap();
    let mut simulation = Simulation::new(&policy);
    let mut assumed = 0;
    replay_all(&history, window, replay, |_, replayed| {
        assumed += replayed.assumed_millis;
        simulation.step(replayed.step);
    })
    .unwrap();
    assert_eq!(assumed, 0, "every sign was written down");
    (decided, told(simulation.decisions()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_record_is_judged_as_what_was_seen(moments in moments()) {
        let (live, recorded) = both(&moments);
        prop_assert_eq!(live, recorded);
    }
}

/// The histories above are such that something comes of them.
#[test]
fn something_is_decided() {
    let idle = Some(Held { mib: Some(9000), sm: Some(0.0), sign: SignCode::Quiet });
    let card = (Some(0.0), [idle, idle, None, None, None]);
    let moment = Moment { cards: [card; 2], is_unread: false, happens: Happens::Nothing };
    let (live, recorded) = both(&vec![moment; 12]);
    assert_eq!(live, recorded);
    let ends = live.iter().filter(|line| line.contains("End")).count();
    assert_eq!((live.len(), ends), (6, 2), "{live:#?}");
}
