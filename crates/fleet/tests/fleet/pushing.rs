//! Remote write: what is taken, what is not, and what then.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gua_core::State;
use gua_core::span::Work;
use gua_core::units::UnixMillis;
use gua_fleet::engine::{Access, Credentials};
use gua_fleet::{Counter, Outbox, OutboxOptions, Pusher};
use gua_store::Tick;

use crate::lab::{DAY, HOUR, Lab, MINUTE, START, card, card_latest, span};
use crate::receiver::{Receiver, times};

const LAST_TICK: &str = "gua_last_tick_timestamp_seconds";
const ACTIVE: &str = "gua_user_gpu_seconds_total";

/// A lab whose ticks go into an outbox, and who sends it.
struct Sending {
    lab: Lab,
    options: OutboxOptions,
    outbox: Arc<Outbox>,
    pusher: Pusher,
    said: Arc<Mutex<String>>,
    now: i64,
}

impl Sending {
    fn new(receiver: &Receiver) -> Self {
        Self::with(receiver, |_| {})
    }

    fn with(receiver: &Receiver, change: impl FnOnce(&mut OutboxOptions)) -> Self {
        let (lab, outbox) = (Lab::new(), Arc::new(Outbox::default()));
        let (pusher, said) = pusher(&lab, receiver, &outbox);
        let mut options = OutboxOptions::new(&[("cluster".into(), "a".into())], "lab");
        change(&mut options);
        let mut sending = Self { lab, options, outbox, pusher, said, now: START };
        sending.begin();
        sending
    }

    /// Begins a run.
    fn begin(&mut self) {
        self.lab.begin(self.now);
        let totals = self.lab.totals.take().unwrap();
        self.lab.totals = Some(totals.with_outbox(self.options.clone(), Arc::clone(&self.outbox)));
    }

    /// Stores a tick after a time.
    fn tick(&mut self, length: i64) {
        let parts = [(1, 1, Work::Working)];
        let closed = [span(&card(0), self.now, self.now + length, State::Active, &parts)];
        self.now += length;
        let at = UnixMillis(self.now);
        assert!(self.lab.tick(&Tick { closed: &closed, ..Tick::new(at, at) }, true));
    }

    fn ticks(&mut self, count: usize, length: i64) {
        (0..count).for_each(|_| self.tick(length));
    }

    fn waiting(&self) -> usize {
        self.lab.read().pushes(0, usize::MAX).unwrap().len()
    }

    fn errors(&self, reason: &str) -> i64 {
        self.lab.value(Counter::Errors, "", reason)
    }
}

fn pusher(lab: &Lab, receiver: &Receiver, outbox: &Arc<Outbox>) -> (Pusher, Arc<Mutex<String>>) {
    let said = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&said);
    let say = move |words: &str| log.lock().unwrap().push_str(&format!("{words}\n"));
    let access = Access::new(&receiver.url).unwrap();
    (Pusher::new(access, lab.path(), Arc::clone(outbox), say).unwrap(), said)
}

#[test]
fn every_tick_is_sent_with_its_time() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(5, 30_000);
    assert_eq!(sending.waiting(), 5);
    assert_eq!(sending.pusher.send_all(), None);
    assert_eq!(receiver.requests(), 1, "several ticks in one request");
    let expected: Vec<i64> = (1..=5).map(|tick| START + tick * 30_000).collect();
    assert_eq!(receiver.samples(LAST_TICK).into_keys().collect::<Vec<_>>(), expected);
    for line in [
        "post /api/v1/write http/1.1",
        "content-encoding: snappy",
        "content-type: application/x-protobuf",
        "x-prometheus-remote-write-version: 0.1.0",
    ] {
        assert!(receiver.lock().heads[0].contains(line), "{line}");
    }
    let series = receiver.lock().taken.keys().find(|it| it.contains(ACTIVE)).unwrap().clone();
    assert!(
        series.starts_with("UUID=GPU-0,__name__=gua_user_gpu_seconds_total,cluster=a,"),
        "{series}"
    );
    assert!(series.contains("instance=lab,job=gua,state=active,user=ann,"), "{series}");
    // The next tick deletes what was taken.
    sending.tick(30_000);
    assert_eq!(sending.waiting(), 1);
}

/// Trap: counters start at 0-first series.
#[test]
fn pushed_counter_begins_with_zero() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(2, 30_000);
    sending.pusher.send_all();
    let samples = receiver.samples(ACTIVE);
    let expected = [(START, 0.0), (START + 30_000, 30.0), (START + 60_000, 60.0)];
    assert_eq!(samples.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn gauge_that_ends_is_marked() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    let tick = |sending: &mut Sending, work| {
        let parts = [(1, 1, work)];
        let closed = [span(&card(0), sending.now, sending.now + 30_000, State::Active, &parts)];
        sending.now += 30_000;
        let at = UnixMillis(sending.now);
        let latest = [card_latest(&card(0))];
        let tick = Tick { closed: &closed, latest: Some(&latest), ..Tick::new(at, at) };
        assert!(sending.lab.tick(&tick, true));
    };
    tick(&mut sending, Work::Idle);
    tick(&mut sending, Work::Working);
    sending.pusher.send_all();
    let idle = receiver.samples("gua_user_idle_since_timestamp_seconds");
    assert_eq!(idle[&(START + 30_000)], START as f64 / 1000.0);
    assert_eq!(idle[&(START + 60_000)].to_bits(), 0x7ff0_0000_0000_0002);
}

