//! A law: what is reported is what the ticks counted, for any window, whatever happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gua::classify::{State, Thresholds};
use gua::ledger::Period;
use gua::report::accounts::{Account, Accounts, By, Name};
use gua::report::usage::{Facts, Question, Tally, Usage};
use gua::store::{self, Ending, History, Keep, Retention, Run, Writer};
use probe::units::UnixMillis;
use proptest::prelude::*;

use crate::report::record::{Doing, Recording, card};

const START: i64 = 1_731_110_400_000 + 1_234_567;
const PEOPLE: [&str; 3] = ["ann", "bob", "eve"];

/// What one card does over a tick, in a form that can be counted without the program.
#[derive(Debug, Clone)]
struct Card {
    /// `None` where it is lost.
    percent: Option<u8>,
    /// By person.
    held: BTreeMap<usize, Held>,
    /// MiB of nobody who is listed.
    unseen: u64,
}

/// One process on a card.
#[derive(Debug, Clone, Copy)]
struct Held {
    mib: u64,
    sm: u8,
    /// Another start is another process, whoever had the pid before.
    start: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Tick {
        millis: i64,
        cards: Vec<Card>,
    },
    Gap {
        millis: i64,
    },
    /// The recorder ends and begins anew, or is killed.
    Restart {
        millis: i64,
        is_killed: bool,
    },
}

/// How the file is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Ended,
    /// Still being recorded, or killed and not found yet.
    Open,
    /// Killed, and the next recorder has begun.
    Settled,
    /// Ended, and all samples have become too old.
    Pruned,
}

fn a_card() -> impl Strategy<Value = Card> {
    let mib = prop_oneof![Just(40_u64), Just(80), Just(100), Just(101), Just(9_000)];
    let held = (mib, prop_oneof![Just(0_u8), Just(1), Just(70)], 0_u64..2)
        .prop_map(|(mib, sm, start)| Held { mib, sm, start });
    let held = proptest::collection::btree_map(0..PEOPLE.len(), held, 0..4);
    let percent = prop_oneof![Just(0_u8), Just(9), Just(10), Just(80)];
    let unseen = prop_oneof![4 => Just(0_u64), 1 => Just(100), 1 => Just(3_000)];
    (proptest::option::weighted(0.9, percent), held, unseen).prop_map(|(percent, held, unseen)| {
        // The list of a lost card cannot be read either.
        match percent {
            Some(_) => Card { percent, held, unseen },
            None => Card { percent, held: BTreeMap::new(), unseen: 0 },
        }
    })
}

fn a_step() -> impl Strategy<Value = Step> {
    // States last for a while, and intervals are mixed.
    let cards = proptest::collection::vec(a_card(), 0..4);
    let millis = prop_oneof![Just(1_000_i64), Just(30_000), 1_i64..2_000_000];
    prop_oneof![
        12 => (millis.clone(), cards).prop_map(|(millis, cards)| Step::Tick { millis, cards }),
        2 => (1_i64..9_000_000).prop_map(|millis| Step::Gap { millis }),
        1 => (0_i64..9_000_000, any::<bool>())
            .prop_map(|(millis, is_killed)| Step::Restart { millis, is_killed }),
    ]
}

fn left() -> impl Strategy<Value = Left> {
    prop_oneof![Just(Left::Ended), Just(Left::Open), Just(Left::Settled), Just(Left::Pruned)]
}

/// Records the steps; what each tick spoke for.
fn play(path: &Path, steps: &[Step], left: Left) -> Vec<(Period, Vec<Card>)> {
    let mut counted = Vec::new();
    let mut recording = Recording::begin(path, START, 30_000);
    for step in steps {
        match step {
            Step::Tick { millis, cards } => {
                let from = recording.now();
                recording.tick(*millis, &cards.iter().map(doing).collect::<Vec<_>>());
                let covers = Period::new(UnixMillis(from), UnixMillis(from + millis));
                counted.push((covers, cards.clone()));
            }
            Step::Gap { millis } => recording.skip(*millis),
            Step::Restart { millis, is_killed } => {
                let next = recording.now() + millis;
                if *is_killed {
                    drop(recording);
                } else {
                    recording.end(Ending::Stopped);
                }
                recording = Recording::begin(path, next, 30_000);
            }
        }
    }
    let end = recording.now();
    leave(path, recording, end, left);
    counted
}

