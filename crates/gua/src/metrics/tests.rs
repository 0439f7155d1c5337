//! Laws of the counters, whatever happens on the cards.

use std::sync::Arc;
use std::time::Duration;

use probe::card::CardFacts;
use probe::process::Kinds;
use probe::units::{Bytes, UnixMillis};
use probe::who::{Job, Source, Told, Who};
use probe::{Reading, Why};
use proptest::prelude::*;

use super::{Counters, Format, Frame, Host, Observed, Wanted, text};
use crate::classify::{CentiPercent, Evidence, Holds, Kib, State, Work};
use crate::config::{Metrics, Recorder};
use crate::ledger::{
    CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, Period, ProcessKey,
};

fn holder(pid: u32, user: Option<&str>, mib: Option<u64>) -> HolderEntry {
    HolderEntry {
        process: ProcessKey { pid, start_ticks: Some(1) },
        identity: Identity { user: user.map(Into::into), uid: None, source: None },
        program: None,
        started: None,
        workload: None,
        command: None,
        kinds: Kinds::COMPUTE,
        memory: mib.map(Bytes::from_mib),
        holds: Holds::Much,
        work: Work::AsTheCard,
    }
}

fn job(number: i64) -> Arc<Who> {
    let job = Job { id: number.to_string().into(), step: None };
    Arc::new(Who { job: Some(Told { value: job, source: Source::Cgroup }), ..Who::default() })
}

fn card(state: State, holders: Vec<HolderEntry>, unseen: Option<u64>) -> CardEntry {
    let owners = holders
        .iter()
        .map(|holder| OwnerEntry { identity: holder.identity.clone(), holds: holder.holds });
    let crew = Arc::new(Crew { owners: owners.collect(), holders });
    CardEntry {
        facts: Arc::new(CardFacts {
            uuid: Reading::Known("GPU-a".to_owned()),
            ..CardFacts::unread(0, Why::NotAsked)
        }),
        state,
        evidence: Evidence {
            work: Reading::Known(CentiPercent(5000)),
            held: Kib(0),
            unseen: unseen.map(Kib),
            hidden: None,
            has_holders: true,
        },
        unseen: unseen.map(Kib),
        measures: Measures {
            basis: None,
            used: None,
            total: None,
            power_milliwatts: Some(100_000),
            energy_millijoules: None,
            temperature_celsius: None,
        },
        crew,
    }
}

fn entry(from: i64, to: i64, card: CardEntry) -> Entry {
    let covers = Period::new(UnixMillis(from), UnixMillis(to));
    Entry { at: covers.to, covers, late: None, cards: vec![card] }
}

fn count(counters: &mut Counters, entry: &Entry, wanted: &Wanted) {
    counters.count(Observed { entry, events: &[], took: None }, wanted);
}

fn capped(most_owners: usize) -> Wanted {
    Wanted { labels: Metrics { most_owners, ..Metrics::default() }, ..Wanted::default() }
}

fn told(counters: &Counters, entry: &Entry) -> String {
    text(&Frame::new(Host::default(), counters.clone(), entry), u64::MAX, Format::Prometheus)
}

fn states() -> impl Strategy<Value = State> {
    let unknown = State::Unknown(Why::Lost);
    prop::sample::select(vec![State::Active, State::IdleHeld, State::TrulyIdle, unknown])
}

type TickOf = (i64, i64, State, Vec<(u8, Option<u64>)>, Option<u64>);

fn ticks() -> impl Strategy<Value = Vec<TickOf>> {
    let user = (0_u8..5, prop::option::of(0_u64..90_000));
    let holders = prop::collection::vec(user, 0..6);
    let tick = (0_i64..9, 1_i64..50_000, states(), holders, prop::option::of(0_u64..1 << 30));
    prop::collection::vec(tick, 0..30)
}

