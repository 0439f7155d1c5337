//! The page and what belongs to it, requested as by a browser or a program.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use gua_core::identity::{Client, Notebook, Source, Told, Who};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::engine::{free_port, request};
use super::metrics::{Server, listening};
use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::{Machine, program, run};
use crate::recorder::until;

const TOKEN: &str = "0123456789abcdef0123";

/// A record of the last hour, which goes on, and a server of it.
struct Served {
    dir: TempDir,
    recording: Recording,
    _server: Server,
    port: u16,
}

/// Alice holds a card without using it, and bob works on another.
fn two_cards() -> Vec<CardUse> {
    let held = card("NVIDIA A100-SXM4-80GB", 0.0).held_by("alice", 1000, 70_000);
    let busy = card("NVIDIA GeForce RTX 4090", 80.0).held_at_work("bob", (777, 9), 8_000, 80.0);
    vec![held, busy]
}

impl Served {
    fn new() -> Self {
        Self::with(&two_cards(), &[])
    }

    /// Serves a record of cards that do the same all the time.
    fn with(cards: &[CardUse], args: &[&str]) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), cards, args)
    }

    fn with_token(token: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        fs::write(&file, token).unwrap();
        Self::in_folder(dir, &two_cards(), &["--token-file", file.to_str().unwrap()])
    }

    fn in_folder(dir: TempDir, cards: &[CardUse], args: &[&str]) -> Self {
        let path = dir.path().join("gua.db");
        let begin = Timestamp::now().as_millisecond() - 60 * MINUTE;
        let mut recording = Recording::begin(&path, begin, 30_000);
        for _ in 0..6 {
            recording.tick(10 * MINUTE, cards);
        }
        let (server, port) = Server::start(&path, args);
        until("it answers", || request(port, "GET", "/sign-in", &[], b"").is_some());
        Self { dir, recording, _server: server, port }
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    /// Returns what `gua report` prints of the same record.
    fn report(&self, args: &[&str]) -> String {
        let mut command = program(&["report", "--db"]);
        command.arg(self.database()).args(args);
        let run = run(command);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    }
}

fn get(port: u16, path: &str) -> (u16, String) {
    let mut answer = None;
    until("it is answered", || {
        answer = request(port, "GET", path, &[], b"");
        answer.as_ref().is_some_and(|(status, _)| *status != 503)
    });
    answer.unwrap()
}

