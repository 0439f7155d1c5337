//! Compares with the classifier, which is fed with polls of the same scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use gua_core::card::{
    Basis, GpuEnergy, MemorySource, MemoryUse, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds};
use gua_core::span::{Gap, GapReason, HolderId};
use gua_core::units::{Bytes, Millijoules, Percent, UnixMillis};
use gua_core::{Classifier, Clocks, Period, Poll, Reading, Reason, Span, State, Thresholds};
use gua_query::usage::UsageRequest;
use gua_store::{CardSample, Database, Retention};
use scenario::model::ProcessUtilization;
use scenario::state::Place;
use scenario::{Moment, Scenario, parse};

use super::identity::process_id;
use super::observed::{Condition, conditions};
use super::part::{Part, processes};
use super::timeline::{Timeline, stretch};
use super::write;
use super::write::write_with;
use crate::demo::lab::Lab;
use crate::demo::play::{Ending, Play, Scene, Shift};
use crate::demo::{Machine, Plan};
use crate::simulated::Unit;

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Midnight of a Tuesday.
const ORIGIN: i64 = 20_770 * DAY;

fn at(millis: i64) -> UnixMillis {
    UnixMillis(ORIGIN + millis)
}

/// Returns a scenario with one card that begins at [`ORIGIN`].
fn one_card(card: &str, processes: &str) -> Scene {
    let text = format!("[[card]]\n{card}\n{processes}");
    let scenario = parse::from_str("test.toml", &text).unwrap();
    Scene { scenario, origin: at(0), until: at(DAY) }
}

fn process(pid: u32, mib: u64, sm: &str) -> String {
    format!(
        "[[process]]\npid = {pid}\ncard = 0\nmemory = \"{mib}MiB\"\nbegin = \"-1h\"\nsm = {sm}\n"
    )
}

fn run(period: Period) -> Shift {
    Shift { period, ending: Ending::Complete, asleep: Vec::new() }
}

fn exact(scene: &Scene, period: Period) -> Part {
    let units = Unit::all(&scene.scenario);
    Part::new(scene, &units, &run(period), period, at(DAY * 999), &Thresholds::default())
}

/// Polls a scenario every 5 seconds.
fn polled(scene: &Scene, period: Period) -> (Vec<Span>, Vec<Gap>) {
    let mut scenario = scene.scenario.during(moment(scene, period.from), moment(scene, period.to));
    scenario.samples.processes = ProcessUtilization::Complete;
    scenario.processes.sort_by_key(|process| process.pid);
    let scene = Scene { scenario, origin: scene.origin, until: scene.until };
    let units = Unit::all(&scene.scenario);
    let mut classifier = Classifier::new(Thresholds::default());
    for now in (period.from.0..=period.to.0).step_by(5000) {
        let since_boot = Duration::from_millis(now.unsigned_abs());
        let clocks = Clocks { wall: UnixMillis(now), since_boot, awake: since_boot };
        let cards = match condition(&scene, None, UnixMillis(now)) {
            Condition::Gap(GapReason::Driver(reason)) => Err(reason),
            _ => Ok(units.iter().map(|unit| poll(&scene, unit, UnixMillis(now))).collect()),
        };
        classifier.add(&Poll { clocks, cards, exits: Vec::new() });
    }
    classifier.finish();
    (classifier.take_spans(), classifier.take_gaps())
}

fn moment(scene: &Scene, at: UnixMillis) -> Moment {
    Timeline::new(scene).moment(at.0 * 1000)
}

fn condition(scene: &Scene, uuid: Option<&str>, at: UnixMillis) -> Condition {
    let time = stretch(Period::new(at, UnixMillis(at.0 + 1)));
    conditions(scene, uuid, time, &[])[0].1
}