proptest! {
    /// What is divided among people is what the card did, to the microsecond; and what is
    /// observed and what is not make up all of the time.
    #[test]
    fn shares_and_time_add_up(ticks in ticks()) {
        let mut counters = Counters::beginning(UnixMillis(0));
        let (mut at, mut first) = (0, None);
        for (gap, length, state, holders, unseen) in ticks {
            let holders = (1..).zip(holders).map(|(pid, (user, mib))| {
                let name = format!("user-{user}");
                holder(pid, Some(name.as_str()).filter(|_| user > 0), mib)
            });
            let from = at + gap;
            at = from + length;
            first = first.or(Some(from));
            count(&mut counters, &entry(from, at, card(state, holders.collect(), unseen)), &Wanted::default());
        }
        for card in counters.cards.values() {
            for state in [0, 1, 3] {
                let shares: u64 = card.owners.iter().map(|owner| owner.states[state]).sum();
                prop_assert_eq!(shares, card.states[state]);
            }
            let all: u64 = card.states.iter().sum();
            prop_assert_eq!(all, counters.observed_millis * 1000);
        }
        let passed = at - first.unwrap_or(0);
        let counted = counters.observed_millis + counters.gap_millis;
        prop_assert_eq!(i64::try_from(counted).unwrap(), passed);
        let json = serde_json::to_string(&counters).unwrap();
        prop_assert_eq!(serde_json::from_str::<Counters>(&json).unwrap(), counters);
    }

    /// A name cannot break a line, nor make one.
    #[test]
    fn names_stay_within_their_quotes(name in "\\PC{0,20}[\"\\\\\n\r\u{1b}]{0,4}\\PC{0,200}") {
        let mut counters = Counters::beginning(UnixMillis(0));
        let entry = entry(0, 1000, card(State::IdleHeld, vec![holder(1, Some(&name), Some(9))], None));
        count(&mut counters, &entry, &Wanted::default());
        for line in told(&counters, &entry).lines().filter(|line| line.contains("user=")) {
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

#[test]
fn beyond_the_cap_the_rest_is_counted_together() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let wanted = capped(2);
    for number in 0..5_i64 {
        let user = format!("user-{number}");
        let held = card(State::Active, vec![holder(1, Some(&user), Some(9))], None);
        count(&mut counters, &entry(number * 1000, number * 1000 + 1000, held), &wanted);
    }
    let owners = &counters.cards["GPU-a"].owners;
    let told: Vec<_> = owners.iter().map(|it| (it.owner.user.as_str(), it.states[0])).collect();
    assert_eq!(told, [("user-0", 1_000_000), ("user-1", 1_000_000), ("others", 3_000_000)]);
}

/// At one tick and from tick to tick, in counters and in gauges; and one who idles is heard of.
#[test]
fn the_cap_holds_for_everybody_on_a_card() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let wanted = capped(1);
    let holders = || ["ann", "ben", "eve", "others"].map(|user| holder(1, Some(user), Some(9000)));
    let held = |from: i64, state| {
        entry(from, from + 30_000, card(state, holders().to_vec(), Some(9000 << 10)))
    };
    for from in [0, 30_000, 60_000] {
        count(&mut counters, &held(from, State::IdleHeld), &wanted);
    }
    let told = told(&counters, &held(60_000, State::IdleHeld));
    let users: std::collections::BTreeSet<_> = told
        .lines()
        .filter_map(|line| line.split_once("user=\"")?.1.split_once('"'))
        .map(|(user, _)| user)
        .collect();
    assert_eq!(users.into_iter().collect::<Vec<_>>(), ["ann", "others", "unattributed"]);
    let idle = "gua_user_idle_since_timestamp_seconds{UUID=\"GPU-a\",user=\"others\"} 0\n";
    let memory = format!(
        "gua_user_gpu_memory_bytes{{UUID=\"GPU-a\",user=\"others\"}} {}\n",
        3 * (9000_u64 << 20)
    );
    for line in [idle, &memory] {
        assert!(told.contains(line), "{line}{told}");
    }
}

/// Where no more jobs can be told apart, their people still are.
#[test]
fn jobs_leave_room_for_people() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let labels = Metrics { most_owners: 2, job: true, ..Metrics::default() };
    let wanted = Wanted { labels, ..Wanted::default() };
    for number in 0..4_i64 {
        let user = if number == 3 { "ben" } else { "ann" };
        let holder = HolderEntry { workload: Some(job(number)), ..holder(1, Some(user), Some(9)) };
        let held = card(State::Active, vec![holder], None);
        count(&mut counters, &entry(number * 1000, number * 1000 + 1000, held), &wanted);
    }
    let card = &counters.cards["GPU-a"];
    let told: Vec<_> = card.workloads.iter().map(|it| it.owner.more[0].1.as_str()).collect();
    assert_eq!(told, ["0", "1"]);
    let told: Vec<_> =
        card.owners.iter().map(|it| (it.owner.user.as_str(), it.states[0])).collect();
    assert_eq!(told, [("ann", 3_000_000), ("ben", 1_000_000)]);
    assert_eq!(counters.capped(), 2);
}

