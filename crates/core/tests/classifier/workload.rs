//! Workloads of an hour in slots of 10 ms, each with its true answer.

use std::ops::Range;

/// Slots in a second.
pub const SECOND: usize = 100;
pub const HOUR: usize = 3600 * SECOND;

/// Time in slots.
pub type Slots = Range<usize>;

/// One card over an hour.
#[derive(Debug, Clone)]
pub struct Workload {
    pub name: &'static str,
    pub processes: Vec<Process>,
    /// Memory that no listed process holds, in MiB.
    pub unlisted: u64,
    /// Times in which the card cannot be read.
    pub lost: Vec<Slots>,
    /// Times in which nothing polls.
    pub stopped: Vec<Slots>,
}

/// One process on the card.
#[derive(Debug, Clone)]
pub struct Process {
    pub person: &'static str,
    pub life: Slots,
    /// MiB at the begin and at the end of its life.
    pub memory: (u64, u64),
    /// Utilization in percent, by time. Times do not overlap.
    pub bursts: Vec<(Slots, u32)>,
    /// Times that count as work and the mean utilization in them; `None`: by the rule.
    pub work: Option<Vec<(Slots, f64)>>,
}

impl Workload {
    pub fn new(name: &'static str, processes: Vec<Process>) -> Self {
        Self { name, processes, unlisted: 0, lost: Vec::new(), stopped: Vec::new() }
    }

    /// Utilization of the card in each slot.
    pub fn utilization(&self) -> Vec<u32> {
        let mut all = vec![0; HOUR];
        for process in &self.processes {
            for (slots, percent) in &process.bursts {
                all[slots.clone()].iter_mut().for_each(|it| *it = (*it + percent).min(100));
            }
        }
        all
    }
}

impl Process {
    pub fn new(person: &'static str, mib: u64) -> Self {
        Self {
            person,
            life: 0..HOUR,
            memory: (mib, mib),
            bursts: Vec::new(),
            work: Some(Vec::new()),
        }
    }

    /// Works at these times, all of which count.
    pub fn working(mut self, times: Vec<Slots>, percent: u32) -> Self {
        self.work = Some(times.iter().cloned().map(|slots| (slots, f64::from(percent))).collect());
        self.bursts = times.into_iter().map(|slots| (slots, percent)).collect();
        self
    }

    /// Works in bursts at these times, and the rule says what counts.
    pub fn by_rule(mut self, times: Vec<Slots>, percent: u32) -> Self {
        self.bursts = times.into_iter().map(|slots| (slots, percent)).collect();
        self.work = None;
        self
    }

    /// Works in bursts, and all of a longer time counts as work.
    pub fn counted_as(mut self, times: Vec<(Slots, f64)>) -> Self {
        self.work = Some(times);
        self
    }

    pub fn mib(&self, slot: usize) -> u64 {
        let (from, to) = self.memory;
        let length = self.life.len().max(1) as u64;
        let passed = slot.saturating_sub(self.life.start) as u64;
        from + (to.saturating_sub(from)) * passed / length
    }
}

/// Cycles of work and idleness, in seconds, from an offset on.
pub fn cycles(work: f64, idle: f64, offset: f64) -> Vec<Slots> {
    let slots = |seconds: f64| (seconds * SECOND as f64).round() as usize;
    let mut times = Vec::new();
    let mut at = slots(offset);
    while at < HOUR {
        times.push(at..(at + slots(work)).min(HOUR));
        at += slots(work) + slots(idle);
    }
    times
}

/// A small random number generator with a fixed seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Returns the time to the next of events that come at random, on average after `mean`.
    pub fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Bursts of random length at random distances, in seconds.
pub fn random_bursts(seed: u64, length: (f64, f64), every: (f64, f64)) -> Vec<Slots> {
    let mut random = Random::new(seed);
    let mut at = random.between(0.0, every.1);
    let mut times = Vec::new();
    while at < 3600.0 {
        let work = random.between(length.0, length.1);
        times.push(slots_of(at, at + work));
        at += work.max(random.between(every.0, every.1));
    }
    times
}

