//! A recorder of made-up polls, with the rules live beside it and over its record.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, ProcessSample, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess, Poll};
use gua_core::process::{Holder, Holders, Kinds, ProcessId};
use gua_core::session::SessionBuilder;
use gua_core::sign::Sign as StoredSign;
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Classifier, Clocks, Period, Reading, Reason, Thresholds};
use gua_store::{Database, Person as StoredPerson, ProcessEntry, Run, Tick, Writer};
use probe::identity::{Client, Group, GroupKind, Job, Notebook, Source, Told, User, Who};
use probe::proc::status::Uids;

use crate::config::policy::Policy;
use crate::policy::company::together;
use crate::policy::input::{Advance, Cell, LiveInput, ReplayBasis, StoredInput, step_ms};
use crate::policy::{
    Facts, Holding, Person, Signs, Simulation, Step, Subject, nature, time_of_day,
};

/// A full hour.
pub const START: i64 = 1_794_182_400_000;
pub const POLL_MS: i64 = 5000;
const TICK_MS: i64 = 30_000;
/// Distance of samples.
const SAMPLE_MS: i64 = 167;

/// What a process does on a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub mib: u64,
    /// Use of the SMs in percent.
    pub sm: u32,
}

/// What there is at a time. It lasts until the next change.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    pub held: BTreeMap<(usize, u32), Held>,
    /// Sign of a process; quiet if it is not there.
    pub signs: HashMap<u32, StoredSign>,
    /// Card that is lost.
    pub lost: Option<usize>,
    pub is_driver_away: bool,
    /// No poll comes.
    pub is_late: bool,
}

pub fn id(place: u32) -> ProcessId {
    ProcessId {
        pid: 100 + place,
        start_ticks: Some(5000 + u64::from(place)),
        uid: Some(1001 + person(place)),
    }
}

pub fn entry(place: u32) -> ProcessEntry {
    let user = who(place).user.unwrap();
    ProcessEntry {
        program: Some("python".into()),
        person: StoredPerson {
            user: user.value.name.clone(),
            uid: Some(user.value.uid),
            source: Some(user.source),
        },
        kinds: Kinds::COMPUTE,
        workload: Some(Arc::new(Who { user: None, ..who(place) })),
        ..ProcessEntry::unread(id(place))
    }
}

pub fn card(index: usize) -> Arc<CardFacts> {
    let facts = CardFacts::unread(u32::try_from(index).unwrap(), Reason::NotAsked);
    Arc::new(CardFacts {
        uuid: Reading::Known(format!("GPU-{index}")),
        name: Reading::Known(["NVIDIA A100", "NVIDIA H100"][index].to_owned()),
        ..facts
    })
}

pub fn run(started: i64) -> Run {
    Run {
        host: "lab".into(),
        boot: "boot".into(),
        driver: None,
        recorder: "test".into(),
        rule: "5 s".into(),
        thresholds: Thresholds::default(),
        interval_ms: Some(TICK_MS),
        started: UnixMillis(started),
    }
}

/// Makes polls of what there is.
pub struct Polls {
    cards: Vec<Arc<CardFacts>>,
    /// Use of each card since the last poll, by its samples.
    samples: Vec<Vec<Sample>>,
    process_samples: Vec<Vec<ProcessSample>>,
    sampled: i64,
}

impl Polls {
    pub fn new() -> Self {
        let none = || vec![Vec::new(), Vec::new()];
        Self {
            cards: vec![card(0), card(1)],
            samples: none(),
            process_samples: vec![Vec::new(), Vec::new()],
            sampled: START,
        }
    }

    /// Lets time pass up to `until`.
    pub fn pass(&mut self, until: i64, moment: &dyn Fn(i64) -> Moment) {
        while self.sampled + SAMPLE_MS <= until {
            self.sampled += SAMPLE_MS;
            let stamp = u64::try_from(self.sampled * 1000).unwrap();
            let now = moment(self.sampled);
            for place in 0..self.cards.len() {
                let here = now.held.iter().filter(|((card, _), _)| *card == place);
                let mut sum = 0;
                for ((_, process), held) in here.filter(|(_, held)| held.sm > 0) {
                    sum += held.sm;
                    let pid = id(*process).pid;
                    let sample = ProcessSample { pid, stamp, percent: held.sm };
                    self.process_samples[place].push(sample);
                }
                self.samples[place].push(Sample { stamp, percent: sum.min(100) });
            }
        }
    }

    pub fn poll(&mut self, at: i64, now: &Moment) -> Poll {
        let since_boot = Duration::from_millis(u64::try_from(at - START + 1_000_000).unwrap());
        let clocks = Clocks { wall: UnixMillis(at), since_boot, awake: since_boot };
        let cards = (0..self.cards.len()).map(|place| self.card(place, now)).collect();
        let cards = if now.is_driver_away { Err(Reason::DriverGone) } else { Ok(cards) };
        Poll { clocks, cards, exits: Vec::new() }
    }