fn doing(told: &Card) -> Doing {
    let doing = card("A100", f64::from(told.percent.unwrap_or(0)));
    let doing = if told.percent.is_some() { doing } else { doing.lost() };
    // The first of them has always the same pid, whoever that is.
    let hold = |doing: Doing, (pid, (person, held)): (u32, (&usize, &Held))| {
        doing.held_at_work(PEOPLE[*person], (pid, held.start), held.mib, held.sm.into())
    };
    (100..).zip(&told.held).fold(doing.with_unseen(told.unseen), hold)
}

fn leave(path: &Path, recording: Recording, end: i64, left: Left) {
    match left {
        Left::Open => drop(recording),
        Left::Settled => {
            drop(recording);
            Recording::begin(path, end + 1, 30_000).end(Ending::Stopped);
        }
        Left::Ended => recording.end(Ending::Stopped),
        Left::Pruned => {
            recording.end(Ending::Stopped);
            prune_samples(path, end);
        }
    }
}

fn prune_samples(path: &Path, end: i64) {
    let keep = Keep { samples: Duration::ZERO, spans: Duration::from_secs(1 << 40) };
    let mut retention = Retention::new(keep);
    let mut database = store::open_to_write(path).unwrap();
    let later = UnixMillis(end + 7_200_000);
    while retention.step(&mut database, later, None, 1000).unwrap().more {}
    let samples: i64 = database
        .query_row("SELECT count(DISTINCT tick) FROM sample", [], |row| row.get(0))
        .unwrap();
    assert!(samples <= 1, "the newest tick stays, no other: {samples}");
}

/// Milliseconds by state: active, idle-held, truly idle, unknown.
type Times = [i64; 4];

#[derive(Debug, PartialEq, Eq, Default)]
struct Counted {
    observed: i64,
    cards: BTreeMap<u64, Times>,
    /// All of a person's time, and that in which they held idle.
    people: BTreeMap<String, (i64, i64)>,
}

/// Tick by tick, each clipped to the window.
fn straight_count(ticks: &[(Period, Vec<Card>)], window: Period) -> Counted {
    let mut account = Counted::default();
    for (covers, cards) in ticks {
        let from = covers.from.0.max(window.from.0);
        let millis = (covers.to.0.min(window.to.0) - from).max(0);
        if millis == 0 {
            continue;
        }
        account.observed += millis;
        for (index, card) in (0..).zip(cards) {
            let state = card.state();
            account.cards.entry(index).or_default()[state] += millis;
            for (person, held) in &card.held {
                let person = account.people.entry(PEOPLE[*person].to_owned()).or_default();
                person.0 += millis;
                if state != 0 && held.mib > 100 {
                    person.1 += millis;
                }
            }
        }
    }
    account
}

impl Card {
    /// Active, idle-held, truly idle, unknown.
    fn state(&self) -> usize {
        let held: u64 = self.held.values().map(|held| held.mib).sum();
        match self.percent {
            None => 3,
            Some(10..) => 0,
            _ if held > 100 || self.unseen > 100 => 1,
            _ => 2,
        }
    }

    /// What nobody who is listed holds, where it counts.
    fn counted_unseen(&self) -> Option<u64> {
        Some(self.unseen).filter(|mib| *mib > 100)
    }

    /// Work that nobody was seen to do may be anybody's.
    fn works(&self, held: Held) -> bool {
        let is_explained = self.held.values().any(|held| held.sm >= 1);
        held.sm >= 1 || (self.state() == 0 && !is_explained)
    }
}

/// Milliseconds that somebody was present, worked, held idle and was in doubt, and the share.
type Theirs = ([i64; 4], f64);

/// Accounts by person, tick by tick; nobody's is that of the empty name.
fn straight_accounts(ticks: &[(Period, Vec<Card>)], window: Period) -> BTreeMap<String, Theirs> {
    let mut accounts = BTreeMap::<String, Theirs>::new();
    for (covers, cards) in ticks {
        let millis = covers.overlap(&window).millis();
        if millis == 0 {
            continue;
        }
        for card in cards {
            let unseen = card.counted_unseen();
            let all = card.held.values().map(|it| it.mib).sum::<u64>() + unseen.unwrap_or(0);
            let share = |mib: u64| match card.state() {
                1 => millis as f64 * mib as f64 / all as f64,
                _ => 0.0,
            };
            let mut add = |name: &str, doing: Option<usize>, mib: u64| {
                let theirs = accounts.entry(name.to_owned()).or_default();
                theirs.0[0] += millis;
                theirs.1 += share(mib);
                doing.into_iter().for_each(|doing| theirs.0[doing] += millis);
            };
            for (person, held) in &card.held {
                let is_idle = (held.mib > 100).then_some(2);
                let doing = if card.works(*held) { Some(1) } else { is_idle };
                add(PEOPLE[*person], doing, held.mib);
            }
            if let Some(mib) = unseen {
                add("", Some(if card.state() == 1 { 2 } else { 3 }), mib);
            }
        }
    }
    accounts
}

