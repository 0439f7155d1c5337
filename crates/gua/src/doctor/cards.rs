//! What can and cannot be read of each card.

use probe::card::MemorySource;
use probe::{Basis, CardLook, Reading, Why};

use super::report::{CardReport, Check, Finding, Place, Quantity, Verdict};
use crate::render::words::card_name;

/// Without these a card cannot be judged as it should.
const ESSENTIAL: [Quantity; 4] =
    [Quantity::Utilization, Quantity::Memory, Quantity::Holders, Quantity::ProcessMemory];

/// Up to so many exceptions, the rest is called everything.
const FEW: usize = 4;

/// Whether a quantity could be read.
enum Tried {
    Read,
    Not(Why),
    /// No process was there to try it on.
    NoProcess,
}

impl Tried {
    fn of<T>(reading: &Reading<T>) -> Self {
        reading.why().map_or(Self::Read, Self::Not)
    }
}

/// Sorts what one look brought.
pub(super) fn report(look: &CardLook) -> CardReport {
    let CardLook { facts, vitals } = look;
    let work = vitals.utilization.known();
    let memory = vitals.memory.known();
    let mut report = CardReport {
        place: Place { index: facts.index, mig_slot: facts.slot() },
        uuid: facts.uuid.clone().known(),
        name: facts.name.clone().known(),
        readable: Vec::new(),
        unreadable: Vec::new(),
        untried: Vec::new(),
        utilization_is_instant: work.is_some_and(|work| work.basis == Basis::Instant),
        shares_host_memory: memory.is_some_and(|memory| memory.source == MemorySource::System),
    };
    for (quantity, tried) in tried(look) {
        match tried {
            Tried::Read => report.readable.push(quantity),
            Tried::Not(why) => report.unreadable.push((quantity, why)),
            Tried::NoProcess => report.untried.push(quantity),
        }
    }
    report
}

fn tried(look: &CardLook) -> [(Quantity, Tried); 13] {
    let vitals = &look.vitals;
    let holders = &vitals.holders;
    // One process without a figure leaves a doubt about memory; one with a figure shows
    // that the driver measures work.
    let memory = holders.seen.iter().map(|holder| holder.memory.why()).max_by_key(Option::is_some);
    let sm = holders.seen.iter().map(|holder| holder.sm.why()).min_by_key(Option::is_some);
    let of_processes = |why: Option<Option<Why>>| match why {
        None => Tried::NoProcess,
        Some(None) => Tried::Read,
        Some(Some(why)) => Tried::Not(why),
    };
    [
        (Quantity::Utilization, Tried::of(&vitals.utilization)),
        (Quantity::Memory, Tried::of(&vitals.memory)),
        (Quantity::Holders, holders.unread.map_or(Tried::Read, Tried::Not)),
        (Quantity::ProcessMemory, of_processes(memory)),
        (Quantity::ProcessSm, of_processes(sm)),
        (Quantity::Power, Tried::of(&vitals.power)),
        (Quantity::Energy, Tried::of(&vitals.energy)),
        (Quantity::Temperature, Tried::of(&vitals.temperature)),
        (Quantity::SmClock, Tried::of(&vitals.sm_clock)),
        (Quantity::MemoryClock, Tried::of(&vitals.memory_clock)),
        (Quantity::Encoder, Tried::of(&vitals.encoder)),
        (Quantity::Decoder, Tried::of(&vitals.decoder)),
        (Quantity::Fan, Tried::of(&vitals.fan)),
    ]
}

/// One finding a card. One that cannot be read at all is an error only where none can.
pub(super) fn judge(cards: &[CardReport]) -> Vec<Finding> {
    let none_readable = cards.iter().all(|card| card.readable.is_empty());
    cards.iter().map(|card| judge_card(card, none_readable).of_card(card.place)).collect()
}

fn judge_card(card: &CardReport, none_readable: bool) -> Finding {
    let named = |detail: String| match &card.name {
        Some(name) => format!("{}: {detail}", card_name(name)),
        None => detail,
    };
    if card.readable.is_empty() {
        let why = card.unreadable.first().map_or(Why::NotTold, |(_, why)| *why);
        let verdict = if none_readable { Verdict::Error } else { Verdict::Warning };
        return Finding::new(Check::Card, verdict, named(format!("nothing can be read: {why}")))
            .next(remedy(card, Quantity::Utilization, why));
    }
    let detail = named(readability(card));
    let trouble = card.unreadable.iter().find(|(quantity, why)| is_trouble(*quantity, *why));
    match trouble {
        None => Finding::new(Check::Card, Verdict::Ok, detail),
        Some((quantity, why)) => {
            Finding::new(Check::Card, Verdict::Warning, detail).next(remedy(card, *quantity, *why))
        }
    }
}

/// Cards lack this or that, such as a fan; but whatever they have should be readable.
fn is_trouble(quantity: Quantity, why: Why) -> bool {
    why != Why::NotSupported || ESSENTIAL.contains(&quantity)
}