    fn card(&mut self, place: usize, now: &Moment) -> CardPoll {
        let samples = std::mem::take(&mut self.samples[place]);
        let process_samples = std::mem::take(&mut self.process_samples[place]);
        let here: Vec<_> = now.held.iter().filter(|((card, _), _)| *card == place).collect();
        let holder = |(_, process): &(usize, u32), held: &Held| Holder {
            pid: id(*process).pid,
            kinds: Kinds::COMPUTE,
            memory: Reading::Known(Bytes::from_mib(held.mib)),
            sm: Reading::Unknown(Reason::NotAsked),
            engines: Reading::Unknown(Reason::NotSupported),
        };
        let process = |(_, process): &(usize, u32)| HolderProcess {
            id: id(*process),
            started: None,
            cpu: Reading::Known(Percent(0.0)),
        };
        let used: u64 = here.iter().map(|(_, held)| held.mib).sum();
        let percent = samples.last().map_or(0, |sample| sample.percent);
        let reading = Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(f64::from(percent)),
                basis: Basis::Instant,
            }),
            samples: Reading::Known(Samples { samples, is_full: false }),
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used: Bytes::from_mib(used),
                free: Bytes::from_mib(80_000 - used),
                reserved: Reading::Known(Bytes(0)),
                source: MemorySource::Card,
            }),
            holders: Holders {
                seen: here.iter().map(|(key, held)| holder(key, held)).collect(),
                unread: None,
            },
            process_samples: Reading::Known(process_samples),
            ..Vitals::unknown(Reason::NotAsked)
        };
        let is_lost = now.lost == Some(place);
        CardPoll {
            card: Arc::clone(&self.cards[place]),
            processes: match is_lost {
                true => Vec::new(),
                false => here.iter().map(|(key, _)| process(key)).collect(),
            },
            reading: if is_lost { Vitals::unknown(Reason::Lost) } else { reading },
        }
    }
}

/// A recorder with the rules beside it.
pub struct Lab<'a> {
    pub simulation: Simulation<'a>,
    polls: Polls,
    classifier: Classifier,
    sessions: SessionBuilder,
    writer: Option<Writer>,
    input: LiveInput,
    facts: HashMap<Subject, Facts>,
    now: i64,
    ticked: i64,
}

fn facts(place: u32) -> Facts {
    let StoredPerson { user, uid, .. } = entry(place).person;
    let person = who(place).user.map(|told| told.source);
    Facts {
        owner: Reading::Known(Uids::all(uid.unwrap())),
        person: Some(Person { uid: uid.unwrap(), name: user, source: person.unwrap() }),
        groups: Reading::Unknown(Reason::NotAsked),
        program: Some("python".into()),
        who: Reading::Known(entry(place).workload.unwrap()),
        cards: Vec::new(),
        nature: nature(Some("python"), Kinds::COMPUTE),
        cgroup: Reading::Unknown(Reason::NotAsked),
    }
}

impl<'a> Lab<'a> {
    pub fn new(policy: &'a Policy) -> Self {
        Self {
            simulation: Simulation::new(policy),
            polls: Polls::new(),
            classifier: Classifier::new(Thresholds::default()),
            sessions: SessionBuilder::new(&Thresholds::default()),
            writer: Some(Writer::begin(Database::in_memory().unwrap(), run(START)).unwrap()),
            input: input(),
            facts: (0..5).map(|place| (Subject::from(id(place)), facts(place))).collect(),
            now: START,
            ticked: START,
        }
    }

    /// Records what there is up to a time.
    pub fn record(&mut self, until: i64, moment: &dyn Fn(i64) -> Moment) {
        while self.now < START + until {
            let now = moment(self.now);
            self.polls.pass(self.now, moment);
            if !now.is_late {
                let poll = self.polls.poll(self.now, &now);
                self.classifier.add(&poll);
                self.input.polled(&poll);
                if self.now - self.ticked >= TICK_MS {
                    self.tick(&poll, &now, false);
                }
            }
            self.now += POLL_MS;
        }
    }

