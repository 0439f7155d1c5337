//! Pushing: what is taken, what is not, and what then.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use gua_fleet::Counter;
use prost::Message;

use super::engine::{Engine, Kind, programs};
use super::metrics::{listening, scrape, value};
use super::web::certified;
use crate::machine::Machine;
use crate::recorder::clock::Clock;
use crate::recorder::{Recorder, TWO_CARDS, ask, at_home, until};

/// Lets a machine's recorders push.
pub(super) fn configure(machine: &Machine, url: &str, more: &str) {
    let folder = machine.home().join(".gua");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("[remote_write]\nurl = \"{url}\"\n{more}\n");
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// A receiver that answers as it is told; it keeps the heads of requests.
pub(super) struct Receiver {
    url: String,
    answer: Arc<Mutex<&'static str>>,
    heads: Arc<Mutex<Vec<String>>>,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// What a request comes through.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

const TAKEN: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

impl Receiver {
    pub fn new(answer: &'static str) -> Self {
        Self::speaking(answer, None)
    }

    /// Speaks TLS where there is something to speak it with.
    fn speaking(answer: &'static str, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/api/v1/write", listener.local_addr().unwrap());
        let (answer, heads) = (Arc::new(Mutex::new(answer)), Arc::new(Mutex::new(Vec::new())));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (answers, kept, bodies_kept) =
            (Arc::clone(&answer), Arc::clone(&heads), Arc::clone(&bodies));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream: Box<dyn Stream> = match &tls {
                    Some(tls) => {
                        let tls = rustls::ServerConnection::new(Arc::clone(tls)).unwrap();
                        Box::new(rustls::StreamOwned::new(tls, stream))
                    }
                    None => Box::new(stream),
                };
                let (head, body) = read_request(&mut stream);
                if head.is_empty() {
                    continue;
                }
                bodies_kept.lock().unwrap().push(body);
                kept.lock().unwrap().push(head);
                let answer = *answers.lock().unwrap();
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.flush();
            }
        });
        Self { url, answer, heads, bodies }
    }

    fn answers(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Where it is, without a path.
    pub fn base(&self) -> String {
        self.url.replace("/api/v1/write", "")
    }

    /// The heads of all requests so far, in small letters.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Forgets what was sent so far.
    fn forget(&self) {
        self.bodies.lock().unwrap().clear();
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

/// Reads a request to its end; gives its head in small letters, and its body.
fn read_request(stream: &mut impl Read) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    let mut part = [0; 65_536];
    loop {
        let length = stream.read(&mut part).unwrap_or(0);
        all.extend_from_slice(&part[..length]);
        let end = all.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let expected = head.split("content-length: ").nth(1);
        let expected: usize = expected.map_or(0, |it| it.lines().next().unwrap().parse().unwrap());
        let body = all.get(end + 4..).unwrap_or_default();
        if length == 0 || (end < all.len() && body.len() >= expected) {
            return (head, body.to_vec());
        }
    }
}

/// The message as far as it is looked at here.
#[derive(Clone, PartialEq, prost::Message)]
struct Sent {
    #[prost(message, repeated, tag = "1")]
    series: Vec<SentSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SentSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<SentLabel>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<SentSample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SentLabel {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SentSample {
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// The times of all ticks that were sent.
fn sent(receiver: &Receiver) -> BTreeSet<i64> {
    let mut times = BTreeSet::new();
    for body in receiver.bodies.lock().unwrap().iter() {
        let message = snap::raw::Decoder::new().decompress_vec(body).unwrap();
        for series in Sent::decode(&message[..]).unwrap().series {
            let is_tick = |label: &SentLabel| label.value == "gua_last_tick_timestamp_seconds";
            if series.labels.iter().any(is_tick) {
                times.extend(series.samples.iter().map(|sample| sample.timestamp));
            }
        }
    }
    times
}

/// Number of messages that left the outbox: those that were acknowledged, and those that were given up.
fn done(machine: &Machine) -> i64 {
    let ids = "SELECT ifnull(max(seq), 0) - (SELECT count(*) FROM push) FROM sqlite_sequence";
    ask(&at_home(machine, "gua.db"), ids).unwrap_or(0)
}

/// How often something went wrong, as it is counted.
fn counted(machine: &Machine, reason: &str) -> i64 {
    let errors = Counter::Errors.number();
    let sql = format!(
        "SELECT ifnull(sum(value), 0) FROM total JOIN label ON label.id = total.label
             WHERE counter = {errors} AND text = '{reason}'"
    );
    ask(&at_home(machine, "gua.db"), &sql).unwrap_or(0)
}

/// Waits until so many more messages left the outbox.
fn until_done(machine: &Machine, more: i64) {
    let before = done(machine);
    until("messages leave the outbox", || done(machine) >= before + more);
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
    until_done(&machine, 2);
    recorder.goes_on();
    recorder.end();
    assert!(sent(&receiver).len() >= 2);
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

/// A token goes with what is pushed, and what an authority of one's own signed is trusted only
/// where it is named.
#[test]
fn a_token_is_pushed_over_tls() {
    let machine = Machine::new(TWO_CARDS);
    if !certified(machine.dir(), "a_token_is_pushed_over_tls") {
        return;
    }
    let path = |name: &str| machine.dir().join(name);
    fs::write(path("token"), "open-sesame\n").unwrap();
    let files = gua::config::TlsFiles { certificate: path("cert"), key: path("key") };
    let receiver = Receiver::speaking(TAKEN, Some(gua::web::tls(&files).unwrap()));
    let token = format!("token_file = \"{}\"", path("token").display());
    configure(&machine, &receiver.url, &token);
    let recorder = Recorder::start(&machine);
    until("it is distrusted", || recorder.said().contains("cannot trust"));
    recorder.end();
    assert_eq!(receiver.heads(), Vec::<String>::new());
    let ca = format!("{token}\nca_file = \"{}\"", path("cert").display());
    configure(&machine, &receiver.url, &ca);
    let recorder = Recorder::start(&machine);
    until("it is taken", || receiver.requests() >= 2);
    recorder.end();
    let heads = receiver.heads();
    assert!(heads.iter().all(|it| it.contains("authorization: bearer open-sesame")), "{heads:?}");
}

/// Half a secret is none: that is said, by the check as well, before anything is pushed.
#[test]
fn who_pushes_is_said_in_whole() {
    let machine = Machine::new(TWO_CARDS);
    let (user, password, token) =
        ("user = \"gua\"\n", "password_file = \"/p\"\n", "token_file = \"/t\"\n");
    let url = "http://victoria:8428/api/v1/write";
    for (url, half, why) in [
        (url, user.to_owned(), "a user without a password file"),
        (url, password.to_owned(), "a password file without a user"),
        (url, [user, password, token].concat(), "a token file besides"),
        (url, [user, token].concat(), "a token file besides"),
        ("victoria:8428", String::new(), "does not begin with http://"),
        ("http://victoria/?authKey=hunter2", String::new(), "http://victoria/?…"),
    ] {
        configure(&machine, url, &half);
        for command in [&["config", "check"][..], &["daemon", "--foreground"], &["daemon"]] {
            let run = machine.gua(command);
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{half} {run:?}");
            assert!(run.stderr.contains(why), "{half} {run:?}");
            assert!(!run.stderr.contains("hunter2"), "{run:?}");
        }
    }
    configure(&machine, url, &[user, password].concat());
    assert_eq!(machine.gua(&["config", "check"]).code, Some(0));
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
    assert_eq!(said.matches("remote write failed").count(), 1, "{said}");
    assert_eq!(done(&machine), 0);
    receiver.forget();
    receiver.answers(TAKEN);
    until_done(&machine, 3);
    assert!(recorder.said().contains("remote write works again"));
    let done = done(&machine);
    recorder.end();
    assert!(i64::try_from(sent(&receiver).len()).unwrap() >= done, "none of {done} is left out");
}

/// What will never be taken is said once and left behind.
#[test]
fn what_is_rejected_is_no_loop() {
    let machine = Machine::new(TWO_CARDS);
    let receiver = Receiver::new(
        "HTTP/1.1 400 Bad\r\nContent-Length: 12\r\nConnection: close\r\n\r\nout of order",
    );
    configure(&machine, &receiver.url, "");
    let mut recorder = Recorder::start(&machine);
    until_done(&machine, 2);
    recorder.goes_on();
    let said = recorder.said();
    let words = "remote write rejects ticks: HTTP 400: out of order";
    assert_eq!(said.matches(words).count(), 1, "{said}");
    receiver.answers(TAKEN);
    until_done(&machine, 2);
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
    let recorder = Recorder::start(&machine);
    until("some are given up", || counted(&machine, "push_given_up") > 0);
    assert!(recorder.said().contains("remote write gives up the oldest"), "{}", recorder.said());
    receiver.answers(TAKEN);
    let before = sent(&receiver).len();
    until("it goes on", || sent(&receiver).len() > before + 1);
    recorder.end();
}

const ELSEWHERE: &str = "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\
                         Connection: close\r\n\r\n";
const NO_SUCH_PATH: &str = "HTTP/1.1 400 Bad\r\nContent-Length: 33\r\nConnection: close\r\n\r\n\
                            unsupported path requested: \"/xyz\"";
const NOT_ALLOWED: &str = "HTTP/1.1 405 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A redirect, and an address that takes no remote writes, lose nothing: what waited is sent to
/// the address that is named then.
#[test]
fn a_wrong_address_loses_nothing() {
    for (answer, said) in [
        (ELSEWHERE, "HTTP 302: ; redirected to /login"),
        (NO_SUCH_PATH, "is url the address of remote write?"),
        (NOT_ALLOWED, "HTTP 405: ; is url the address of remote write?"),
    ] {
        let machine = Machine::new(TWO_CARDS);
        let wrong = Receiver::new(answer);
        configure(&machine, &wrong.url, "");
        let mut recorder = Recorder::start(&machine);
        until("it is tried", || wrong.requests() >= 2);
        recorder.goes_on();
        let log = recorder.said();
        assert_eq!(log.matches(said).count(), 1, "{log}");
        assert!(wrong.heads.lock().unwrap().iter().all(|head| head.starts_with("post ")));
        recorder.end();
        let right = Receiver::new(TAKEN);
        configure(&machine, &right.url, "");
        let recorder = Recorder::start(&machine);
        until_done(&machine, 2);
        let done = done(&machine);
        recorder.end();
        assert!(
            i64::try_from(sent(&right).len()).unwrap() >= done,
            "{answer}: none of {done} is left out"
        );
        assert_eq!(counted(&machine, "push_rejected"), 0);
    }
}

/// The clock is set back: no receiver takes what is older than what it has, but it is counted,
/// and what comes when time has caught up tells of it.
#[test]
fn a_clock_that_was_set_back_loses_no_time() {
    let machine = Machine::new(TWO_CARDS);
    let Some(clock) = Clock::new(machine.dir()) else {
        nvidia_ml::skip::skipped("a clock set back while pushing", "libfaketime is not installed");
        return;
    };
    let receiver = Receiver::new(TAKEN);
    configure(&machine, &receiver.url, "");
    clock.set(6);
    let give = |command: &mut std::process::Command| clock.give(command);
    let mut recorder = Recorder::with(&machine, &["--interval", "100ms"], give);
    until_done(&machine, 2);
    clock.set(0);
    until("some are older", || counted(&machine, "push_older") > 0);
    assert!(recorder.said().contains("the clock was set back"), "{}", recorder.said());
    let requests = receiver.requests();
    until("it goes on", || receiver.requests() > requests + 1);
    recorder.goes_on();
    recorder.end();
}

/// What the receiver does not get is counted where it is scraped, too.
#[test]
fn losses_are_scraped() {
    let machine = Machine::new(TWO_CARDS);
    let receiver = Receiver::new(
        "HTTP/1.1 400 Bad\r\nContent-Length: 12\r\nConnection: close\r\n\r\nout of order",
    );
    configure(&machine, &receiver.url, "");
    let (recorder, port) = listening(&machine, &[]);
    let lost = || value(&scrape(port), "gua_errors_total{reason=\"push_rejected\"}");
    until("it is counted", || lost().unwrap() > 0.0);
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
        until("all is taken", || {
            done(&machine) > 0 && recorder.number("SELECT count(*) FROM push") < 2
        });
        let observed = "gua_observed_seconds_total{cluster=\"a\"} > 2";
        until("time is counted", || engine.count(observed) == 1);
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

/// A label of ours would be there twice, and no receiver takes that.
#[test]
fn labels_of_our_own_cannot_be_set() {
    let machine = Machine::new(TWO_CARDS);
    for label in ["kind", "version", "le", "model_name", "slurm_job", "exported_user"] {
        configure(&machine, "http://victoria:8428", &format!("labels = {{ {label} = \"x\" }}"));
        let run = machine.gua(&["daemon", "--foreground"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("labels by names that no series of gua has"), "{run:?}");
    }
}

/// A secret in an address is shown to nobody.
#[test]
fn a_secret_in_an_address_is_not_told() {
    let machine = Machine::new(TWO_CARDS);
    configure(&machine, "http://me:hunter2@victoria:8428/api/v1/write", "");
    let run = machine.gua(&["daemon", "--foreground"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(!run.stderr.contains("hunter2") && run.stderr.contains("http://…@victoria"), "{run:?}");
}

#[test]
fn a_receiver_that_cannot_be_one_is_said_at_once() {
    let machine = Machine::new(TWO_CARDS);
    configure(&machine, "victoria:8428", "");
    let run = machine.gua(&["daemon", "--foreground"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    insta::assert_snapshot!(run.stderr);
}
