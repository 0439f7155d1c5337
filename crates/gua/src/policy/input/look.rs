//! One poll as a step that covers no time: who is idle now, as far as one look says.

use std::collections::BTreeMap;
use std::time::Duration;

use gua_core::card::Vitals;
use gua_core::now::card_state;
use gua_core::poll::{CardPoll, Poll};
use gua_core::process::{Holder, Kinds};
use gua_core::sign::Sign as StoredSign;
use gua_core::units::Bytes;
use gua_core::{Period, Reading, Reason, Thresholds};
use probe::nvml::{OpenError, Prober, Wants};
use probe::poller::Poller;
use probe::proc::Host;

use super::facts::{Held, LiveFacts, sign};
use super::samples::WorkSamples;
use super::sign_time::with_sign;
use crate::config::Machine;
use crate::config::policy::Policy;
use crate::policy::company::together;
use crate::policy::decision::{Step, time_of_day};
use crate::policy::snooze::SnoozeError;
use crate::policy::subject::{Activity, Card, Sign, Signs, Subject};

/// Interval of a poller that polls once: everything is read at the first poll.
const ONE_POLL: Duration = Duration::from_secs(5);

/// Polls all cards and their holders once.
///
/// # Errors
/// When the driver cannot be opened.
pub fn poll_once(machine: &Machine) -> Result<Poll, OpenError> {
    let prober = Prober::open(machine.probe_options(Wants::ESSENTIALS))?;
    let host = Host::new(machine.host_root.clone());
    Ok(Poller::new(prober, host, ONE_POLL).first_poll())
}

/// What one poll says.
#[derive(Debug)]
pub struct Look {
    /// Covers no time.
    pub step: Step,
    /// Why it is not known who is snoozed, where that is so.
    pub unread_snoozes: Option<SnoozeError>,
}

/// A process on all of its cards.
struct Seen {
    kinds: Kinds,
    cards: Vec<Card>,
    memory: Reading<Bytes>,
    activity: Activity,
    signs: Signs,
}

impl Look {
    /// Returns what a poll says. A sample of work that is still in the driver's buffer counts.
    pub fn new(
        poll: &Poll,
        facts: &mut LiveFacts,
        policy: &Policy,
        thresholds: &Thresholds,
        is_on: bool,
    ) -> Self {
        let mut samples = WorkSamples::default();
        samples.add_poll(poll, thresholds);
        let working: Vec<Subject> =
            samples.working_since(gua_core::units::UnixMillis(i64::MIN)).collect();
        let mut all: BTreeMap<Subject, Seen> = BTreeMap::new();
        for card in poll.cards.iter().flatten() {
            for (holder, process) in card.reading.holders.seen.iter().zip(&card.processes) {
                let subject = Subject::from(process.id);
                let activity = match working.contains(&subject) {
                    true => Activity::Works(Sign::Sm),
                    false => on_card(card, holder, thresholds),
                };
                add(&mut all, subject, card, holder, activity);
            }
        }
        let unread_snoozes = facts.begin(|subject| all.contains_key(subject)).err();
        let at = poll.clocks.wall;
        let mut holdings = Vec::new();
        for (subject, seen) in all {
            let cpu = facts.cpu(subject);
            let engines = samples.engines(subject);
            let sign: StoredSign = sign(engines, cpu, thresholds, policy.busy_cpu);
            let held = Held {
                subject,
                entry: None,
                kinds: seen.kinds,
                cards: seen.cards,
                memory: seen.memory,
                activity: with_sign(seen.activity, Some(sign)),
                signs: Signs {
                    encoder: engines.encoder,
                    decoder: engines.decoder,
                    cpu,
                    ..seen.signs
                },
            };
            holdings.push(facts.holding(policy, at, &held));
        }
        together(&mut holdings);
        let step = Step {
            covers: Period::none_at(at),
            since_last: None,
            time_of_day: time_of_day(at),
            holdings,
            is_whole: is_whole(poll),
            is_on,
        };
        Self { step, unread_snoozes }
    }
}

