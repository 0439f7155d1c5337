//! Snapshots of a simulated machine, through the real library path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod machine;

use gua_core::snapshot::{HolderNow, PresenceNow, Snapshot, SnapshotSource, UtilizationBasis};
use gua_core::span::Work;
use gua_core::state::State;
use gua_core::{Reason, Thresholds};
use gua_query::snapshot::LiveSource;
use probe::nvml::Prober;
use probe::proc::Host;

use machine::{Machine, on};

const THREE: &str = r#"
[host]
name = "three"
[[card]]
uuid = "GPU-0"
utilization = 80
[[card]]
uuid = "GPU-1"
utilization = 0
[[card]]
uuid = "GPU-2"
utilization = 0
[[process]]
pid = 200
card = 0
begin = "-5m"
user = "ann"
memory = "8000MiB"
sm = 80
[[process]]
pid = 300
card = 0
begin = "-5m"
user = "bob"
memory = "4000MiB"
sm = 0
[[process]]
pid = 400
card = 1
begin = "-5m"
user = "carol"
memory = "2000MiB"
"#;

fn source(machine: &Machine) -> LiveSource {
    let prober = Prober::open(machine.options()).unwrap();
    LiveSource::new(prober, Host::new(Some(machine.root())), Thresholds::default())
}

/// Looks until a snapshot is as expected: a change of the scenario takes a moment.
fn look_until(source: &mut LiveSource, is_expected: impl Fn(&Snapshot) -> bool) -> Snapshot {
    for _ in 0..500 {
        let snapshot = source.snapshot();
        if is_expected(&snapshot) {
            return snapshot;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never looks as expected");
}

fn users(snapshot: &Snapshot, card: usize) -> Vec<String> {
    snapshot.cards[card].holders.iter().map(HolderNow::format_user).collect()
}

#[test]
fn one_look_says_what_each_card_and_holder_does() {
    on(THREE, |machine| {
        let mut source = source(machine).with_commands(true);
        let snapshot = source.snapshot();
        assert_eq!(snapshot.source, SnapshotSource::Live);
        assert_eq!(snapshot.host.host.as_deref(), Some("three"));
        assert_eq!(snapshot.host.gpu_count, Some(3));
        let states: Vec<_> = snapshot.cards.iter().map(|card| card.state).collect();
        assert_eq!(states, [State::Active, State::IdleHeld, State::TrulyIdle]);
        let work =
            |card: usize| snapshot.cards[card].holders.iter().map(|it| it.work).collect::<Vec<_>>();
        assert_eq!((work(0), work(1)), (vec![Work::Working, Work::Idle], vec![Work::Idle]));
        assert_eq!(
            (users(&snapshot, 0), users(&snapshot, 1)),
            (vec!["ann".to_owned(), "bob".to_owned()], vec!["carol".to_owned()],)
        );
        let ann = &snapshot.cards[0].holders[0];
        assert_eq!(ann.presence, PresenceNow::Here);
        assert!(ann.command.is_some() && ann.identity.is_none() && ann.start_ticks.is_some());
        assert_eq!(snapshot.cards[0].utilization_basis, Some(UtilizationBasis::Samples));
        assert!(snapshot.history.is_none());
    });
}

#[test]
fn ended_holders_are_forgotten_and_new_ones_named() {
    on(THREE, |machine| {
        let mut source = source(machine);
        assert_eq!(users(&source.snapshot(), 1), ["carol"]);
        assert!(source.process(400).is_some());
        let changed = THREE.replace("pid = 400", "pid = 401").replace("carol", "dave");
        machine.becomes(&changed);
        let snapshot = look_until(&mut source, |snapshot| {
            snapshot.cards[1].holders.iter().any(|holder| holder.pid == 401)
        });
        assert_eq!(snapshot.cards[1].holders.len(), 1);
        assert!(source.process(400).is_none());
    });
}

/// Trap: the driver went away: the cards are unknown, and nobody is free.
#[test]
fn without_the_driver_every_card_is_unknown() {
    on(THREE, |machine| {
        let mut source = source(machine);
        source.snapshot();
        assert!(source.error().is_none());
        let gone = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
        machine.becomes(&format!("{THREE}{gone}"));
        let snapshot = look_until(&mut source, |snapshot| snapshot.host.driver_error.is_some());
        assert_eq!(snapshot.cards.len(), 3);
        let unknown = State::Unknown(Reason::DriverGone);
        assert!(snapshot.cards.iter().all(|card| card.state == unknown && card.holders.is_empty()));
        assert_eq!(snapshot.host.unknown.unread("driver_version"), Some(Reason::DriverGone));
        assert!(source.error().is_some());
        machine.becomes(THREE);
        look_until(&mut source, |snapshot| snapshot.cards[0].state == State::Active);
    });
}
