//! Polls for the classifier: cards with their holders, exits, and what they cost.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gua_core::Poll;
use gua_core::poll::{CardPoll, ProcessPoll};
use probe::card::Basis;
use probe::poller::Poller;
use probe::proc::Host;
use probe::{Reading, Why, clocks};

use crate::machine::{Machine, on};

const INTERVAL: Duration = Duration::from_secs(5);

fn poller(machine: &Machine, root: &str) -> Poller {
    let root = if root.is_empty() { machine.root() } else { root.into() };
    Poller::new(machine.prober(), Host::new(Some(root)), INTERVAL)
}

fn cards(poll: &Poll) -> &[CardPoll] {
    poll.cards.as_ref().unwrap()
}

fn pids(card: &CardPoll) -> Vec<u32> {
    card.processes.iter().map(|process| process.id.pid).collect()
}

/// Polls until one is as wanted; a change of the scenario takes a moment to be seen.
fn poll_until(poller: &mut Poller, what: &str, wanted: impl Fn(&Poll) -> bool) -> Poll {
    for _ in 0..500 {
        let poll = poller.poll();
        if wanted(&poll) {
            return poll;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never {what}");
}

/// A process of this host that waits until it is ended.
fn waiting() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn held_by(pids: &[u32]) -> String {
    let process = |pid| format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"1GiB\"\nsm = 30\n");
    format!("[[card]]\n{}", pids.iter().map(process).collect::<String>())
}

#[test]
fn a_poll_has_a_process_for_each_holder() {
    on("[[card]]\n[[card]]\n", |machine| {
        let own = std::process::id();
        let pid_of_nobody = 9_000_000;
        machine.becomes(&format!(
            "{}[[card]]\n[[process]]\npid = {own}\ncard = 1\nmemory = \"1GiB\"\n",
            held_by(&[own, pid_of_nobody])
        ));
        let mut poller = poller(machine, "/");
        let listed = |poll: &Poll| cards(poll).len() == 2 && !cards(poll)[1].processes.is_empty();
        let earlier = clocks::now();
        let poll = poll_until(&mut poller, "listed", listed);
        let later = clocks::now();
        assert!((earlier.since_boot..=later.since_boot).contains(&poll.clocks.since_boot));
        let [first, second] = cards(&poll) else { panic!("two cards") };
        assert_eq!((pids(first), pids(second)), (vec![own, pid_of_nobody], vec![own]));
        let [this, nobody] = &first.processes[..] else { panic!("two holders") };
        assert_eq!(second.processes, [*this]);
        let started = this.started.unwrap();
        assert!(started < later.since_boot && later.since_boot - started < Duration::from_secs(60));
        assert!(this.id.start_ticks.is_some() && this.id.uid.is_some());
        assert_eq!(this.cpu, Reading::Unknown(Why::FirstLook));
        assert_eq!((nobody.id.start_ticks, nobody.started), (None, None));
        assert_eq!(nobody.cpu, Reading::Unknown(Why::Gone));
        let poll = poller.poll();
        let again = cards(&poll)[0].processes[0];
        assert_eq!(again.id, this.id);
        assert!(again.cpu.is_known_and(|cpu| cpu.0 >= 0.0));
        assert!(poll.exits.is_empty());
    });
}

#[test]
fn an_exit_is_returned_once_and_lies_between_two_checks() {
    on("[[card]]\n", |machine| {
        let mut children = [waiting(), waiting()];
        let held: Vec<u32> = children.iter().map(Child::id).collect();
        machine.becomes(&held_by(&held));
        let mut poller = poller(machine, "/");
        let listed = poll_until(&mut poller, "listed", |poll| cards(poll)[0].processes.len() == 2);
        let mut ends = |poller: &mut Poller, at: usize, by_samples: bool| {
            let earlier = clocks::now().since_boot;
            poller.notice_exits();
            let checked = clocks::now().since_boot;
            children[at].kill().unwrap();
            children[at].wait().unwrap();
            if by_samples {
                poller.process_samples(|_| true);
            }
            let noticed = clocks::now().since_boot;
            let exits = poller.poll().exits;
            let later = if by_samples { noticed } else { clocks::now().since_boot };
            let pids: Vec<_> = exits.iter().map(|exit| exit.id.pid).collect();
            assert_eq!(pids, [held[at]]);
            let known = cards(&listed)[0].processes.iter().find(|it| it.id.pid == held[at]);
            assert_eq!(known.map(|it| it.id), Some(exits[0].id));
            assert!(exits[0].at >= earlier);
            assert!(exits[0].at <= checked + (later - checked) / 2, "halfway at most");
        };
        ends(&mut poller, 0, true);
        machine.becomes(&held_by(&held[1..]));
        poll_until(&mut poller, "unlisted", |poll| pids(&cards(poll)[0]) == held[1..]);
        ends(&mut poller, 1, false);
        machine.becomes("[[card]]\n");
        let poll = poll_until(&mut poller, "empty", |poll| pids(&cards(poll)[0]).is_empty());
        assert!(poll.exits.is_empty());
    });
}

#[test]
fn a_process_that_lives_on_without_the_card_has_not_ended() {
    on("[[card]]\n", |machine| {
        let mut child = waiting();
        machine.becomes(&held_by(&[child.id()]));
        let mut poller = poller(machine, "/");
        poll_until(&mut poller, "listed", |poll| cards(poll)[0].processes.len() == 1);
        machine.becomes("[[card]]\n");
        let poll = poll_until(&mut poller, "unlisted", |poll| cards(poll)[0].processes.is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(poll.exits.is_empty() && poller.poll().exits.is_empty());
    });
}

#[test]
fn a_driver_that_is_away_is_no_card_and_its_reason() {
    on(&held_by(&[5]), |machine| {
        let mut poller = poller(machine, "");
        assert_eq!(cards(&poller.poll()).len(), 1);
        let fault = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
        machine.becomes(&format!("{}{fault}", held_by(&[5])));
        let poll = poll_until(&mut poller, "away", |poll| poll.cards.is_err());
        assert_eq!(poll.cards.err(), Some(Why::DriverGone));
        assert!(poller.process_samples(|_| true).is_empty());
        machine.becomes(&held_by(&[5]));
        let poll = poll_until(&mut poller, "back", |poll| poll.cards.is_ok());
        assert_eq!(pids(&cards(&poll)[0]), [5]);
    });
}

#[test]
fn power_stands_in_for_an_energy_counter() {
    let lacking = "[[fault]]\ncall = \"nvmlDeviceGetTotalEnergyConsumption\"\n\
                   code = \"NOT_SUPPORTED\"\n";
    for (more, is_counted) in [("", true), (lacking, false)] {
        on(&format!("[[card]]\n{more}"), |machine| {
            let mut poller = poller(machine, "");
            poller.poll();
            let poll = poller.poll();
            let reading = &cards(&poll)[0].reading;
            let is_known = (reading.energy.why().is_none(), reading.power.why().is_none());
            assert_eq!(is_known, (is_counted, !is_counted));
        });
    }
}

/// Two that work on the first card, none on the second.
const SHARED: &str = "[samples]\nperiod = \"1ms\"\ncapacity = 100\n[[card]]\n[[card]]\n\
    [[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nsm = 40\nbegin = \"-1h\"\n\
    [[process]]\npid = 2\ncard = 0\nmemory = \"1GiB\"\nsm = 20\nbegin = \"-1h\"\n";

#[test]
fn process_samples_are_read_alone_of_the_cards_that_are_wanted() {
    on(SHARED, |machine| {
        let mut poller = poller(machine, "");
        assert!(poller.process_samples(|_| true).is_empty(), "before the first poll");
        let poll = poller.poll();
        let uuid = &cards(&poll)[0].card.uuid;
        let mut last = 0;
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(2));
            let polls = poller.process_samples(|facts| facts.uuid == *uuid);
            let [ProcessPoll { clocks, card, samples }] = &polls[..] else { panic!("{polls:?}") };
            assert_eq!(card.index, 0);
            assert!(clocks.since_boot >= poll.clocks.since_boot);
            let samples = samples.clone().known().unwrap();
            let shares: Vec<_> = samples.iter().map(|it| (it.pid, it.percent)).collect();
            assert_eq!(shares, [(1, 40), (2, 20)]);
            assert!(samples.iter().all(|sample| sample.stamp > last), "{last} {samples:?}");
            last = samples[0].stamp;
        }
        let wanted = [0, 1]
            .map(|index| poller.process_samples(|facts| facts.index == index).remove(0).card.index);
        assert_eq!(wanted, [0, 1]);
    });
    let lacking =
        "[[fault]]\ncall = \"nvmlDeviceGetProcessUtilization\"\ncode = \"NOT_SUPPORTED\"\n";
    on(&format!("{SHARED}{lacking}"), |machine| {
        let mut poller = poller(machine, "");
        poller.poll();
        let polls = poller.process_samples(|facts| facts.index == 0);
        assert_eq!(polls[0].samples, Reading::Unknown(Why::NotSupported));
    });
}

