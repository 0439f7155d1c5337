//! Sessions: what one process does on a card, by the clock of the lab.

use std::time::Duration;

use probe::units::UnixMillis;
use scenario::identity::Identity;
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

/// One process on one card. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Session {
    /// `None` for somebody whom the host no longer has.
    pub user: Option<&'static str>,
    pub uid: u32,
    pub pid: u32,
    pub program: &'static str,
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
            owner: Owner {
                user: self.user.map(str::to_owned),
                uid: self.uid,
                program: self.program.to_owned(),
                command: vec![self.program.to_owned()],
                parent: 1,
                gone: self.user.is_none(),
                identity: Identity::default(),
            },
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
