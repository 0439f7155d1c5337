//! From a scenario file to a [`Scenario`], or a refusal with file, line and reason.

use std::collections::HashSet;
use std::fs;
use std::ops::Range as Bytes;
use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use wildmatch::WildMatch;

use crate::fault::{Effect, Fault};
use crate::load::Load;
use crate::model::{
    Card, Driver, Instance, Kind, Memory, Mig, Owner, Pci, Power, Process, Range, SampleBuffer,
    Scenario, StraySample, Time,
};
use crate::moment::Moment;
use crate::noise;
use crate::typed::{self, CardRef};

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
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => from_str(&file, &text),
        Err(error) => Err(Refused::Unreadable { file, reason: error.to_string() }),
    }
}

/// Checks the text of a scenario; `file` is only for the message.
///
/// # Errors
/// When it does not describe a machine.
pub fn from_str(file: &str, text: &str) -> Result<Scenario, Refused> {
    let wrong = |at: usize, reason: String| Refused::Wrong {
        file: file.to_owned(),
        line: text[..at.min(text.len())].matches('\n').count() + 1,
        reason,
    };
    let typed: typed::File = toml::from_str(text).map_err(|error| {
        wrong(error.span().map_or(0, |span| span.start), one_line(error.message()))
    })?;
    meant(typed).map_err(|Wrong { span, reason }| wrong(span.start, reason))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A refusal that knows its place as bytes of the text.
struct Wrong {
    span: Bytes<usize>,
    reason: String,
}

fn wrong<T>(span: Bytes<usize>, reason: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { span, reason: reason.into() })
}

fn meant(file: typed::File) -> Result<Scenario, Wrong> {
    let cards = cards(file.card, file.seed)?;
    let processes = processes(file.process, &cards)?;
    let faults = file.fault.into_iter().map(|fault| self::fault(fault, &cards));
    let stray = file.stray_sample.into_iter().map(|sample| {
        let card = find_card(&cards, sample.card.get_ref(), sample.card.span())?;
        Ok(StraySample {
            card,
            pid: sample.pid,
            sm: sample.sm,
            age: sample.age.map_or(Duration::ZERO, |age| age.0),
        })
    });
    Ok(Scenario {
        seed: file.seed,
        host_name: file.host.name,
        driver: driver(file.driver)?,
        time: time(&file.time)?,
        samples: samples(&file.samples)?,
        faults: faults.collect::<Result<_, _>>()?,
        stray_samples: stray.collect::<Result<_, _>>()?,
        cards,
        processes,
    })
}

fn driver(typed: typed::Driver) -> Result<Driver, Wrong> {
    let span = typed.cuda.span();
    let Some((major, minor)) = two_numbers::<i32>(typed.cuda.get_ref(), '.') else {
        return wrong(span, "`cuda` must be a version like \"12.6\"");
    };
    Ok(Driver {
        version: typed.version,
        nvml_version: typed.nvml_version,
        cuda_version: major * 1000 + minor * 10,
        lacks: typed.lacks.iter().map(|pattern| WildMatch::new(pattern)).collect(),
    })
}

fn two_numbers<T: std::str::FromStr>(text: &str, between: char) -> Option<(T, T)> {
    let (left, right) = text.split_once(between)?;
    Some((left.parse().ok()?, right.parse().ok()?))
}

fn time(typed: &typed::Time) -> Result<Time, Wrong> {
    let origin_unix_micros = match &typed.origin {
        None => None,
        Some(origin) => match origin.get_ref().parse::<jiff::Timestamp>() {
            Ok(origin) => Some(origin.as_microsecond()),
            Err(_) => {
                let reason = "`origin` must be a time like \"2026-11-15T20:00:00Z\"";
                return wrong(origin.span(), reason);
            }
        },
    };
    let speed = match &typed.speed {
        None => 1.0,
        Some(speed) if *speed.get_ref() > 0.0 && speed.get_ref().is_finite() => *speed.get_ref(),
        Some(speed) => return wrong(speed.span(), "`speed` must be more than 0"),
    };
    Ok(Time { origin_unix_micros, speed })
}

fn samples(typed: &typed::Samples) -> Result<SampleBuffer, Wrong> {
    let period = typed.period.get_ref().0;
    if period.as_micros() == 0 {
        return wrong(typed.period.span(), "`period` must be longer than zero");
    }
    Ok(SampleBuffer { period, capacity: typed.capacity })
}

fn cards(typed: Vec<Spanned<typed::Card>>, seed: u64) -> Result<Vec<Card>, Wrong> {
    let mut uuids = HashSet::new();
    let mut cards = Vec::with_capacity(typed.len());
    for (index, spanned) in (0_u32..).zip(typed) {
        let span = spanned.span();
        let card = card(spanned.into_inner(), index, seed)?;
        let instances = card.mig.iter().flat_map(|mig| &mig.instances).map(|i| &i.uuid);
        for uuid in std::iter::once(&card.uuid).chain(instances) {
            if !uuids.insert(uuid.clone()) {
                return wrong(span, format!("two cards have the UUID {uuid}"));
            }
        }
        cards.push(card);
    }
    Ok(cards)
}

