//! Accounts of pieces made by hand.

use probe::Why;
use probe::units::UnixMillis;
use probe::who::{Container, Job, Notebook, Pod, Runtime, Source, Told, Who};

use super::*;
use crate::classify::{Kib, State, Thresholds};
use crate::ledger::{HOUR, Held, Identity, Period, Piece};
use crate::store::{HolderRow, Workload};

const ACTIVE: State = State::Active;
const IDLE: State = State::IdleHeld;
const LITTLE: State = State::TrulyIdle;
const UNTOLD: State = State::Unknown(Why::NotTold);

fn row(id: i64, user: Option<&str>, who: Who) -> HolderRow {
    HolderRow {
        id,
        card: 7,
        boot: String::new(),
        pid: 1,
        start_ticks: None,
        started: None,
        program: Some("python".to_owned()),
        identity: Identity { user: user.map(Into::into), ..Identity::default() },
        workload: Some(Workload { who, command: None }),
    }
}

/// 1 and 3 are Ann's, 2 is Bob's, 4 is nobody's.
fn people(id: i64) -> Result<Option<HolderRow>, ()> {
    let user = match id {
        1 | 3 => Some("ann"),
        2 => Some("bob"),
        _ => None,
    };
    Ok(Some(row(id, user, Who::default())))
}

const fn held(holder: i64, state: State, mib: Option<u64>) -> Held {
    let memory = match mib {
        Some(mib) => Some(Kib(mib << 10)),
        None => None,
    };
    Held { holder, state, is_as_the_card: false, memory }
}

/// An hour of card 7.
fn hour<'a>(state: State, holders: &'a [Held], unseen_mib: Option<u64>) -> Piece<'a> {
    let period = Period::new(UnixMillis(0), UnixMillis(HOUR));
    let unseen = unseen_mib.map(|mib| Kib(mib << 10));
    Piece { card: 7, period, counts: HOUR, state, unseen, holders }
}