const DAY: i64 = 86_400_000;

/// A job that is over makes room for another; one that comes back begins at 0, which a scrape is
/// shown. Its person keeps everything.
#[test]
fn jobs_that_are_over_make_room() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let labels = Metrics { most_owners: 1, job: true, ..Metrics::default() };
    let wanted = Wanted { labels, ..Wanted::default() };
    let mut run = |from: i64, number: i64| {
        let holder = HolderEntry { workload: Some(job(number)), ..holder(1, Some("ann"), Some(9)) };
        let entry = entry(from, from + 1000, card(State::Active, vec![holder], None));
        count(&mut counters, &entry, &wanted);
        let card = &counters.cards["GPU-a"];
        let jobs = card.workloads.iter().map(|it| (it.owner.more[0].1.clone(), it.states[0]));
        (jobs.collect::<Vec<_>>(), card.owners[0].states[0], counters.capped())
    };
    let one = |job: &str, micros| vec![(job.to_owned(), micros)];
    assert_eq!(run(0, 7), (one("7", 1_000_000), 1_000_000, 0));
    assert_eq!(run(DAY, 8), (one("7", 1_000_000), 2_000_000, 1), "it may still come back");
    assert_eq!(run(DAY + 2000, 8), (one("8", 1_000_000), 3_000_000, 1));
    assert_eq!(run(3 * DAY, 7), (one("7", 1_000_000), 4_000_000, 1));
}

/// People are told of for ever, as long as there is room; who holds something never leaves.
#[test]
fn who_was_away_for_a_month_makes_room_where_there_is_none() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let mut see = |from: i64, users: &[&str], most: usize| {
        let holders = users.iter().map(|user| holder(1, Some(user), Some(9)));
        let entry = entry(from, from + 1000, card(State::Active, holders.collect(), None));
        count(&mut counters, &entry, &capped(most));
        let card = &counters.cards["GPU-a"];
        let names = card.people.iter().map(|it| it.user.clone()).collect::<Vec<_>>();
        let shares = card.owners.iter().map(|it| it.owner.user.clone()).collect::<Vec<_>>();
        assert_eq!(names, shares);
        names.join(" ")
    };
    assert_eq!(see(0, &["ann", "ben"], 2), "ann ben");
    assert_eq!(see(20 * DAY, &["ann", "eve"], 2), "ann ben others");
    assert_eq!(see(29 * DAY, &["ann"], 2), "ann ben others");
    assert_eq!(see(40 * DAY, &["ann"], 9), "ann ben others", "there is room");
    assert_eq!(see(40 * DAY + 1000, &["ann", "eve"], 3), "ann others eve");
}

/// Instances come and go by ever new names.
#[test]
fn cards_that_were_gone_for_longest_make_room() {
    let mut counters = Counters::beginning(UnixMillis(0));
    for number in 0..300_i64 {
        let mut card = card(State::Active, Vec::new(), None);
        let uuid = Reading::Known(format!("MIG-{number:03}"));
        card.facts = Arc::new(CardFacts { uuid, ..CardFacts::unread(0, Why::NotAsked) });
        count(&mut counters, &entry(number * 1000, number * 1000 + 1000, card), &capped(9));
    }
    assert_eq!(counters.cards.len(), 256);
    assert!(!counters.cards.contains_key("MIG-043") && counters.cards.contains_key("MIG-044"));
    assert_eq!(counters.errors["cards_capped"], 44);
}

