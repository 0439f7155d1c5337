//! What goes wrong, and what does not come of it: nothing is ended that nobody was told of, and
//! no tick waits.

use std::io::Read;
use std::net::TcpListener;
use std::thread;

use super::{Lab, Person};

/// Takes what it is sent and never answers.
fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            held.push(stream);
        }
    });
    format!("http://127.0.0.1:{port}/hook")
}

#[test]
fn a_webhook_that_hangs_and_mail_that_fails_end_nobody_and_keep_no_tick_waiting() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    let config = format!(
        "[policy]\nenabled = true\n[[policy.rule]]\nname = \"abandoned\"\nidle_for = \"3s\"\n\
         notices = [\"1s\", \"2s\"]\naction = \"end\"\nnotify = [\"webhook\", \"mail\"]\n\
         [notify]\ntimeout = \"2s\"\nwebhook = {{ url = \"{}\" }}\n\
         mail = {{ sendmail = \"/bin/false\" }}\n",
        hanging()
    );
    lab.config(&config);
    let mut recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_failed");
    crate::recorder::until("both ways have failed", || {
        let details = lab.details();
        let has = |word: &str| details.iter().any(|it| it.contains(word));
        has("not delivered by mail") && has("not delivered by webhook")
    });
    recorder.goes_on();
    let gaps = crate::recorder::gaps(&recorder.database);
    assert!(gaps.iter().all(|(reason, _)| reason != "late"), "{gaps:?}: {}", recorder.said());
    assert!(idle.lives());
    let deeds = lab.deeds(None);
    assert!(deeds.iter().all(|kind| kind == "notice_failed"), "{deeds:?}");
    recorder.end();
}

#[test]
fn a_config_that_becomes_invalid_lets_the_rules_only_observe() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual(""));
    let mut recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    lab.config("[policy]\nenabled = maybe\n");
    lab.has_done(None, "config_refused");
    lab.has_done(Some(idle.pid()), "would_end");
    assert!(idle.lives());
    assert!(recorder.said().contains("the rules only observe"), "{}", recorder.said());
    recorder.goes_on();
    // Mended, it is told anew from the beginning, and only then ended.
    lab.config(&lab.usual(""));
    lab.has_done(None, "config_taken");
    lab.has_done(Some(idle.pid()), "ended");
    let deeds = lab.deeds(Some(idle.pid()));
    let since = deeds.iter().rposition(|kind| kind == "would_end").unwrap();
    let sent = deeds[since..].iter().filter(|kind| *kind == "notice_sent").count();
    assert!(sent >= 2, "{deeds:?}");
    recorder.end();
}

/// A driver that fails for a while brings nobody nearer to an end.
#[test]
fn a_driver_that_is_away_stops_the_clock() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"600s\""));
    let mut recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    let lost = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncode = \"GPU_IS_LOST\"\n";
    lab.machine.becomes(&format!("{}{lost}", super::scenario(&[(idle.pid(), 0)])));
    crate::recorder::until("the card is lost", || {
        recorder.number("SELECT count(*) FROM event WHERE kind = 'card'") > 0
    });
    let idle_ms = "SELECT max(idle_ms) FROM policy_state";
    let before = recorder.number(idle_ms);
    recorder.goes_on();
    assert!(recorder.number(idle_ms) - before <= 1000);
    assert!(idle.lives());
    recorder.end();
}

#[test]
fn the_log_is_only_added_to() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"600s\""));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    let path = recorder.database.clone();
    recorder.end();
    let database = rusqlite::Connection::open(path).unwrap();
    for sql in ["DELETE FROM policy_log", "UPDATE policy_log SET detail = ''"] {
        let refused = database.execute(sql, []).unwrap_err().to_string();
        assert_eq!(refused, "policy_log is append-only");
    }
}
