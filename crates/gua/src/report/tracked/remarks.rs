//! What the figures mean, in plain words.

use probe::Why;
use serde::Serialize;
use track::Usage;
use track::usage::NoGpu;

use super::answer::{Load, Tracked};
use super::asked::Source;
use super::ending::Ending;
use super::gpu::Gpu;

/// From this share of the memory on, it was tight.
const TIGHT: f64 = 0.9;
/// From this share of the cores on, all of them were busy.
const ALL_BUSY_PERCENT: f64 = 90.0;
/// A thread that never waits, as sampled.
const ONE_CORE: std::ops::RangeInclusive<f64> = 90.0..=110.0;
const ONE_CORE_MOST: f64 = 115.0;
/// So many times more than is suggested are busy for a moment: far above.
const FAR_ABOVE: f64 = 2.0;
/// A card that works less on the average hardly works. It is the line of `gua stat` as well.
const HARDLY_PERCENT: f64 = 10.0;
/// A shorter run says nothing of how a card is fed.
const WORTH_A_WORD_SECONDS: f64 = 10.0;
/// What a driver keeps for itself is less.
const SOMEBODY_ELSE_BYTES: u64 = 1 << 30;

/// What is worth a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// A stable word.
    pub rule: Rule,
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    TooShort,
    Failed,
    CutShort,
    OutOfMemory,
    TightMemory,
    RamLowerBound,
    CpuLowerBound,
    SingleThreaded,
    AllCoresBusy,
    CpuBursts,
    LimitsUnknown,
    CardHardlyWorked,
    CardNotHeld,
    CardShared,
    GpuUnknown,
    GpuPartlyRead,
    CardLost,
    ProcessesHidden,
    ProcessesMissed,
    ProcessesLeft,
    ProcessesKilled,
}

/// What is worth a word of an answer that has all of its figures.
pub(super) fn remarks(tracked: &Tracked, usage: &Usage) -> Vec<Remark> {
    let told = [
        ended(tracked),
        memory(tracked),
        ram_lower_bound(tracked),
        cpu_lower_bound(tracked),
        cpu(tracked),
        bursts(tracked),
        limits_unknown(tracked, usage),
        gpu_unknown(tracked, usage),
        tracked.gpu.as_ref().and_then(partly_read),
        tracked.gpu.as_ref().and_then(lost),
        tracked.gpu.as_ref().and_then(|gpu| cards(gpu, tracked)),
        tracked.gpu.as_ref().and_then(shared),
        hidden(tracked),
        missed(tracked),
        left_running(tracked),
        killed(tracked),
    ];
    let told = told.into_iter().flatten();
    told.map(|(rule, sentence)| Remark { rule, sentence }).collect()
}

type Told = Option<(Rule, String)>;

fn is_too_short(tracked: &Tracked) -> bool {
    tracked.suggestion.cores.is_none()
}

fn ended(tracked: &Tracked) -> Told {
    if is_too_short(tracked) {
        let sentence = "It was too short to tell what to ask for: less than a second.";
        return Some((Rule::TooShort, sentence.to_owned()));
    }
    match tracked.ending {
        Ending::Exited { code: 0 } | Ending::Gone => None,
        Ending::Exited { code } => Some((
            Rule::Failed,
            format!("It failed with {code}: a run that succeeds may need more than this."),
        )),
        Ending::Killed { .. } if is_out_of_memory(tracked) => None,
        Ending::Killed { .. } => Some((
            Rule::CutShort,
            "It was cut short: a whole run may need more than this.".to_owned(),
        )),
        Ending::GoesOn => {
            Some((Rule::CutShort, "It goes on: by its end it may need more than this.".to_owned()))
        }
    }
}

/// How much of the memory it was allowed was used at most.
fn memory_share(tracked: &Tracked) -> Option<f64> {
    let most = tracked.asked.ram_bytes.filter(|bytes| *bytes > 0)?;
    let peak = tracked.ram.peak.combined.total_bytes;
    #[expect(clippy::cast_precision_loss, reason = "whole percents are shown")]
    Some(peak as f64 / most as f64)
}

