//! Answers made by hand, for tests of how they read.

use std::collections::BTreeMap;

use gua_core::Period;
use gua_core::identity::{Client, Job, Notebook, Source, Told, User, Who};
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_query::usage::hours::Week;
use gua_query::usage::{
    AccountName, Basis, By, CardTotals, Compared, Host, Prices, RuleThresholds, Session, Sums,
    Unattributed, Usage, UsageRequest,
};
use gua_store::{CardHours, CardTimes, HolderSums, HolderTimes};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// 2026-11-08 20:00, a Sunday.
const BEGIN: i64 = 1_794_168_000_000;

const MS: f64 = 3_600_000.0;

fn hour(hours: f64) -> UnixMillis {
    #[expect(clippy::cast_possible_truncation, reason = "a week")]
    UnixMillis(BEGIN + (hours * MS) as i64)
}

fn at(hours: f64) -> Timestamp {
    hour(hours).into()
}

/// A card that is active and then held for so many hours of a week.
fn card(place: u32, name: &str, active: f64, held: f64) -> CardTotals {
    CardTotals {
        uuid: Some(format!("GPU-{place}")),
        index: Some(place),
        name: Some(name.to_owned()),
        memory_bytes: Some(80_000_000_000),
        times: CardTimes {
            active_ms: active * MS,
            idle_held_ms: held * MS,
            free_ms: (168.0 - active - held) * MS,
            busy: active * 90.0 * 3600.0,
            memory: (active + held) * 20_000.0 * 3600.0,
            ..CardTimes::default()
        },
        ..CardTotals::default()
    }
}

/// Hours active, unused, at low use, and idle beside others, with so many MiB.
#[derive(Debug, Clone, Copy)]
struct Hours(f64, f64, f64, f64, i64);

fn holder(hours: Hours) -> HolderSums {
    let Hours(active, unused, low_use, beside, peak_mib) = hours;
    let (working, idle) = (active + low_use, unused + beside);
    #[expect(clippy::cast_precision_loss, reason = "some GiB")]
    let mib_seconds = |hours: f64| hours * peak_mib as f64 * 3600.0;
    HolderSums {
        times: HolderTimes {
            working_ms: working * MS,
            idle_ms: idle * MS,
            idle_beside_ms: beside * MS,
            active_share_ms: active * MS,
            unused_share_ms: unused * MS,
            low_use_share_ms: low_use * MS,
            memory: mib_seconds(working + idle),
            working_memory: mib_seconds(working),
            ..HolderTimes::default()
        },
        peak_mib,
    }
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
        idle_held_gpu_hours: hours.1 - hours.0,
        peak_memory_bytes: Some(61_000_000_000),
        bare_context: Some(false),
        ask: None,
        end: None,
        identity: Some(who),
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
        identity: Some(who),
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
    vec![open, session("alice", 1000, 0, (20.0, 60.0)), bare]
}

/// Returns the week of a lab in which somebody is called `bob` and has a notebook called `notebook`.
pub(crate) fn week_of(bob: &str, notebook: &str, change: impl FnOnce(&mut UsageRequest)) -> Usage {
    let window = Period::new(hour(0.0), hour(168.0));
    let mut request = UsageRequest::new(window, window.to);
    change(&mut request);
    let mut sums = sums(window, sessions(bob, notebook));
    let bobs_notebook =
        AccountName::Known { id: notebook.into(), label: notebook.into(), user: Some(bob.into()) };
    let nobody = AccountName::Unattributed(Unattributed::Unlisted);
    let without_notebook = AccountName::Unattributed(Unattributed::None);
    let shares = [
        (AccountName::user(bob), bobs_notebook, 1, Hours(70.0, 62.4, 7.6, 60.0, 8_000)),
        (
            AccountName::user("alice"),
            without_notebook.clone(),
            0,
            Hours(60.0, 40.0, 0.0, 0.0, 60_000),
        ),
        (AccountName::user("carol"), without_notebook, 2, Hours(20.0, 0.0, 0.0, 0.0, 9_000)),
        (nobody.clone(), nobody, 1, Hours(0.0, 10.0, 0.0, 0.0, 1_000)),
    ];
    let is_about = |name: &AccountName| {
        request.user.as_ref().is_none_or(|user| *name == AccountName::user(user))
    };
    sums.sessions.retain(|session| request.is_about(session.user.as_deref(), session.uid));
    for (person, notebook, card, hours) in shares {
        if is_about(&person) {
            sums.add_holder(By::User, person, card, &holder(hours));
            sums.add_holder(By::Notebook, notebook, card, &holder(hours));
        }
    }
    Usage::from_sums(sums, &request)
}

/// Returns the week of one card, without anybody on it.
pub(crate) fn sums_of_one_card() -> Sums {
    let mut sums = sums(Period::new(hour(0.0), hour(168.0)), Vec::new());
    sums.cards.truncate(1);
    sums
}

fn sums(window: Period, sessions: Vec<Session>) -> Sums {
    let a100 = "NVIDIA A100-SXM4-80GB";
    let cards = vec![
        card(0, a100, 60.0, 40.0),
        card(1, a100, 70.0, 80.0),
        card(2, "NVIDIA GeForce RTX 4090", 20.0, 0.0),
    ];
    let mut week = Week::new(TimeZone::UTC);
    for card in &cards {
        // Each is active first.
        #[expect(clippy::cast_possible_truncation, reason = "a week")]
        let active = UnixMillis(window.from.0 + card.times.active_ms as i64);
        for (from, to, share) in [(window.from, active, 1.0), (active, window.to, 0.0)] {
            let period = Period::new(from, to);
            for start in (0..period.millis() / HOUR).map(|hour| from.0 + hour * HOUR) {
                let period = Period::new(UnixMillis(start), UnixMillis(start + HOUR));
                week.add(&CardHours { period, active_ms: share * MS, observed_ms: MS });
            }
        }
    }
    let thresholds = RuleThresholds {
        active_percent: Some(10.0),
        held_mb: Some(100),
        worked_percent: Some(1.0),
    };
    Sums {
        host: Some(Host {
            name: "lab-a100".to_owned(),
            driver_version: Some("560.35.05".to_owned()),
        }),
        window,
        data: Some(window),
        recorded_ms: window.millis(),
        gaps: Vec::new(),
        basis: vec![Basis {
            from: window.from.into(),
            to: window.to.into(),
            rule: "A card is active during every 5 seconds of enough utilization.".to_owned(),
            imported: false,
            thresholds,
        }],
        cards,
        uids: BTreeMap::new(),
        accounts: BTreeMap::new(),
        week,
        sessions,
        sessions_left_out: 0,
    }
}

/// Sets an answer beside an earlier one.
pub(crate) fn beside(usage: Usage, earlier: &Usage) -> Usage {
    Usage { compared: Some(Compared::new(&usage, earlier)), ..usage }
}

/// Prices by model; cards of other models have none.
pub(crate) fn prices(models: &[(&str, f64)]) -> Prices {
    let models = models.iter().map(|(model, price)| ((*model).to_owned(), *price)).collect();
    Prices { currency: "$".to_owned(), models, ..Prices::default() }
}