/// What the program says of the same.
fn accounts(path: &Path, window: Period, by: By) -> Vec<Account> {
    let history = History::open(path).unwrap();
    let mut accounts = Accounts::new(by, Thresholds::default().held.into());
    history.pieces(window, |piece| accounts.add(piece, |id| history.holder(id))).unwrap();
    accounts.finish()
}

/// Shares are told to the millisecond, and add up to what the cards were idle-held.
fn assert_accounts(
    path: &Path,
    ticks: &[(Period, Vec<Card>)],
    window: Period,
) -> Result<(), TestCaseError> {
    let mut expected = straight_accounts(ticks, window);
    let cards = straight_count(ticks, window).cards;
    let idle_held: i64 = cards.values().map(|times| times[1]).sum();
    let told = accounts(path, window, By::User);
    prop_assert_eq!(told.iter().map(|it| it.idle_held_share).sum::<i64>(), idle_held);
    for it in told {
        let name = match it.name {
            Name::Known(known) => known.label,
            _ => String::new(),
        };
        let (times, share) = expected.remove(&name).unwrap_or_default();
        prop_assert_eq!([it.present, it.worked, it.idle_held, it.unknown], times, "{}", name);
        let off = (it.idle_held_share as f64 - share).abs();
        prop_assert!(off < 2.0, "{}: {} and not {}", name, it.idle_held_share, share);
    }
    prop_assert!(expected.is_empty(), "{:?}", expected);
    for by in By::ALL {
        let shares: i64 = accounts(path, window, by).iter().map(|it| it.idle_held_share).sum();
        prop_assert_eq!(shares, idle_held, "{}", by.slug());
    }
    Ok(())
}

/// Who holds a card idle, or is on one that is held idle, is in a session all that time.
fn assert_sessions(
    path: &Path,
    ticks: &[(Period, Vec<Card>)],
    window: Period,
) -> Result<(), TestCaseError> {
    let mut expected = BTreeMap::<String, i64>::new();
    for (covers, cards) in ticks {
        for card in cards {
            let is_idle = |held: &Held| !card.works(*held) && (held.mib > 100 || card.state() == 1);
            for (person, _) in card.held.iter().filter(|(_, held)| is_idle(held)) {
                *expected.entry(PEOPLE[*person].to_owned()).or_default() += covers.millis();
            }
        }
    }
    let mut told = BTreeMap::<String, i64>::new();
    for session in History::open(path).unwrap().sessions(window).unwrap() {
        let user = session.holder.identity.user.unwrap().to_string();
        *told.entry(user).or_default() += session.spell.idle_millis;
        let length = session.spell.to.0 - session.spell.from.0;
        prop_assert!(session.spell.idle_millis <= length);
    }
    expected.retain(|_, millis| *millis > 0);
    prop_assert_eq!(told, expected);
    Ok(())
}

fn usage(path: &Path, window: Period) -> Usage {
    let history = History::open(path).unwrap();
    let (utc, lines) = (jiff::tz::TimeZone::UTC, Thresholds::default());
    let question = Question::new(window, utc, "UTC".to_owned(), lines);
    let mut tally = Tally::new(question, &history.identities().unwrap());
    history.card_spans(window, |span| tally.add_card(&span)).unwrap();
    history.owner_spans(window, |span| tally.add_owner(&span)).unwrap();
    tally.finish(&Facts {
        runs: history.runs().to_vec(),
        cards: history.cards().unwrap(),
        observed: history.observed(window).unwrap(),
        events: history.events(window).unwrap(),
        extent: history.extent().unwrap(),
        newest_tick: history.newest_tick().unwrap(),
        is_recorded: Some(false),
        now: window.to,
        holdings: None,
    })
}

/// Hours are told to the millionth, so both are held in units of that.
fn units(millis: i64) -> i64 {
    of_hours(millis as f64 / 3_600_000.0)
}

fn of_hours(hours: f64) -> i64 {
    whole(hours * 1e6)
}

#[expect(clippy::cast_possible_truncation, reason = "weeks in ms are far below 2^53")]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