fn is_out_of_memory(tracked: &Tracked) -> bool {
    let is_killed = matches!(tracked.ending, Ending::Killed { signal: 9, .. });
    is_killed && memory_share(tracked).is_some_and(|share| share >= TIGHT)
}

fn memory(tracked: &Tracked) -> Told {
    let share = memory_share(tracked).filter(|share| *share >= TIGHT)?;
    let of = match tracked.asked.ram_source {
        Source::Option | Source::Slurm => "of the memory that was asked for",
        Source::Cgroup => "of the memory that it was allowed",
        Source::Machine => "of the machine's memory",
    };
    let share = format!("{:.0} % {of}", share * 100.0);
    Some(if is_out_of_memory(tracked) {
        let sentence =
            format!("It was killed at {share}: it probably ran out of memory. Ask for more.");
        (Rule::OutOfMemory, sentence)
    } else {
        (Rule::TightMemory, format!("Its RAM was tight: {share}."))
    })
}

/// Processes that were not followed have a remark of their own.
fn ram_lower_bound(tracked: &Tracked) -> Told {
    tracked.ram.at_most_bytes?;
    let sentence = "Its RAM was at least this: memory that processes share was copied, or came and \
                    went, between two looks. Ask for what it can have been at most.";
    Some((Rule::RamLowerBound, sentence.to_owned()))
}

fn cpu_lower_bound(tracked: &Tracked) -> Told {
    let sentence = "Its CPU time was at least this: processes may have ended without an account, as \
                    children of a program that ignores SIGCHLD do.";
    tracked.cpu.is_lower_bound.then(|| (Rule::CpuLowerBound, sentence.to_owned()))
}

fn cpu(tracked: &Tracked) -> Told {
    let cores = tracked.asked.cores;
    let Load { max, mean } = tracked.cpu.percent.combined;
    if is_too_short(tracked) || cores < 1.5 {
        return None;
    }
    if ONE_CORE.contains(&mean) && max <= ONE_CORE_MOST {
        let sentence = "It kept one core busy all the time and no other: more cores do not help \
                        it as it is.";
        return Some((Rule::SingleThreaded, sentence.to_owned()));
    }
    (tracked.cpu.of_asked_percent.mean >= ALL_BUSY_PERCENT).then(|| {
        let sentence = format!("It kept all {cores} cores busy: more may make it faster.");
        (Rule::AllCoresBusy, sentence)
    })
}

fn bursts(tracked: &Tracked) -> Told {
    let suggested = tracked.suggestion.cores?;
    let max = tracked.cpu.percent.combined.max;
    (max >= f64::from(suggested) * 100.0 * FAR_ABOVE).then(|| {
        let sentence = format!(
            "For moments it used up to {:.1} cores: with fewer, those take longer.",
            max / 100.0
        );
        (Rule::CpuBursts, sentence)
    })
}

/// Of a run that was too short nothing is compared with what it was allowed.
fn limits_unknown(tracked: &Tracked, usage: &Usage) -> Told {
    let limits = &usage.machine.limits;
    let why = limits.ram.why().or(limits.cores.why())?;
    (why != Why::NotAsked && !is_too_short(tracked)).then(|| {
        let sentence = format!(
            "What its container or job allows it is unknown ({why}): it may be less than the \
             machine has."
        );
        (Rule::LimitsUnknown, sentence)
    })
}

fn gpu_unknown(tracked: &Tracked, usage: &Usage) -> Told {
    match &usage.gpu {
        Ok(_) => {
            let gpu = tracked.gpu.as_ref()?;
            let why = gpu.unknown.why("memory_peak_bytes.combined")?;
            Some((Rule::GpuUnknown, format!("What it held of the cards is unknown: {why}.")))
        }
        Err(NoGpu::NotAsked) => None,
        Err(NoGpu::NoDriver(_) | NoGpu::NotInTime) => {
            let error = tracked.gpu_error.as_deref()?;
            Some((Rule::GpuUnknown, format!("Nothing is known of the GPUs: {error}.")))
        }
    }
}

