//! Sessions: what one process does on a card, by the clock of the lab.

use std::time::Duration;

use probe::units::UnixMillis;
use scenario::identity::{Container, Identity};
use scenario::load::Shape;
use scenario::model::{Engines, Owner};
use scenario::{Kind, Load, Moment, Process};

pub(super) const MINUTE: i64 = 60;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// One day, by its number since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub number: i64,
}

impl Day {
    pub const fn new(number: i64) -> Self {
        Self { number }
    }

    pub const fn of(at: UnixMillis) -> Self {
        Self { number: at.0.div_euclid(DAY * 1000) }
    }

    pub const fn next(self) -> Self {
        Self { number: self.number + 1 }
    }

    /// In seconds since 1970.
    pub const fn start(self) -> i64 {
        self.number * DAY
    }

    /// 0 is Monday.
    pub const fn weekday(self) -> i64 {
        (self.number + 3).rem_euclid(7)
    }

    pub const fn is_weekend(self) -> bool {
        self.weekday() >= 5
    }
}

/// Where a process sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub card: u32,
    pub slot: Option<u32>,
}

/// How hard it works. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    Steady(f64),
    /// So much of each period, which a day is a multiple of.
    Bursts {
        duty: f64,
        period_seconds: u64,
        high: f64,
        low: f64,
    },
    /// Each value from its time on.
    Steps(Vec<(i64, f64)>),
    /// By the hour of the day.
    Daily(Vec<(i64, f64)>),
}

/// What somebody works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// A script in a login session.
    Script(&'static str),
    /// A notebook, by its file.
    Notebook(&'static str),
    /// A script in a job of Slurm.
    Job(&'static str),
    /// A program in a container, by the container's name. Root in it is its user outside.
    Container(&'static str),
}

/// One process on one card. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Session {
    /// `None` for somebody whom the host no longer has.
    pub user: Option<&'static str>,
    pub uid: u32,
    pub pid: u32,
    pub program: &'static str,
    pub setting: Setting,
    pub seat: Seat,
    pub memory_mib: u64,
    pub begin: i64,
    pub end: i64,
    pub work: Work,
}

impl Session {
    /// As part of the scenario of a day, whose `t = 0` is its midnight.
    pub fn process(self, day: Day) -> Process {
        let moment = |at: i64| Moment::from_secs(at - day.start());
        Process {
            owner: self.owner(),
            pid: self.pid,
            card: self.seat.card,
            slot: self.seat.slot,
            kinds: vec![Kind::Compute],
            memory: Some(self.memory_mib << 20),
            peak: None,
            sm: Load { shape: self.work.shape(day), noise: 0.0 },
            engines: Engines::default(),
            begin: moment(self.begin),
            end: Some(moment(self.end)),
        }
    }

    fn owner(&self) -> Owner {
        Owner {
            user: self.user.map(str::to_owned),
            uid: self.uid,
            program: self.program.to_owned(),
            command: self.command(),
            parent: 1,
            gone: self.user.is_none(),
            identity: self.identity(),
        }
    }

    fn command(&self) -> Vec<String> {
        let words = match self.setting {
            Setting::Script(script) | Setting::Job(script) => vec!["python", script],
            Setting::Notebook(_) => vec!["python", "-m", "ipykernel_launcher", "-f"],
            Setting::Container(_) => vec![self.program],
        };
        let kernel = matches!(self.setting, Setting::Notebook(_)).then(|| self.connection_file());
        words.into_iter().map(str::to_owned).chain(kernel).collect()
    }

    fn connection_file(&self) -> String {
        let id = format!("{:08x}-{:04x}-4000-8000-{:012x}", self.pid, self.uid, self.begin);
        format!("/run/user/{}/jupyter/kernel-{id}.json", self.uid)
    }

    fn identity(&self) -> Identity {
        match self.setting {
            Setting::Script(_) => Identity::default(),
            Setting::Notebook(file) => {
                let path = format!("/home/{}/{file}", self.user.unwrap_or_default());
                let environ = [("JPY_SESSION_NAME".to_owned(), path)].into();
                Identity { environ, ..Identity::default() }
            }
            Setting::Job(_) => {
                let job = self.job();
                Self::within(&format!(
                    "/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0"
                ))
            }
            Setting::Container(_) => Identity {
                uid_map: Some(format!("0 {} 1\n", self.uid)),
                ..Self::within(&format!("/system.slice/docker-{}.scope", self.container_id()))
            },
        }
    }

    fn within(path: &str) -> Identity {
        Identity { cgroup: Some(format!("0::{path}\n")), ..Identity::default() }
    }

    /// What somebody begins on a day in a job is one job.
    fn job(&self) -> i64 {
        self.begin.div_euclid(DAY) * 20 + i64::from(self.uid % 20)
    }

    /// Ids differ from the first digits on, as those of engines do.
    fn container_id(&self) -> String {
        let key = u64::from(self.pid) ^ self.begin.unsigned_abs().rotate_left(32);
        format!("{:016x}", key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).repeat(4)
    }

    /// Its container, as its engine has it on record.
    pub fn container(&self) -> Option<Container> {
        match self.setting {
            Setting::Container(name) => {
                Some(Container { id: self.container_id(), name: name.to_owned() })
            }
            Setting::Script(_) | Setting::Notebook(_) | Setting::Job(_) => None,
        }
    }
}

impl Work {
    fn shape(self, day: Day) -> Shape {
        let points = |steps: Vec<(i64, f64)>, origin: i64| {
            let point = |(at, percent): (i64, f64)| (Moment::from_secs(at - origin), percent);
            steps.into_iter().map(point).collect()
        };
        match self {
            Self::Steady(percent) => Shape::Constant(percent),
            Self::Bursts { duty, period_seconds, high, low } => Shape::Duty {
                duty,
                period: Duration::from_secs(period_seconds),
                high,
                low,
                phase: Duration::ZERO,
            },
            Self::Steps(steps) => {
                Shape::Points { points: points(steps, day.start()), repeat: None }
            }
            Self::Daily(hours) => Shape::Points {
                points: points(hours, 0),
                repeat: Some(Duration::from_secs(DAY.unsigned_abs())),
            },
        }
    }
}