    fn tick(&mut self, poll: &Poll, now: &Moment, is_end: bool) {
        let closed = self.classifier.take_spans();
        let open: Vec<_> = self.classifier.open_spans().collect();
        let gaps = self.classifier.take_gaps();
        let at = UnixMillis(self.now);
        let until = self.classifier.final_until().unwrap_or(at);
        closed.iter().for_each(|span| self.sessions.add(span));
        let mut sessions = self.sessions.take_updates(&open, until);
        if is_end {
            sessions.extend(self.sessions.finish());
        }
        let processes: Vec<_> = (0..5).map(entry).collect();
        let tick = Tick {
            closed: &closed,
            open: &open,
            gaps: &gaps,
            sessions: &sessions,
            processes: &processes,
            recorded_ms: self.now - self.ticked,
            ..Tick::new(at, until)
        };
        let mut read: Vec<_> = poll
            .cards
            .iter()
            .flatten()
            .flat_map(|card| &card.processes)
            .map(|process| Subject::from(process.id))
            .map(|subject| (subject, now.signs.get(&(subject.pid - 100)).copied()))
            .map(|(subject, sign)| (subject, Some(sign.unwrap_or(StoredSign::Quiet))))
            .collect();
        read.sort_unstable();
        read.dedup();
        let Advance { cells, signs, .. } = self.input.advance(&tick, &read);
        let writer = self.writer.as_mut().unwrap();
        writer
            .tick_with(&tick, |transaction| {
                signs.iter().try_for_each(|sign| transaction.write_sign(sign))
            })
            .unwrap();
        self.follow(cells);
        self.ticked = self.now;
    }

    /// Ends the run as a clean stop does.
    fn stop(&mut self) -> Database {
        self.classifier.finish();
        self.now -= POLL_MS;
        let poll =
            Poll { cards: Err(Reason::NotAsked), ..self.polls.poll(self.now, &Moment::default()) };
        self.tick(&poll, &Moment::default(), true);
        self.now += POLL_MS;
        let mut writer = self.writer.take().unwrap();
        let until = writer.database().final_until().unwrap().unwrap();
        let Advance { cells, signs, .. } = self.input.finish(until);
        writer
            .write_between(|transaction| {
                signs.iter().try_for_each(|sign| transaction.write_sign(sign))
            })
            .unwrap();
        self.follow(cells);
        writer.end("stopped").unwrap()
    }

    /// Stops the recorder and starts it again some time later.
    pub fn restart(&mut self, pause: i64) {
        let database = self.stop();
        self.now += pause;
        self.ticked = self.now;
        self.classifier = Classifier::new(Thresholds::default());
        self.sessions = SessionBuilder::new(&Thresholds::default());
        self.input = input();
        self.writer = Some(Writer::begin(database, run(self.now)).unwrap());
    }

    fn follow(&mut self, cells: Vec<Cell>) {
        for cell in cells {
            let mut holdings: Vec<Holding> = Vec::new();
            for (subject, holder) in cell.holders {
                let cards = holder.cards.iter().filter_map(|place| self.input.card(*place));
                let facts = Facts { cards: cards.collect(), ..self.facts[&subject].clone() };
                holdings.push(Holding {
                    subject,
                    facts: Arc::new(facts),
                    memory: holder.memory,
                    activity: holder.activity,
                    signs: Signs::unknown(Reason::NotAsked),
                    snoozed: Reading::Known(None),
                    company: Vec::new(),
                });
            }
            together(&mut holdings);
            self.simulation.step(Step {
                covers: cell.covers,
                since_last: None,
                time_of_day: time_of_day(cell.covers.to),
                holdings,
                is_whole: cell.is_whole,
                is_on: true,
            });
        }
    }

    /// Stops. Returns what was decided live, and the record.
    pub fn finish(mut self) -> (Vec<crate::policy::Decision>, Database) {
        let database = self.stop();
        (self.simulation.decisions().to_vec(), database)
    }
}

fn input() -> LiveInput {
    LiveInput::new(step_ms(Some(TICK_MS)), Thresholds::default(), UnixMillis(i64::MIN))
}

/// The rules over a record, and what that rests on.
pub struct Replayed<'a> {
    pub simulation: Simulation<'a>,
    pub basis: ReplayBasis,
}

pub fn replay<'a>(database: &Database, policy: &'a Policy) -> Replayed<'a> {
    replay_window(database, policy, Period::new(UnixMillis(0), UnixMillis(i64::MAX / 2)))
}

pub fn replay_window<'a>(database: &Database, policy: &'a Policy, window: Period) -> Replayed<'a> {
    let groups = |_: &str| Reading::Unknown(Reason::NotAsked);
    let mut simulation = Simulation::new(policy);
    let input = StoredInput::new(database, window, policy).unwrap();
    let basis = input.replay(database, &groups, |step| simulation.step(step)).unwrap();
    Replayed { simulation, basis }
}

/// The first and the third are one person's, and of one job. The last two are another's, and
/// siblings whose environment cannot be read.
fn person(place: u32) -> u32 {
    if place < 3 { place % 2 } else { 2 }
}

fn who(place: u32) -> Who {
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