/// Where nothing at all is known, that was said.
fn partly_read(gpu: &Gpu) -> Told {
    if gpu.unread_looks == 0 || gpu.unknown.why("memory_peak_bytes.combined").is_some() {
        return None;
    }
    let sentence = format!(
        "Who held the cards could not be read in {} of {} looks: it may have held more.",
        gpu.unread_looks, gpu.looks
    );
    Some((Rule::GpuPartlyRead, sentence))
}

/// A card that was not asked about is nobody's matter here.
fn lost(gpu: &Gpu) -> Told {
    let lost = gpu.cards.iter().filter(|card| card.is_chosen);
    let lost: Vec<_> = lost.filter_map(|card| Some((card.index, card.lost?))).collect();
    let (_, why) = *lost.first()?;
    let names: Vec<_> = lost.iter().map(|(index, _)| index.to_string()).collect();
    let sentence = match names.as_slice() {
        [one] => format!("Card {one} is in no figure: {why} all the while."),
        several => format!("Cards {} are in no figure: {why} all the while.", several.join(", ")),
    };
    Some((Rule::CardLost, sentence))
}

fn cards(gpu: &Gpu, tracked: &Tracked) -> Told {
    if is_too_short(tracked) || !gpu.is_told() || gpu.cards.is_empty() {
        return None;
    }
    let held: Vec<_> = gpu.held().collect();
    if held.is_empty() {
        let asked = !matches!(tracked.asked.gpus_source, Source::Machine);
        return asked.then(|| (Rule::CardNotHeld, "It never held a card that it had.".to_owned()));
    }
    if tracked.wall_seconds < WORTH_A_WORD_SECONDS {
        return None;
    }
    let mean = match gpu.own_utilization_percent {
        #[expect(clippy::cast_precision_loss, reason = "a host has a few cards")]
        Some(own) => own.mean / held.len() as f64,
        None => mean(held.iter().filter_map(|card| card.utilization_percent))?,
    };
    let (card, them) = match held.as_slice() {
        [one] => (format!("Card {}", one.index), "it"),
        several => (format!("Its {} cards", several.len()), "them"),
    };
    (mean < HARDLY_PERCENT).then(|| {
        let sentence = format!(
            "{card} hardly worked, {mean:.1} % on the average: is it the data loader that keeps \
             {them} waiting?"
        );
        (Rule::CardHardlyWorked, sentence)
    })
}