/// Requests that come at random, one after the other if they overlap.
pub fn requests(seed: u64, per_second: f64) -> Vec<Slots> {
    let mut random = Random::new(seed);
    let (mut at, mut free) = (0.0, 0.0_f64);
    let mut times: Vec<Slots> = Vec::new();
    loop {
        at += random.wait(1.0 / per_second);
        let begin = free.max(at);
        free = begin + random.between(0.3, 2.0);
        if free >= 3600.0 {
            return times;
        }
        let request = slots_of(begin, free);
        match times.last_mut() {
            Some(last) if last.end >= request.start => last.end = request.end,
            _ => times.push(request),
        }
    }
}

fn slots_of(from: f64, to: f64) -> Slots {
    let slot = |seconds: f64| ((seconds * SECOND as f64).round() as usize).min(HOUR);
    slot(from)..slot(to)
}

/// The workloads, one hour each.
pub fn all() -> Vec<Workload> {
    let one = |name, process| Workload::new(name, vec![process]);
    let ann = || Process::new("ann", 8000);
    let whole = || 0..HOUR;
    let phases = |work, idle, percent| ann().working(cycles(work, idle, 7.3), percent);
    let asleep = |person, mib| Process::new(person, mib);
    let two_thirds = |offset| Process::new("ann", 12_000).working(cycles(37.0, 61.0, offset), 85);
    let mut all = vec![
        one("steady", ann().working(vec![whole()], 90)),
        one("idle held", ann()),
        one("phases 41/53 at 90", phases(41.0, 53.0, 90)),
        one("phases 29/36 at 70", phases(29.0, 36.0, 70)),
        one("phases 113/97 at 95", phases(113.0, 97.0, 95)),
        one("phases 61/71 at 40", phases(61.0, 71.0, 40)),
        one("phases 35/90 at 100", phases(35.0, 90.0, 100)),
        one("notebook, random", ann().working(random_bursts(5, (2.0, 10.0), (60.0, 180.0)), 85)),
        one("notebook, 4 s / 56 s", phases(4.0, 56.0, 80)),
        one(
            "data loader 1 s / 1 s",
            ann().by_rule(cycles(1.0, 1.0, 0.0), 95).counted_as(vec![(whole(), 47.5)]),
        ),
        one(
            "30 % duty",
            ann().by_rule(cycles(0.21, 0.49, 0.0), 100).counted_as(vec![(whole(), 30.0)]),
        ),
        one("blip 0.2 s / 5 s", ann().by_rule(cycles(0.2, 4.8, 0.0), 100)),
        one("training, 8 s pauses", phases(52.0, 8.0, 92)),
        one(
            "training, 3 s pauses",
            ann().by_rule(cycles(57.0, 3.0, 0.0), 92).counted_as(vec![(whole(), 87.4)]),
        ),
        one("inference 0.01/s", ann().by_rule(requests(11, 0.01), 90)),
        one("inference 0.05/s", ann().by_rule(requests(12, 0.05), 90)),
        one("inference 0.2/s", ann().by_rule(requests(13, 0.2), 90)),
        one("inference 1/s", ann().by_rule(requests(14, 1.0), 90)),
        one("hovering 8 to 12 %", hovering()),
        one("flat 9 %", ann().by_rule(vec![whole()], 9)),
        one("flat 11 %", ann().working(vec![whole()], 11)),
        one("background", background()),
        Workload::new("two people", vec![two_thirds(3.1), asleep("bob", 20_000)]),
        Workload::new(
            "three people",
            vec![two_thirds(3.1), asleep("bob", 20_000), asleep("carol", 4000)],
        ),
        Workload::new(
            "three people, notebook",
            vec![
                Process::new("ann", 12_000)
                    .working(random_bursts(6, (2.0, 10.0), (60.0, 180.0)), 85),
                asleep("bob", 20_000),
                asleep("carol", 4000),
            ],
        ),
        Workload::new(
            "two alternately, 40 s apart",
            vec![
                ann().working(cycles(23.0, 57.0, 2.0), 80),
                Process::new("bob", 9000).working(cycles(23.0, 57.0, 42.0), 80),
            ],
        ),
        Workload::new(
            "two alternately, back to back",
            vec![
                ann().working(cycles(20.0, 20.0, 0.0), 80),
                Process::new("bob", 9000).working(cycles(20.0, 20.0, 20.0), 80),
            ],
        ),
        Workload::new(
            "two at once",
            vec![
                ann().working(cycles(50.0, 30.0, 1.7), 60),
                Process::new("bob", 9000).working(cycles(40.0, 50.0, 4.9), 30),
            ],
        ),
        Workload::new(
            "30 % duty beside phases",
            vec![
                ann().by_rule(cycles(0.21, 0.49, 0.0), 100).counted_as(vec![(whole(), 30.0)]),
                Process::new("bob", 9000).working(cycles(45.0, 45.0, 8.0), 20),
            ],
        ),
        Workload::new("comers and goers", visitors(21, (3.0, 60.0), 45.0)),
        Workload::new("shorter than a poll", visitors(22, (0.8, 5.0), 30.0)),
        Workload {
            lost: vec![600 * SECOND..640 * SECOND],
            ..one("card lost", phases(41.0, 53.0, 90))
        },
        Workload {
            stopped: vec![900 * SECOND..990 * SECOND],
            ..one("recorder stopped", phases(41.0, 53.0, 90))
        },
        Workload::new(
            "memory grows",
            vec![
                Process { memory: (1024, 31 * 1024), ..phases(41.0, 53.0, 90) },
                asleep("bob", 15_000),
            ],
        ),
    ];
    all.push(Workload { unlisted: 6000, ..one("unlisted memory", phases(41.0, 53.0, 90)) });
    all.push(Workload::new(
        "two processes of one person",
        vec![
            ann().working(cycles(23.0, 57.0, 2.0), 80),
            Process::new("ann", 9000),
            Process::new("bob", 5000),
        ],
    ));
    all
}