/// Most cards of data centres have none.
const NO_FAN: (Quantity, Why) = (Quantity::Fan, Why::NotSupported);

fn readability(card: &CardReport) -> String {
    let missing: Vec<_> = card.unreadable.iter().filter(|missing| **missing != NO_FAN).collect();
    let mut text = match missing.len() {
        0 => "everything can be read".to_owned(),
        1..=FEW => format!("everything can be read but {}", by_reason(&missing)),
        _ => {
            let readable: Vec<_> = card.readable.iter().map(|quantity| word(*quantity)).collect();
            format!("only {} can be read, not {}", readable.join(", "), by_reason(&missing))
        }
    };
    if missing.len() < card.unreadable.len() {
        text.push_str("; no fan");
    }
    if card.utilization_is_instant {
        text.push_str("; utilization only of the last moment: the driver gave no samples");
    }
    if card.shares_host_memory {
        text.push_str("; it shares the host's memory");
    }
    text
}

/// What cannot be read, each reason once.
fn by_reason(missing: &[&(Quantity, Why)]) -> String {
    let mut groups: Vec<(Why, Vec<&str>)> = Vec::new();
    for (quantity, why) in missing {
        match groups.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, words)) => words.push(word(*quantity)),
            None => groups.push((*why, vec![word(*quantity)])),
        }
    }
    let groups = groups.iter().map(|(why, words)| format!("{} ({why})", words.join(", ")));
    groups.collect::<Vec<_>>().join("; ")
}

const fn word(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Utilization => "utilization",
        Quantity::Memory => "memory",
        Quantity::Holders => "holders",
        Quantity::ProcessMemory => "memory per process",
        Quantity::ProcessSm => "SM share per process",
        Quantity::Power => "power",
        Quantity::Energy => "energy",
        Quantity::Temperature => "temperature",
        Quantity::SmClock => "SM clock",
        Quantity::MemoryClock => "memory clock",
        Quantity::Encoder => "encoder",
        Quantity::Decoder => "decoder",
        Quantity::Fan => "fan",
    }
}

