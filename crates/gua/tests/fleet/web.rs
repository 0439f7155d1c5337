//! Who may come in, and what is refused.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::engine::request;
use super::metrics::{TOKEN, listening, scrape};
use crate::machine::{Machine, Run};
use crate::recorder::{TWO_CARDS, until};

fn refused(machine: &Machine, args: &[&str]) -> Run {
    let run = machine.gua(&[&["daemon", "--foreground"], args].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    run
}

/// Before anything is begun.
#[test]
fn what_would_let_everybody_in_is_refused() {
    let machine = Machine::new(TWO_CARDS);
    let file = |name: &str, text: &str| {
        let path = machine.dir().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (short, empty) = (file("short", "secret\n"), file("empty", "\n"));
    let pem = file("pem", "no certificate\n");
    let mut all = String::new();
    for args in [
        &["--listen", "0.0.0.0:7071"][..],
        &["--listen", ":7071"],
        &["--listen", "somewhere"],
        &["--listen", "0.0.0.0:7071", "--token-file", &short],
        &["--listen", "0.0.0.0:7071", "--token-file", &empty],
        &["--listen", "0.0.0.0:7071", "--token-file", "/no/such/file"],
        &["--listen", "7071", "--tls-cert", &pem, "--tls-key", &pem],
        &["--token-file", &short],
        &["--allow-host", "gpu-1"],
    ] {
        let run = refused(&machine, args);
        all += &run.stderr.replace(machine.dir().to_str().unwrap(), "[DIR]");
    }
    assert!(!machine.home().join(".gua/gua.db").exists());
    insta::assert_snapshot!(all);
}

#[test]
fn a_token_opens_and_nothing_else_does() {
    let machine = Machine::new(TWO_CARDS);
    let file = machine.dir().join("token");
    fs::write(&file, TOKEN).unwrap();
    let (recorder, port) = listening(&machine, &["--token-file", file.to_str().unwrap()]);
    let status =
        |headers: &[(&str, &str)]| request(port, "GET", "/metrics", headers, b"").unwrap().0;
    assert_eq!(status(&[("Authorization", "Bearer 0123456789abcdef0123")]), 200);
    assert_eq!(status(&[("Cookie", "a=b; gua_token=0123456789abcdef0123")]), 200);
    for wrong in
        ["", "Bearer ", "Bearer 0123456789abcdef012", "Bearer 0123456789abcdef01234", "Basic eA=="]
    {
        assert_eq!(status(&[("Authorization", wrong)]), 401, "{wrong}");
    }
    assert_eq!(status(&[]), 401);
    assert_eq!(request(port, "GET", "/", &[], b"").unwrap().0, 401);
    recorder.end();
}

#[test]
fn metrics_are_public_where_that_is_said() {
    let machine = Machine::new(TWO_CARDS);
    let file = machine.dir().join("token");
    fs::write(&file, TOKEN).unwrap();
    let more = ["--token-file", file.to_str().unwrap(), "--public-metrics"];
    let (recorder, port) = listening(&machine, &more);
    assert_eq!(request(port, "GET", "/metrics", &[], b"").unwrap().0, 200);
    assert_eq!(request(port, "GET", "/", &[], b"").unwrap().0, 401);
    // By another name, the token still opens.
    let token = ("Authorization", "Bearer 0123456789abcdef0123");
    let elsewhere = ("Host", "gpu-1.another-name.example");
    assert_eq!(request(port, "GET", "/metrics", &[elsewhere, token], b"").unwrap().0, 200);
    assert_eq!(request(port, "GET", "/metrics", &[elsewhere], b"").unwrap().0, 421);
    recorder.end();
}

/// A page of somebody else's cannot read ours by a name that leads here.
#[test]
fn other_names_for_this_host_are_refused() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &["--allow-host", "gpu.example.org"]);
    let status = |host: &str| request(port, "GET", "/metrics", &[("Host", host)], b"").unwrap().0;
    for good in ["localhost", "127.0.0.1:7071", "[::1]:1", "LOCALHOST:99", "gpu.example.org"] {
        assert_eq!(status(good), 200, "{good}");
    }
    for bad in ["evil.example.org", "localhost.evil.org", "10.0.0.1", ""] {
        assert_ne!(status(bad), 200, "{bad}");
    }
    for path in ["/", "/live", "/events", "/api/v1/who", "/assets/script.js", "/sign-in"] {
        let host = [("Host", "evil.example.org")];
        assert_eq!(request(port, "GET", path, &host, b"").unwrap().0, 421, "{path}");
    }
    recorder.end();
}

/// A short name is one of a long one; a longer one may be anybody's.
#[test]
fn this_host_goes_by_its_own_names_only() {
    let machine = Machine::new(&format!("[host]\nname = \"gpu-1.lab.example\"\n{TWO_CARDS}"));
    let (recorder, port) = listening(&machine, &[]);
    let status = |host: &str| request(port, "GET", "/metrics", &[("Host", host)], b"").unwrap().0;
    for good in ["gpu-1:7071", "gpu-1.lab.example:7071", "GPU-1.lab.example"] {
        assert_eq!(status(good), 200, "{good}");
    }
    for bad in ["gpu-1.evil.example", "gpu-1.lab.example.evil.example", "gpu-1.", "gpu", "lab"] {
        assert_eq!(status(bad), 421, "{bad}");
    }
    recorder.end();
}