fn poll(scene: &Scene, unit: &Unit, now: UnixMillis) -> CardPoll {
    let Scene { scenario, .. } = scene;
    let place = unit.place(scenario).unwrap();
    let card = std::sync::Arc::clone(&unit.facts);
    if let Condition::Unread(reason) = condition(scene, Some(place.uuid()), now) {
        return CardPoll { card, reading: Vitals::unknown(reason), processes: Vec::new() };
    }
    let timeline = Timeline::new(scene);
    let now = moment(scene, now);
    let last = now - Duration::from_secs(5);
    let present: Vec<_> = scenario.processes_at(place, now).collect();
    let holder = |process: &&scenario::Process| Holder {
        pid: process.pid,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes(process.memory.unwrap())),
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    };
    let known = |process: &&scenario::Process| HolderProcess {
        id: process_id(process, timeline),
        started: Some(Duration::from_micros(timeline.micros(process.begin).unsigned_abs())),
        cpu: Reading::Known(Percent(0.0)),
    };
    let used = Bytes(scenario.memory_used_at(place, now));
    let memory = MemoryUse {
        total: Bytes(place.memory_total()),
        used,
        free: Bytes(place.memory_total()).saturating_sub(used),
        reserved: Reading::Known(Bytes(0)),
        source: MemorySource::Card,
    };
    let reading = Vitals {
        memory: Reading::Known(memory),
        holders: Holders { seen: present.iter().map(holder).collect(), unread: None },
        ..samples(scenario, place, timeline, last, now)
    };
    CardPoll { card, reading, processes: present.iter().map(known).collect() }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn rounded(percent: f64) -> u32 {
    percent.round() as u32
}

/// Returns what a driver says of the work since the last poll. An instance of a card without GPM says
/// nothing.
fn samples(
    scenario: &Scenario,
    place: Place<'_>,
    timeline: Timeline,
    last: Moment,
    now: Moment,
) -> Vitals {
    let joules = rounded(scenario.joules_at(place.card, now));
    let counter = Reading::Known(Millijoules(u64::from(joules) * 1000));
    if place.instance.is_some() {
        let gpu_energy = GpuEnergy { counter, power: Reading::Unknown(Reason::NotAsked) };
        return Vitals { gpu_energy, ..Vitals::unknown(Reason::NotSupported) };
    }
    let stamp = |at: Moment| timeline.micros(at).unsigned_abs();
    let sample = |at: Moment| Sample {
        stamp: stamp(at),
        percent: rounded(scenario.sampled_utilization(place, at)),
    };
    let new = scenario.samples_at(place.card, now).filter(|at| *at > last);
    let of_processes = scenario.process_samples_at(place, last, now);
    let of_process =
        |sample: &scenario::samples::ProcessSample<'_>| gua_core::card::ProcessSample {
            pid: sample.process.pid,
            stamp: stamp(sample.stamp),
            percent: rounded(sample.share(&sample.process.sm)),
        };
    let basis = Basis::Samples { count: 30, covers: Duration::from_secs(5) };
    let percent = Percent(scenario.utilization_at(place, now));
    Vitals {
        utilization: Reading::Known(Utilization { percent, basis }),
        samples: Reading::Known(Samples { samples: new.map(sample).collect(), is_full: false }),
        process_samples: Reading::Known(of_processes.iter().map(of_process).collect()),
        energy: counter,
        ..Vitals::unknown(Reason::NotAsked)
    }
}

/// Hours by card, what they are of and who: states of cards, and shares of holders by state and work.
fn figures(spans: &[Span]) -> BTreeMap<(String, String), f64> {
    let mut figures = BTreeMap::new();
    for span in spans {
        let card = span.card.uuid.as_ref().known().unwrap();
        let mut add = |name: String, millis: i64| {
            *figures.entry((card.clone(), name)).or_default() += millis as f64 / HOUR as f64;
        };
        add(span.state.word().to_owned(), span.period.millis());
        for time in &span.holders {
            let who = match time.holder {
                HolderId::Process(id) => id.pid.to_string(),
                HolderId::Unlisted => "unlisted".to_owned(),
            };
            add(format!("{who} {}", span.state.word()), time.share_ms);
            add(format!("{who} {:?}", time.work), span.period.millis());
        }
    }
    figures
}