fn card(typed: typed::Card, index: u32, seed: u64) -> Result<Card, Wrong> {
    let total = typed.memory.get_ref().0;
    let reserved = typed.reserved.map_or(total / 128, |size| size.0);
    if reserved >= total {
        return wrong(typed.memory.span(), "`memory` must be more than what is `reserved`");
    }
    let power = typed.power.unwrap_or(typed::Power { idle: 58.0, full: 400.0, limit: None });
    let range = |ends: Option<typed::Ends>, idle, full| {
        ends.map_or(Range { idle, full }, |ends| Range { idle: ends.idle, full: ends.full })
    };
    let load = |load: Option<Load>| load.unwrap_or(Load::constant(0.0));
    Ok(Card {
        index,
        minor: typed.minor.unwrap_or(index),
        uuid: typed.uuid.unwrap_or_else(|| made_up_uuid("GPU", seed, u64::from(index))),
        name: typed.name,
        serial: typed.serial.unwrap_or_else(|| format!("13200210{index:05}")),
        pci: pci(typed.bus_id.as_ref(), index)?,
        memory: Memory {
            total,
            reserved,
            unattributed: typed.unattributed.map_or(0, |size| size.0),
            unified: typed.unified_memory,
        },
        utilization: typed.utilization,
        memory_utilization: load(typed.memory_utilization),
        encoder: load(typed.encoder),
        decoder: load(typed.decoder),
        power: Power {
            idle_watts: power.idle,
            full_watts: power.full,
            limit_watts: power.limit.unwrap_or(power.full),
        },
        temperature: range(typed.temperature, 34.0, 66.0),
        sm_clock: range(typed.sm_clock, 210.0, 1410.0),
        memory_clock: range(typed.memory_clock, 1593.0, 1593.0),
        fan: typed.fan,
        persistence: typed.persistence,
        compute_capability: capability(typed.compute_capability.as_ref())?,
        gpm: typed.gpm,
        mig: mig(typed.mig_slots, typed.mig, index, seed)?,
    })
}

/// `DOMAIN:BUS:DEVICE.0` in hexadecimal, as nvidia-smi prints it.
fn pci(typed: Option<&Spanned<String>>, index: u32) -> Result<Pci, Wrong> {
    let Some(typed) = typed else {
        return Ok(Pci { domain: 0, bus: 0x10 + index, device: 0 });
    };
    let hex = |part: Option<&str>| part.and_then(|part| u32::from_str_radix(part, 16).ok());
    let mut parts = typed.get_ref().trim_end_matches(".0").split(':');
    match (hex(parts.next()), hex(parts.next()), hex(parts.next()), parts.next()) {
        (Some(domain), Some(bus), Some(device), None) => Ok(Pci { domain, bus, device }),
        _ => wrong(typed.span(), "`bus_id` must look like 00000000:3B:00.0"),
    }
}

fn capability(typed: Option<&Spanned<String>>) -> Result<(i32, i32), Wrong> {
    let Some(typed) = typed else {
        return Ok((8, 0));
    };
    match two_numbers(typed.get_ref(), '.') {
        Some(pair) => Ok(pair),
        None => wrong(typed.span(), "`compute_capability` must look like \"9.0\""),
    }
}

fn mig(
    slots: Option<u32>,
    typed: Vec<Spanned<typed::Instance>>,
    card: u32,
    seed: u64,
) -> Result<Option<Mig>, Wrong> {
    if slots.is_none() && typed.is_empty() {
        return Ok(None);
    }
    let slots = slots.unwrap_or(7);
    let mut instances: Vec<Instance> = Vec::with_capacity(typed.len());
    for spanned in typed {
        let span = spanned.span();
        let typed = spanned.into_inner();
        if typed.slot >= slots {
            return wrong(span, format!("slot {} is beyond the card's {slots}", typed.slot));
        }
        if instances.iter().any(|other| other.slot == typed.slot) {
            return wrong(span, format!("slot {} is taken twice", typed.slot));
        }
        let place = u64::from(card) << 8 | u64::from(typed.slot) | 1 << 40;
        instances.push(Instance {
            slot: typed.slot,
            uuid: typed.uuid.unwrap_or_else(|| made_up_uuid("MIG", seed, place)),
            profile: typed.profile,
            memory: typed.memory.0,
            gpu_instance: typed.gpu_instance.unwrap_or(typed.slot + 1),
            compute_instance: typed.compute_instance,
            utilization: typed.utilization,
        });
    }
    Ok(Some(Mig { slots, instances }))
}