fn hovering() -> Process {
    let mut random = Random::new(31);
    let mut process = Process::new("ann", 8000).by_rule(Vec::new(), 0);
    let mut at = 0.0;
    while at < 3600.0 {
        let next = (at + random.between(0.5, 4.0)).min(3600.0);
        let percent = random.between(8.0, 12.999) as u32;
        process.bursts.push((slots_of(at, next), percent));
        at = next;
    }
    process
}

fn background() -> Process {
    let work = cycles(50.0, 70.0, 0.0);
    let low: Vec<_> = work.iter().map(|it| it.end..(it.end + 70 * SECOND).min(HOUR)).collect();
    let mut process = Process::new("ann", 8000).by_rule(work, 60);
    process.bursts.extend(low.into_iter().filter(|it| !it.is_empty()).map(|slots| (slots, 3)));
    process.bursts.sort_by_key(|(slots, _)| slots.start);
    process
}

/// People who come at random and work for a part of their stay.
fn visitors(seed: u64, stay: (f64, f64), every: f64) -> Vec<Process> {
    let mut random = Random::new(seed);
    let mut at = 5.0;
    let mut all = Vec::new();
    while at < 3540.0 {
        let length = random.between(stay.0, stay.1);
        let work = length * random.between(0.2, 0.8);
        let begin = at + random.between(0.0, length - work);
        let person = ["ann", "bob", "carol"][(random.unit() * 3.0) as usize % 3];
        let process = Process::new(person, 3000).working(vec![slots_of(begin, begin + work)], 75);
        all.push(Process { life: slots_of(at, at + length), ..process });
        at += length.max(random.wait(every));
    }
    all
}