/// Joules by card and state.
fn energy(spans: &[Span]) -> BTreeMap<(String, &'static str), f64> {
    let mut energy = BTreeMap::new();
    for span in spans {
        let card = span.card.uuid.as_ref().known().unwrap().clone();
        *energy.entry((card, span.state.word())).or_default() += span.energy.sum;
    }
    energy
}

/// The energy that the classifier finds in polls is that of the scenario's power over the true states:
/// within 2 % of the card's, and 5 % of a state's. A state that the card is hardly in is compared with 2 % of
/// the card's energy.
fn assert_same_energy(found: &[Span], truth: &[Span]) {
    let (found, truth) = (energy(found), energy(truth));
    let total = |all: &BTreeMap<(String, &'static str), f64>, card: &str| {
        let of_card = all.iter().filter(|((it, _), _)| it == card);
        of_card.map(|(_, joules)| joules).sum::<f64>()
    };
    for ((card, state), joules) in &truth {
        let [all, found_all] = [&truth, &found].map(|energy| total(energy, card));
        assert!((found_all - all).abs() <= 0.02 * all, "{card}: {found_all} J instead of {all} J");
        let of_state = found.get(&(card.clone(), *state)).copied().unwrap_or_default();
        let most = 0.05 * joules.max(0.02 * all);
        let difference = (of_state - joules).abs();
        assert!(difference <= most, "{card} {state}: {of_state} J instead of {joules} J");
    }
}

/// Every figure is within half a percent of the card's time of what the classifier says.
fn assert_same(scene: &Scene, period: Period) -> Part {
    let (spans, gaps) = polled(scene, period);
    let part = exact(scene, period);
    let (expected, found) = (figures(&spans), figures(&part.spans));
    let names: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let hours = period.millis() as f64 / HOUR as f64;
    for name in names {
        let [expected, found] =
            [&expected, &found].map(|all| all.get(name).copied().unwrap_or_default());
        let difference = (expected - found).abs() / hours;
        assert!(difference <= 0.005, "{name:?}: {found:.3} h instead of {expected:.3} h");
    }
    if gaps.is_empty() {
        assert_same_energy(&spans, &part.spans);
    }
    let missing = |gaps: &[Gap]| gaps.iter().map(|gap| gap.period.millis()).sum::<i64>();
    assert!((missing(&gaps) - missing(&part.gaps)).abs() <= 10 * SECOND);
    part
}

/// Spans of each card abut, do not cross quarter hours, and their shares add up.
fn assert_sound(spans: &[Span], observed_ms: i64) {
    let mut cards: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        let uuid = span.card.uuid.as_ref().known().unwrap();
        cards.entry(uuid).or_default().push(span);
    }
    for (card, spans) in cards {
        assert!(spans.windows(2).all(|pair| pair[0].period.to <= pair[1].period.from), "{card}");
        let total: i64 = spans.iter().map(|span| span.period.millis()).sum();
        assert_eq!(total, observed_ms, "{card}");
        for span in spans {
            let Period { from, to } = span.period;
            assert_eq!(from.0.div_euclid(900_000), (to.0 - 1).div_euclid(900_000));
            let shares: i64 = span.holders.iter().map(|holder| holder.share_ms).sum();
            let is_shared = span.state != State::TrulyIdle && !span.holders.is_empty();
            assert_eq!(shares, if is_shared { span.period.millis() } else { 0 });
        }
    }
}

