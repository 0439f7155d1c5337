//! Answers made by hand, for tests of how they read.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use probe::units::UnixMillis;
use probe::who::{Client, Job, Notebook, Source, Told, User, Who};

use super::{Book, Facts, Holdings, Question, Session, Tally, Usage};
use crate::classify::{Kib, State, Thresholds};
use crate::config::Cost;
use crate::ledger::{HOUR, Period};
use crate::report::accounts::{Account, By, HeldIdle, Known, Name, OnCard, Peak, Unattributed};
use crate::store::{CardRow, Ending, RunRow, Span};

/// 2026-11-08 20:00, a Sunday.
const BEGIN: i64 = 1_794_168_000_000;

fn hour(hours: f64) -> UnixMillis {
    #[expect(clippy::cast_possible_truncation, reason = "a week")]
    UnixMillis(BEGIN + (hours * 3_600_000.0) as i64)
}

fn at(hours: f64) -> Timestamp {
    Timestamp::from_millisecond(hour(hours).0).unwrap()
}

fn card(id: i64, name: &str) -> CardRow {
    let number = u32::try_from(id - 1).unwrap();
    CardRow {
        id,
        uuid: Some(format!("GPU-{number}")),
        number,
        slot: None,
        name: Some(name.to_owned()),
        memory_bytes: Some(80_000_000_000),
    }
}

/// Hours present, worked, of the cards' idle-held, idle at all, with so many GB, on a card.
#[derive(Debug, Clone, Copy)]
struct Hours(i64, i64, i64, i64, u128, i64);

fn account(name: Name, all: &[Hours]) -> Account {
    let sum = |of: fn(&Hours) -> i64| all.iter().map(of).sum::<i64>() * HOUR;
    let memory =
        |it: &Hours| it.4 * u128::from(it.3.unsigned_abs()) * 3_600_000 * 1_000_000_000 / 1024;
    let on_card =
        |it: &Hours| OnCard { card: it.5, present: it.0 * HOUR, idle_held_share: it.2 * HOUR };
    Account {
        name,
        present: sum(|it| it.0),
        worked: sum(|it| it.1),
        idle_held: sum(|it| it.3),
        unknown: 0,
        as_the_card: 0,
        worked_little: 0,
        peak: Peak::Known(Kib(0)),
        idle_held_share: sum(|it| it.2),
        held_idle: HeldIdle(all.iter().map(memory).sum()),
        cards: all.iter().map(on_card).collect(),
    }
}

fn known(name: &str, user: Option<&str>) -> Name {
    let user = user.map(str::to_owned);
    Name::Known(Known { id: name.to_owned(), label: name.to_owned(), user })
}

/// What people had of three cards in a week.
fn books(bob: &str, notebook: &str) -> Vec<Book> {
    let (alices, bobs) = (Hours(100, 60, 40, 40, 60, 1), Hours(150, 10, 70, 130, 8, 2));
    let (nobodys, carols) = (Hours(80, 0, 10, 80, 1, 2), Hours(20, 20, 0, 0, 0, 3));
    let unseen = Name::Nobody(Unattributed::NoVisibleProcess);
    let people = [
        account(known(bob, None), &[bobs]),
        account(known("alice", None), &[alices]),
        account(unseen.clone(), &[nobodys]),
        account(known("carol", None), &[carols]),
    ];
    let notebooks = [
        account(known(notebook, Some(bob)), &[bobs]),
        account(Name::Nobody(Unattributed::None), &[alices, carols]),
        account(unseen, &[nobodys]),
    ];
    vec![
        Book { by: By::User, accounts: people.to_vec() },
        Book { by: By::Notebook, accounts: notebooks.to_vec() },
    ]
}

fn told<T>(value: T, source: Source) -> Option<Told<T>> {
    Some(Told { value, source })
}

/// A session of somebody, from one hour of the week to another.
fn session(user: &str, uid: u32, card: u32, hours: (f64, f64)) -> Session {
    let who = Who {
        user: told(User { uid, name: Some(user.into()) }, Source::Uid),
        script: Some("train.py".into()),
        ..Who::default()
    };
    Session {
        user: Some(user.to_owned()),
        uid: Some(uid),
        card_uuid: Some(format!("GPU-{card}")),
        card_index: Some(card),
        card_slot: None,
        pid: 4000 + uid,
        program: Some("python".to_owned()),
        from: at(hours.0),
        from_seen: true,
        to: at(hours.1),
        to_seen: true,
        open: Some(false),
        idle_seconds: (hours.1 - hours.0) * 3600.0,
        busy_card_seconds: 0.0,
        as_the_card_seconds: 0.0,
        idle_held_gpu_hours: hours.1 - hours.0,
        peak_memory_bytes: Some(61_000_000_000),
        bare_context: Some(false),
        ask: None,
        end: None,
        identity: Some(who.clone()),
        command: None,
    }
}

