//! From a scenario file to a [`Scenario`], or a refusal with file, line and reason.

mod card;
mod fault;
mod identity;
mod load;
mod process;
mod table;
mod value;

use std::fs;
use std::path::Path;
use std::time::Duration;

use wildmatch::WildMatch;

use crate::model::{
    Card, Driver, ProcessUtilization, SampleBuffer, Scenario, Stamps, StraySample, Time,
};
use card::CardRef;
use table::{Table, Wrong};
use value::{duration, moment, version};

pub use fault::unknown_calls;

/// Why a scenario was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{file}: cannot be read: {reason}")]
    Unreadable { file: String, reason: String },
    #[error("{file}:{line}: {reason}")]
    Wrong { file: String, line: usize, reason: String },
}

/// Reads and checks a scenario file.
///
/// # Errors
/// When it cannot be read or does not describe a machine.
pub fn from_file(path: &Path) -> Result<Scenario, Refused> {
    from_str(&path.display().to_string(), &read(path)?)
}

/// The text of a scenario file.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<String, Refused> {
    fs::read_to_string(path).map_err(|error| Refused::Unreadable {
        file: path.display().to_string(),
        reason: error.to_string(),
    })
}

/// Checks the text of a scenario; `file` is only for the message.
///
/// # Errors
/// When it does not describe a machine.
pub fn from_str(file: &str, text: &str) -> Result<Scenario, Refused> {
    Table::parse(text).and_then(scenario).map_err(|wrong| wrong.refused(file, text))
}

impl Wrong {
    fn refused(self, file: &str, text: &str) -> Refused {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        Refused::Wrong { file: file.to_owned(), line, reason: self.reason }
    }
}

fn scenario(mut file: Table<'_>) -> Result<Scenario, Wrong> {
    let seed = file.get("seed").unwrap_or_default();
    let host_name = file.table("host", |mut table| {
        let name = table.get("name").unwrap_or_else(|| "pretend".into());
        table.finish(name)
    })?;
    let driver = file.table("driver", driver)?;
    let time = file.table("time", time)?;
    let samples = file.table("samples", samples)?;
    let cards = card::cards(&mut file, seed)?;
    let scenario = Scenario {
        seed,
        host_name,
        driver,
        time,
        samples,
        processes: process::processes(&mut file, &cards)?,
        faults: fault::faults(&mut file, &cards)?,
        stray_samples: stray_samples(&mut file, &cards)?,
        records: identity::records(&mut file)?,
        cards,
    };
    file.finish(scenario)
}

fn driver(mut table: Table<'_>) -> Result<Driver, Wrong> {
    let pattern = |text: String| WildMatch::new(&text);
    let driver = Driver {
        version: table.get("version").unwrap_or_else(|| "560.35.05".into()),
        nvml_version: table.get("nvml_version").unwrap_or_else(|| "12.560.35.05".into()),
        cuda_version: table.text("cuda", cuda_version).unwrap_or(12060),
        lacks: table.get::<Vec<String>>("lacks").into_iter().flatten().map(pattern).collect(),
    };
    table.finish(driver)
}

/// Reads a version as NVML gives it: 12060 is 12.6.
fn cuda_version(text: &str) -> Result<i32, String> {
    version(text)
        .and_then(|(major, minor)| major.checked_mul(1000)?.checked_add(minor.checked_mul(10)?))
        .ok_or_else(|| "`cuda` must be a version like \"12.6\"".into())
}

fn time(mut table: Table<'_>) -> Result<Time, Wrong> {
    let origin_unix_micros = table.text("origin", |text| match text.parse::<jiff::Timestamp>() {
        Ok(origin) => Ok(origin.as_microsecond()),
        Err(_) => Err("`origin` must be a time like \"2026-11-15T20:00:00Z\"".into()),
    });
    let speed = table.get_as("speed", |speed: f64| match speed {
        speed if speed > 0.0 && speed.is_finite() => Ok(speed),
        _ => Err("`speed` must be more than 0".into()),
    });
    let speed = speed.unwrap_or(1.0);
    let stamp_offset = table.text("stamp_offset", moment).unwrap_or_default();
    let stamps = table.get("stamps").unwrap_or(Stamps::Unix);
    let is_wall_clock = origin_unix_micros.is_none() && (speed - 1.0).abs() <= f64::EPSILON;
    if stamps == Stamps::Boot && !is_wall_clock {
        let reason =
            "`stamps = \"boot\"` is the host's own clock and does not go with `origin` or `speed`";
        table.refuse_at("stamps", reason);
    }
    let stamp_offset_micros = stamp_offset.as_micros();
    table.finish(Time { origin_unix_micros, speed, stamp_offset_micros, stamps })
}