fn assert_told(usage: &Usage, counted: &Counted) -> Result<(), TestCaseError> {
    prop_assert_eq!(whole(usage.window.observed_seconds * 1000.0), counted.observed);
    let cards: BTreeMap<u64, Times> = usage
        .cards
        .iter()
        .map(|card| {
            (
                card.index.map_or(u64::MAX, u64::from),
                card.states.all().map(|(_, a)| of_hours(a.gpu_hours)),
            )
        })
        .collect();
    let expected: BTreeMap<_, _> =
        counted.cards.iter().map(|(card, times)| (*card, times.map(units))).collect();
    prop_assert_eq!(cards, expected);
    let people: BTreeMap<String, (i64, i64)> = usage
        .identities
        .iter()
        .flatten()
        .map(|person| {
            let hours = (of_hours(person.gpu_hours), of_hours(person.idle_held_gpu_hours));
            (person.user.clone().unwrap(), hours)
        })
        .collect();
    let expected: BTreeMap<_, _> = counted
        .people
        .iter()
        .map(|(user, (all, idle))| (user.clone(), (units(*all), units(*idle))))
        .collect();
    prop_assert_eq!(people, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_report_is_the_ticks_counted(
        steps in proptest::collection::vec(a_step(), 1..40),
        left in left(),
        cuts in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        let ticks = play(&path, &steps, left);
        let end = ticks.last().map_or(START, |(covers, _)| covers.to.0) + 60_000;
        let all = Period::new(UnixMillis(START - 60_000), UnixMillis(end));
        let within = |share: f64| UnixMillis(all.from.0 + whole(all.millis() as f64 * share));
        let cut = cuts.iter().map(|(a, b)| Period::new(within(a.min(*b)), within(a.max(*b))));
        for window in cut.chain([all]) {
            assert_told(&usage(&path, window), &straight_count(&ticks, window))?;
            assert_accounts(&path, &ticks, window)?;
        }
        assert_sessions(&path, &ticks, all)?;
        let check = store::check(&path).unwrap();
        prop_assert!(check.is_ok(), "{:?}", check.findings);
        if left != Left::Pruned {
            assert_samples_tell_the_same(&path, &ticks, all)?;
        }
    }
}

/// Judged again by the same lines, the samples say what the spans say.
fn assert_samples_tell_the_same(
    path: &Path,
    ticks: &[(Period, Vec<Card>)],
    window: Period,
) -> Result<(), TestCaseError> {
    let history = History::open(path).unwrap();
    let numbers: BTreeMap<i64, u64> =
        history.cards().unwrap().iter().map(|card| (card.id, u64::from(card.number))).collect();
    let mut told = BTreeMap::<u64, Times>::new();
    history
        .samples(window, |sample| {
            let state = match sample.evidence.state(&Thresholds::default()) {
                State::Active => 0,
                State::IdleHeld => 1,
                State::TrulyIdle => 2,
                State::Unknown(_) => 3,
            };
            told.entry(numbers[&sample.card]).or_default()[state] += sample.counts;
        })
        .unwrap();
    prop_assert_eq!(told, straight_count(ticks, window).cards);
    Ok(())
}

/// A run whose old ticks were never written is as one from which they were taken out.
#[test]
fn ticks_that_are_too_old_leave_their_spans() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    store::create(&path).unwrap();
    let run = Run {
        host: "lab".to_owned(),
        boot: "boot".to_owned(),
        driver: None,
        recorder: "gua 0.1.0".to_owned(),
        interval_millis: Some(30_000),
        started: UnixMillis(START),
    };
    let from = UnixMillis(START + 45 * 60_000);
    let writer = Writer::begin(store::open_to_write(&path).unwrap(), &run).unwrap();
    let mut writer = writer.with_samples_from(from);
    for count in 0..240 {
        let at = START + count * 30_000;
        let covers = Period::new(UnixMillis(at), UnixMillis(at + 30_000));
        let entry = gua::ledger::Entry { at: covers.to, covers, late: None, cards: Vec::new() };
        writer.record(&entry, &[]).unwrap();
    }
    writer.end(Ending::Stopped).unwrap();
    let check = store::check(&path).unwrap();
    assert!(check.is_ok(), "{check:?}");
    assert_eq!(check.ticks, 240 - 89, "those from that moment on");
    let window = Period::new(UnixMillis(START), UnixMillis(START + 240 * 30_000));
    assert!((usage(&path, window).window.observed_seconds - 7200.0).abs() < 1e-9);
}