fn mean(loads: impl Iterator<Item = Load>) -> Option<f64> {
    let (sum, count) = loads.fold((0.0, 0.0), |(sum, count), load| (sum + load.mean, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Whose work a card did is only in doubt where the driver does not tell it apart.
fn shared(gpu: &Gpu) -> Told {
    let own = gpu.memory_peak_bytes.combined.filter(|bytes| *bytes > 0)?;
    let others = gpu.system_memory_peak_bytes?.saturating_sub(own);
    let there = gpu.cards.iter().filter(|card| card.lost.is_none()).count();
    let is_on_all = gpu.held().count() == there;
    let is_told_apart = gpu.own_utilization_percent.is_some();
    (is_on_all && !is_told_apart && others > SOMEBODY_ELSE_BYTES).then(|| {
        let sentence = "Others held memory of the cards too: the work of the cards may be theirs.";
        (Rule::CardShared, sentence.to_owned())
    })
}

/// Counters of memory may be read by everybody, maps of it by their owner only.
fn hidden(tracked: &Tracked) -> Told {
    let (who, whose) = match tracked.processes.hidden {
        0 => return None,
        1 => ("one process of another user".to_owned(), "its"),
        several => (format!("{several} processes of other users"), "their"),
    };
    let sentence = format!(
        "The memory maps of {who} may not be read: {whose} RAM is counted, but how much of it is \
         shared is a guess."
    );
    Some((Rule::ProcessesHidden, sentence))
}

fn missed(tracked: &Tracked) -> Told {
    let who = match tracked.processes.missed {
        0 => return None,
        1 => "One process that it started".to_owned(),
        several => format!("{several} processes that it started"),
    };
    let sentence = format!(
        "{who} could not be followed, as gua may hold too few files (`ulimit -n`): the peaks of \
         RAM are without that."
    );
    Some((Rule::ProcessesMissed, sentence))
}

fn killed(tracked: &Tracked) -> Told {
    let who = match tracked.processes.killed {
        0 => return None,
        1 => "One process that it started".to_owned(),
        several => format!("{several} processes that it started"),
    };
    Some((Rule::ProcessesKilled, format!("{who} did not end when asked to, and had to be killed.")))
}

/// Of one that goes on itself, that is no news.
fn left_running(tracked: &Tracked) -> Told {
    let left = tracked.processes.left_running;
    let sentence = match if tracked.ending == Ending::GoesOn { 0 } else { left } {
        0 => return None,
        1 => "One process that it started goes on: what it uses from here on is not counted."
            .to_owned(),
        several => format!(
            "{several} processes that it started go on: what they use from here on is not counted."
        ),
    };
    Some((Rule::ProcessesLeft, sentence))
}

#[cfg(test)]
mod tests {
    use super::super::{examples, tracked};
    use super::*;
    use track::usage::Limits;

    /// The sentences on processes, of which there are so many of each kind.
    fn sentences(count: u32) -> Vec<String> {
        let mut measured = examples::left_running();
        measured.killed = count;
        measured.usage.processes.left_running = count;
        measured.usage.processes.hidden = count;
        let told = tracked(&measured).remarks.into_iter();
        let rules = [Rule::ProcessesHidden, Rule::ProcessesLeft, Rule::ProcessesKilled];
        told.filter(|told| rules.contains(&told.rule)).map(|told| told.sentence).collect()
    }

    /// Regression: no GPU was suggested by what a part of the run had shown.
    #[test]
    fn looks_that_could_not_be_read_are_no_looks() {
        let with = |unread_looks| {
            let mut measured = examples::training();
            let gpu = measured.usage.gpu.as_mut().unwrap();
            gpu.unread_looks = unread_looks;
            let tracked = tracked(&measured);
            let rules = tracked.remarks.iter().map(|remark| remark.rule);
            let is_said = rules.into_iter().any(|rule| rule == Rule::GpuPartlyRead);
            (is_said, tracked.suggestion.gpus, tracked.suggestion.gpu_memory_bytes.is_some())
        };
        assert_eq!(with(0), (false, Some(1), true));
        assert_eq!(with(538), (true, Some(1), true));
        assert_eq!(with(539), (true, None, false));
        assert_eq!(with(u64::MAX), (true, None, false));
    }

    /// Trap: a limit that could not be read was told as all that the machine has.
    #[test]
    fn a_limit_that_could_not_be_read_is_not_the_machine() {
        let mut measured = examples::without_gpu();
        assert!(tracked(&measured).asked.ram_bytes.is_some());
        measured.usage.machine.limits = Limits::unknown(Why::Garbled);
        let told = tracked(&measured);
        assert_eq!(told.asked.ram_bytes, None);
        let unknown = told.remarks.iter().find(|remark| remark.rule == Rule::LimitsUnknown);
        insta::assert_snapshot!(unknown.unwrap().sentence, @"What its container or job allows it is unknown (unreadable): it may be less than the machine has.");
    }

    #[test]
    fn one_process_is_not_several() {
        assert_eq!(sentences(0), [""; 0]);
        insta::assert_snapshot!(sentences(1).join("\n"), @r"
        The memory maps of one process of another user may not be read: its RAM is counted, but how much of it is shared is a guess.
        One process that it started goes on: what it uses from here on is not counted.
        One process that it started did not end when asked to, and had to be killed.
        ");
        insta::assert_snapshot!(sentences(2).join("\n"), @r"
        The memory maps of 2 processes of other users may not be read: their RAM is counted, but how much of it is shared is a guess.
        2 processes that it started go on: what they use from here on is not counted.
        2 processes that it started did not end when asked to, and had to be killed.
        ");
    }
}