/// Calls to the driver of polls of 5 s in 30 s, without those of the first one.
fn calls_in_30_s(machine: &Machine, polls: u32, samples_per_poll: u32) -> u32 {
    let run = |polls: u32| {
        let mut poller = poller(machine, "");
        for _ in 0..polls {
            poller.poll();
            for _ in 0..samples_per_poll {
                std::thread::sleep(Duration::from_millis(2));
                poller.process_samples(|_| true);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let made = || {
        let calls = machine.calls();
        let counts = calls.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
        counts.sum::<u32>()
    };
    run(polls);
    let once = made();
    run(2 * polls);
    made() - 2 * once
}

/// The cost of a card: DESIGN's budget of calls.
#[test]
fn a_card_costs_at_most_40_calls_in_30_seconds() {
    let dry = "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_FOUND\"\n";
    let idle = "[samples]\nperiod = \"1ms\"\n[[card]]\nutilization = 0\n\
        [[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\n";
    let busy = "[samples]\nperiod = \"1ms\"\n[[card]]\n\
        [[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nsm = 60\nbegin = \"-1h\"\n";
    let cases = [
        ("idle, held, buffer dry", format!("{idle}{dry}"), 0, 40),
        ("idle, held", idle.to_owned(), 0, 40),
        ("active", busy.to_owned(), 0, 40),
        ("active, process samples every second", busy.to_owned(), 4, 70),
    ];
    for (name, scenario, samples_per_poll, most) in cases {
        on(&scenario, |machine| {
            let calls = calls_in_30_s(machine, 6, samples_per_poll);
            println!("{name}: {calls} calls per card and 30 s");
            assert!(calls <= most, "{name}: {calls}\n{}", machine.calls());
        });
    }
}

/// What is read at each poll, and what at some of them.
#[test]
fn a_dry_buffer_with_a_rate_of_0_spares_the_process_samples() {
    let dry = "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_FOUND\"\n";
    for (utilization, asked) in [(0, 0), (30, 4)] {
        let scenario = format!(
            "[[card]]\nutilization = {utilization}\n[[process]]\npid = 1\ncard = 0\n\
             memory = \"1GiB\"\n{dry}"
        );
        on(&scenario, |machine| {
            let mut poller = poller(machine, "");
            for _ in 0..4 {
                let poll = poller.poll();
                let reading = &cards(&poll)[0].reading;
                assert!(reading.utilization.is_known_and(|it| it.basis == Basis::Instant));
                let is_asked = reading.process_samples.why() != Some(Why::NotAsked);
                assert_eq!(is_asked, asked > 0);
            }
            drop(poller);
            let calls = |name: &str| machine.calls_of(name);
            assert_eq!(calls("nvmlDeviceGetProcessUtilization"), asked, "{}", machine.calls());
            assert_eq!(calls("nvmlDeviceGetComputeRunningProcesses_v3"), 4);
            assert_eq!(calls("nvmlDeviceGetGraphicsRunningProcesses_v3"), 2);
            assert_eq!(calls("nvmlDeviceGetTemperature"), 2);
        });
    }
}

/// What is left of a partitioned GPU is a card of the record, free and with its part of the energy.
#[test]
fn a_poll_has_what_is_left_of_a_partitioned_gpu() {
    let gpu = "[[card]]\nname = \"NVIDIA H100 80GB HBM3\"\ngpm = true\n[[card.mig]]\nslot = 1\n\
               profile = \"3g.40gb\"\nmemory = \"40GiB\"\n[[card]]\n";
    on(gpu, |machine| {
        let mut poller = poller(machine, "");
        let poll = poller.poll();
        let labels: Vec<_> = cards(&poll).iter().map(|card| card.card.label()).collect();
        assert_eq!(labels, ["0:1", "0:rest", "1"]);
        let rest = &cards(&poll)[1];
        assert_eq!((rest.card.slices().part, rest.card.slices().of), (4, 8));
        assert!(rest.card.uuid.as_ref().known().unwrap().ends_with("/unpartitioned/4"));
        assert!(rest.reading.gpu_energy.is_known());
        assert_eq!(rest.reading.memory.map(|memory| memory.total.0 >> 30), Reading::Known(40));
    });
}
