//! Notices on their ways: real terminals, a real program for mail, real servers.

/// A webhook that answers, refuses, and hangs.
mod server;
/// A terminal of one's own.
mod terminal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::{Reading, Why};

use self::server::Server;
use self::terminal::Terminal;
use super::{Fields, Figures, Letter, Post, Report, To};
use crate::config::policy::{Action, Channel, Mail, Notify, Style, Template, Webhook};
use crate::policy::tests::{facts, rule, subject};
use crate::policy::{Evidence, Signs, Token};

const LONG: Duration = Duration::from_secs(60);

fn letter(token: u64, uid: u32, channels: &[Channel], notify: &Notify) -> Letter {
    let mut facts = facts(uid, "ann");
    facts.program = Some("py\x1b[2Jthon".into());
    let evidence = Evidence {
        company: Vec::new(),
        facts: Arc::new(facts),
        memory: Reading::Known(probe::units::Bytes(7_800_000_000)),
        signs: Signs::unknown(Why::NotAsked),
        idle_millis: 6_300_000,
        missed_millis: 0,
        notices: 1,
    };
    let fields =
        Fields::of(subject(7), &evidence, &rule(Action::End), 2, "lab-a100", &notify.message);
    let to = To { uid, name: Some("ann".into()) };
    let figures = Figures::of(subject(7), uid, &evidence, &rule(Action::End), 2);
    Letter { token: Token(token), to, fields, figures, channels: channels.to_vec() }
}

/// Waits for the reports of so many ways.
fn reports(post: &Post, count: usize) -> Vec<(Channel, String)> {
    let deadline = Instant::now() + LONG;
    let mut heard = Vec::new();
    while heard.len() < count {
        assert!(Instant::now() < deadline, "waited in vain; heard {heard:?}");
        heard.extend(post.reports().map(|Report { channel, outcome, .. }| {
            (channel, outcome.err().map_or("delivered".to_owned(), |error| error.to_string()))
        }));
        std::thread::sleep(Duration::from_millis(5));
    }
    heard
}

fn delivered(notify: Notify, root: &Path, uid: u32, way: Channel) -> String {
    let letter = letter(1, uid, &[way], &notify);
    let mut post = Post::new(notify, root.to_owned());
    post.send(letter);
    reports(&post, 1).remove(0).1
}