#[test]
fn work_of_one_holder() {
    for sm in [
        "90",
        "0",
        "5",
        "{ points = [[\"0s\", 90], [\"41s\", 0]], repeat = \"94s\" }",
        "{ points = [[\"0s\", 80], [\"4s\", 0]], repeat = \"60s\" }",
        "{ points = [[\"0s\", 92], [\"57s\", 0]], repeat = \"60s\" }",
        "{ points = [[\"0s\", 92], [\"52s\", 0]], repeat = \"60s\" }",
        "{ points = [[\"0s\", 100], [\"200ms\", 0]], repeat = \"5s\" }",
        "{ points = [[\"0s\", 60], [\"50s\", 3]], repeat = \"2m\" }",
        "{ duty = 30, period = \"700ms\", high = 100, low = 0 }",
        "{ from = 0, to = 100, begin = \"10m\", end = \"50m\" }",
    ] {
        let scene = one_card("", &process(7, 8000, sm));
        let part = assert_same(&scene, Period::new(at(0), at(HOUR)));
        assert_sound(&part.spans, HOUR);
    }
}

#[test]
fn work_of_several_holders() {
    let phases = "{ points = [[\"0s\", 85], [\"37s\", 0]], repeat = \"98s\" }";
    let early = "{ points = [[\"0s\", 60], [\"50s\", 0]], repeat = \"80s\" }";
    let late = "{ points = [[\"0s\", 0], [\"40s\", 30], [\"80s\", 0]], repeat = \"90s\" }";
    let one = "{ points = [[\"0s\", 80], [\"20s\", 0]], repeat = \"40s\" }";
    let other = "{ points = [[\"0s\", 0], [\"20s\", 80]], repeat = \"40s\" }";
    for processes in [[phases, "0"], [early, late], [one, other], ["40", "20"], ["6", "0"]] {
        let [first, second] = processes.map(str::to_owned);
        let both = process(7, 12_000, &first) + &process(8, 20_000, &second);
        for card in ["", "unattributed = \"4GiB\""] {
            let part = assert_same(&one_card(card, &both), Period::new(at(0), at(HOUR)));
            assert_sound(&part.spans, HOUR);
        }
    }
}

#[test]
fn little_memory_leaves_a_card_free() {
    let scene = one_card("", &(process(7, 60, "0") + &process(8, 30, "0")));
    let part = assert_same(&scene, Period::new(at(0), at(HOUR)));
    assert!(part.spans.iter().all(|span| span.state == State::TrulyIdle));
    let scene = one_card("unattributed = \"300MiB\"", "");
    let part = assert_same(&scene, Period::new(at(0), at(HOUR)));
    assert!(part.spans.iter().all(|span| span.state == State::IdleHeld));
}

#[test]
fn lost_card_is_unknown_and_driver_away_is_a_gap() {
    let faults = r#"
        [[fault]]
        call = "nvmlDeviceGet*"
        card = 0
        code = "GPU_IS_LOST"
        from = "10m"
        to = "25m"
        [[fault]]
        call = "nvml*"
        code = "LIB_RM_VERSION_MISMATCH"
        from = "40m"
        to = "45m"
    "#;
    let scene = one_card("", &(process(7, 8000, "70") + faults));
    let part = assert_same(&scene, Period::new(at(0), at(HOUR)));
    assert_sound(&part.spans, HOUR - 300 * SECOND);
    let unknown = part.spans.iter().filter(|span| span.state == State::Unknown(Reason::Lost));
    assert_eq!(unknown.map(|span| span.period.millis()).sum::<i64>(), 900 * SECOND);
    assert_eq!(part.gaps.len(), 1);
}

/// All cards and people of the demo, in the busiest hours of a day.
#[test]
fn hours_of_the_lab() {
    let period = Period::new(at(9 * HOUR), at(11 * HOUR));
    let part = assert_same(&Lab::new().unwrap().scene(period.from), period);
    assert_sound(&part.spans, period.millis());
}

