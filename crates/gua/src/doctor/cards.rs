//! The cards: how much of each can be read.

use probe::card::MemorySource;
use probe::{Basis, CardLook, Why};
use serde::{Serialize, Serializer};

use super::finding::{CardPlace, Entry, Finding, Verdict};
use crate::render::words::card_name;

/// Without these, gua cannot classify a card fully.
const ESSENTIAL: [Quantity; 4] =
    [Quantity::Utilization, Quantity::Memory, Quantity::Holders, Quantity::ProcessMemory];

/// With more exceptions than this, the readable quantities are listed instead.
const FEW: usize = 4;

/// Most data center cards have none.
const NO_FAN: (Quantity, Why) = (Quantity::Fan, Why::NotSupported);

/// Quantities of one card that can be read, and those that cannot.
#[derive(Debug, Serialize)]
pub(super) struct CardReport {
    #[serde(flatten)]
    pub place: CardPlace,
    pub uuid: Option<String>,
    pub name: Option<String>,
    pub readable: Vec<Quantity>,
    #[serde(serialize_with = "as_slugs")]
    pub unreadable: Vec<(Quantity, Why)>,
    /// No process was on the card to try them on.
    pub untried: Vec<Quantity>,
    /// True if the utilization is only that of the last moment.
    pub utilization_is_instant: bool,
    /// True if the memory is the host's, as the card has none of its own.
    pub shares_host_memory: bool,
}

/// One thing that a card can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Utilization,
    Memory,
    Holders,
    ProcessMemory,
    ProcessSm,
    Power,
    Energy,
    Temperature,
    SmClock,
    MemoryClock,
    Encoder,
    Decoder,
    Fan,
}