fn made_up_uuid(prefix: &str, seed: u64, place: u64) -> String {
    let high = noise::mix(seed ^ noise::mix(place));
    let low = noise::mix(high);
    format!(
        "{prefix}-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

fn processes(typed: Vec<Spanned<typed::Process>>, cards: &[Card]) -> Result<Vec<Process>, Wrong> {
    let mut processes = Vec::new();
    let mut users: Vec<String> = Vec::new();
    for spanned in typed {
        let span = spanned.span();
        let typed = spanned.into_inner();
        let owner = owner(&typed, &mut users);
        for card in process_cards(&typed, cards, &span)? {
            processes.push(process(&typed, &cards[card as usize], &owner, &span)?);
        }
    }
    Ok(processes)
}

fn process_cards(
    typed: &typed::Process,
    cards: &[Card],
    span: &Bytes<usize>,
) -> Result<Vec<u32>, Wrong> {
    let refs = match (&typed.card, &typed.cards) {
        (Some(card), None) => vec![card.clone()],
        (None, Some(refs)) if !refs.is_empty() => refs.clone(),
        _ => return wrong(span.clone(), "a process needs either `card` or `cards`"),
    };
    refs.iter().map(|card| find_card(cards, card, span.clone())).collect()
}

fn process(
    typed: &typed::Process,
    card: &Card,
    owner: &Owner,
    span: &Bytes<usize>,
) -> Result<Process, Wrong> {
    if let Some(slot) = typed.slot
        && card.instance(slot).is_none()
    {
        return wrong(span.clone(), format!("card {} has no instance in slot {slot}", card.index));
    }
    let begin = typed.begin.map_or(Moment::ORIGIN, |begin| begin.0);
    if typed.end.is_some_and(|end| end.0 <= begin) {
        return wrong(span.clone(), "a process must end after it begins");
    }
    Ok(Process {
        pid: typed.pid,
        card: card.index,
        slot: typed.slot,
        kinds: typed.kind.as_ref().map_or_else(|| vec![Kind::Compute], |kinds| kinds.0.clone()),
        memory: typed.memory.0,
        sm: typed.sm.clone().unwrap_or(Load::constant(0.0)),
        begin,
        end: typed.end.map(|end| end.0),
        owner: owner.clone(),
    })
}

/// Users without a uid of their own get 1000, 1001, … in the order in which they appear.
fn owner(typed: &typed::Process, users: &mut Vec<String>) -> Owner {
    let uid = typed.uid.unwrap_or_else(|| {
        let Some(name) = typed.user.as_ref().filter(|name| *name != "root") else {
            return 0;
        };
        let place = users.iter().position(|known| known == name).unwrap_or_else(|| {
            users.push(name.clone());
            users.len() - 1
        });
        1000 + u32::try_from(place).unwrap_or(0)
    });
    let program = typed.program.clone().unwrap_or_else(|| "python".into());
    Owner {
        user: typed.user.clone(),
        uid,
        command: typed.command.clone().unwrap_or_else(|| vec![program.clone()]),
        program,
        parent: typed.parent.unwrap_or(1),
        gone: typed.gone,
    }
}

fn find_card(cards: &[Card], wanted: &CardRef, span: Bytes<usize>) -> Result<u32, Wrong> {
    let found = cards.iter().find(|card| match wanted {
        CardRef::Index(index) => card.index == *index,
        CardRef::Uuid(uuid) => card.uuid == *uuid,
    });
    match found {
        Some(card) => Ok(card.index),
        None => wrong(span, format!("there is no card {wanted}; the scenario has {}", cards.len())),
    }
}

fn fault(spanned: Spanned<typed::Fault>, cards: &[Card]) -> Result<Fault, Wrong> {
    let span = spanned.span();
    let typed = spanned.into_inner();
    let effect = match (typed.code, typed.hang, typed.grow) {
        (None, false, None) => None,
        (Some(code), false, None) => Some(Effect::Code(code.0)),
        (None, true, None) => Some(Effect::Hang),
        (None, false, Some(by)) => Some(Effect::Grow(by)),
        _ => return wrong(span, "a fault has one of `code`, `hang` and `grow`"),
    };
    if effect.is_none() && typed.latency.is_none() {
        return wrong(span, "a fault needs `code`, `hang`, `grow` or `latency`");
    }
    Ok(Fault {
        call: WildMatch::new(&typed.call),
        card: struck_card(&typed, cards, &span)?,
        from: typed.from.map(|from| from.0),
        to: typed.to.map(|to| to.0),
        times: typed.times,
        latency: typed.latency.map(|latency| latency.0),
        effect,
    })
}

fn struck_card(
    typed: &typed::Fault,
    cards: &[Card],
    span: &Bytes<usize>,
) -> Result<Option<String>, Wrong> {
    let Some(wanted) = &typed.card else {
        return Ok(None);
    };
    let card = &cards[find_card(cards, wanted, span.clone())? as usize];
    let Some(slot) = typed.slot else {
        return Ok(Some(card.uuid.clone()));
    };
    match card.instance(slot) {
        Some(instance) => Ok(Some(instance.uuid.clone())),
        None => wrong(span.clone(), format!("card {} has no instance in slot {slot}", card.index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