fn remedy(card: &CardReport, quantity: Quantity, why: Why) -> String {
    let index = card.place.index;
    let step = match (why, quantity) {
        (Why::Lost | Why::NeedsReset, _) => {
            return format!(
                "See `dmesg | grep -i xid`; `nvidia-smi --gpu-reset -i {index}` or a reboot may \
                 bring it back."
            );
        }
        (Why::TimedOut, _) => "It hangs or is very slow: see `dmesg | grep -i xid`.",
        (Why::NoTurn, _) => "Other cards hang or are very slow: mend those first.",
        (Why::NoPermission, _) => "If `sudo gua doctor` can read it, run gua as root.",
        (Why::DriverGone, _) => "The driver was unloaded or replaced: run `gua doctor` again.",
        (Why::NotSupported, Quantity::Utilization) if card.place.mig_slot.is_some() => {
            "Cards before Hopper (H100) do not measure MIG instances: while a process holds \
             one, busy or idle stays unknown."
        }
        (Why::NotSupported, Quantity::Utilization) => {
            "This card does not tell it: while a process holds it, busy or idle stays unknown."
        }
        (_, Quantity::ProcessMemory) => {
            "Nothing to set: the used memory of the card decides whether it is held."
        }
        _ => "See `dmesg | grep -i nvrm` for the driver's own words.",
    };
    step.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::units::{Bytes, Celsius, Megahertz, Millijoules, Milliwatts, Percent};
    use probe::{CardFacts, Holder, Holders, Kinds, MemoryUse, Utilization, Vitals};
    use std::sync::Arc;

    fn look() -> CardLook {
        let facts = CardFacts {
            uuid: Reading::Known("GPU-1".into()),
            name: Reading::Known("NVIDIA T4".into()),
            ..CardFacts::unread(2, Why::NotAsked)
        };
        let memory = MemoryUse {
            total: Bytes(16),
            used: Bytes(1),
            free: Bytes(15),
            reserved: Reading::Known(Bytes(0)),
            source: MemorySource::Card,
        };
        let covers = std::time::Duration::from_secs(5);
        let basis = Basis::Samples { count: 30, covers };
        let vitals = Vitals {
            utilization: Reading::Known(Utilization { percent: Percent(3.0), basis }),
            memory: Reading::Known(memory),
            power: Reading::Known(Milliwatts(1)),
            energy: Reading::Known(Millijoules(1)),
            temperature: Reading::Known(Celsius(30)),
            sm_clock: Reading::Known(Megahertz(1)),
            memory_clock: Reading::Known(Megahertz(1)),
            encoder: Reading::Known(Percent(0.0)),
            decoder: Reading::Known(Percent(0.0)),
            fan: Reading::Known(Percent(30.0)),
            holders: Holders { seen: Vec::new(), unread: None },
            ..Vitals::unknown(Why::NotAsked)
        };
        CardLook { facts: Arc::new(facts), vitals }
    }

    fn changed(change: impl FnOnce(&mut Vitals)) -> CardLook {
        let mut look = look();
        change(&mut look.vitals);
        look
    }

    fn judged(look: &CardLook) -> Finding {
        judge(&[report(look), report(&self::look())]).remove(0)
    }

    #[test]
    fn a_card_that_tells_all_is_ok() {
        let finding = judged(&look());
        assert_eq!((finding.verdict, finding.next_step), (Verdict::Ok, None));
        assert_eq!(finding.detail, "T4: everything can be read");
        assert_eq!(finding.card, Some(Place { index: 2, mig_slot: None }));
    }

    #[test]
    fn a_missing_fan_is_normal_and_said() {
        let finding = judged(&changed(|v| v.fan = Reading::Unknown(Why::NotSupported)));
        assert_eq!(finding.verdict, Verdict::Ok);
        assert_eq!(finding.detail, "T4: everything can be read; no fan");
    }

    #[test]
    fn a_denied_list_is_a_warning_with_what_else_is_missing() {
        let finding = judged(&changed(|v| {
            v.holders = Holders::unread(Why::NoPermission);
            v.fan = Reading::Unknown(Why::NotSupported);
            v.energy = Reading::Unknown(Why::NotSupported);
        }));
        assert_eq!(finding.verdict, Verdict::Warning);
        let expected = "T4: everything can be read but holders (no permission); energy \
                        (not supported); no fan";
        assert_eq!(finding.detail, expected);
        assert!(finding.next_step.unwrap().contains("sudo gua doctor"));
    }

    #[test]
    fn what_is_not_essential_may_lack_support_but_not_fail() {
        let with = |why| judged(&changed(|v| v.power = Reading::Unknown(why))).verdict;
        assert_eq!(with(Why::NotSupported), Verdict::Ok);
        assert_eq!(with(Why::NoPermission), Verdict::Warning);
        assert_eq!(with(Why::Code(999)), Verdict::Warning);
    }

    #[test]
    fn a_lost_card_is_an_error_only_when_it_is_all_there_is() {
        let lost = CardLook {
            facts: Arc::new(CardFacts::unread(0, Why::Lost)),
            vitals: Vitals::unknown(Why::Lost),
        };
        assert_eq!(judged(&lost).verdict, Verdict::Warning);
        let alone = judge(&[report(&lost)]).remove(0);
        assert_eq!(alone.verdict, Verdict::Error);
        assert_eq!(alone.detail, "nothing can be read: lost from the bus");
        assert!(alone.next_step.unwrap().contains("--gpu-reset -i 0"));
    }

    #[test]
    fn an_instant_figure_and_borrowed_memory_are_said() {
        let finding = judged(&changed(|v| {
            v.utilization = v.utilization.map(|u| Utilization { basis: Basis::Instant, ..u });
            v.memory = v.memory.map(|m| MemoryUse { source: MemorySource::System, ..m });
        }));
        assert_eq!(finding.verdict, Verdict::Ok);
        assert!(finding.detail.contains("only of the last moment"), "{}", finding.detail);
        assert!(finding.detail.ends_with("it shares the host's memory"), "{}", finding.detail);
    }

    #[test]
    fn processes_show_what_is_told_of_them() {
        let holder = |memory, sm| Holder {
            pid: 1,
            kinds: Kinds::COMPUTE,
            memory,
            sm,
            engines: Reading::Unknown(Why::NotAsked),
        };
        let known = Reading::Known(Bytes(1));
        let unsupported = Reading::Unknown(Why::NotSupported);
        let with = |seen| report(&changed(|v| v.holders = Holders { seen, unread: None }));
        let empty = with(Vec::new());
        assert_eq!(empty.untried, [Quantity::ProcessMemory, Quantity::ProcessSm]);
        let card = with(vec![
            holder(known, unsupported),
            holder(Reading::Unknown(Why::NotTold), Reading::Known(Percent(4.0))),
        ]);
        assert_eq!(card.unreadable, [(Quantity::ProcessMemory, Why::NotTold)]);
        assert!(card.readable.contains(&Quantity::ProcessSm));
        assert_eq!(judge(&[card])[0].verdict, Verdict::Warning);
        let unmeasured = with(vec![holder(known, unsupported)]);
        assert_eq!(unmeasured.unreadable, [(Quantity::ProcessSm, Why::NotSupported)]);
        assert_eq!(judge(&[unmeasured])[0].verdict, Verdict::Ok);
    }

    #[test]
    fn where_little_is_told_the_little_is_listed() {
        let mut card = report(&changed(|v| {
            let (memory, holders) = (v.memory, v.holders.clone());
            *v = Vitals { memory, holders, ..Vitals::unknown(Why::NotSupported) };
        }));
        card.place.mig_slot = Some(4);
        let finding = &judge(&[card])[0];
        assert_eq!(finding.verdict, Verdict::Warning);
        let expected = "T4: only memory, holders can be read, not utilization, power, energy, \
                        temperature, SM clock, memory clock, encoder, decoder (not supported); no fan";
        assert_eq!(finding.detail, expected);
        assert!(finding.next_step.as_ref().unwrap().contains("Hopper"));
    }
}
