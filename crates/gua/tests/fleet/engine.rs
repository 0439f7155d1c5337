//! Real engines, each on a port and in a folder of its own.

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{Run, program, run};
use crate::recorder::until;

/// Where Debian's programs are; says that a test was skipped where they are not.
pub(super) fn programs(test: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_BIN_EXE_gua")).ancestors().nth(2);
    let unpacked = unpacked.map(|target| target.join("engines/usr/bin"));
    let named = env::var_os("GUA_ENGINES").map(PathBuf::from);
    let found = named.or(unpacked).filter(|folder| folder.join("promtool").exists());
    if found.is_none() {
        nvidia_ml::skip::skipped(test, "Debian's prometheus and victoria-metrics are not unpacked");
    }
    found
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prometheus,
    Victoria,
}

/// An engine at work; it ends with the test.
pub(super) struct Engine {
    kind: Kind,
    programs: PathBuf,
    dir: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Engine {
    /// With what a file of OpenMetrics or of lines to import holds.
    pub fn with(programs: &Path, kind: Kind, samples: &Path) -> Self {
        let mut engine = Self::new(programs, kind);
        match kind {
            Kind::Prometheus => {
                let made = Command::new(programs.join("promtool"))
                    .args(["tsdb", "create-blocks-from", "openmetrics"])
                    .arg(samples)
                    .arg(engine.data())
                    .output()
                    .unwrap();
                assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
                engine.start("");
            }
            Kind::Victoria => {
                engine.start("");
                let samples = fs::read_to_string(samples).unwrap();
                engine.post("/api/v1/import/prometheus", samples.as_bytes());
                engine.get("/internal/force_flush");
                until("all samples are found", || engine.has_all(&samples));
            }
        }
        engine
    }

    /// Not started yet.
    pub fn new(programs: &Path, kind: Kind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let programs = programs.to_owned();
        Self { kind, programs, dir, port: free_port(), child: None }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Starts it, to scrape what the config says, and waits until it answers.
    pub fn start(&mut self, scrape: &str) {
        let config = self.dir.path().join("config.yml");
        fs::write(&config, scrape).unwrap();
        let listen = format!("127.0.0.1:{}", self.port);
        let mut command = match self.kind {
            Kind::Prometheus => {
                let mut command = Command::new(self.programs.join("prometheus"));
                command
                    .arg(format!("--config.file={}", config.display()))
                    .arg(format!("--storage.tsdb.path={}", self.data().display()))
                    .arg("--storage.tsdb.retention.time=10y")
                    .arg(format!("--web.listen-address={listen}"))
                    .arg("--web.enable-remote-write-receiver");
                command
            }
            Kind::Victoria => {
                let mut command = Command::new(self.programs.join("victoria-metrics"));
                command
                    .arg(format!("-storageDataPath={}", self.data().display()))
                    .arg(format!("-httpListenAddr={listen}"))
                    .args(["-retentionPeriod=120", "-search.latencyOffset=0s"])
                    .args(["-search.maxUniqueTimeseries=1000000"]);
                command
            }
        };
        let log = File::create(self.dir.path().join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
        self.child = Some(command.spawn().unwrap());
        until("the engine answers", || {
            let path = if self.kind == Kind::Prometheus { "/-/ready" } else { "/health" };
            request(self.port, "GET", path, &[], b"").is_some_and(|(status, _)| status == 200)
        });
    }

    /// Ends it, with its data where they are.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            child.wait().unwrap();
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where it takes remote writes.
    pub fn write_url(&self) -> String {
        format!("{}/api/v1/write", self.url())
    }

    pub fn get(&self, path: &str) -> String {
        let (status, body) = request(self.port, "GET", path, &[], b"").unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {body}");
        body
    }

    fn post(&self, path: &str, body: &[u8]) {
        let (status, body) = request(self.port, "POST", path, &[], body).unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {body}");
    }

    /// Returns true if it finds as many samples as a file of lines to import has.
    fn has_all(&self, samples: &str) -> bool {
        let time = |line: &str| line.rsplit(' ').next()?.parse::<i64>().ok();
        let last = samples.lines().filter_map(time).max().unwrap();
        let query =
            format!("sum(count_over_time({{__name__!=\"\"}}[30d])) @ {}", last / 1000 + 600);
        let found = self.query(&query);
        let count = found.first().and_then(|series| series["value"][1].as_str()?.parse().ok());
        count == Some(samples.lines().count())
    }

    /// Returns the number of series in the answer to a query now.
    pub fn count(&self, query: &str) -> usize {
        self.query(query).len()
    }

    /// Returns the series in the answer to a query now.
    fn query(&self, query: &str) -> Vec<Value> {
        let body = format!("query={}", encoded(query));
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        let (status, answer) =
            request(self.port, "POST", "/api/v1/query", &headers, body.as_bytes()).unwrap();
        assert_eq!(status, 200, "{query}: {answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["data"]["result"].as_array().unwrap().clone()
    }

    /// The program, asked about this engine.
    pub fn gua(&self, args: &[&str]) -> Run {
        let url = self.url();
        let mut command = program(args);
        command.args(["--prometheus", &url]);
        run(command)
    }

    /// The same as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let told = self.gua(&[args, &["--json"]].concat());
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{}", self.log());
        serde_json::from_str(&told.stdout).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A text as a part of a form.
pub(super) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// One request by hand; `None` where nobody answers.
pub(super) fn request(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str("Host: 127.0.0.1\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Some((status, if is_chunked { unchunked(body) } else { body.to_owned() }))
}

fn unchunked(body: &str) -> String {
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        whole.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    whole
}