fn sessions(bob: &str, notebook: &str) -> Vec<Session> {
    let who = Who {
        user: told(User { uid: 1001, name: Some(bob.into()) }, Source::Uid),
        job: told(Job { id: "4711".into(), step: None }, Source::Cgroup),
        notebook: told(
            Notebook { kernel: None, path: Some(notebook.into()), client: Client::Jupyter },
            Source::AncestorEnvironment,
        ),
        ..Who::default()
    };
    let open = Session {
        open: Some(true),
        to_seen: false,
        peak_memory_bytes: Some(8_100_000_000),
        ask: Some("gua who --user 1001".to_owned()),
        end: Some("scancel 4711".to_owned()),
        identity: Some(who.clone()),
        idle_held_gpu_hours: 60.0,
        ..session(bob, 1001, 1, (106.0, 168.0))
    };
    let bare = Session {
        bare_context: Some(true),
        busy_card_seconds: 30_000.0,
        peak_memory_bytes: None,
        from_seen: false,
        idle_held_gpu_hours: 0.5,
        ..session(bob, 1001, 1, (0.0, 10.0))
    };
    vec![session("alice", 1000, 0, (20.0, 60.0)), bare, open]
}

/// The week of a lab in which somebody is called `bob` and has a notebook called `notebook`.
pub fn week_of(bob: &str, notebook: &str, ask: impl FnOnce(&mut Question)) -> Usage {
    let window = Period::new(hour(0.0), hour(168.0));
    let thresholds = Thresholds::default();
    let mut question = Question::new(window, TimeZone::UTC, "UTC".to_owned(), thresholds);
    ask(&mut question);
    let holdings = holdings(bob, notebook, &question);
    let mut tally = Tally::new(question, &HashMap::new());
    let state = |card: i64, from: f64, to: f64, state: State| {
        let period = Period::new(hour(from), hour(to));
        Span { key: card, period, state, counts: period.millis() }
    };
    for (card, active, idle) in [(1, 60.0, 100.0), (2, 70.0, 150.0), (3, 20.0, 20.0)] {
        tally.add_card(&state(card, 0.0, active, State::Active));
        tally.add_card(&state(card, active, idle, State::IdleHeld));
        tally.add_card(&state(card, idle, 168.0, State::TrulyIdle));
    }
    tally.finish(&facts(window, holdings))
}

/// Where it is about one person, only what is theirs.
fn holdings(bob: &str, notebook: &str, question: &Question) -> Holdings {
    let (books, sessions) = (books(bob, notebook), sessions(bob, notebook));
    let mut holdings = Holdings { books, sessions, sessions_left_out: 0, idle_held: None };
    if let Some(user) = &question.user {
        let name = Some(user);
        for book in &mut holdings.books {
            book.accounts.retain(|account| match &account.name {
                Name::Known(known) => known.user.as_ref().or(Some(&known.label)) == name,
                Name::Nobody(_) | Name::Card(_) | Name::Another => false,
            });
        }
        holdings.sessions.retain(|session| session.user.as_ref() == name);
    }
    holdings
}

fn facts(window: Period, holdings: Holdings) -> Facts {
    let run = RunRow {
        id: 1,
        host: "lab-a100".to_owned(),
        driver: Some("560.35.05".to_owned()),
        recorder: "gua 1".to_owned(),
        interval_millis: Some(30_000),
        started: window.from,
        ended: Some(window.to),
        ending: Some(Ending::Stopped),
        lines: Some((&Thresholds::default()).into()),
    };
    let observed = Span { key: 1, period: window, state: State::Active, counts: window.millis() };
    Facts {
        runs: vec![run],
        cards: vec![
            card(1, "NVIDIA A100-SXM4-80GB"),
            card(2, "NVIDIA A100-SXM4-80GB"),
            card(3, "NVIDIA GeForce RTX 4090"),
        ],
        observed: vec![observed],
        events: Vec::new(),
        extent: Some(window),
        newest_tick: Some(window.to),
        is_recorded: Some(true),
        now: window.to,
        holdings: Some(holdings),
    }
}

/// Prices by model; cards of other models have none.
#[must_use]
pub fn cost(models: &[(&str, f64)]) -> Cost {
    let models = models.iter().map(|(model, price)| ((*model).to_owned(), *price)).collect();
    Cost { currency: "$".to_owned(), price: None, models }
}
