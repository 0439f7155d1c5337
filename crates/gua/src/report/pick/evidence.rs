//! What a card is judged by: a look, and what is recorded of the time before.

use std::collections::HashMap;

use probe::Reading;
use probe::card::ComputeMode;
use probe::units::{Bytes, Percent};

use super::visible::Visible;
use crate::classify::State;
use crate::ledger::Period;
use crate::report::now::{Card, Holder, Identity, Now};
use crate::report::unknowns::{Reason, Unknowns};
use crate::reservation::card_key;
use crate::sampler::{CardTick, Tick};
use crate::store::{History, StoreError};

/// A card that may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub identity: Identity,
    pub uuid: Reading<String>,
    pub state: State,
    /// By the look.
    pub work_now: Option<Percent>,
    /// By the record.
    pub past: Option<Work>,
    pub free: Reading<Bytes>,
    /// Who holds it, each once.
    pub holders: Vec<String>,
    /// Whether it is in MIG mode.
    pub mig: Reading<bool>,
    pub compute_mode: Reading<ComputeMode>,
    /// Whether what this program was started with lets it be used.
    pub is_visible: bool,
    /// Why parts of what is told are null.
    pub unknown: Unknowns,
}

/// How much a card worked over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    pub percent: Percent,
    /// How much of the time is recorded.
    pub seconds: f64,
}

/// What is recorded of the time before a look, by UUID.
#[derive(Debug, Clone, Default)]
pub struct Past {
    cards: HashMap<String, Work>,
}

impl Past {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(history: &History, window: Period) -> Result<Self, StoreError> {
        let mut sums: HashMap<i64, (f64, f64)> = HashMap::new();
        history.samples(window, |sample| {
            if let Reading::Known(work) = sample.evidence.work {
                #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
                let millis = sample.counts as f64;
                let (work_millis, known_millis) = sums.entry(sample.card).or_default();
                *work_millis += f64::from(work.0) / 100.0 * millis;
                *known_millis += millis;
            }
        })?;
        let named = history.cards()?.into_iter().filter_map(|card| Some((card.uuid?, card.id)));
        let work = |(uuid, id)| {
            let (work, millis) = sums.get(&id).filter(|(_, millis)| *millis > 0.0)?;
            Some((uuid, Work { percent: Percent(work / millis), seconds: millis / 1000.0 }))
        };
        Ok(Self { cards: named.filter_map(work).collect() })
    }

    /// Whether nothing is recorded of any card.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }
}

impl Candidate {
    /// Whether a reservation's file is about it.
    #[must_use]
    pub fn is_of(&self, key: &str) -> bool {
        self.uuid.as_ref().is_known_and(|uuid| card_key(uuid) == key)
    }
}

/// Those fields of a card that are told again of a candidate.
const FIELDS: [&str; 7] =
    ["uuid", "parent_uuid", "name", "bus_id", "minor", "memory_free_bytes", "utilization_percent"];

/// The cards of a tick, the same as `gua stat` shows it, with what is recorded of them.
#[must_use]
pub fn candidates(tick: &Tick, now: Now, past: &Past, visible: &Visible) -> Vec<Candidate> {
    let both = tick.cards.iter().zip(now.cards);
    both.map(|(tick, card)| candidate(tick, card, past, visible)).collect()
}

fn candidate(tick: &CardTick, card: Card, past: &Past, visible: &Visible) -> Candidate {
    let past = tick.facts.uuid.as_ref().known().and_then(|uuid| past.cards.get(uuid).copied());
    let mut unknown = card.unknown.only(&FIELDS);
    if past.is_none() {
        unknown.note("recorded_utilization_percent", Reason::NotRecorded);
    }
    Candidate {
        uuid: tick.facts.uuid.clone(),
        state: card.state,
        work_now: tick.vitals.utilization.known().map(|work| work.percent),
        past,
        free: tick.vitals.memory.map(|memory| memory.free),
        holders: names(&card.holders),
        mig: tick.vitals.setup.mig,
        compute_mode: tick.vitals.setup.compute_mode,
        is_visible: visible.has(&tick.facts),
        identity: card.identity,
        unknown,
    }
}

fn names(holders: &[Holder]) -> Vec<String> {
    let name = |holder: &Holder| match (&holder.owner.user, holder.owner.uid) {
        (Some(user), _) => user.clone(),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => format!("pid {}", holder.pid),
    };
    let mut names: Vec<_> = holders.iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}
