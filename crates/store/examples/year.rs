//! Generates a year of 8 cards, 32 holders and about 200 short processes a day, and prints what it takes:
//! `cargo run --release -p gua-store --example year [DAYS] [FILE] [DETAILED_DAYS]`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use gua_core::card::CardFacts;
use gua_core::identity::{Job, Source, Told, Who};
use gua_core::process::{Kinds, ProcessId};
use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, Celsius, Milliwatts, Percent, UnixMillis};
use gua_core::{Period, Reading, Reason, Span, State, Thresholds};
use gua_store::{
    CardSample, Database, ExportFormat, ExportTable, Person, ProcessEntry, Retention, Run, Tick,
    Writer,
};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const QUARTER: i64 = HOUR / 4;
const START: i64 = 20_000 * DAY;
const INTERVAL: i64 = 30_000;

/// Days at the end that have every span, unless asked for; before them a quarter hour has one span per
/// state, which leaves the same rows once they are summed up.
const DETAILED_DAYS: i64 = 3;

/// Work and pause of each card in milliseconds. The inference server has more than two spans in half a
/// minute.
const PHASES: [(i64, i64); 8] = [
    (QUARTER, 0),
    (41_000, 53_000),
    (6_000, 114_000),
    (52_000, 8_000),
    (3_000, 5_000),
    (0, QUARTER),
    (113_000, 97_000),
    (20_000, 20_000),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let days: i64 = args.next().map_or(Ok(365), |days| days.parse())?;
    let dir = env::temp_dir().join(format!("gua-year-{}", std::process::id()));
    let path = args.next().map_or_else(|| dir.join("gua.db"), PathBuf::from);
    let detailed: i64 = args.next().map_or(Ok(DETAILED_DAYS), |days| days.parse())?;
    // A file of an earlier run is only read.
    if !path.exists() {
        let begin = Instant::now();
        generate(&path, days, detailed)?;
        println!("generated {days} days in {:.0?}", begin.elapsed());
    }
    println!("file: {:.1} MB", fs::metadata(&path)?.len() as f64 / 1e6);
    let end = START + days * DAY + HOUR;
    for (name, length) in [("last hour", HOUR), ("90 d", 90 * DAY), ("365 d", 365 * DAY)] {
        // Not at a full hour, so that both edges are read from fine rows.
        time_usage(&path, name, Period::new(UnixMillis(end - length - 777_777), UnixMillis(end)))?;
    }
    time_export(&path)?;
    println!("memory: {}", peak_memory()?);
    let begin = Instant::now();
    let findings = Database::open(&path)?.check()?;
    println!("check: {} findings in {:.0?}", findings.len(), begin.elapsed());
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

fn generate(path: &Path, days: i64, detailed: i64) -> Result<(), Box<dyn Error>> {
    Database::create(path)?;
    let run = Run {
        host: "lab".into(),
        boot: "boot-1".into(),
        driver: None,
        recorder: "year".into(),
        rule: "5 s".into(),
        thresholds: Thresholds::default(),
        interval_ms: Some(INTERVAL),
        started: UnixMillis(START),
    };
    let mut writer = Writer::begin(Database::open_to_write(path)?, run)?;
    let cards: Vec<_> = (0..8).map(card).collect();
    for quarter in 0..days * 96 {
        let from = START + quarter * QUARTER;
        let is_detailed = quarter >= (days - detailed) * 96;
        let spans = quarter_hour(&cards, from, is_detailed);
        let processes = processes(&spans);
        let at = UnixMillis(from + QUARTER);
        let samples: Vec<_> = cards.iter().map(sample).collect();
        let tick = Tick {
            closed: &spans,
            processes: &processes,
            recorded_ms: QUARTER,
            ..Tick::new(at, at)
        };
        writer.tick(&tick)?;
        // Samples are kept for 7 days.
        if quarter >= (days - 7) * 96 {
            for place in 1..QUARTER / INTERVAL {
                let at = UnixMillis(from + place * INTERVAL);
                writer.tick(&Tick { samples: &samples, ..Tick::new(at, at) })?;
            }
        }
        if quarter % 4 == 3 {
            writer.prune(&Retention::default(), usize::MAX)?;
        }
    }
    time_ticks(&mut writer, &cards, START + days * DAY)?;
    writer.end("stopped")?;
    Ok(())
}

/// Records the last hour tick by tick.
fn time_ticks(
    writer: &mut Writer,
    cards: &[Arc<CardFacts>],
    from: i64,
) -> Result<(), Box<dyn Error>> {
    let spans: Vec<Span> =
        (0..4).flat_map(|place| quarter_hour(cards, from + place * QUARTER, true)).collect();
    let samples: Vec<_> = cards.iter().map(sample).collect();
    let mut times = Vec::new();
    for place in 0..HOUR / INTERVAL {
        let last = from + place * INTERVAL;
        let now = last + INTERVAL;
        let closed = spans.iter().filter(|span| span.period.to.0 > last && span.period.to.0 <= now);
        let closed: Vec<_> = closed.cloned().collect();
        let open = spans.iter().filter(|span| span.period.from.0 < now && span.period.to.0 > now);
        let open: Vec<_> = open.map(|span| shorten(span, now)).collect();
        let processes = processes(&[closed.as_slice(), open.as_slice()].concat());
        let at = UnixMillis(now);
        let tick = Tick {
            closed: &closed,
            open: &open,
            processes: &processes,
            samples: &samples,
            recorded_ms: INTERVAL,
            ..Tick::new(at, at)
        };
        let begin = Instant::now();
        writer.tick(&tick)?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / u32::try_from(times.len())?;
    println!(
        "tick: median {:.0?}, mean {mean:.0?}, longest {:.0?} (with an hour's sums)",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    Ok(())
}

fn time_usage(path: &Path, name: &str, window: Period) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    let mut counts = (0, 0);
    for _ in 0..5 {
        let begin = Instant::now();
        let sums = Database::open(path)?.usage(window)?;
        times.push(begin.elapsed());
        counts = (sums.cards.len(), sums.holders.len());
    }
    times.sort_unstable();
    println!("{name}: {:.1?} ({} cards, {} holders)", times[2], counts.0, counts.1);
    Ok(())
}

/// Exports all rows of holders.
fn time_export(path: &Path) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let all = Period::new(UnixMillis(i64::MIN), UnixMillis(i64::MAX));
    Database::open(path)?.export(ExportTable::Holders, all, ExportFormat::Csv, io::sink())?;
    println!("export of all holders: {:.1?}", begin.elapsed());
    Ok(())
}

/// Returns the spans of all cards in a quarter hour, in order.
fn quarter_hour(cards: &[Arc<CardFacts>], from: i64, is_detailed: bool) -> Vec<Span> {
    let mut spans = Vec::new();
    for (card, phases) in cards.iter().zip(PHASES) {
        let (work, pause) = match phases {
            phases if is_detailed => phases,
            (work, pause) => {
                (QUARTER * work / (work + pause), QUARTER - QUARTER * work / (work + pause))
            }
        };
        let (mut at, end) = (from, from + QUARTER);
        while at < end {
            for (length, state) in [(work, State::Active), (pause, State::IdleHeld)] {
                let to = (at + length).min(end);
                if at < to {
                    spans.push(span(card, at, to, state));
                    at = to;
                }
            }
        }
    }
    spans.sort_by_key(|span| span.period);
    spans
}

/// A span with four holders, which are others every day. Two short processes a quarter hour run on the
/// last card.
fn span(card: &Arc<CardFacts>, from: i64, to: i64, state: State) -> Span {
    let day = u32::try_from(from / DAY).unwrap_or(0);
    let quarter = u32::try_from(from / QUARTER).unwrap_or(0);
    let mut pids: Vec<u32> = (0..4).map(|place| day * 100 + card.index * 4 + place).collect();
    if card.index == 7 {
        pids.push(1_000_000_000 + quarter * 2 + u32::from(from % QUARTER > QUARTER / 2 - 60_000));
    }
    let (length, count) = (to - from, i64::try_from(pids.len()).unwrap_or(1));
    let integral = |mean: f64| Integral { sum: mean * length as f64 / 1000.0, known_ms: length };
    let holder = |(place, pid): (i64, u32)| HolderTime {
        holder: HolderId::Process(process(pid)),
        work: if state == State::Active && place == 0 { Work::Working } else { Work::Idle },
        share_ms: length * (place + 1) / count - length * place / count,
        memory: integral(17_321.0),
        peak: Some(Bytes::from_mib(17_400)),
        energy: 70.0 * length as f64 / 1000.0,
    };
    Span {
        card: Arc::clone(card),
        period: Period::new(UnixMillis(from), UnixMillis(to)),
        state,
        holders: (0..).zip(pids).map(holder).collect(),
        busy: integral(if state == State::Active { 87.3 } else { 0.4 }),
        memory: integral(69_284.0),
        energy: integral(if state == State::Active { 643.0 } else { 121.0 }),
        energy_estimated_ms: 0,
    }
}

fn shorten(long: &Span, to: i64) -> Span {
    span(&long.card, long.period.from.0, to, long.state)
}

fn card(index: u32) -> Arc<CardFacts> {
    let mut card = CardFacts::unread(index, Reason::NotAsked);
    card.uuid = Reading::Known(format!("GPU-5e0a1c7e-0000-4000-8000-{index:012}"));
    card.name = Reading::Known("NVIDIA H100 80GB HBM3".into());
    card.into()
}

fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: Some(u64::from(pid) * 7), uid: Some(1000 + pid % 16) }
}