/// A sixth of a second and 100 entries: what data-centre cards have been seen to keep.
const USUAL_PERIOD: Duration = Duration::from_micros(166_667);
const USUAL_CAPACITY: u32 = 100;

const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);
const LARGEST_CAPACITY: u32 = 100_000;

fn samples(mut table: Table<'_>) -> Result<SampleBuffer, Wrong> {
    let period = table.text("period", |text| {
        let period = duration(text)?;
        let is_good = (SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&period);
        if is_good { Ok(period) } else { Err("`period` must be 1ms to 1h".into()) }
    });
    let capacity = table.get_as("capacity", |capacity: u32| match capacity {
        0..=LARGEST_CAPACITY => Ok(capacity),
        _ => Err(format!("`capacity` must be 0 (no samples) to {LARGEST_CAPACITY}")),
    });
    let lose_percent = table.get_as("lose", |percent: f64| match percent {
        0.0..=100.0 => Ok(percent),
        _ => Err("`lose` must be 0 to 100 (percent)".into()),
    });
    let buffer = SampleBuffer {
        period: period.unwrap_or(USUAL_PERIOD),
        capacity: capacity.unwrap_or(USUAL_CAPACITY),
        dry_when_idle: table.get("dry_when_idle").unwrap_or_default(),
        lose_percent: lose_percent.unwrap_or_default(),
        processes: table.get("processes").unwrap_or(ProcessUtilization::Newest),
    };
    if buffer.capacity == 0 && buffer.processes != ProcessUtilization::Newest {
        let reason = "without a buffer (`capacity = 0`), `processes` must be \"newest\"";
        table.refuse_at("processes", reason);
    }
    table.finish(buffer)
}