fn accounts(by: By, pieces: &[Piece<'_>]) -> Vec<Account> {
    let mut accounts = Accounts::new(by, Thresholds::default().held.into());
    pieces.iter().for_each(|piece| accounts.add(piece, people).unwrap());
    accounts.finish()
}

/// Who, and minutes present, worked, idle, unknown, and of the share.
fn minutes(pieces: &[Piece<'_>]) -> Vec<(String, [i64; 5])> {
    let told = |it: Account| {
        let name = match it.name {
            Name::Known(known) => known.label,
            Name::Nobody(why) => why.slug().to_owned(),
            other => format!("{other:?}"),
        };
        let times = [it.present, it.worked, it.idle_held, it.unknown, it.idle_held_share];
        (name, times.map(|millis| millis / 60_000))
    };
    accounts(By::User, pieces).into_iter().map(told).collect()
}

fn told(rows: &[(&str, [i64; 5])]) -> Vec<(String, [i64; 5])> {
    rows.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect()
}

#[test]
fn an_idle_card_is_split_by_memory() {
    let crew = [held(1, IDLE, Some(2000)), held(2, IDLE, Some(4000))];
    let expected = told(&[("bob", [60, 0, 60, 0, 40]), ("ann", [60, 0, 60, 0, 20])]);
    assert_eq!(minutes(&[hour(IDLE, &crew, None)]), expected);
    let expected = told(&[
        ("bob", [60, 0, 60, 0, 30]),
        ("ann", [60, 0, 60, 0, 15]),
        ("no_visible_process", [60, 0, 60, 0, 15]),
    ]);
    assert_eq!(minutes(&[hour(IDLE, &crew, Some(2000))]), expected);
}

/// A notebook that sleeps beside a training job: its time is idle, the card's is not.
#[test]
fn who_sleeps_on_a_busy_card_holds_it_idle_without_a_share() {
    let crew = [held(1, ACTIVE, Some(2000)), held(2, IDLE, Some(4000))];
    let expected = told(&[("bob", [60, 0, 60, 0, 0]), ("ann", [60, 60, 0, 0, 0])]);
    assert_eq!(minutes(&[hour(ACTIVE, &crew, None)]), expected);
}

/// Who works and sleeps at once works; what sleeps is told by its memory.
#[test]
fn one_card_counts_once_for_everybody_on_it() {
    let crew = [held(1, ACTIVE, Some(2000)), held(3, IDLE, Some(4000))];
    let piece = hour(ACTIVE, &crew, None);
    assert_eq!(minutes(&[piece]), told(&[("ann", [60, 60, 0, 0, 0])]));
    let gb_hours = accounts(By::User, &[piece])[0].held_idle.gb_hours();
    assert!((gb_hours - 4000.0 * 1024.0 * 1024.0 / 1e9).abs() < 1e-9, "{gb_hours}");
    // Two small ones of one person add up.
    let small = [held(1, LITTLE, Some(60)), held(3, LITTLE, Some(60)), held(2, LITTLE, Some(60))];
    let expected = told(&[("ann", [60, 0, 60, 0, 40]), ("bob", [60, 0, 0, 0, 20])]);
    assert_eq!(minutes(&[hour(IDLE, &small, None)]), expected);
}

#[test]
fn what_is_not_told_is_not_nothing() {
    let untold = [held(2, UNTOLD, None), held(1, LITTLE, Some(50))];
    let expected = told(&[("bob", [60, 0, 60, 0, 59]), ("ann", [60, 0, 0, 0, 0])]);
    assert_eq!(minutes(&[hour(IDLE, &untold, Some(9000))]), expected);
    let lost = State::Unknown(Why::Lost);
    let crew = [held(1, lost, Some(9000))];
    assert_eq!(minutes(&[hour(lost, &crew, None)]), told(&[("ann", [60, 0, 0, 60, 0])]));
    // Nobody is seen, and it is not written down how much they hold.
    assert_eq!(
        minutes(&[hour(IDLE, &[], None)]),
        told(&[("no_visible_process", [60, 0, 60, 0, 60])])
    );
    assert_eq!(
        minutes(&[hour(ACTIVE, &[], Some(900))]),
        told(&[("no_visible_process", [60, 0, 0, 60, 0])])
    );
    assert_eq!(minutes(&[hour(LITTLE, &[], None)]), []);
}

#[test]
fn a_card_is_an_account_too() {
    let crew = [held(1, IDLE, Some(2000)), held(4, IDLE, Some(4000))];
    let pieces = [hour(IDLE, &crew, Some(500)), hour(ACTIVE, &[], Some(500))];
    let cards = accounts(By::Card, &pieces);
    assert_eq!(cards.len(), 1);
    assert_eq!(cards[0].name, Name::Card(7));
    let Account { present, worked, idle_held, idle_held_share, .. } = cards[0];
    assert_eq!([present, worked, idle_held, idle_held_share], [2 * HOUR, HOUR, HOUR, HOUR]);
}

#[test]
fn every_kind_has_its_name() {
    fn told<T>(value: T) -> Option<Told<T>> {
        Some(Told { value, source: Source::Cgroup })
    }
    let container =
        Container { runtime: Runtime::Docker, id: "0123456789abcdef".into(), name: None };
    let pod = Pod { uid: "u-1".into(), name: Some("web".into()), namespace: Some("lab".into()) };
    let notebook =
        Notebook { kernel: Some("k".into()), path: None, client: probe::who::Client::Jupyter };
    let who = Who {
        job: told(Job { id: "42".into(), step: Some("0".into()) }),
        container: told(container),
        pod: told(pod),
        notebook: told(notebook),
        script: Some("train.py".into()),
        ..Who::default()
    };
    let full = row(1, Some("ann"), who);
    let label = |by: By| match by.name(&full) {
        Name::Known(known) => known.label,
        other => format!("{other:?}"),
    };
    let labels = ["ann", "42", "0123456789abcdef", "lab/web", "k", "python train.py", "Card(7)"];
    assert_eq!(By::ALL.map(label), labels);
    let bare = HolderRow { program: None, workload: None, ..row(1, None, Who::default()) };
    let uid =
        HolderRow { identity: Identity { uid: Some(7), ..Identity::default() }, ..bare.clone() };
    assert_eq!(By::User.name(&uid), Name::Known(Known::of("uid 7")));
    let names = By::ALL.map(|by| by.name(&bare));
    let not_known = Name::Nobody(Unattributed::NotKnown);
    assert!(names[..6].iter().all(|name| *name == not_known), "{names:?}");
    // It was looked for, and there is none.
    let none = Name::Nobody(Unattributed::None);
    assert_eq!(By::Job.name(&row(1, Some("ann"), Who::default())), none);
}

/// A job that somebody only says that they are of is never another's account.
#[test]
fn a_name_that_anybody_can_choose_is_of_its_user() {
    let job = Job { id: "42".into(), step: None };
    let who = Who { job: Some(Told { value: job, source: Source::Environment }), ..Who::default() };
    let [anns, eves] = ["ann", "eve"].map(|user| By::Job.name(&row(1, Some(user), who.clone())));
    assert_ne!(anns, eves);
}

/// What others hold is split with them, and not told.
#[test]
fn one_person_alone() {
    let crew = [held(1, IDLE, Some(2000)), held(2, IDLE, Some(4000))];
    let mut accounts =
        Accounts::new(By::User, Thresholds::default().held.into()).about(Some("ann".to_owned()));
    accounts.add(&hour(IDLE, &crew, Some(2000)), people).unwrap();
    let told = accounts.finish();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].idle_held_share, HOUR / 4);
    let on = OnCard { card: 7, present: HOUR, idle_held_share: HOUR / 4 };
    assert_eq!(told[0].cards, [on]);
}