fn processes(spans: &[Span]) -> Vec<ProcessEntry> {
    let holders = spans.iter().flat_map(|span| &span.holders);
    let mut ids: Vec<ProcessId> = holders
        .filter_map(|time| match time.holder {
            HolderId::Process(id) => Some(id),
            HolderId::Unlisted => None,
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(entry).collect()
}

fn entry(id: ProcessId) -> ProcessEntry {
    let job = Job { id: (id.pid / 4).to_string().into(), step: Some("batch".into()) };
    let who = Who {
        job: Some(Told { value: job, source: Source::Cgroup }),
        script: Some("train.py".into()),
        ancestor_names: Some(["bash".into(), "slurmstepd".into()].into()),
        ..Who::default()
    };
    ProcessEntry {
        started: Some(UnixMillis(START)),
        program: Some("python3".into()),
        person: Person {
            user: id.uid.map(|uid| format!("user{uid}").into()),
            uid: id.uid,
            source: Some(Source::Uid),
        },
        kinds: Kinds::COMPUTE,
        workload: Some(Arc::new(who)),
        ..ProcessEntry::unread(id)
    }
}

fn sample(card: &Arc<CardFacts>) -> CardSample {
    CardSample {
        card: Arc::clone(card),
        utilization: Some(Percent(87.0)),
        memory: Some(Bytes::from_mib(69_284)),
        memory_total: Some(Bytes::from_mib(81_559)),
        power: Some(Milliwatts(643_000)),
        temperature: Some(Celsius(61)),
    }
}

/// Returns the most memory that this process ever had, generating included.
fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(peak.unwrap_or("unknown").trim().to_owned())
}