/// A program that keeps what it was given.
fn stand_in(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("sendmail");
    let kept = folder.join("kept").display().to_string();
    fs::write(&path, format!("#!/bin/sh\nkept='{kept}'\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn mail(folder: &Path, script: &str) -> Notify {
    let sendmail = stand_in(folder, script);
    Notify { mail: Mail { sendmail, ..Mail::default() }, ..Notify::default() }
}

#[test]
fn the_words_of_a_notice() {
    let letter = letter(1, 1001, &[Channel::Tty], &Notify::default());
    insta::assert_snapshot!(letter.fields.fill(&Notify::default().tty));
}

#[test]
fn mail_goes_through_the_local_program() {
    let dir = tempfile::tempdir().unwrap();
    let notify = mail(dir.path(), r#"{ echo "$@"; cat; } > "$kept""#);
    assert_eq!(delivered(notify, dir.path(), 1001, Channel::Mail), "delivered");
    insta::assert_snapshot!(fs::read_to_string(dir.path().join("kept")).unwrap());
}

#[test]
fn a_program_for_mail_that_fails_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let notify = mail(dir.path(), "echo 'the queue is full' >&2; exit 75");
    let told = delivered(notify, dir.path(), 1001, Channel::Mail);
    assert!(told.ends_with("ended with exit status: 75: the queue is full"), "{told}");
    let nowhere = Mail { sendmail: "/nowhere/sendmail".into(), ..Mail::default() };
    let notify = Notify { mail: nowhere, ..Notify::default() };
    let told = delivered(notify, dir.path(), 1001, Channel::Mail);
    assert!(told.contains("could not be started"), "{told}");
}

#[test]
fn mail_has_an_address_with_a_domain() {
    let dir = tempfile::tempdir().unwrap();
    let mut notify = mail(dir.path(), r#"{ echo "$@"; cat; } > "$kept""#);
    notify.mail.domain = Some("lab.example".into());
    notify.mail.from = Some("gua@lab.example".into());
    assert_eq!(delivered(notify, dir.path(), 1001, Channel::Mail), "delivered");
    let kept = fs::read_to_string(dir.path().join("kept")).unwrap();
    let begin = "-i -- ann@lab.example\nFrom: gua@lab.example\nTo: ann@lab.example\n";
    assert!(kept.starts_with(begin), "{kept}");
}

#[test]
fn a_command_has_its_places_filled_and_no_shell() {
    let dir = tempfile::tempdir().unwrap();
    let tell = stand_in(dir.path(), r#"printf '%s\n' "$@" > "$kept""#);
    let words = [tell.to_str().unwrap(), "{user}", "$(id); {program} {job}", "{left}"];
    let words = words.iter().map(|word| Template::parse(word).unwrap()).collect();
    let notify = Notify { command: Some(words), ..Notify::default() };
    assert_eq!(delivered(notify, dir.path(), 1001, Channel::Command), "delivered");
    insta::assert_snapshot!(fs::read_to_string(dir.path().join("kept")).unwrap());
}

#[test]
fn a_webhook_is_told_in_its_own_shape() {
    for style in Style::ALL {
        let server = Server::answering("200 OK");
        let webhook = Some(Webhook::new(server.url(), style));
        let notify = Notify { webhook, ..Notify::default() };
        let told = delivered(notify, Path::new("/"), 1001, Channel::Webhook);
        assert_eq!(told, "delivered");
        insta::assert_snapshot!(format!("webhook_{}", style.word()), server.body());
    }
}

#[test]
fn a_webhook_that_refuses_or_is_not_there_is_told() {
    let server = Server::answering("500 Internal Server Error");
    let with = |url| Notify { webhook: Some(Webhook::new(url, Style::Slack)), ..Notify::default() };
    let told = delivered(with(server.url()), Path::new("/"), 1001, Channel::Webhook);
    assert_eq!(told, "the webhook answered with 500");
    let nobody = server::nobody();
    let told = delivered(with(nobody), Path::new("/"), 1001, Channel::Webhook);
    assert!(told.starts_with("the webhook was not reached: "), "{told}");
}

/// The others go on meanwhile.
#[test]
fn a_webhook_that_hangs_keeps_nobody_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::hanging();
    let notify = Notify {
        webhook: Some(Webhook::new(server.url(), Style::Slack)),
        timeout: Duration::from_secs(3600),
        ..mail(dir.path(), "cat > /dev/null")
    };
    let both = [Channel::Webhook, Channel::Mail];
    let letters = [1, 2, 3].map(|token| letter(token, 1001, &both, &notify));
    let mut post = Post::new(notify, dir.path().to_owned());
    letters.into_iter().for_each(|letter| post.send(letter));
    let heard = reports(&post, 3);
    assert!(
        heard.iter().all(|(way, told)| *way == Channel::Mail && told == "delivered"),
        "{heard:?}"
    );
    assert!(server.was_asked());
}

#[test]
fn a_webhook_is_waited_for_as_long_as_is_set() {
    let server = Server::hanging();
    let webhook = Some(Webhook::new(server.url(), Style::Slack));
    let notify = Notify { webhook, timeout: Duration::from_millis(100), ..Notify::default() };
    let told = delivered(notify, Path::new("/"), 1001, Channel::Webhook);
    assert!(told.starts_with("the webhook did not answer within "), "{told}");
}

#[test]
fn a_terminal_of_the_person_shows_it() {
    let terminal = Terminal::open();
    let root = terminal.root(&[("ann", &terminal.line()), ("ann", "pts/99999")]);
    let told = delivered(Notify::default(), root.path(), terminal.uid(), Channel::Tty);
    assert_eq!(told, "delivered");
    let shown = terminal.shown();
    assert!(shown.contains("\x07gua, notice 2 of 2 to ann: py?[2Jthon (pid 7)"), "{shown:?}");
}

/// Trap: a session that was detached, and a program that was left alone, have terminals too.
#[test]
fn a_terminal_that_nobody_sits_at_does_not_count() {
    let terminal = Terminal::open();
    let root = terminal.root(&[("ann", &terminal.line())]);
    let hour = Duration::from_secs(3600);
    terminal.quiet_for(11 * hour);
    let told = || delivered(Notify::default(), root.path(), terminal.uid(), Channel::Tty);
    assert_eq!(told(), "delivered");
    terminal.quiet_for(13 * hour);
    let said = told();
    assert!(said.ends_with(": nothing was typed there for 13 h"), "{said}");
}

#[test]
fn a_terminal_of_another_person_is_not_written_to() {
    let terminal = Terminal::open();
    let root = terminal.root(&[("ann", &terminal.line())]);
    let told = delivered(Notify::default(), root.path(), terminal.uid() + 1, Channel::Tty);
    assert!(told.ends_with("it is not theirs"), "{told}");
    let root = terminal.root(&[("bob", &terminal.line())]);
    let told = delivered(Notify::default(), root.path(), terminal.uid() + 1, Channel::Tty);
    assert_eq!(told, "they have no terminal open");
}

#[test]
fn a_way_that_is_not_set_up_says_so() {
    let told = delivered(Notify::default(), Path::new("/"), 1001, Channel::Webhook);
    assert_eq!(told, "`webhook` is not set up");
}