fn json(port: u16, path: &str) -> Value {
    let (status, text) = get(port, path);
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn api_answers_as_the_commands_do() {
    let served = Served::new();
    let port = served.port;
    let schemas = ["stat", "who", "status", "report"]
        .map(|what| json(port, &format!("/api/v1/{what}"))["schema"].clone());
    assert_eq!(schemas, ["gua.stat/2", "gua.who/2", "gua.status/2", "gua.report/2"]);
    let status = json(port, "/api/v1/status");
    assert_eq!(status["state"], "recording");
    assert_eq!((&status["pid_file"], &status["database"]["path"]), (&Value::Null, &Value::Null));
    assert!(status["database"]["size_bytes"].as_u64() > Some(0), "{status}");
    let who = json(port, "/api/v1/who?user=alice");
    assert_eq!(who["source"], "recorded");
    assert_eq!(who["history"]["path"], Value::Null);
    let holders = who["holders"].as_array().unwrap();
    assert_eq!((holders.len(), &holders[0]["user"]), (1, &"alice".into()), "{who}");
    assert!(holders[0]["idle_seconds"].as_f64() > Some(3_000.0), "{who}");
    assert!(json(port, "/api/v1/who?user=nobody")["holders"].as_array().unwrap().is_empty());
    let window = json(port, "/api/v1/report?since=1h")["window"].clone();
    let (from, until) = (window["from"].as_str().unwrap(), window["to"].as_str().unwrap());
    let answer = json(port, &format!("/api/v1/report?from={from}&until={until}&tz=UTC"));
    let printed = served.report(&["--json", "--from", from, "--until", until, "--tz", "UTC"]);
    // Whoever reads the API is nobody in particular, and may need sudo.
    let without_commands = |mut report: Value| {
        for session in report["sessions"].as_array_mut().unwrap() {
            session["end"] = Value::Null;
        }
        report
    };
    let printed = serde_json::from_str::<Value>(&printed).unwrap();
    assert_eq!(without_commands(answer.clone()), without_commands(printed));
    let (idle_held, active) = (&answer["states"]["idle_held"], &answer["states"]["active"]);
    assert_eq!(idle_held["gpu_hours"], active["gpu_hours"], "{answer}");
    let folder = served.dir.path().to_str().unwrap();
    for what in ["stat", "who", "status", "report"] {
        let answer = get(port, &format!("/api/v1/{what}")).1;
        assert!(!answer.contains(folder), "{what} names files of the host: {answer}");
    }
}

/// The page shows the figures of the text report.
#[test]
fn page_has_the_figures_of_the_report() {
    let served = Served::new();
    let page = get(served.port, "/?since=2h&tz=UTC").1;
    for part in ["id=\"now\"", "1 of 2 cards is idle-held</strong>", "id=\"time\"", ">alice<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let text = served.report(&["--since", "2h", "--tz", "UTC"]);
    let printed = text.lines().find(|line| line.trim_start().starts_with("alice")).unwrap();
    let row =
        page.split("<tr>").find(|row| row.starts_with("<th scope=\"row\">alice</th>")).unwrap();
    for figure in printed.split_whitespace().skip(1).filter(|figure| figure.contains('.')) {
        assert!(row.contains(&format!(">{figure}")), "{figure} of {printed} is not in {row}");
    }
}

/// A record that cannot be read is an error without the names of files.
#[test]
fn lost_record_is_unavailable_without_its_path() {
    let served = Served::new();
    fs::remove_file(served.database()).unwrap();
    for path in ["/?since=3h", "/api/v1/stat", "/api/v1/report?since=3h", "/metrics"] {
        let (status, text) = request(served.port, "GET", path, &[], b"").unwrap();
        assert_eq!(status, 503, "{path}: {text}");
        assert!(!text.contains(served.dir.path().to_str().unwrap()), "{path}: {text}");
    }
}

/// Regression: memory that the only holder did not tell was made somebody else's.
#[test]
fn memory_that_a_holder_does_not_tell_is_not_unlisted() {
    let machine = Machine::new(
        "[[card]]\nname = \"NVIDIA A100-SXM4-80GB\"\nmemory = \"80GiB\"\nunattributed = \"12GiB\"\nutilization = 0\n\
         [[process]]\npid = 4100\ncard = 0\nuser = \"alice\"\nmemory = \"unknown\"\n",
    );
    let (recorder, port) = listening(&machine, &[]);
    let (stat, who) = (json(port, "/api/v1/stat"), json(port, "/api/v1/who"));
    assert_eq!(stat["cards"][0]["memory_unattributed_bytes"], Value::Null, "{stat}");
    assert_eq!(who["holders"].as_array().unwrap().len(), 1, "{who}");
    assert_eq!(who["unlisted"], serde_json::json!([]), "{who}");
    assert!(!get(port, "/").1.contains("unlisted memory"));
    recorder.end();
}

#[test]
fn bad_address_is_refused() {
    let served = Served::new();
    let port = served.port;
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

#[test]
fn browser_signs_in_with_the_token_only() {
    let served = Served::with_token(TOKEN);
    let port = served.port;
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
}

/// However many wrong ones came before it.
#[test]
fn right_token_always_passes() {
    let served = Served::with_token(TOKEN);
    let port = served.port;
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
}

/// And nothing else, such as another site.
#[test]
fn link_shows_the_same_after_signing_in() {
    // With characters that mean something in cookies and forms.
    let served = Served::with_token("a;token,with=\"signs\"&\\");
    let port = served.port;
    let people = "Accept: text/html\r\n";
    let link = "/?since=7d&sort=active&tz=UTC";
    let led = |path: &str| {
        let answer = whole(port, "GET", path, people, "");
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        header(&answer, "location").unwrap().to_owned()
    };
    let to = led(link);
    assert_eq!(to, "/sign-in?since=7d&tz=UTC&sort=active");
    for other in
        ["/?since=soon", "/?next=//evil.example", "/api/v1/report?since=7d", "//evil.example"]
    {
        assert_eq!(led(other), "/sign-in", "{other}");
    }
    let form = whole(port, "GET", &to, people, "");
    assert!(form.contains("action=\"/sign-in?since=7d&amp;tz=UTC&amp;sort=active\""), "{form}");
    let body = "token=a%3Btoken%2Cwith%3D%22signs%22%26%5C";
    let signed_in = whole(port, "POST", &to, people, body);
    assert_eq!(header(&signed_in, "location"), Some("/?since=7d&tz=UTC&sort=active"));
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
}

#[test]
fn sign_in_without_a_token_leads_to_the_page() {
    let served = Served::new();
    let port = served.port;
    let answer = whole(port, "GET", "/sign-in?since=7d", "", "");
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert_eq!(header(&answer, "location"), Some("/?since=7d"));
}

/// More requests than are answered at once and than may wait, half of which hang up.
#[test]
fn many_reports_do_not_delay_a_scrape() {
    let served = Served::new();
    let port = served.port;
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
}

/// A program gets a line, a browser a page with a link.
#[test]
fn errors_are_pages_for_browsers() {
    let served = Served::new();
    let port = served.port;
    let people = "Accept: text/html,*/*;q=0.8\r\n";
    for path in ["/?since=%3Cscript%3E", "/no-such-page", "/api/v1/nothing"] {
        let page = whole(port, "GET", path, people, "");
        assert_eq!(header(&page, "content-type"), Some("text/html; charset=utf-8"), "{page}");
        assert!(page.contains("<a href=\"/\">") && page.ends_with("</html>"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
        let line = whole(port, "GET", path, "", "");
        assert_eq!(header(&line, "content-type"), Some("text/plain; charset=utf-8"), "{line}");
    }
}

/// Metrics are about numbers, the page is about people.
#[test]
fn only_metrics_are_public_if_only_they_are_made_so() {
    let served = Served::new();
    let port = free_port();
    let mut command = program(&["serve", "--public-metrics", "--listen"]);
    command.arg(format!("0.0.0.0:{port}")).arg("--db").arg(served.database());
    let mut public = command.spawn().unwrap();
    until("metrics are answered", || {
        request(port, "GET", "/metrics", &[], b"").is_some_and(|(status, _)| status == 200)
    });
    let paths = ["/", "/live", "/events", "/api/v1/who"];
    let answers = paths.map(|path| request(port, "GET", path, &[], b"").unwrap().0);
    public.kill().unwrap();
    public.wait().unwrap();
    assert_eq!(answers, [403; 4]);
}

/// Nothing is loaded from elsewhere, and no script is in the markup.
#[test]
fn page_says_what_it_may_load() {
    let served = Served::new();
    let port = served.port;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let head: Vec<_> = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("date:") && !line.starts_with("content-length:"))
        .collect();
    insta::assert_snapshot!(head.join("\n"));
}

/// The same page in a fraction of the bytes.
#[test]
fn page_is_compressed() {
    let served = Served::new();
    let port = served.port;
    let plain = get(port, "/").1;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    write!(stream, "{head}Accept-Encoding: br, gzip\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&answer[..end]);
    assert!(head.contains("content-encoding: gzip") && head.contains("vary:"), "{head}");
    assert!(answer.len() < plain.len() / 2, "{} of {}", answer.len(), plain.len());
    let mut page = String::new();
    GzDecoder::new(&answer[end..]).read_to_string(&mut page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
}

/// Names that would do harm as markup or on a terminal.
#[test]
fn hostile_names_are_text_everywhere() {
    let path = "/x/<script>n()\u{202e}\u{1b}[2J.ipynb".into();
    let notebook = Notebook { kernel: None, path: Some(path), client: Client::Jupyter };
    let who = Who {
        notebook: Some(Told { value: notebook, source: Source::AncestorEnvironment }),
        script: Some("<script>p()\u{202e}\u{1b}".into()),
        ..Who::default()
    };
    let held = card("NVIDIA <script>c()", 0.0).held_by("<script>u()\u{202e}", 1000, 70_000);
    let served = Served::with(&[held.running_for(who)], &[]);
    let report = |args: &[&str]| served.report(&[&["--since", "2h"], args].concat());
    let pages = ["/?since=2h", "/live?since=2h", "/?since=2h&by=notebook"];
    let mut all: Vec<_> = pages.iter().map(|path| (*path, get(served.port, path).1)).collect();
    all.push(("html", report(&["--format", "html", "--by", "user,notebook,program"])));
    for picture in ["time", "habit", "states", "people"] {
        all.push((picture, report(&["--format", "svg", "--picture", picture])));
    }
    for (what, markup) in &all {
        assert!(!markup.contains("<script>"), "{what}: {markup}");
        assert!(!markup.contains(['\u{202e}', '\u{1b}']), "{what}: {markup}");
    }
    for what in ["/?since=2h", "/live?since=2h", "html", "time", "people"] {
        let (_, markup) = all.iter().find(|(name, _)| *name == what).unwrap();
        assert!(markup.contains("&lt;script&gt;u()"), "{what}: {markup}");
    }
    let (_, page) = &all[0];
    assert!(page.contains("&lt;script&gt;n()"), "{page}");
}

/// Also while other viewers do not read.
#[test]
fn every_viewer_hears_of_ticks() {
    let Served { mut recording, port, dir: _dir, _server } = Served::new();
    let watch = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream
    };
    let silent: Vec<_> = (0..20).map(|_| watch()).collect();
    let viewers: Vec<_> = (0..5).map(|_| watch()).collect();
    let is_done = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_done);
    let recorder = thread::spawn(move || {
        while !ends.load(Ordering::Relaxed) {
            recording.tick(1_000, &two_cards());
            thread::sleep(Duration::from_millis(50));
        }
    });
    for viewer in viewers {
        let lines = BufReader::new(viewer).lines().map_while(Result::ok);
        let ticks = lines.filter(|line| line.starts_with("event: tick")).take(3).count();
        assert_eq!(ticks, 3);
    }
    is_done.store(true, Ordering::Relaxed);
    recorder.join().unwrap();
    drop(silent);
}
