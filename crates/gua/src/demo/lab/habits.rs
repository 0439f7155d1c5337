//! Who does what, and when: one function a person.

use super::super::dice::Dice;
use super::sessions::{DAY, Day, HOUR, MINUTE, Seat, Session, Setting, Work};

/// Somebody at their desk on one day.
struct Desk {
    user: &'static str,
    uid: u32,
    setting: Setting,
    day: Day,
    dice: Dice,
    sessions: Vec<Session>,
}

/// What somebody does on a day.
type Habit = fn(&mut Desk);

/// Everything that is begun on a day.
pub(super) fn sessions(day: Day) -> Vec<Session> {
    let people: [(&'static str, Setting, Habit); 12] = [
        ("alice", Setting::Job("train.py"), trains_at_night),
        ("bob", Setting::Notebook("explore.ipynb"), leaves_a_notebook_open),
        ("carol", Setting::Notebook("finetune.ipynb"), abandons_a_kernel_on_friday),
        ("dave", Setting::Job("pretrain.py"), trains_by_day),
        ("erin", Setting::Notebook("draft.ipynb"), sleeps_beside_a_working_job),
        ("frank", Setting::Script("load.py"), loads_data_in_bursts),
        ("grace", Setting::Script("debug.py"), debugs),
        ("heidi", Setting::Container("answers"), serves_a_model),
        ("ivan", Setting::Notebook("course.ipynb"), |desk| follows_a_course(desk, 0)),
        ("judy", Setting::Notebook("course.ipynb"), |desk| follows_a_course(desk, 1)),
        ("kim", Setting::Job("sweep.py"), sweeps_at_weekends),
        ("leo", Setting::Script("evaluate.py"), evaluates),
    ];
    let of_one = |(uid, (user, setting, habit)): (u32, (&'static str, Setting, Habit))| {
        let dice = Dice::of(day.number, user);
        let mut desk = Desk { user, uid, setting, day, dice, sessions: vec![] };
        habit(&mut desk);
        desk.sessions
    };
    (1001..).zip(people).flat_map(of_one).collect()
}

impl Desk {
    /// Seconds since 1970 of a time of this day.
    const fn at(&self, seconds: i64) -> i64 {
        self.day.start() + seconds
    }

    /// A time of this day between two.
    fn between(&mut self, first: i64, last: i64) -> i64 {
        let minutes = self.dice.number(first / MINUTE, last / MINUTE);
        let seconds = self.dice.number(0, 59);
        self.at(minutes * MINUTE + seconds)
    }

    /// Whether it is a working day for them.
    fn works_today(&mut self) -> bool {
        !self.dice.once_in(12) && !self.day.is_weekend()
    }

    fn begin(&mut self, card: u32, memory_gib: u64, (begin, end): (i64, i64), work: Work) {
        let program = if memory_gib <= 16 { "jupyter-lab" } else { "python" };
        self.sessions.push(Session {
            user: Some(self.user),
            uid: self.uid,
            pid: u32::try_from(self.dice.number(10_000, 4_000_000)).unwrap_or(10_000),
            program,
            setting: self.setting,
            seat: Seat { card, slot: None },
            memory_mib: memory_gib << 10,
            begin,
            end,
            work,
        });
    }

    /// Short bursts of work until then, and none afterwards.
    fn cells(&mut self, begin: i64, until: i64) -> Work {
        let mut steps = vec![(begin, 0.0)];
        let mut at = begin + self.dice.number(2, 10) * MINUTE;
        while at < until {
            let busy = self.dice.number(4, 15) * MINUTE;
            steps.extend([(at, 62.0), (at + busy, 0.0)]);
            at += busy + self.dice.number(5, 25) * MINUTE;
        }
        Work::Steps(steps)
    }
}

/// Two cards from the evening until the morning, and from Friday until Sunday.
fn trains_at_night(desk: &mut Desk) {
    if !desk.works_today() {
        return;
    }
    let begin = desk.between(18 * HOUR, 20 * HOUR);
    let hours = if desk.day.weekday() == 4 { 34 } else { desk.dice.number(9, 13) };
    let end = begin + hours * HOUR;
    // It loads for a while before it works.
    let work = Work::Steps(vec![(begin, 3.0), (begin + 6 * MINUTE, 91.0)]);
    desk.begin(0, 62, (begin, end), work.clone());
    desk.begin(1, 62, (begin, end), work);
}

/// Works in the morning; the notebook stays open over lunch and all afternoon.
fn leaves_a_notebook_open(desk: &mut Desk) {
    if !desk.works_today() {
        return;
    }
    let begin = desk.between(9 * HOUR, 10 * HOUR);
    let end = desk.between(19 * HOUR, 23 * HOUR);
    let lunch = desk.between(11 * HOUR + 30 * MINUTE, 12 * HOUR + 30 * MINUTE);
    let work = desk.cells(begin, lunch);
    desk.begin(1, 8, (begin, end), work);
}

/// A kernel is begun on Friday afternoon and found again on Monday.
fn abandons_a_kernel_on_friday(desk: &mut Desk) {
    if desk.day.is_weekend() {
        return;
    }
    let begin = desk.between(10 * HOUR, 11 * HOUR);
    let stop = desk.between(16 * HOUR, 17 * HOUR);
    let work = desk.cells(begin, stop);
    let is_friday = desk.day.weekday() == 4;
    let end = if is_friday { desk.at(3 * DAY + 9 * HOUR + 30 * MINUTE) } else { stop + HOUR };
    desk.begin(2, 31, (begin, end), work);
}

/// Long jobs on card 3.
fn trains_by_day(desk: &mut Desk) {
    if desk.dice.once_in(3) {
        return;
    }
    let begin = desk.between(8 * HOUR, 11 * HOUR);
    let end = begin + desk.dice.number(6, 11) * HOUR;
    desk.begin(3, 44, (begin, end), Work::Steady(76.0));
}

/// A notebook that is open for days on the card of a working job.
fn sleeps_beside_a_working_job(desk: &mut Desk) {
    if desk.day.is_weekend() || desk.day.number.rem_euclid(4) != 1 {
        return;
    }
    let begin = desk.between(9 * HOUR, 15 * HOUR);
    let end = begin + desk.dice.number(50, 80) * HOUR;
    let work = desk.cells(begin, begin + HOUR);
    desk.begin(3, 11, (begin, end), work);
}

/// The card waits for data more than it works: minutes of work, minutes of waiting. When it
/// is done, the prompt is left open until the morning.
fn loads_data_in_bursts(desk: &mut Desk) {
    if !desk.works_today() {
        return;
    }
    let begin = desk.between(8 * HOUR, 9 * HOUR);
    let noon = desk.between(12 * HOUR, 13 * HOUR);
    let done = desk.between(18 * HOUR, 20 * HOUR);
    // The second is better: the waits are shorter than a tick.
    let first = Work::Bursts { duty: 55.0, period_seconds: 900, high: 85.0, low: 0.0 };
    let second = Work::Bursts { duty: 30.0, period_seconds: 20, high: 95.0, low: 0.0 };
    desk.begin(4, 58, (begin, noon), first);
    desk.begin(4, 58, (noon + 5 * MINUTE, done), second);
    desk.begin(4, 21, (done, desk.at(DAY + 6 * HOUR + 50 * MINUTE)), Work::Steady(0.0));
}

/// Starts, breaks, starts again.
fn debugs(desk: &mut Desk) {
    if !desk.works_today() {
        return;
    }
    let mut at = desk.between(9 * HOUR, 11 * HOUR);
    let end = desk.between(15 * HOUR, 18 * HOUR);
    while at < end {
        let length = desk.dice.number(3, 20) * MINUTE;
        let work = Work::Steps(vec![(at, 0.0), (at + 40, 35.0), (at + length / 2, 0.0)]);
        desk.begin(5, 20, (at, at + length), work);
        at += length + desk.dice.number(2, 25) * MINUTE;
    }
}

/// A model that answers questions, more of them by day; begun anew every Sunday.
fn serves_a_model(desk: &mut Desk) {
    if desk.day.weekday() == 6 {
        let (begin, end) = (desk.at(4 * HOUR), desk.at(7 * DAY + 4 * HOUR - 2 * MINUTE));
        let by_hour =
            [(0, 4.0), (7, 13.0), (9, 38.0), (12, 26.0), (14, 41.0), (18, 17.0), (22, 6.0)];
        let hours = by_hour.map(|(hour, percent)| (hour * HOUR, percent)).to_vec();
        desk.begin(6, 34, (begin, end), Work::Daily(hours));
    }
    // Some container of hers ends without its memory being given back at once.
    if desk.dice.once_in(5) {
        let begin = desk.between(10 * HOUR, 15 * HOUR);
        let end = begin + desk.dice.number(1, 5) * HOUR;
        desk.begin(6, 1, (begin, end), Work::Steady(0.0));
        if let Some(session) = desk.sessions.last_mut() {
            (session.user, session.memory_mib) = (None, 400);
        }
    }
}

/// An instance of the divided card, in the afternoons of the term.
fn follows_a_course(desk: &mut Desk, slot: u32) {
    if !desk.works_today() {
        return;
    }
    let begin = desk.between(13 * HOUR, 14 * HOUR);
    let stop = begin + desk.dice.number(60, 150) * MINUTE;
    let forgets = desk.dice.once_in(3);
    let end = if forgets { stop + desk.dice.number(5, 15) * HOUR } else { stop + 4 * MINUTE };
    let work = desk.cells(begin, stop);
    desk.begin(7, 12, (begin, end), work);
    if let Some(session) = desk.sessions.last_mut() {
        session.seat.slot = Some(slot);
    }
}

/// When nobody else is there: job after job, on what is free.
fn sweeps_at_weekends(desk: &mut Desk) {
    if !desk.day.is_weekend() || desk.dice.once_in(4) {
        return;
    }
    let begin = desk.between(7 * HOUR, 9 * HOUR);
    let end = begin + desk.dice.number(10, 15) * HOUR;
    desk.begin(4, 70, (begin, end), Work::Steady(88.0));
    desk.begin(5, 70, (begin, end), Work::Steady(83.0));
}

/// Evaluations through the day, with the model kept on the card in between.
fn evaluates(desk: &mut Desk) {
    if !desk.works_today() {
        return;
    }
    let (begin, end) = (desk.between(8 * HOUR, 9 * HOUR), desk.between(17 * HOUR, 18 * HOUR));
    let mut steps = vec![(begin, 0.0)];
    for hour in [9, 11, 14, 16] {
        let busy = desk.between(hour * HOUR, hour * HOUR + 40 * MINUTE);
        steps.extend([(busy, 54.0), (busy + desk.dice.number(15, 50) * MINUTE, 0.0)]);
    }
    desk.begin(0, 17, (begin, end), Work::Steps(steps));
}