fn stray_samples(file: &mut Table<'_>, cards: &[Card]) -> Result<Vec<StraySample>, Wrong> {
    file.tables("stray_sample", |mut table, _| {
        let sample = StraySample {
            card: table.need_as("card", |card: CardRef| card.find(cards).map(|card| card.index)),
            pid: table.get("pid"),
            sm: table.need("sm"),
            age: table.text("age", duration).unwrap_or_default(),
            ahead: table.text("ahead", duration).unwrap_or_default(),
        };
        table.finish(sample)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;

    fn refusal(text: &str) -> String {
        from_str("bad.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_a_machine_without_cards() {
        let machine = from_str("empty.toml", "").unwrap();
        assert_eq!(machine.cards, []);
        assert_eq!(machine.driver.version, "560.35.05");
    }

    #[test]
    fn what_is_left_out_is_made_up_the_same_way_each_time() {
        let text = "seed = 3\n[[card]]\n[[card]]\n";
        let (a, b) = (from_str("a", text).unwrap(), from_str("b", text).unwrap());
        assert_eq!(a, b);
        assert_ne!(a.cards[0].uuid, a.cards[1].uuid);
        assert!(a.cards[0].uuid.starts_with("GPU-") && a.cards[0].uuid.len() == 40);
    }

    #[test]
    fn refusals_name_file_line_and_reason() {
        let cases = [
            ("[[card]]\nmemory = \"lots\"\n", "bad.toml:2: `lots` is not a size"),
            ("[[card]]\n\nutilisation = 3\n", "bad.toml:3: unknown field `utilisation`"),
            ("[[card]]\nutilization = 120\n", "bad.toml:2: 120 is not a percentage"),
            (
                "[[card]]\nutilization = { duty = 50 }\n",
                "bad.toml:2: a duty cycle needs a `period`",
            ),
            ("[[card]]\nutilization = { noise = 5 }\n", "bad.toml:2: a load needs `constant`"),
            (
                "[[card]]\nutilization = { points = [[\"9s\", 1], [\"3s\", 2]] }\n",
                "bad.toml:2: `points` must be in the order of time",
            ),
            ("seed = \n", "bad.toml:1: "),
            ("card = 3\n", "bad.toml:1: invalid type: integer `3`, expected a list of tables"),
            ("[[card]]\npower = 3\n", "bad.toml:2: invalid type: integer `3`, expected a table"),
            ("[[process]]\npidd = 1\n", "bad.toml:2: unknown field `pidd`, expected one of `pid`"),
            ("[[process]]\ncard = 0\n", "bad.toml:1: missing field `pid`"),
            ("[[pod]]\nuid = \"1\"\nname = \"a\"\n", "bad.toml:1: missing field `namespace`"),
            ("[host]\nos = \"x\"\n", "bad.toml:2: unknown field `os`, expected `name`"),
            (
                "[[fault]]\ncall = \"nvml*\"\ncard = -1\n",
                "bad.toml:3: expected a card's index or its UUID",
            ),
            (
                "[[fault]]\ncall = \"nvml*\"\ncode = true\n",
                "bad.toml:3: invalid type: boolean `true`, expected an NVML code",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 4\nmemory = \"1GB\"\n",
                "bad.toml:2: there is no card 4; the scenario has 1",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\nmemory = \"1GB\"\n",
                "bad.toml:2: a process needs either `card` or `cards`",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"some\"\n",
                "bad.toml:5: `some` is not a size; expected one like 80GiB or 500MB, or `unknown`",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nkind = \"cuda\"\n",
                "bad.toml:6: `cuda` is not a kind of process",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nbegin = \"9s\"\nend = \"3s\"\n",
                "bad.toml:2: a process must end after it begins",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"2GB\"\npeak = \"1GB\"\n",
                "bad.toml:6: `peak` must be at least `memory`",
            ),
            (
                "[[fault]]\ncall = \"nvml*\"\ncode = \"GPU_LOST\"\n",
                "bad.toml:3: `GPU_LOST` is not an NVML code",
            ),
            ("[[fault]]\ncall = \"nvml*\"\n", "bad.toml:1: a fault needs `code`"),
            (
                "[[fault]]\ncall = \"nvml*\"\nhang = true\ngrow = 3\n",
                "bad.toml:1: a fault has one of",
            ),
            ("[time]\nspeed = 0\n", "bad.toml:2: "),
            ("[time]\norigin = \"today\"\n", "bad.toml:2: `origin` must be a time like"),
            ("[samples]\nperiod = \"soon\"\n", "bad.toml:2: `soon` is not a duration"),
            (
                "[[card]]\nuuid = \"GPU-1\"\n[[card]]\nuuid = \"GPU-1\"\n",
                "bad.toml:3: two cards have the UUID GPU-1",
            ),
            ("[driver]\ncuda = \"9999999.9\"\n", "bad.toml:2: `cuda` must be a version like"),
            ("[driver]\ncuda = \"12.999999999\"\n", "bad.toml:2: `cuda` must be a version like"),
            ("[driver]\ncuda = \"-12.6\"\n", "bad.toml:2: `cuda` must be a version like"),
            (
                "[samples]\nperiod = \"100000000000h\"\n",
                "bad.toml:2: `100000000000h` is too long; expected at most 100 years",
            ),
            ("[samples]\nperiod = \"61m\"\n", "bad.toml:2: `period` must be 1ms to 1h"),
            ("[samples]\nperiod = \"999us\"\n", "bad.toml:2: `period` must be 1ms to 1h"),
            (
                "[samples]\ncapacity = 4294967295\n",
                "bad.toml:2: `capacity` must be 0 (no samples) to 100000",
            ),
            ("[samples]\nlose = 101\n", "bad.toml:2: `lose` must be 0 to 100 (percent)"),
            ("[samples]\nlose = nan\n", "bad.toml:2: `lose` must be 0 to 100 (percent)"),
            (
                "[samples]\nprocesses = \"all\"\n",
                "bad.toml:2: unknown variant `all`, expected one of `newest`, `complete`, `mean`",
            ),
            (
                "[samples]\nprocesses = \"mean\"\ncapacity = 0\n",
                "bad.toml:2: without a buffer (`capacity = 0`), `processes` must be \"newest\"",
            ),
            ("[samples]\ndry_when_idle = 1\n", "bad.toml:2: "),
            (
                "[time]\nstamps = \"monotonic\"\n",
                "bad.toml:2: unknown variant `monotonic`, expected `unix` or `boot`",
            ),
            (
                "[time]\nspeed = 60\nstamps = \"boot\"\n",
                "bad.toml:3: `stamps = \"boot\"` is the host's own clock and does not go with",
            ),
            (
                "[time]\nstamps = \"boot\"\norigin = \"2026-11-15T20:00:00Z\"\n",
                "bad.toml:2: `stamps = \"boot\"` is the host's own clock and does not go with",
            ),
            (
                "[[card]]\nutilization = { constant = 3, duty = 5, period = \"1s\" }\n",
                "bad.toml:2: `duty` does not go with `constant`",
            ),
            (
                "[[card]]\nutilization = { points = [[\"0s\", 1]], high = 5 }\n",
                "bad.toml:2: `high` does not go with `points`",
            ),
            (
                "[[card]]\nutilization = { from = 0, to = 9, end = \"9s\", repeat = \"9s\" }\n",
                "bad.toml:2: `repeat` does not go with `from`",
            ),
            ("[[card]]\nfan = 101\n", "bad.toml:2: 101 is not a percentage; expected 0 to 100"),
            (
                "[[card]]\npower = { idle = nan, full = 9 }\n",
                "bad.toml:2: NaN cannot be; expected a number from 0 up",
            ),
            (
                "[[card]]\ntemperature = { idle = 30, full = inf }\n",
                "bad.toml:2: inf cannot be; expected a number from 0 up",
            ),
            (
                "[[card]]\nsm_clock = { idle = -210, full = 1410 }\n",
                "bad.toml:2: -210 cannot be; expected a number from 0 up",
            ),
            (
                "[[card]]\ncompute_capability = \"-9.0\"\n",
                "bad.toml:2: `compute_capability` must look like",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncards = [0, 0]\nmemory = \"1GB\"\n",
                "bad.toml:2: process 1 is on card 0 twice",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\n\
                 [[process]]\npid = 1\ncard = 0\nmemory = \"2GB\"\nbegin = \"9s\"\n",
                "bad.toml:6: process 1 is on card 0 twice",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nuser = \"a:b\"\n",
                "bad.toml:6: a user name has no `:`",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nuser = \"a\\n\"\n",
                "bad.toml:6: a user name has no `:`",
            ),
            (
                "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nuser = \"\"\n",
                "bad.toml:6: a user name is not empty",
            ),
            (
                "[[fault]]\ncall = \"nvml*\"\ncode = -1\n",
                "bad.toml:3: -1 is not an NVML code; expected a name like GPU_IS_LOST or a number \
                 from 0 to 4294967295",
            ),
            (
                "[[fault]]\ncall = \"nvml*\"\nhang = true\nfrom = \"9s\"\nto = \"9s\"\n",
                "bad.toml:5: a fault's `from` must be before its `to`",
            ),
            (
                "[[fault]]\ncall = \"nvml*\"\nhang = true\ntimes = 0\n",
                "bad.toml:4: `times` must be at least 1",
            ),
            (
                "[[card]]\n[[fault]]\ncall = \"nvml*\"\nhang = true\nslot = 1\n",
                "bad.toml:2: a fault with a `slot` needs its `card`",
            ),
            (
                "[[card]]\n[[card.mig]]\nslot = 9\nprofile = \"1g.10gb\"\nmemory = \"10GiB\"\n",
                "bad.toml:2: slot 9 is beyond the card's 7",
            ),
        ];
        for (text, expected) in cases {
            let message = refusal(text);
            assert!(message.starts_with(expected), "{text}\n{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_ring_without_room_and_a_pid_that_comes_back_are_taken() {
        let process = |begin| {
            format!("[[process]]\npid = 1\ncard = 0\nmemory = \"1GB\"\nbegin = \"{begin}\"\n")
        };
        let (first, second) = (process("-9s"), process("9s"));
        let text = format!("[samples]\ncapacity = 0\n[[card]]\n{first}end = \"9s\"\n{second}");
        let machine = from_str("good.toml", &text).unwrap();
        assert_eq!((machine.samples.capacity, machine.processes.len()), (0, 2));
    }

    #[test]
    fn a_fault_on_a_card_strikes_its_instances_and_one_on_a_slot_only_that() {
        let text = "[[card]]\n[[card.mig]]\nslot = 0\nprofile = \"1g.10gb\"\nmemory = \"10GiB\"\nuuid = \"MIG-0\"\n\
                    [[card.mig]]\nslot = 1\nprofile = \"1g.10gb\"\nmemory = \"10GiB\"\nuuid = \"MIG-1\"\n\
                    [[fault]]\ncall = \"nvml*\"\ncard = 0\nhang = true\n\
                    [[fault]]\ncall = \"nvml*\"\ncard = 0\nslot = 1\nhang = true\n";
        let machine = from_str("mig.toml", text).unwrap();
        let strikes = |fault: usize| {
            let uuids = [machine.cards[0].uuid.as_str(), "MIG-0", "MIG-1"];
            uuids.map(|uuid| machine.faults[fault].strikes("nvmlX", Some(uuid), Moment::ORIGIN))
        };
        assert_eq!((strikes(0), strikes(1)), ([true; 3], [false, false, true]));
    }

    #[test]
    fn a_missing_file_is_named() {
        let refused = from_file(Path::new("/nowhere/lab.toml")).unwrap_err().to_string();
        assert!(refused.starts_with("/nowhere/lab.toml: cannot be read: "), "{refused}");
    }

    #[test]
    fn one_process_on_several_cards_is_several_holders_of_one_owner() {
        let text = "[[card]]\n[[card]]\n[[process]]\npid = 7\ncards = [0, 1]\nmemory = \"1GiB\"\nuser = \"ann\"\n";
        let machine = from_str("two.toml", text).unwrap();
        let held: Vec<_> = machine.processes.iter().map(|p| (p.pid, p.card, p.owner.uid)).collect();
        assert_eq!(held, [(7, 0, 1000), (7, 1, 1000)]);
    }
}