/// Trap: remote write sends every tick with its own time after hours without the receiver.
#[test]
fn every_tick_keeps_its_time_after_hours_without_the_receiver() {
    for (away, interval) in [(HOUR, 30_000), (3 * DAY, 2 * MINUTE)] {
        let receiver = Receiver::start();
        receiver.respond(|_| ("503 Service Unavailable", ""));
        let mut sending = Sending::new(&receiver);
        let count = usize::try_from(away / interval).unwrap();
        let mut wait = Duration::ZERO;
        for tick in 0..count {
            sending.tick(interval);
            if tick % 500 == 0 {
                wait = sending.pusher.send_all().unwrap();
            }
        }
        assert!(wait >= Duration::from_secs(1));
        assert_eq!(sending.said.lock().unwrap().matches("remote write failed").count(), 1);
        receiver.respond(|_| ("204 No Content", ""));
        assert_eq!(sending.pusher.send_all(), None);
        assert_eq!(receiver.samples(LAST_TICK).len(), count);
        let samples = receiver.samples(ACTIVE);
        assert_eq!((samples.len(), samples[&sending.now]), (count + 1, away as f64 / 1000.0));
        assert!(sending.said.lock().unwrap().contains("works again"));
        sending.tick(interval);
        assert_eq!((sending.waiting(), sending.errors("push_given_up")), (1, 0));
    }
}

/// Regression: an outbox that was emptied without the receiver counted as one that it took.
#[test]
fn empty_outbox_does_not_say_that_it_works_again() {
    let receiver = Receiver::start();
    receiver.respond(|_| ("503 Service Unavailable", ""));
    let mut sending = Sending::new(&receiver);
    for _ in 0..3 {
        sending.tick(MINUTE);
        assert!(sending.pusher.send_all().is_some());
        let writer = sending.lab.writer.as_mut().unwrap();
        writer.write_between(|outbox| outbox.drop_pushes(i64::MAX).map(drop)).unwrap();
        assert_eq!(sending.pusher.send_all(), None);
    }
    assert_eq!(sending.said.lock().unwrap().lines().count(), 1);
    sending.tick(MINUTE);
    receiver.respond(|_| ("204 No Content", ""));
    assert_eq!(sending.pusher.send_all(), None);
    assert!(sending.said.lock().unwrap().ends_with("remote write works again\n"));
}

/// Everything that the receiver still takes gets there: it says of the rest that it is too old.
#[test]
fn ticks_that_are_too_old_do_not_block_others() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(300, MINUTE);
    let oldest = sending.now - HOUR;
    receiver.respond(move |request| match times(request).iter().any(|at| *at < oldest) {
        true => ("400 Bad Request", "out of bounds"),
        false => ("204 No Content", ""),
    });
    assert_eq!(sending.pusher.send_all(), None);
    assert_eq!(receiver.samples(LAST_TICK).len(), 61);
    sending.tick(MINUTE);
    assert_eq!((sending.errors("push_rejected"), sending.waiting()), (239, 1));
    assert_eq!(sending.said.lock().unwrap().matches("rejects ticks").count(), 1);
}

#[test]
fn rejected_tick_does_not_block_others() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(20, MINUTE);
    let bad = START + 7 * MINUTE;
    receiver.respond(move |request| match times(request).contains(&bad) {
        true => ("400 Bad Request", "duplicate sample for timestamp"),
        false => ("204 No Content", ""),
    });
    assert_eq!(sending.pusher.send_all(), None);
    let taken: BTreeSet<i64> = receiver.samples(LAST_TICK).into_keys().collect();
    assert_eq!(taken.len(), 19);
    assert!(!taken.contains(&bad));
    assert_eq!(receiver.requests(), 21, "all at once, then each by itself");
    sending.ticks(2, MINUTE);
    assert_eq!(sending.errors("push_rejected"), 1);
    sending.pusher.send_all();
    assert_eq!(receiver.requests(), 22, "together again");
}

#[test]
fn retry_after_is_obeyed_and_wrong_addresses_lose_nothing() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.tick(MINUTE);
    receiver.respond(|_| ("429 Too Many Requests\r\nRetry-After: 17", ""));
    assert_eq!(sending.pusher.send_all(), Some(Duration::from_secs(17)));
    for status in ["302 Found\r\nLocation: /login", "404 Not Found", "405 Method Not Allowed"] {
        receiver.respond(move |_| (status, ""));
        assert!(sending.pusher.send_all().is_some(), "{status}");
    }
    let heads = receiver.lock().heads.clone();
    assert!(heads.iter().all(|head| head.starts_with("post /api/v1/write")), "not redirected");
    receiver.respond(|_| ("204 No Content", ""));
    assert_eq!(sending.pusher.send_all(), None);
    assert_eq!(receiver.samples(LAST_TICK).len(), 1);
}