/// Two parts are what both together are.
#[test]
fn parts_add_up() {
    let lab = Lab::new().unwrap();
    let scene = lab.scene(at(9 * HOUR));
    let units = Unit::all(&scene.scenario);
    let whole = Period::new(at(9 * HOUR), at(15 * HOUR));
    let middle = at(12 * HOUR + 15 * 60 * SECOND);
    let part = |period| {
        let shift = run(whole);
        Part::new(&scene, &units, &shift, period, at(0), &Thresholds::default())
    };
    let both = [Period::new(whole.from, middle), Period::new(middle, whole.to)].map(part);
    let all = part(whole);
    let spans: Vec<Span> = both.iter().flat_map(|part| part.spans.clone()).collect();
    assert_eq!(spans, all.spans);
    let samples = |part: &Part| part.samples.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!([samples(&both[0]), samples(&both[1])].concat(), samples(&all));
}

#[test]
fn samples_are_means_of_half_a_minute() {
    let half = "{ points = [[\"0s\", 80], [\"15s\", 0]], repeat = \"30s\" }";
    let card = "power = { idle = 100, full = 300 }\nmemory = \"80GiB\"";
    let scene = one_card(card, &process(7, 8000, half));
    let units = Unit::all(&scene.scenario);
    let hour = Period::new(at(0), at(HOUR));
    let part = Part::new(&scene, &units, &run(hour), hour, at(HOUR / 2), &Thresholds::default());
    assert_eq!(part.samples.len(), 60);
    let (first, CardSample { utilization, memory, memory_total, power, .. }) = &part.samples[0];
    assert_eq!(first.0, at(HOUR / 2).0 + 30 * SECOND);
    assert!((utilization.unwrap().0 - 40.0).abs() < 0.01);
    assert_eq!(*memory, Some(Bytes::from_mib(8000)));
    assert_eq!(*memory_total, Some(Bytes::from_mib(80 << 10)));
    assert_eq!(power.unwrap().0, 180_000);
}

/// Energy follows the work: that of idle time is the idle power.
#[test]
fn energy_is_that_of_the_power_model() {
    let phases = "{ points = [[\"0s\", 50], [\"30s\", 0]], repeat = \"60s\" }";
    let scene = one_card("power = { idle = 100, full = 300 }", &process(7, 8000, phases));
    let part = exact(&scene, Period::new(at(0), at(HOUR)));
    let joules = |state| {
        let spans = part.spans.iter().filter(|span| span.state == state);
        spans.map(|span| span.energy.sum).sum::<f64>()
    };
    assert!((joules(State::Active) - 1800.0 * 200.0).abs() < 1.0);
    assert!((joules(State::IdleHeld) - 1800.0 * 100.0).abs() < 1.0);
    let of_holder: f64 = part.spans.iter().map(|span| span.holders[0].energy).sum();
    assert!((of_holder - 1800.0 * 300.0).abs() < 1.0);
}

/// The report on a day has the energy of each GPU, also where it is the sum of its MIG instances and what
/// they leave, and accounts have that of active and idle-held time.
#[test]
fn energy_in_the_report_is_that_of_the_scenario() {
    // Neither an outage nor a fault.
    let (begin, end) = (at(4 * DAY), at(5 * DAY));
    let plan = Plan::of_the_last_day(end);
    let database = write(Database::in_memory().unwrap(), &plan).unwrap();
    let request = UsageRequest::new(Period::new(begin, end), end);
    let usage = gua_query::usage::usage(&database, &request).unwrap();
    let scene = Lab::new().unwrap().scene(begin);
    for card in &scene.scenario.cards {
        let [from, to] = [begin, end].map(|at| scene.scenario.joules_at(card, moment(&scene, at)));
        let parts = usage.cards.iter().filter(|part| part.index == Some(card.index));
        let found: f64 = parts.clone().filter_map(|part| part.energy.total.energy_kwh).sum();
        let kwh = (to - from) / 3.6e6;
        assert!((found - kwh).abs() <= 0.02 * kwh, "card {}: {found} and not {kwh}", card.index);
        assert_eq!(parts.count(), if card.mig.is_some() { 3 } else { 1 });
    }
    let of_accounts: f64 = usage.accounts.iter().filter_map(|it| it.energy.energy_kwh).sum();
    let energy = usage.energy.total;
    let held = energy.active_energy_kwh.unwrap() + energy.idle_held_energy_kwh.unwrap();
    assert!((of_accounts - held).abs() < 1e-6, "{of_accounts} and not {held}");
}

