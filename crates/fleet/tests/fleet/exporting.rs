//! What a scrape gets.

use std::collections::BTreeSet;
use std::time::Duration;

use gua_core::identity::{Job, Source, Told, Who};
use gua_core::span::Work;
use gua_core::units::UnixMillis;
use gua_core::{Reason, State};
use gua_fleet::{
    Counter, Format, Frames, OwnerLabels, RecordedFrames, Scraper, format_text, labels,
};
use gua_store::{Person, ProcessEntry, Tick};
use proptest::prelude::*;

use crate::lab::{DAY, Lab, MINUTE, Part, START, card, card_latest, entry, host_latest, span};

fn tick(lab: &mut Lab, from: i64, to: i64, state: State, parts: &[Part]) {
    let closed = [span(&card(0), from, to, state, parts)];
    let at = UnixMillis(to);
    assert!(lab.tick(&Tick { closed: &closed, ..Tick::new(at, at) }, true));
}

fn scrape(lab: &Lab, scraper: &str) -> String {
    let slot = lab.totals.as_ref().unwrap().slot();
    let shown = slot.newest(&Scraper(scraper.into())).unwrap();
    format_text(&shown.frame, shown.served, Format::Prometheus)
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|it| it == line), "{line}\n{text}");
}

#[test]
fn text_has_counters_and_gauges() {
    let mut lab = Lab::new();
    lab.begin(START);
    lab.totals.as_ref().unwrap().poll_times().add(Duration::from_millis(2));
    let parts = [(1, 3, Work::Working), (2, 1, Work::Idle), (0, 1, Work::Idle)];
    let card = card(0);
    let closed = [
        span(&card, START, START + 50_000, State::Active, &parts[..1]),
        span(&card, START + 50_000, START + 60_000, State::IdleHeld, &parts),
    ];
    let at = START + MINUTE;
    let latest = [host_latest(), card_latest(&card)];
    let tick = Tick {
        closed: &closed,
        latest: Some(&latest),
        ..Tick::new(UnixMillis(at + 12_000), UnixMillis(at))
    };
    assert!(lab.tick(&tick, true));
    let text = scrape(&lab, "a");
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        &format!("gua_build_info{{version=\"{version}\",hostname=\"lab\"}} 1"),
        "gua_gpu_info{UUID=\"GPU-0\",gpu=\"0\",model_name=\"A100\",driver_version=\"550.54\"} 1",
        "gua_gpu_state{UUID=\"GPU-0\",state=\"idle_held\"} 1",
        "gua_gpu_state{UUID=\"GPU-0\",state=\"active\"} 0",
        "gua_gpu_utilization_ratio{UUID=\"GPU-0\"} 0.37",
        "gua_gpu_power_watts{UUID=\"GPU-0\"} 97.5",
        "gua_holders{UUID=\"GPU-0\",kind=\"compute\"} 2",
        "gua_user_gpu_memory_bytes{UUID=\"GPU-0\",user=\"ann\"} 70",
        "gua_user_idle_since_timestamp_seconds{UUID=\"GPU-0\",user=\"ben\"} 1728000050",
        "gua_last_tick_timestamp_seconds 1728000072",
        "gua_final_until_timestamp_seconds 1728000060",
        "gua_interval_seconds 30",
        "gua_counting_since_timestamp_seconds 1728000000",
        "gua_gpu_state_seconds_total{UUID=\"GPU-0\",state=\"active\"} 50",
        "gua_gpu_state_seconds_total{UUID=\"GPU-0\",state=\"truly_idle\"} 0",
        "gua_gpu_idle_held_seconds_total{UUID=\"GPU-0\",use=\"unused\"} 4",
        "gua_gpu_idle_held_seconds_total{UUID=\"GPU-0\",use=\"low_use\"} 6",
        "gua_gpu_busy_seconds_total{UUID=\"GPU-0\"} 22.2",
        "gua_gpu_energy_joules_total{UUID=\"GPU-0\"} 5820",
        "gua_gpu_state_energy_joules_total{UUID=\"GPU-0\",state=\"idle_held\"} 970",
        "gua_user_gpu_seconds_total{UUID=\"GPU-0\",user=\"ann\",state=\"idle_held\"} 6",
        "gua_user_gpu_seconds_total{UUID=\"GPU-0\",user=\"unlisted\",state=\"idle_held\"} 2",
        "gua_user_gpu_idle_held_seconds_total{UUID=\"GPU-0\",user=\"ann\",use=\"low_use\"} 6",
        "gua_user_gpu_idle_held_seconds_total{UUID=\"GPU-0\",user=\"ben\",use=\"unused\"} 2",
        "gua_user_gpu_energy_joules_total{UUID=\"GPU-0\",user=\"ann\",state=\"active\"} 4850",
        "gua_user_gpu_present_seconds_total{UUID=\"GPU-0\",user=\"ann\",state=\"active\"} 50",
        "gua_user_gpu_present_seconds_total{UUID=\"GPU-0\",user=\"ben\",state=\"idle_held\"} 10",
        "gua_observed_seconds_total 60",
        "gua_gap_seconds_total 0",
        "gua_errors_total{reason=\"push_rejected\"} 0",
        "gua_tick_seconds_bucket{le=\"0.001\"} 0",
        "gua_tick_seconds_bucket{le=\"0.003\"} 1",
        "gua_tick_seconds_bucket{le=\"+Inf\"} 1",
        "gua_tick_seconds_sum 0.002",
        "gua_tick_seconds_count 1",
        "# TYPE gua_tick_seconds histogram",
    ] {
        has(&text, line);
    }
    assert!(!text.contains("gua_user_gpu_memory_bytes{UUID=\"GPU-0\",user=\"ben\""));
    for family in gua_fleet::FAMILIES {
        assert_eq!(text.matches(&format!("# TYPE {} ", family.name)).count(), 1, "{}", family.name);
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for label in line.split("=\"").filter_map(|it| it.rsplit(['{', ',']).next()) {
            let is_label = !label.contains(['"', '}', ' ']);
            assert!(!is_label || labels::OUR_LABELS.contains(&label), "{label}");
        }
    }
    let slot = lab.totals.as_ref().unwrap().slot();
    let shown = slot.newest(&Scraper("b".into())).unwrap();
    let text = format_text(&shown.frame, shown.served, Format::OpenMetrics);
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE gua_observed_seconds counter\n"));
}