fn add(
    all: &mut BTreeMap<Subject, Seen>,
    subject: Subject,
    card: &CardPoll,
    holder: &Holder,
    activity: Activity,
) {
    let seen = all.entry(subject).or_insert_with(|| Seen {
        kinds: Kinds::default(),
        cards: Vec::new(),
        memory: Reading::Known(Bytes(0)),
        activity: Activity::HoldsLittle,
        signs: Signs::unknown(Reason::NotAsked),
    });
    seen.kinds = seen.kinds.and(holder.kinds);
    seen.cards.push(Card::from(&*card.card));
    seen.memory = match (seen.memory, holder.memory) {
        (Reading::Known(one), Reading::Known(other)) => Reading::Known(one + other),
        (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
    };
    seen.activity = super::timeline::louder(seen.activity, activity);
    if seen.signs.sm.known().map(|sm| sm.0) < holder.sm.known().map(|sm| sm.0) {
        seen.signs.sm = holder.sm;
    }
}

/// Returns what a holder without a sample of work does on a card.
fn on_card(card: &CardPoll, holder: &Holder, thresholds: &Thresholds) -> Activity {
    let reading = &card.reading;
    if let Some(reason) = reading.trouble() {
        return Activity::Unknown(reason);
    }
    let does_card_work = match reading.utilization {
        Reading::Unknown(reason) => return Activity::Unknown(reason),
        Reading::Known(rate) => rate.percent >= thresholds.worked,
    };
    let is_own_known = has_own_samples(reading, holder);
    if does_card_work && !is_own_known {
        return Activity::Unknown(Reason::NotTold);
    }
    super::timeline::idle(card_state(reading, thresholds), holder.memory, thresholds.held)
}

/// Returns true if the driver says whether this holder works.
const fn has_own_samples(reading: &Vitals, holder: &Holder) -> bool {
    !holder.kinds.mps
        && (matches!(reading.process_samples, Reading::Known(_))
            || matches!(holder.sm, Reading::Known(_)))
}

fn is_whole(poll: &Poll) -> bool {
    let is_read = |card: &CardPoll| card.reading.holders.unread.is_none();
    poll.cards.as_ref().is_ok_and(|cards| cards.iter().all(is_read))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gua_core::Span;
    use gua_core::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization};
    use gua_core::process::{Holders, ProcessId};
    use gua_core::span::{HolderId, HolderTime, Integral, Work};
    use gua_core::units::{Percent, UnixMillis};

    use super::*;
    use crate::policy::input::timeline::CardTime;

    /// A card with one holder whose memory is not told, beside one that holds some.
    fn card(percent: f64, mib_beside: u64) -> CardPoll {
        let holder = |pid, memory| Holder {
            pid,
            kinds: Kinds::COMPUTE,
            memory,
            sm: Reading::Known(Percent(0.0)),
            engines: Reading::Unknown(Reason::NotAsked),
        };
        let beside = Reading::Known(Bytes::from_mib(mib_beside));
        let reading = Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(percent),
                basis: Basis::Instant,
            }),
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used: Bytes::from_mib(mib_beside + 20),
                free: Bytes::from_mib(80_000 - mib_beside - 20),
                reserved: Reading::Known(Bytes::from_mib(600)),
                source: MemorySource::Card,
            }),
            holders: Holders {
                seen: vec![holder(1, Reading::Unknown(Reason::NotTold)), holder(2, beside)],
                unread: None,
            },
            ..Vitals::unknown(Reason::NotAsked)
        };
        let card = Arc::new(CardFacts::unread(0, Reason::NotAsked));
        CardPoll { card, reading, processes: Vec::new() }
    }

    /// Unknown memory is judged by the state of the card, in one look and in the recorder.
    #[test]
    fn look_and_recorder_agree_on_unknown_memory() {
        let thresholds = Thresholds::default();
        let not_told = Activity::Unknown(Reason::NotTold);
        let cases = [(5.0, 4000, Activity::Idle), (0.0, 50, not_told), (50.0, 4000, not_told)];
        for (percent, mib, expected) in cases {
            let card = card(percent, mib);
            let holder = card.reading.holders.seen[0];
            assert_eq!(on_card(&card, &holder, &thresholds), expected, "{percent} %, {mib} MiB");
            let period = Period::new(UnixMillis(0), UnixMillis(1000));
            let id = ProcessId::unread(1);
            let span = Span {
                card: Arc::clone(&card.card),
                period,
                state: card_state(&card.reading, &thresholds),
                holders: vec![HolderTime {
                    holder: HolderId::Process(id),
                    work: Work::Idle,
                    share_ms: 0,
                    memory: Integral::default(),
                    peak: None,
                    energy: 0.0,
                }],
                busy: Integral::default(),
                memory: Integral::default(),
                energy: Integral::default(),
                energy_estimated_ms: 0,
            };
            let recorded = CardTime::from_span(&span, 0, period, thresholds.held);
            assert_eq!(recorded.holders[0].activity, expected, "{percent} %, {mib} MiB, recorded");
        }
    }
}