/// Everybody is who they are, whatever they work with.
#[test]
fn people_are_known_by_their_processes() {
    let lab = Lab::new().unwrap();
    let period = Period::new(at(0), at(DAY));
    let scene = lab.scene(period.from);
    let entries = processes(&scene, UnixMillis(0), period);
    assert!(entries.len() > 10);
    let jobs =
        entries.iter().filter(|it| it.workload.as_ref().is_some_and(|who| who.job.is_some()));
    assert!(jobs.count() > 0);
    for entry in entries.iter().filter(|entry| entry.id.start_ticks.is_some()) {
        assert_eq!(entry.person.uid, entry.id.uid);
        assert!(entry.person.user.is_some(), "{entry:?}");
    }
}

/// A history has what a recorder would have left, by age, and the record is sound.
#[test]
fn history_is_as_a_recorder_leaves_it() {
    let retention = Retention {
        exact_ms: 6 * HOUR,
        quarters_ms: 30 * HOUR,
        samples_ms: 9 * HOUR,
        ..Retention::default()
    };
    let days = 4;
    let end = at(20 * HOUR + 123_456);
    let interval = Duration::from_secs(30);
    let plan = Plan { machine: Machine::Lab, end, interval, ticks: days * 2880 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("demo.db");
    Database::create(&path).unwrap();
    let database = write_with(Database::open_to_write(&path).unwrap(), &plan, retention).unwrap();
    assert_eq!(database.check().unwrap(), []);
    let file = rusqlite::Connection::open(&path).unwrap();
    let first = |table: &str, column: &str, condition: &str| -> i64 {
        let sql = format!("SELECT min({column}) FROM {table} WHERE {condition}");
        end.0 - file.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let is_kept = |age: i64, kept: i64| (kept - HOUR..=kept + HOUR).contains(&age);
    let exact = first("card_span", "from_ms", "from_ms % 900000 <> 0");
    assert!(is_kept(exact, retention.exact_ms), "{exact}");
    let fine = first("card_span", "from_ms", "TRUE");
    assert!(is_kept(fine, retention.quarters_ms), "{fine}");
    assert!(is_kept(first("card_hour", "from_ms", "TRUE"), days * DAY));
    let samples = first("sample", "at_ms", "TRUE");
    assert!(is_kept(samples, retention.samples_ms), "{samples}");
    let sums = database.usage(plan.period()).unwrap();
    let gaps: i64 = sums.gaps.iter().map(|gap| gap.period.millis()).sum();
    let recorded_ms = sums.window.millis() - gaps;
    assert!(sums.gaps.iter().any(|gap| gap.reason.is_none()), "a recorder that did not run");
    for card in sums.cards.values() {
        assert!((card.times.observed_ms() - recorded_ms as f64).abs() < 1.0);
    }
    assert!(!database.sessions(plan.period()).unwrap().is_empty());
}

/// The same plan gives the same history.
#[test]
fn history_repeats() {
    let interval = Duration::from_secs(1);
    let plan = Plan { machine: Machine::Cycle, end: at(0), interval, ticks: 3000 };
    let sums = || {
        let database = write(Database::in_memory().unwrap(), &plan).unwrap();
        database.usage(plan.period()).unwrap()
    };
    assert_eq!(sums(), sums());
    assert_eq!(sums().cards.len(), 3);
    assert_eq!((sums().window, sums().gaps), (plan.period(), vec![]));
}