#[test]
fn crash_between_sending_and_deleting_sends_again() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(3, MINUTE);
    sending.pusher.send_all();
    let (samples, requests) = (receiver.samples(ACTIVE), receiver.requests());
    // What was acknowledged in memory is lost.
    sending.outbox = Arc::default();
    sending.begin();
    (sending.pusher, _) = pusher(&sending.lab, &receiver, &sending.outbox);
    assert_eq!(sending.pusher.send_all(), None);
    assert_eq!(receiver.requests(), requests + 1);
    assert_eq!(receiver.samples(ACTIVE), samples, "the receiver compares them");
    sending.tick(MINUTE);
    sending.pusher.send_all();
    assert_eq!(receiver.samples(ACTIVE).len(), 5, "it goes on without another 0");
}

#[test]
fn clean_end_deletes_what_was_taken() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(3, MINUTE);
    sending.pusher.send_all();
    sending.lab.close();
    assert_eq!(sending.waiting(), 0);
}

#[test]
fn outbox_is_bounded_by_age_and_bytes() {
    let receiver = Receiver::start();
    let mut sending = Sending::with(&receiver, |options| {
        options.give_up_after = Duration::from_secs(3600);
    });
    sending.ticks(100, MINUTE);
    assert_eq!((sending.waiting(), sending.errors("push_given_up")), (61, 39));
    let length = sending.lab.read().pushes(0, 0).unwrap()[0].body.len();
    let mut sending = Sending::with(&receiver, |options| options.most_bytes = 10 * length as u64);
    sending.ticks(100, MINUTE);
    let bytes = sending.lab.read().push_bytes().unwrap();
    assert!(usize::try_from(bytes).unwrap() <= 12 * length, "{bytes}");
    let newest = sending.lab.read().pushes(0, usize::MAX).unwrap().last().unwrap().at;
    assert_eq!(newest, UnixMillis(sending.now), "the oldest ones are dropped");
    let given_up = usize::try_from(sending.errors("push_given_up")).unwrap();
    assert_eq!(given_up + sending.waiting(), 100);
}

/// Trap: the clock leaps. Messages do not become older by it, in the same run or at the start of another.
#[test]
fn leap_of_the_clock_loses_nothing() {
    let receiver = Receiver::start();
    for is_restarted in [false, true] {
        for leap in [500 * DAY, -500 * DAY] {
            let mut sending = Sending::new(&receiver);
            sending.ticks(60, MINUTE);
            sending.now += leap;
            if is_restarted || leap < 0 {
                sending.begin();
            }
            sending.ticks(60, MINUTE);
            assert_eq!((sending.waiting(), sending.errors("push_given_up")), (120, 0), "{leap}");
            // Time that passes still does.
            sending.ticks(7 * 24, HOUR);
            assert_eq!(sending.errors("push_given_up"), 119, "{leap}");
        }
    }
}

/// Trap: the clock was set back. A receiver takes nothing that is older than what it has; what comes
/// when time has caught up has everything.
#[test]
fn clock_set_back_loses_no_time() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.ticks(10, MINUTE);
    sending.now -= 5 * MINUTE;
    sending.begin();
    sending.ticks(10, MINUTE);
    sending.pusher.send_all();
    let times: Vec<i64> = receiver.samples(LAST_TICK).into_keys().collect();
    assert_eq!(times.len(), 15);
    assert_eq!(sending.errors("push_older"), 4, "the fifth has the time of the last one");
    let state = receiver.lock();
    let last = state.taken.values().filter_map(|samples| samples.get(&sending.now));
    assert!(last.into_iter().any(|seconds| *seconds == 1200.0));
}

#[test]
fn rolled_back_tick_is_not_sent() {
    let receiver = Receiver::start();
    let mut sending = Sending::new(&receiver);
    sending.tick(MINUTE);
    let parts = [(1, 1, Work::Working)];
    let (from, at) = (sending.now, UnixMillis(sending.now + MINUTE));
    let closed = [span(&card(0), from, at.0, State::Active, &parts)];
    let tick = Tick { closed: &closed, ..Tick::new(at, at) };
    assert!(!sending.lab.tick(&tick, false));
    assert_eq!(sending.waiting(), 1);
    assert!(sending.lab.tick(&tick, true));
    assert_eq!(sending.waiting(), 2);
}

#[test]
fn thread_sends_and_ends() {
    let receiver = Receiver::start();
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "open-sesame\n").unwrap();
    let mut sending = Sending::new(&receiver);
    let mut access = Access::new(&receiver.url).unwrap();
    access.credentials = Credentials::new(None, None, Some(token.path())).unwrap();
    let outbox = Arc::clone(&sending.outbox);
    let pusher = Pusher::new(access, sending.lab.path(), outbox, |_| {}).unwrap();
    pusher.start().unwrap();
    sending.tick(MINUTE);
    while receiver.requests() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(receiver.lock().heads[0].contains("authorization: bearer open-sesame"));
    sending.lab.close();
}