/// The word of a driver's code leaves out its number here.
fn as_slugs<S: Serializer>(reasons: &[(Quantity, Why)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(reasons.iter().map(|(quantity, why)| (quantity, why.slug())))
}

/// Sorts the readings of each card.
pub(super) fn report(looks: &[CardLook]) -> Vec<CardReport> {
    looks.iter().map(report_card).collect()
}

fn report_card(CardLook { facts, vitals }: &CardLook) -> CardReport {
    let work = vitals.utilization.known();
    let memory = vitals.memory.known();
    let mut report = CardReport {
        place: CardPlace { index: facts.index, mig_slot: facts.slot() },
        uuid: facts.uuid.clone().known(),
        name: facts.name.clone().known(),
        readable: Vec::new(),
        unreadable: Vec::new(),
        untried: Vec::new(),
        utilization_is_instant: work.is_some_and(|work| work.basis == Basis::Instant),
        shares_host_memory: memory.is_some_and(|memory| memory.source == MemorySource::System),
    };
    let holders = &vitals.holders;
    // Both are `None` without a process. One process without a figure leaves a doubt about
    // memory; one with a figure shows that the driver measures work.
    let memory = holders.seen.iter().map(|holder| holder.memory.why()).max_by_key(Option::is_some);
    let sm = holders.seen.iter().map(|holder| holder.sm.why()).min_by_key(Option::is_some);
    let reasons = [
        (Quantity::Utilization, Some(vitals.utilization.why())),
        (Quantity::Memory, Some(vitals.memory.why())),
        (Quantity::Holders, Some(holders.unread)),
        (Quantity::ProcessMemory, memory),
        (Quantity::ProcessSm, sm),
        (Quantity::Power, Some(vitals.power.why())),
        (Quantity::Energy, Some(vitals.energy.why())),
        (Quantity::Temperature, Some(vitals.temperature.why())),
        (Quantity::SmClock, Some(vitals.sm_clock.why())),
        (Quantity::MemoryClock, Some(vitals.memory_clock.why())),
        (Quantity::Encoder, Some(vitals.encoder.why())),
        (Quantity::Decoder, Some(vitals.decoder.why())),
        (Quantity::Fan, Some(vitals.fan.why())),
    ];
    for (quantity, reason) in reasons {
        match reason {
            Some(None) => report.readable.push(quantity),
            Some(Some(why)) => report.unreadable.push((quantity, why)),
            None => report.untried.push(quantity),
        }
    }
    report
}

/// Returns one finding per card. An unreadable card is an error only if all of them are.
pub(super) fn judge(cards: &[CardReport]) -> Vec<Entry> {
    let none_readable = cards.iter().all(|card| card.readable.is_empty());
    let entry = |card: &CardReport| Entry::of_card(card.place, judge_card(card, none_readable));
    cards.iter().map(entry).collect()
}

fn judge_card(card: &CardReport, none_readable: bool) -> Finding {
    let named = |detail: String| match &card.name {
        Some(name) => format!("{}: {detail}", card_name(name)),
        None => detail,
    };
    if card.readable.is_empty() {
        let why = card.unreadable.first().map_or(Why::NotTold, |(_, why)| *why);
        let verdict = if none_readable { Verdict::Error } else { Verdict::Warning };
        let step = remedy(card, Quantity::Utilization, why);
        return Finding::new(verdict, named(format!("nothing can be read: {why}"))).next(step);
    }
    let detail = named(readability(card));
    // A card may lack a fan and the like, but what it has should be readable.
    let is_trouble = |(quantity, why): &&(Quantity, Why)| {
        *why != Why::NotSupported || ESSENTIAL.contains(quantity)
    };
    match card.unreadable.iter().find(is_trouble) {
        None => Finding::ok(detail),
        Some((quantity, why)) => Finding::warning(detail).next(remedy(card, *quantity, *why)),
    }
}

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

/// Returns what cannot be read, grouped by reason.
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
    use probe::Reading;
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

    fn judged_alone(look: &CardLook) -> Finding {
        judge(&report(std::slice::from_ref(look))).remove(0).finding
    }

    fn judged(look: &CardLook) -> Finding {
        judge(&report(&[look.clone(), self::look()])).remove(0).finding
    }

    #[test]
    fn a_card_that_tells_all_is_ok() {
        let finding = judged(&look());
        assert_eq!((finding.verdict, finding.next_step), (Verdict::Ok, None));
        assert_eq!(finding.detail, "T4: everything can be read");
        let place = judge(&report(&[look()])).remove(0).card;
        assert_eq!(place, Some(CardPlace { index: 2, mig_slot: None }));
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
        let alone = judged_alone(&lost);
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
        let with = |seen| report_card(&changed(|v| v.holders = Holders { seen, unread: None }));
        let empty = with(Vec::new());
        assert_eq!(empty.untried, [Quantity::ProcessMemory, Quantity::ProcessSm]);
        let card = with(vec![
            holder(known, unsupported),
            holder(Reading::Unknown(Why::NotTold), Reading::Known(Percent(4.0))),
        ]);
        assert_eq!(card.unreadable, [(Quantity::ProcessMemory, Why::NotTold)]);
        assert!(card.readable.contains(&Quantity::ProcessSm));
        assert_eq!(judge(&[card])[0].finding.verdict, Verdict::Warning);
        let unmeasured = with(vec![holder(known, unsupported)]);
        assert_eq!(unmeasured.unreadable, [(Quantity::ProcessSm, Why::NotSupported)]);
        assert_eq!(judge(&[unmeasured])[0].finding.verdict, Verdict::Ok);
    }

    #[test]
    fn where_little_is_told_the_little_is_listed() {
        let mut card = report_card(&changed(|v| {
            let (memory, holders) = (v.memory, v.holders.clone());
            *v = Vitals { memory, holders, ..Vitals::unknown(Why::NotSupported) };
        }));
        card.place.mig_slot = Some(4);
        let finding = &judge(&[card])[0].finding;
        assert_eq!(finding.verdict, Verdict::Warning);
        let expected = "T4: only memory, holders can be read, not utilization, power, energy, \
                        temperature, SM clock, memory clock, encoder, decoder (not supported); no fan";
        assert_eq!(finding.detail, expected);
        assert!(finding.next_step.as_ref().unwrap().contains("Hopper"));
    }
}
