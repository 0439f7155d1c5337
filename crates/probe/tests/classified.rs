//! Time as the classifier sees it through the library, with each kind of sample buffer.

use std::time::{Duration, Instant};

use gua_core::span::{HolderId, Work};
use gua_core::{Classifier, Span, State, Thresholds};
use probe::poller::Poller;
use probe::proc::Host;

use crate::machine::on;

/// Four seconds of work after three of idleness: on a card of its own, and beside a sleeper.
const CARDS: &str = r#"
[[card]]
[[card]]
[[process]]
pid = 9000001
card = 0
memory = "8GiB"
sm = { points = [["0s", 0], ["3s", 80], ["7s", 0]] }
[[process]]
pid = 9000002
card = 1
memory = "8GiB"
sm = { points = [["0s", 0], ["3s", 80], ["7s", 0]] }
[[process]]
pid = 9000003
card = 1
memory = "24GiB"
"#;

/// Polls until both cards have worked and are idle again, and checks the spans.
fn classify(scenario: &str) {
    on(scenario, |machine| {
        let host = Host::new(Some(machine.root()));
        let mut poller = Poller::new(machine.prober(), host, Duration::from_secs(1));
        let mut classifier = Classifier::new(Thresholds::default());
        let begin = Instant::now();
        let (mut has_worked, mut idle_polls) = (false, 0);
        for number in 1.. {
            classifier.add(&poller.poll());
            let are = |state: State| classifier.now().iter().all(|card| card.state == state);
            has_worked |= are(State::Active);
            idle_polls += u32::from(has_worked && are(State::IdleHeld));
            if idle_polls == 2 {
                break;
            }
            assert!(number < 60, "the cards are not idle again: {:?}", classifier.now());
            let next = begin + Duration::from_secs(number);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        classifier.finish();
        check(&classifier.take_spans());
    });
}

/// The work is found with its exact length, and is the worker's.
fn check(spans: &[Span]) {
    for index in [0, 1] {
        let of_card = |span: &&Span| span.card.index == index && span.state == State::Active;
        let active: Vec<_> = spans.iter().filter(of_card).collect();
        let millis: i64 = active.iter().map(|span| span.period.millis()).sum();
        assert!((3900..=4100).contains(&millis), "card {index}: {millis} ms in {spans:#?}");
        for holder in active.iter().flat_map(|span| &span.holders) {
            let HolderId::Process(id) = holder.holder else { panic!("nothing is unlisted") };
            let expected = if id.pid == 9_000_003 { Work::Idle } else { Work::Working };
            assert_eq!(holder.work, expected, "{holder:?}");
        }
    }
    assert!(spans.iter().all(|span| !matches!(span.state, State::Unknown(_))), "{spans:#?}");
}

#[test]
fn a_buffer_that_never_runs_dry_and_newest_process_samples() {
    classify(CARDS);
}

#[test]
fn a_buffer_that_runs_dry_with_complete_process_samples_and_boot_stamps() {
    let driver =
        "[samples]\ndry_when_idle = true\nprocesses = \"complete\"\n[time]\nstamps = \"boot\"\n";
    classify(&format!("{driver}{CARDS}"));
}

#[test]
fn lost_samples_and_late_means_of_processes() {
    classify(&format!("[samples]\nlose = 2\nprocesses = \"mean\"\n{CARDS}"));
}