/// Sensors may be read more rarely than once a minute; power holds until they are read again.
#[test]
fn power_holds_from_reading_to_reading() {
    for (every, ticks) in [(10, 6), (300, 26)] {
        let mut counters = Counters::beginning(UnixMillis(0));
        let sensors_every = Duration::from_secs(every);
        let beat = Recorder { sensors_every, ..Recorder::default() };
        for tick in 0..30_i64 {
            let mut card = card(State::Active, Vec::new(), None);
            // At 100 W; at first, after five minutes, and never again.
            card.measures.power_milliwatts = [0, 10].contains(&tick).then_some(100_000);
            let entry = entry(tick * 30_000, tick * 30_000 + 30_000, card);
            count(&mut counters, &entry, &Wanted { beat, ..Wanted::default() });
        }
        // Held for a minute after the first and the second, or for seven and a half.
        let told = counters.cards["GPU-a"].energy_microjoules / 1_000_000;
        assert_eq!(told, ticks * 3_000, "every {every} s");
    }
}

/// Nobody else may have them, and the fleet's report knows them.
#[test]
fn the_list_of_our_labels_is_whole() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let labels = Metrics { job: true, container: true, notebook: true, ..Metrics::default() };
    let wanted = Wanted { labels, ..Wanted::default() };
    let holder = HolderEntry { workload: Some(job(1)), ..holder(1, Some("ann"), Some(9)) };
    let entry = entry(0, 1000, card(State::Active, vec![holder], None));
    count(&mut counters, &entry, &wanted);
    let told = told(&counters, &entry);
    let lines = told.lines().filter(|line| !line.starts_with('#'));
    let labels =
        lines.flat_map(|line| line.split("=\"").filter_map(|it| it.rsplit(['{', ',']).next()));
    for label in labels.filter(|label| !label.contains(['"', '}', ' '])) {
        assert!(crate::config::OUR_LABELS.contains(&label), "{label}");
    }
}

#[test]
fn an_idle_stretch_goes_on_over_a_doubt_and_ends_with_work() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let mut since = |from: i64, to: i64, state| {
        let entry = entry(from, to, card(state, vec![holder(1, Some("ann"), Some(9000))], None));
        count(&mut counters, &entry, &Wanted::default());
        counters.cards["GPU-a"].people[0].idle_since().map(|since| since.0)
    };
    assert_eq!(since(0, 30_000, State::IdleHeld), Some(0));
    assert_eq!(since(30_000, 60_000, State::Unknown(Why::TimedOut)), Some(0));
    assert_eq!(since(60_000, 90_000, State::IdleHeld), Some(0));
    assert_eq!(since(300_000, 330_000, State::IdleHeld), Some(300_000), "nobody looked meanwhile");
    assert_eq!(since(330_000, 360_000, State::Active), None);
    assert_eq!(since(360_000, 390_000, State::IdleHeld), Some(360_000));
}

/// As sessions do: where ticks are rare, one that failed is a doubt, however long it is.
#[test]
fn one_rare_tick_that_failed_ends_no_idle_stretch() {
    let mut counters = Counters::beginning(UnixMillis(0));
    let beat = Recorder { interval: Duration::from_secs(300), ..Recorder::default() };
    let mut since = |from: i64, state| {
        let holders = vec![holder(1, Some("ann"), Some(9000))];
        let entry = entry(from, from + 300_000, card(state, holders, None));
        count(&mut counters, &entry, &Wanted { beat, ..Wanted::default() });
        counters.cards["GPU-a"].people[0].idle_since().map(|since| since.0)
    };
    assert_eq!(since(0, State::IdleHeld), Some(0));
    assert_eq!(since(300_000, State::Unknown(Why::TimedOut)), Some(0));
    assert_eq!(since(600_000, State::IdleHeld), Some(0));
    assert_eq!(since(1_500_000, State::IdleHeld), Some(1_500_000), "two were missed");
}