/// Who has the token is meant by whatever name; who has none keeps no connection.
#[test]
fn a_token_makes_up_for_a_name() {
    let machine = Machine::new(TWO_CARDS);
    let file = machine.dir().join("token");
    fs::write(&file, TOKEN).unwrap();
    let (recorder, port) = listening(&machine, &["--token-file", file.to_str().unwrap()]);
    let token = ("Authorization", "bearer 0123456789abcdef0123");
    let elsewhere = ("Host", "gpu-1.another-name.example");
    assert_eq!(request(port, "GET", "/metrics", &[elsewhere, token], b"").unwrap().0, 200);
    assert_eq!(request(port, "GET", "/metrics", &[elsewhere], b"").unwrap().0, 401);
    let refused = raw(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").to_lowercase();
    assert!(refused.contains("connection: close"), "{refused}");
    let posted = raw(port, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").to_lowercase();
    assert!(posted.contains("allow: get, head"), "{posted}");
    recorder.end();
}

/// Who asks on and on and does not read is broken off; everybody else is answered meanwhile.
#[test]
fn who_does_not_read_is_not_waited_for() {
    let machine = Machine::new(TWO_CARDS);
    let (recorder, port) = listening(&machine, &[]);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let questions = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    until("it is broken off", || match stream.write(questions.as_bytes()) {
        Ok(_) => false,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    });
    scrape(port);
    recorder.end();
}

/// What is too large, too slow, no question or no HTTP does no harm.
#[test]
fn bad_requests_do_no_harm() {
    let machine = Machine::new(TWO_CARDS);
    let (mut recorder, port) = listening(&machine, &[]);
    let large = "x".repeat(64 << 10);
    let status = request(port, "GET", "/metrics", &[("X-Large", &large)], b"").map(|it| it.0);
    assert!(status.is_none_or(|status| status == 431), "{status:?}");
    assert_eq!(request(port, "POST", "/metrics", &[], b"x").unwrap().0, 405);
    assert_eq!(request(port, "DELETE", "/metrics", &[], b"").unwrap().0, 405);
    assert_eq!(request(port, "GET", "/no-such-page", &[], b"").unwrap().0, 404);
    assert!(
        raw(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
            .contains("413")
    );
    for text in ["nonsense\r\n\r\n", "GET /metrics\r\n\r\n", "\0\0\0\0\r\n\r\n"] {
        assert!(!raw(port, text).contains("200 OK"), "{text:?}");
    }
    // Those who say nothing keep nobody else waiting.
    let silent: Vec<_> =
        (0..50).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    scrape(port);
    drop(silent);
    recorder.goes_on();
    recorder.end();
}

/// A head that never ends, a body that never comes: both are broken off, and nobody else waits.
#[test]
fn who_never_ends_a_question_is_not_waited_for() {
    let machine = Machine::new(TWO_CARDS);
    let file = machine.dir().join("token");
    fs::write(&file, TOKEN).unwrap();
    let (mut recorder, port) = listening(&machine, &["--token-file", file.to_str().unwrap()]);
    let begun = |text: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let body = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken=";
    let slow = [begun("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "), begun(body)];
    let token = format!("Bearer {TOKEN}");
    let others = request(port, "GET", "/metrics", &[("Authorization", &token)], b"");
    assert_eq!(others.unwrap().0, 200);
    for mut stream in slow {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.is_empty() || said.contains("408"), "{said}");
    }
    recorder.goes_on();
    recorder.end();
}

fn raw(port: u16, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = [0; 256];
    let length = stream.read(&mut answer).unwrap_or(0);
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Makes `key` and `cert` in a folder; says that a test was skipped where openssl is not here.
pub(super) fn certified(folder: &Path, test: &str) -> bool {
    let words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost";
    let made = Command::new("openssl")
        .args(words.split(' '))
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join("key"))
        .arg("-out")
        .arg(folder.join("cert"))
        .output();
    let is_made = made.is_ok_and(|made| made.status.success());
    if !is_made {
        nvidia_ml::skip::skipped(test, "openssl is not here");
    }
    is_made
}

/// With a certificate that openssl made here.
#[test]
fn tls_is_spoken_and_distrusted_where_it_must_be() {
    let machine = Machine::new(TWO_CARDS);
    let path = |name: &str| machine.dir().join(name).display().to_string();
    if !certified(machine.dir(), "tls_is_spoken_and_distrusted_where_it_must_be") {
        return;
    }
    let (recorder, port) =
        listening(&machine, &["--tls-cert", &path("cert"), "--tls-key", &path("key")]);
    let url = format!("https://127.0.0.1:{port}");
    let report = |more: &[&str]| {
        crate::machine::run(crate::machine::program(
            &[&["report", "--prometheus", &url], more].concat(),
        ))
    };
    let distrusted = report(&[]);
    assert_eq!(distrusted.code, Some(1), "{distrusted:?}");
    assert!(distrusted.stderr.contains("cannot trust"), "{distrusted:?}");
    // Trusted, it turns out to be no engine.
    let trusted = report(&["--prometheus-ca", &path("cert")]);
    assert!(trusted.stderr.contains("does not respond as Prometheus does"), "{trusted:?}");
    assert!(!raw(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("200 OK"));
    recorder.end();
}

#[test]
fn an_address_that_is_taken_is_said() {
    let machine = Machine::new(TWO_CARDS);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = machine.gua(&["daemon", "--foreground", "--listen", &address]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains(&format!("cannot listen on {address}")), "{run:?}");
}
