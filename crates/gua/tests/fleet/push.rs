//! Pushing: what is taken, what is not, and what then.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use super::engine::{Engine, Kind, programs};
use crate::machine::Machine;
use crate::recorder::{Recorder, TWO_CARDS, at_home, until};

/// Lets a machine's recorders push.
pub(super) fn configure(machine: &Machine, url: &str, more: &str) {
    let folder = machine.home().join(".gua");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("[remote_write]\nurl = \"{url}\"\n{more}\n");
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// A receiver that answers as it is told; it keeps the heads of requests.
struct Receiver {
    url: String,
    answer: Arc<Mutex<&'static str>>,
    heads: Arc<Mutex<Vec<String>>>,
}

const TAKEN: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

impl Receiver {
    fn new(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/v1/write", listener.local_addr().unwrap());
        let (answer, heads) = (Arc::new(Mutex::new(answer)), Arc::new(Mutex::new(Vec::new())));
        let (answers, kept) = (Arc::clone(&answer), Arc::clone(&heads));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let head = read_request(&mut stream);
                kept.lock().unwrap().push(head);
                let answer = *answers.lock().unwrap();
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, answer, heads }
    }

    fn answers(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

/// Reads a request to its end; gives its head.
fn read_request(stream: &mut impl Read) -> String {
    let mut all = Vec::new();
    let mut part = [0; 65_536];
    loop {
        let length = stream.read(&mut part).unwrap_or(0);
        all.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&all);
        let Some(end) = text.find("\r\n\r\n") else {
            if length == 0 {
                return text.into_owned();
            }
            continue;
        };
        let head = text[..end].to_lowercase();
        let expected = head.split("content-length: ").nth(1);
        let expected: usize = expected.map_or(0, |it| it.lines().next().unwrap().parse().unwrap());
        let have =
            all.windows(4).position(|it| it == b"\r\n\r\n").map_or(0, |at| all.len() - at - 4);
        if have >= expected || length == 0 {
            return head;
        }
    }
}

fn kept(machine: &Machine) -> Option<Value> {
    let text = fs::read_to_string(at_home(machine, "gua-push.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// What was acknowledged so far.
fn cursor(machine: &Machine) -> Option<i64> {
    kept(machine)?["cursor"]["tick"].as_i64()
}

/// How often something went wrong, as it is counted.
fn counted(machine: &Machine, reason: &str) -> i64 {
    let kept = kept(machine).unwrap_or_default();
    kept["cursor"]["counters"]["errors"][reason].as_i64().unwrap_or(0)
}

#[test]
fn every_tick_is_pushed_as_prometheus_wants_it() {
    let machine = Machine::new(TWO_CARDS);
    let secret = machine.dir().join("secret");
    fs::write(&secret, "open sesame\n").unwrap();
    let receiver = Receiver::new(TAKEN);
    let more = format!("user = \"gua\"\npassword_file = \"{}\"", secret.display());
    configure(&machine, &receiver.url, &more);
    let mut recorder = Recorder::start(&machine);
    until("something is acknowledged", || cursor(&machine).is_some_and(|tick| tick > 5));
    recorder.goes_on();
    recorder.end();
    let heads = receiver.heads.lock().unwrap();
    for line in [
        "post /api/v1/write http/1.1",
        "content-encoding: snappy",
        "content-type: application/x-protobuf",
        "x-prometheus-remote-write-version: 0.1.0",
        "authorization: basic z3vhom9wzw4gc2vzyw1l",
    ] {
        assert!(heads[0].contains(line), "{line}: {}", heads[0]);
    }
}

/// A receiver in trouble is waited for, and nothing is lost; ticks go on meanwhile.
#[test]
fn what_is_not_taken_is_sent_again() {
    let machine = Machine::new(TWO_CARDS);
    let receiver =
        Receiver::new("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    configure(&machine, &receiver.url, "");
    let mut recorder = Recorder::start(&machine);
    until("it is tried twice", || receiver.requests() >= 2);
    recorder.goes_on();
    let said = recorder.said();
    assert_eq!(said.matches("cannot push").count(), 1, "{said}");
    let begun = cursor(&machine).unwrap();
    assert!(begun < recorder.number("SELECT max(id) FROM tick"));
    receiver.answers(TAKEN);
    until("it is taken", || cursor(&machine).is_some_and(|tick| tick > begun + 3));
    recorder.end();
}

/// What will never be taken is told once and left behind.
#[test]
fn what_is_rejected_is_no_loop() {
    let machine = Machine::new(TWO_CARDS);
    let receiver = Receiver::new(
        "HTTP/1.1 400 Bad\r\nContent-Length: 12\r\nConnection: close\r\n\r\nout of order",
    );
    configure(&machine, &receiver.url, "");
    let mut recorder = Recorder::start(&machine);
    until("it goes on", || cursor(&machine).is_some_and(|tick| tick > 5));
    recorder.goes_on();
    let said = recorder.said();
    assert_eq!(said.matches("were rejected for good: HTTP 400: out of order").count(), 1, "{said}");
    receiver.answers(TAKEN);
    let before = cursor(&machine).unwrap();
    until("it goes on", || cursor(&machine).is_some_and(|tick| tick > before + 3));
    recorder.end();
    assert!(counted(&machine, "push_rejected") > 0);
}

/// What is too old is given up, and counted.
#[test]
fn what_is_too_old_is_given_up() {
    let machine = Machine::new(TWO_CARDS);
    let receiver =
        Receiver::new("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    configure(&machine, &receiver.url, "give_up_after = \"1s\"");
    let mut recorder = Recorder::start(&machine);
    until("it is tried", || receiver.requests() >= 3);
    recorder.has_ticked(20);
    receiver.answers(TAKEN);
    until("some are given up", || counted(&machine, "push_given_up") > 0);
    let before = cursor(&machine).unwrap();
    until("it goes on", || cursor(&machine).is_some_and(|tick| tick > before));
    recorder.end();
}

/// Hours without the receiver, and restarts of both: nothing is lost that it takes.
#[test]
fn both_engines_take_what_waited_for_them() {
    let Some(programs) = programs("both_engines_take_what_waited_for_them") else { return };
    for kind in [Kind::Prometheus, Kind::Victoria] {
        let machine = Machine::new(TWO_CARDS);
        let mut engine = Engine::new(&programs, kind);
        configure(&machine, &engine.write_url(), "labels = { cluster = \"a\" }");
        let mut recorder = Recorder::start(&machine);
        recorder.has_ticked(10);
        recorder.kill();
        let recorder = Recorder::start(&machine);
        engine.start("");
        let last = recorder.number("SELECT max(id) FROM tick");
        until("all is taken", || cursor(&machine).is_some_and(|tick| tick > last + 5));
        recorder.end();
        let ticks = "count_over_time(gua_last_tick_timestamp_seconds{cluster=\"a\"}[1h])";
        until("it can be asked for", || engine.count(ticks) == 1);
        let told = engine.json(&["report", "--since", "10m"]);
        let host = &told["hosts"][0];
        assert_eq!(host["labels"]["job"], "gua");
        assert_eq!(host["labels"]["cluster"], "a");
        assert!(host["observed_seconds"].as_f64().unwrap() > 1.0, "{host}");
    }
}

#[test]
fn a_receiver_that_cannot_be_one_is_said_at_once() {
    let machine = Machine::new(TWO_CARDS);
    configure(&machine, "victoria:8428", "");
    let run = machine.gua(&["daemon", "--foreground"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    insta::assert_snapshot!(run.stderr);
}
