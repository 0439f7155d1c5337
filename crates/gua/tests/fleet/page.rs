//! The page and what belongs to it, asked as a program asks.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::engine::{free_port, request};
use super::metrics::listening;
use crate::machine::Machine;
use crate::recorder::{Recorder, TWO_CARDS, until};

const TOKEN: &str = "0123456789abcdef0123";

fn get(port: u16, path: &str) -> (u16, String) {
    let mut told = None;
    until("it is answered", || {
        told = request(port, "GET", path, &[], b"");
        told.as_ref().is_some_and(|(status, _)| *status != 503)
    });
    told.unwrap()
}

fn json(port: u16, path: &str) -> Value {
    let (status, text) = get(port, path);
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn observed(port: u16) {
    let has_cards = || !json(port, "/api/v1/report")["cards"].as_array().unwrap().is_empty();
    until("cards were observed", has_cards);
}

/// What is said to programs is what the commands say.
#[test]
fn the_interface_for_programs_speaks_as_the_commands_do() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    observed(port);
    let schemas = ["stat", "who", "status", "report"]
        .map(|what| json(port, &format!("/api/v1/{what}"))["schema"].clone());
    assert_eq!(schemas, ["gua.stat/1", "gua.who/1", "gua.status/1", "gua.report/1"]);
    assert_eq!(json(port, "/api/v1/status")["state"], "recording");
    // Where a file is matters to nobody who asks from elsewhere.
    assert_eq!(json(port, "/api/v1/who")["history"]["path"], Value::Null);
    let status = json(port, "/api/v1/status");
    assert_eq!((&status["pid_file"], &status["database"]["path"]), (&Value::Null, &Value::Null));
    assert!(status["database"]["size_bytes"].as_u64() > Some(0), "{status}");
    let who = json(port, "/api/v1/who?user=alice");
    assert_eq!(who["holders"][0]["identity"]["user"]["name"], "alice");
    assert_eq!(who["holders"].as_array().unwrap().len(), 1);
    assert!(json(port, "/api/v1/who?user=bob")["holders"].as_array().unwrap().is_empty());
    recorder.end();
    // Served by another process now, of a time that is over.
    let window = json_of(&machine, &["--since", "1h"])["window"].clone();
    let (from, until) = (window["from"].as_str().unwrap(), window["to"].as_str().unwrap());
    let port = free_port();
    let listen = port.to_string();
    let mut served = machine.command(&["serve", "--listen", &listen]).spawn().unwrap();
    let said = json(port, &format!("/api/v1/report?from={from}&until={until}&tz=UTC"));
    let printed = json_of(&machine, &["--from", from, "--until", until]);
    let status = json(port, "/api/v1/status");
    served.kill().unwrap();
    served.wait().unwrap();
    assert_eq!(said, printed);
    let told = status.to_string();
    assert!(!told.contains(machine.dir().to_str().unwrap()), "it names this host's files: {told}");
}

/// Regression: memory that the only holder did not tell was made somebody else's.
#[test]
fn memory_that_is_not_told_is_nobody_elses() {
    let machine = Machine::new(
        "[[card]]\nname = \"NVIDIA A100-SXM4-80GB\"\nmemory = \"80GiB\"\nunattributed = \"12GiB\"\nutilization = 0\n\
         [[process]]\npid = 4100\ncard = 0\nuser = \"alice\"\nmemory = \"unknown\"\n",
    );
    let (recorder, port) = listening(&machine, &[]);
    observed(port);
    let (stat, who) = (json(port, "/api/v1/stat"), json(port, "/api/v1/who"));
    let card = &stat["cards"][0];
    assert_eq!(card["memory_unattributed_bytes"], Value::Null, "{stat}");
    assert_eq!(card["unknown"]["memory_unattributed_bytes"], "not_recorded", "{stat}");
    assert_eq!(who["holders"].as_array().unwrap().len(), 1, "{who}");
    assert_eq!(who["unseen"], serde_json::json!([]), "{who}");
    assert!(!get(port, "/").1.contains("somebody unseen"));
    recorder.end();
}

