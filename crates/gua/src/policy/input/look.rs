//! One poll as a step that covers no time: who is idle now, as far as one look says.

use std::collections::BTreeMap;
use std::time::Duration;

use gua_core::card::Vitals;
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
    match holder.memory {
        Reading::Known(memory) if memory <= thresholds.held => Activity::HoldsLittle,
        Reading::Known(_) => Activity::Idle,
        Reading::Unknown(_) if reading.unlisted_memory() > Some(thresholds.held) => Activity::Idle,
        Reading::Unknown(reason) => Activity::Unknown(reason),
    }
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
