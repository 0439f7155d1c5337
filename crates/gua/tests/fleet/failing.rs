//! An engine that is not there, not one, or does not let us in.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::engine::{Engine, Kind, free_port, programs};
use super::push::Receiver;
use crate::machine::{Run, in_process_without_cards, program, run};

fn report(args: &[&str]) -> Run {
    in_process_without_cards(&[&["report"], args].concat())
}

/// Answers every request in the same way; with nothing, it lets everybody wait.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut waiting = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            if answer.is_empty() {
                waiting.push(stream);
                continue;
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

fn told(run: &Run, url: &str) -> String {
    format!("exit {:?}\n{}", run.code.unwrap(), run.stderr.replace(url, "[URL]"))
}

/// A sentence each, with what to do.
#[test]
fn each_failure_is_a_sentence() {
    let mut all = String::new();
    let mut add = |what: &str, url: &str, more: &[&str]| {
        let run = report(&[&["--prometheus", url], more].concat());
        assert_eq!(run.stdout, "");
        all += &format!("== {what}\n{}", told(&run, url));
    };
    add("no address", "prometheus:9090", &[]);
    add("a secret in the address", "http://me:secret@prometheus:9090", &[]);
    add("a secret behind the address", "http://prometheus:9090/?authKey=secret", &[]);
    add("nobody listens", &format!("http://127.0.0.1:{}", free_port()), &[]);
    add("no such host", "http://no-such-host.invalid:9090", &[]);
    let refused =
        server("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    add("not let in", &refused, &[]);
    let led = "HTTP/1.1 302 Found\r\nLocation: https://u:pw@prom.example/x/api/v1/query?key=pw\r\n\
               Content-Length: 0\r\nConnection: close\r\n\r\n";
    add("an engine behind another address", &server(led), &["--match", "a=\"b\""]);
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\n<html></html>";
    add("a web page", &server(page), &[]);
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    add("another service", &server(missing), &[]);
    let broken = "HTTP/1.1 503 No\r\nContent-Length: 39\r\nConnection: close\r\n\r\n\
                  {\"status\":\"error\",\"error\":\"overloaded\"}  ";
    add("an engine in trouble", &server(broken), &[]);
    add("an engine that hangs", &server(""), &["--prometheus-timeout", "1s"]);
    add("an engine that is slow", &server(""), &["--prometheus-timeout", "300ms"]);
    let plain = server(missing).replace("http", "https");
    add("no TLS", &plain, &[]);
    add("no HTTP", &server("SSH-2.0-OpenSSH_9.2\r\n"), &[]);
    add("no such secret", "http://127.0.0.1:1", &["--prometheus-token-file", "/no/such/file"]);
    add("no such certificates", "https://127.0.0.1:1", &["--prometheus-ca", "/no/such/file"]);
    assert!(!all.contains("secret@") && !all.contains("=secret") && !all.contains("pw"), "{all}");
    // The port differs from run to run.
    insta::assert_snapshot!(all);
}

/// Trap: a moment that no calendar has made it fall over, or was told as 1970.
#[test]
fn an_engine_with_impossible_moments() {
    let series = |name: &str, labels: &str, value: &str| {
        format!(
            r#"{{"metric":{{"__name__":"{name}","instance":"a:1"{labels}}},"value":[0,"{value}"]}}"#
        )
    };
    let ann = r#","UUID":"GPU-a","user":"ann""#;
    for moment in ["-1e300", "1e300", "NaN"] {
        let all = [
            series("gua_build_info", r#","hostname":"a","version":"1""#, "1"),
            series("gua_last_tick_timestamp_seconds", "", moment),
            series("gua_gpu_state", r#","UUID":"GPU-a","state":"idle_held""#, "1"),
            series("gua_user_gpu_memory_bytes", ann, "1"),
            series("gua_user_idle_since_timestamp_seconds", ann, moment),
        ];
        let data = format!(r#"{{"resultType":"vector","result":[{}]}}"#, all.join(","));
        let body = format!(r#"{{"status":"success","data":{data}}}"#);
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        let url = server((head + &body).leak());
        let told = run(program(&["fleet", "--json", "--prometheus", &url]));
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{moment}: {told:?}");
        let fleet: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        let holder = &fleet["hosts"][0]["cards"][0]["holders"][0];
        assert_eq!(holder["user"], "ann", "{moment}: {told:?}");
        assert!(holder["idle_since"].is_null() && holder["idle_seconds"].is_null(), "{holder}");
        let report = report(&["--prometheus", &url]);
        assert!(!report.stderr.contains("panicked"), "{moment}: {report:?}");
    }
}

/// Who asks is really said, with every question.
#[test]
fn a_secret_goes_with_every_question() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("secret");
    std::fs::write(&file, "open sesame\n").unwrap();
    let file = file.to_str().unwrap();
    for (who, header) in [
        (&["--prometheus-token-file", file][..], "authorization: bearer open sesame"),
        (
            &["--prometheus-user", "gua", "--prometheus-password-file", file],
            "authorization: basic z3vhom9wzw4gc2vzyw1l",
        ),
    ] {
        let engine =
            Receiver::new("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        for command in ["report", "fleet", "who"] {
            let told = run(program(&[&[command, "--prometheus", &engine.base()], who].concat()));
            assert_eq!(told.code, Some(1), "{told:?}");
        }
        let heads = engine.heads();
        assert!(heads.len() >= 3 && heads.iter().all(|head| head.contains(header)), "{heads:?}");
    }
}

/// How an engine is reached says nothing without one.
#[test]
fn words_about_an_engine_need_one() {
    for words in [
        ["--prometheus-token-file", "/x"],
        ["--prometheus-ca", "/x"],
        ["--prometheus-timeout", "5s"],
    ] {
        for command in ["report", "who"] {
            let told = run(program(&[&[command][..], &words].concat()));
            assert_eq!(told.code, Some(2), "{told:?}");
            assert!(told.stderr.contains("--prometheus <URL>"), "{told:?}");
        }
    }
}

#[test]
fn an_engine_without_our_series_says_so() {
    let Some(programs) = programs("an_engine_without_our_series_says_so") else { return };
    for kind in [Kind::Prometheus, Kind::Victoria] {
        let mut engine = Engine::new(&programs, kind);
        engine.start("");
        for args in [&["report"][..], &["fleet"], &["who"], &["report", "--match", "a=\"b\""]] {
            let run = engine.gua(args);
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
            assert!(run.stderr.contains("has no series of gua"), "{run:?}");
        }
        let wrong = engine.gua(&["report", "--match", "a=b"]);
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
        assert!(wrong.stderr.contains("does not accept --match a=b"), "{wrong:?}");
        let wrong = engine.gua(&["fleet", "--host", "("]);
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
        assert!(wrong.stderr.contains("does not accept --host ("), "{wrong:?}");
    }
}

/// A part of the series, as from a cluster whose storage is away in part.
const PARTLY: &str = r#"{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[
    {"metric":{"__name__":"gua_build_info","instance":"a","hostname":"a"},"value":[NOW,"1"]},
    {"metric":{"__name__":"gua_last_tick_timestamp_seconds","instance":"a"},"value":[NOW,"NOW"]},
    {"metric":{"__name__":"gua_gpu_info","instance":"a","UUID":"GPU-a","gpu":"0"},"value":[NOW,"1"]}
    ]}}"#;

/// What is there is told, and that it is not all; the exit code remembers it.
#[test]
fn an_answer_that_is_not_whole_is_not_taken_for_it() {
    let body = PARTLY.replace("NOW", &jiff::Timestamp::now().as_second().to_string());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
    let answer: &'static str = format!("{head}Connection: close\r\n\r\n{body}").leak();
    let url = server(answer);
    for command in ["report", "fleet", "who"] {
        let told = run(program(&[command, "--prometheus", &url]));
        let expected = format!(
            "gua: the response of {url} is incomplete: some of its storage did not respond\n"
        );
        assert_eq!((told.code, told.stderr), (Some(1), expected), "{}", told.stdout);
        assert!(!told.stdout.is_empty());
    }
    let told = run(program(&["fleet", "--json", "--prometheus", &url]));
    assert!(told.stdout.contains("\"some of its storage did not respond\""), "{}", told.stdout);
}

#[test]
fn a_fleet_needs_an_engine() {
    let run = run(program(&["fleet"]));
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}