fn json_of(machine: &Machine, args: &[&str]) -> Value {
    let run = machine.gua(&[&["report", "--json"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn an_address_that_makes_no_sense_is_told_so() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    let mut all = String::new();
    for address in [
        "/?since=soon",
        "/?from=2027-01-01&until=2026-01-01&tz=UTC",
        "/?since=7d&from=2026-01-01",
        "/?tz=Nowhere",
        "/?sort=up",
        "/?by=planet",
        "/?colour=red",
        "/?since=1h&since=2h",
        "/live?since=%1b%5b2J",
        "/api/v1/report?since=-1h",
        "/api/v1/who?idle=long",
        "/api/v1/nothing",
        "/assets/nothing",
    ] {
        let (status, told) = get(port, address);
        assert!(matches!(status, 400 | 404), "{address}: {status}");
        all += &format!("{address}\n  {status} {told}");
    }
    recorder.end();
    insta::assert_snapshot!(all);
}

/// An answer with its head.
fn whole(port: u16, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    write!(stream, "{head}{headers}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a header in an answer.
fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// A recorder that wants a token.
fn guarded(machine: &Machine, token: &str) -> (Recorder, u16) {
    let file = machine.dir().join("token");
    fs::write(&file, token).unwrap();
    let (recorder, port) = listening(machine, &["--token-file", file.to_str().unwrap()]);
    until("it answers", || request(port, "GET", "/sign-in", &[], b"").is_some());
    (recorder, port)
}

#[test]
fn a_browser_signs_in_with_the_token_only() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = guarded(&machine, TOKEN);
    let sign_in = |body: &str| request(port, "POST", "/sign-in", &[], body.as_bytes()).unwrap().0;
    assert_eq!(sign_in(&format!("token={TOKEN}")), 303);
    assert_eq!(sign_in("token=wrong"), 401);
    assert_eq!(sign_in(""), 401);
    assert_eq!(sign_in(&format!("token={}", "x".repeat(20 << 10))), 413);
    let html = [("Accept", "text/html")];
    assert_eq!(request(port, "GET", "/", &html, b"").unwrap().0, 303);
    for path in ["/", "/live", "/events", "/api/v1/who", "/metrics"] {
        assert_eq!(request(port, "GET", path, &[], b"").unwrap().0, 401, "{path}");
    }
    assert_eq!(request(port, "GET", "/assets/style.css", &[], b"").unwrap().0, 200);
    assert_eq!(request(port, "POST", "/api/v1/who", &[], b"x").unwrap().0, 405);
    recorder.end();
}

/// However many wrong ones came before it.
#[test]
fn the_right_token_always_passes() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = guarded(&machine, TOKEN);
    let bring = |token: &str| {
        let value = format!("Bearer {token}");
        request(port, "GET", "/metrics", &[("Authorization", &value)], b"").unwrap().0
    };
    let sign_in = |headers: &[(&str, &str)], token: &str| {
        let body = format!("token={token}");
        request(port, "POST", "/sign-in", headers, body.as_bytes()).unwrap().0
    };
    let old = [("Cookie", "gua_token=an-old-token-of-last-month; gua_pass=1.00")];
    for _ in 0..70 {
        assert_eq!(request(port, "GET", "/events", &old, b"").unwrap().0, 401);
    }
    assert_eq!(bring("a-first-guess"), 401);
    for site in ["cross-site", "same-site"] {
        assert_eq!(sign_in(&[("Sec-Fetch-Site", site)], TOKEN), 403, "{site}");
    }
    assert_eq!(sign_in(&[("Sec-Fetch-Site", "same-origin")], TOKEN), 303);
    for number in 0..70 {
        assert_eq!(bring(&format!("guess-{number}")), 401);
    }
    assert_eq!(sign_in(&[], "another-guess"), 401);
    assert_eq!((bring(TOKEN), sign_in(&[], TOKEN)), (200, 303));
    recorder.end();
}

/// What a link asks for is there after the token, and nothing else is.
#[test]
fn a_link_shows_the_same_after_signing_in() {
    let machine = Machine::new(TWO_CARDS);
    // With signs that mean something in cookies and forms.
    let (recorder, port) = guarded(&machine, "a;token,with=\"signs\"&\\");
    let people = "Accept: text/html\r\n";
    let link = "/?since=7d&sort=present&tz=UTC";
    let led = |path: &str| {
        let answer = whole(port, "GET", path, people, "");
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        header(&answer, "location").unwrap().to_owned()
    };
    let to = led(link);
    assert_eq!(to, "/sign-in?since=7d&tz=UTC&sort=present");
    for other in
        ["/?since=soon", "/?next=//evil.example", "/api/v1/report?since=7d", "//evil.example"]
    {
        assert_eq!(led(other), "/sign-in", "{other}");
    }
    let form = whole(port, "GET", &to, people, "");
    assert!(form.contains("action=\"/sign-in?since=7d&amp;tz=UTC&amp;sort=present\""), "{form}");
    let body = "token=a%3Btoken%2Cwith%3D%22signs%22%26%5C";
    let signed_in = whole(port, "POST", &to, people, body);
    assert_eq!(header(&signed_in, "location"), Some("/?since=7d&tz=UTC&sort=present"));
    let cookie = header(&signed_in, "set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains("token"), "{cookie}");
    let (pass, _) = cookie.split_once(';').unwrap();
    let bring =
        |cookie: &str| whole(port, "GET", "/metrics", &format!("Cookie: a=b; {cookie}\r\n"), "");
    assert!(bring(pass).starts_with("HTTP/1.1 200"));
    assert!(bring(&pass.replace("gua_pass=", "gua_pass=9")).starts_with("HTTP/1.1 401"));
    let elsewhere = whole(port, "POST", "/sign-in?next=//evil.example", people, body);
    assert_eq!(header(&elsewhere, "location"), Some("/"));
    recorder.end();
}

#[test]
fn where_no_token_is_needed_none_is_asked_for() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    let answer = whole(port, "GET", "/sign-in?since=7d", "", "");
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert_eq!(header(&answer, "location"), Some("/?since=7d"));
    recorder.end();
}

/// More than are made at once and more than may wait, half of whom hang up; a scrape goes by them.
#[test]
fn many_reports_at_once_keep_nobody_else_waiting() {
    let machine = Machine::new(TWO_CARDS);
    let (mut recorder, port) = listening(&machine, &[]);
    observed(port);
    let ask = |hour: usize| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        write!(stream, "GET /api/v1/report?since={}h {head}", hour + 1).unwrap();
        stream
    };
    let gone: Vec<_> = (0..100).map(ask).collect();
    drop(gone);
    let asked: Vec<_> = (100..200).map(ask).collect();
    super::metrics::scrape(port);
    for mut stream in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let is_busy =
            answer.starts_with("HTTP/1.1 503") && header(&answer, "retry-after").is_some();
        assert!(is_busy || answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    recorder.goes_on();
    recorder.end();
}

/// A program gets a line, a person a page with a way back.
#[test]
fn trouble_is_a_page_for_people() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    let people = "Accept: text/html,*/*;q=0.8\r\n";
    for path in ["/?since=%3Cscript%3E", "/no-such-page", "/api/v1/nothing"] {
        let page = whole(port, "GET", path, people, "");
        assert_eq!(header(&page, "content-type"), Some("text/html; charset=utf-8"), "{page}");
        assert!(page.contains("<a href=\"/\">") && page.ends_with("</html>"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
        let line = whole(port, "GET", path, "", "");
        assert_eq!(header(&line, "content-type"), Some("text/plain; charset=utf-8"), "{line}");
    }
    recorder.end();
}

/// Metrics tell of numbers, the page of people.
#[test]
fn where_only_metrics_are_public_nothing_else_is() {
    let machine = Machine::new(TWO_CARDS);
    let port = free_port();
    let listen = format!("0.0.0.0:{port}");
    let args = ["--interval", "100ms", "--listen", &listen, "--public-metrics"];
    let recorder = Recorder::with(&machine, &args, |_| ());
    until("metrics are answered", || {
        request(port, "GET", "/metrics", &[], b"").is_some_and(|(status, _)| status == 200)
    });
    for path in ["/", "/live", "/events", "/api/v1/who"] {
        assert_eq!(request(port, "GET", path, &[], b"").unwrap().0, 403, "{path}");
    }
    recorder.end();
}

/// Nothing comes from elsewhere, nothing is in the markup that runs.
#[test]
fn a_page_says_what_it_may_load() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    observed(port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let head: Vec<_> = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("date:") && !line.starts_with("content-length:"))
        .collect();
    recorder.end();
    insta::assert_snapshot!(head.join("\n"));
}

/// The same page, in a fraction of the bytes.
#[test]
fn a_page_is_packed_for_who_can_unpack_it() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    observed(port);
    let plain = get(port, "/").1;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    write!(stream, "{head}Accept-Encoding: br, gzip\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    recorder.end();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&answer[..end]);
    assert!(head.contains("content-encoding: gzip") && head.contains("vary:"), "{head}");
    assert!(answer.len() < plain.len() / 2, "{} of {}", answer.len(), plain.len());
    let mut page = String::new();
    GzDecoder::new(&answer[end..]).read_to_string(&mut page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
}

/// Names as nobody would choose them, but for harm: a user, a program, a notebook.
const HOSTILE: &str = r#"
[host]
name = "lab"

[[card]]
uuid = "GPU-a"
utilization = 0

[[process]]
pid = 100
card = 0
user = "<script>u()</script>\u202e"
program = "<script>p()\u202e\u001b"
memory = "70000MiB"
command = ["python", "-m", "ipykernel_launcher", "-f", "kernel-1.json"]
environ = { JPY_SESSION_NAME = "/x/<script>n()\u202e\u001b[2J.ipynb" }
"#;

#[test]
fn hostile_names_are_text_everywhere() {
    let machine = Machine::new(HOSTILE);
    let (recorder, port) = listening(&machine, &[]);
    observed(port);
    let report =
        |more: &[&str]| machine.gua(&[&["report", "--since", "10s"], more].concat()).stdout;
    let mut all: Vec<_> =
        ["/", "/live", "/?by=notebook"].iter().map(|path| (*path, get(port, path).1)).collect();
    all.push(("html", report(&["--format", "html", "--by", "user,notebook,program"])));
    for picture in ["time", "habit", "states", "people"] {
        all.push((picture, report(&["--format", "svg", "--picture", picture])));
    }
    recorder.end();
    for (what, markup) in &all {
        assert!(!markup.contains("<script>"), "{what}: {markup}");
        assert!(!markup.contains(['\u{202e}', '\u{1b}']), "{what}: {markup}");
    }
    for what in ["/", "/live", "html", "time", "people"] {
        let (_, markup) = all.iter().find(|(name, _)| *name == what).unwrap();
        assert!(markup.contains("&lt;script&gt;u()"), "{what}: {markup}");
    }
    let (_, page) = all.first().unwrap();
    assert!(page.contains("&lt;script&gt;n()"), "{page}");
}

/// A line after every tick, to everybody, also while somebody takes none.
#[test]
fn every_tick_is_told_to_everybody() {
    let machine = Machine::new(TWO_CARDS);
    let (mut recorder, port) = listening(&machine, &[]);
    observed(port);
    let watch = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream
    };
    // These never read.
    let silent: Vec<_> = (0..20).map(|_| watch()).collect();
    for viewer in (0..5).map(|_| watch()).collect::<Vec<_>>() {
        let lines = BufReader::new(viewer).lines().map_while(Result::ok);
        let ticks = lines.filter(|line| line.starts_with("event: tick")).take(3).count();
        assert_eq!(ticks, 3);
    }
    drop(silent);
    recorder.goes_on();
    recorder.end();
}