/// Trap: counters start at 0-first series, caps keep `others`.
#[test]
fn scraped_counter_begins_with_zero() {
    let mut lab = Lab::new();
    lab.begin(START);
    tick(&mut lab, START, START + MINUTE, State::Active, &[(1, 1, Work::Working)]);
    let active = |user: &str, seconds: u32| {
        format!(
            "gua_user_gpu_seconds_total{{UUID=\"GPU-0\",user=\"{user}\",state=\"active\"}} {seconds}"
        )
    };
    has(&scrape(&lab, "a"), &active("ann", 60));
    tick(&mut lab, START + MINUTE, START + 2 * MINUTE, State::Active, &[(2, 1, Work::Working)]);
    let text = scrape(&lab, "a");
    has(&text, &active("ann", 60));
    has(&text, &active("ben", 0));
    has(&scrape(&lab, "b"), &active("ben", 60));
    has(&scrape(&lab, "a"), &active("ben", 60));
    // Of a restarted program, nothing is new.
    lab.begin(START + 2 * MINUTE);
    tick(&mut lab, START + 2 * MINUTE, START + 3 * MINUTE, State::TrulyIdle, &[]);
    has(&scrape(&lab, "a"), &active("ben", 60));
}

#[test]
fn recorded_frames_have_the_same_totals() {
    let mut lab = Lab::new();
    let frames = RecordedFrames::new(lab.path());
    let scraper = Scraper("a".into());
    assert_eq!(frames.newest(&scraper).unwrap_err().to_string(), "no tick is recorded yet");
    lab.begin(START);
    tick(&mut lab, START, START + MINUTE, State::Active, &[(1, 1, Work::Working)]);
    let text = || {
        let shown = frames.newest(&scraper).unwrap();
        format_text(&shown.frame, shown.served, Format::Prometheus)
    };
    let counters = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("_total")).map(str::to_owned).collect()
    };
    assert_eq!(counters(&text()), counters(&scrape(&lab, "a")));
    tick(&mut lab, START + MINUTE, START + 2 * MINUTE, State::Active, &[(2, 1, Work::Working)]);
    has(&text(), "gua_user_gpu_seconds_total{UUID=\"GPU-0\",user=\"ben\",state=\"active\"} 0");
    assert_eq!(counters(&text()), counters(&scrape(&lab, "b")));
}

fn users(lab: &Lab, counter: Counter) -> Vec<(String, i64)> {
    lab.stored(counter).into_iter().map(|((_, user), value)| (user, value / 1000)).collect()
}

fn owned(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(user, value)| ((*user).to_owned(), *value)).collect()
}

/// Trap: caps keep `others`.
#[test]
fn people_beyond_the_cap_are_others() {
    let mut lab = Lab::new();
    lab.labels.most_owners = 1;
    lab.begin(START);
    let parts = [(1, 1, Work::Working), (2, 1, Work::Idle), (3, 1, Work::Idle)];
    tick(&mut lab, START, START + MINUTE, State::IdleHeld, &parts);
    assert_eq!(users(&lab, Counter::UserIdleHeld), owned(&[("ann", 20), ("others", 40)]));
    let others = users(&lab, Counter::PresentIdleHeld);
    assert_eq!(others, owned(&[("ann", 60), ("others", 60)]));
    assert_eq!(users(&lab, Counter::IdleSince), owned(&[("others", START / 1000)]));
    assert_eq!(lab.value(Counter::Errors, "", "owners_capped"), 2);
    // Who was away for a month makes room.
    let later = START + 31 * DAY;
    tick(&mut lab, later, later + MINUTE, State::Active, &[(2, 1, Work::Working)]);
    assert_eq!(users(&lab, Counter::UserActive), owned(&[("others", 60)]), "others have the room");
}

#[test]
fn workloads_end_after_a_day_and_make_room() {
    let mut lab = Lab::new();
    lab.labels = OwnerLabels { job: true, most_owners: 1, ..OwnerLabels::default() };
    let job = |pid: u32| {
        let job = Job { id: format!("{pid}").into(), step: None };
        let who = Who { job: Some(Told { value: job, source: Source::Cgroup }), ..Who::default() };
        let (id, entry) = entry(pid, "ann");
        (id, ProcessEntry { workload: Some(who.into()), ..entry })
    };
    lab.processes = [job(7), job(8)].into();
    lab.begin(START);
    let mut run = |from: i64, pid| {
        tick(&mut lab, from, from + MINUTE, State::Active, &[(pid, 1, Work::Working)]);
        let capped = lab.value(Counter::Errors, "", "owners_capped");
        (users(&lab, Counter::WorkloadActive), users(&lab, Counter::UserActive)[0].1, capped)
    };
    let one = |job: &str| vec![(format!("ann\nslurm_job={job}"), 60)];
    assert_eq!(run(START, 7), (one("7"), 60, 0));
    assert_eq!(run(START + DAY - MINUTE, 8), (one("7"), 120, 1), "it may still come back");
    assert_eq!(run(START + DAY + MINUTE, 8), (one("8"), 180, 1));
    assert_eq!(run(START + 3 * DAY, 7), (one("7"), 240, 1), "it begins at 0");
}

/// Instances come and go under new names.
#[test]
fn cards_that_were_gone_for_longest_make_room() {
    let mut lab = Lab::new();
    lab.begin(START);
    for number in 0..300 {
        let from = START + i64::from(number) * 1000;
        let closed = [span(&card(1000 + number), from, from + 1000, State::TrulyIdle, &[])];
        let at = UnixMillis(from + 1000);
        assert!(lab.tick(&Tick { closed: &closed, ..Tick::new(at, at) }, true));
    }
    let cards: BTreeSet<_> = lab.stored(Counter::StateFree).into_keys().map(|key| key.0).collect();
    assert_eq!(cards.len(), 256);
    assert!(!cards.contains("GPU-1043") && cards.contains("GPU-1044"));
    assert_eq!(lab.value(Counter::Errors, "", "cards_capped"), 44);
}

/// Trap: sessions bridge doubts of up to 2 min, also over a restart.
#[test]
fn idle_time_goes_on_over_a_doubt_and_ends_with_work() {
    let mut lab = Lab::new();
    lab.begin(START);
    let since = |lab: &mut Lab, from: i64, to: i64, state, work| {
        tick(lab, START + from * 1000, START + to * 1000, state, &[(1, 1, work)]);
        lab.stored(Counter::IdleSince).into_values().next().map(|it| (it - START) / 1000)
    };
    let (idle, lost) = (State::IdleHeld, State::Unknown(Reason::TimedOut));
    assert_eq!(since(&mut lab, 0, 30, idle, Work::Idle), Some(0));
    assert_eq!(since(&mut lab, 30, 60, lost, Work::Unknown), Some(0));
    assert_eq!(since(&mut lab, 60, 90, State::Active, Work::Idle), Some(0), "beside somebody");
    lab.begin(START + 150_000);
    assert_eq!(since(&mut lab, 150, 180, idle, Work::Idle), Some(0), "over a restart");
    assert_eq!(since(&mut lab, 301, 330, idle, Work::Idle), Some(301), "after two minutes");
    assert_eq!(since(&mut lab, 330, 360, idle, Work::Working), None, "low use is work");
    assert_eq!(since(&mut lab, 360, 390, idle, Work::Idle), Some(360));
    assert_eq!(since(&mut lab, 390, 420, State::TrulyIdle, Work::Idle), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// A name from outside stays within its quotes.
    #[test]
    fn names_cannot_break_a_line(name in "\\PC*|[\"\\\\\n\r\u{1b}=,}]{1,9}") {
        let mut lab = Lab::new();
        let (id, mut entry) = entry(1, "x");
        entry.person = Person { user: Some(name.into()), ..entry.person };
        lab.processes = [(id, entry)].into();
        lab.begin(START);
        tick(&mut lab, START, START + MINUTE, State::IdleHeld, &[(1, 1, Work::Idle)]);
        for line in scrape(&lab, "a").lines().filter(|line| line.contains("user=")) {
            let inside = line.split_once("user=\"").unwrap().1;
            let mut is_escaped = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            let rest = &inside[end.unwrap() + 1..];
            prop_assert!(rest.starts_with([',', '}']), "{line}");
            prop_assert!(!line.contains(['\r', '\u{1b}']), "{line}");
        }
    }
}
