//! The answer: what is printed, and the JSON of a report.

use std::collections::{BTreeMap, BTreeSet};

use gua_core::Period;
use jiff::Timestamp;
use serde::Serialize;

use super::account::{Account, AccountName, Accounting, By, total_ms};
use super::basis::{Basis, RuleThresholds};
use super::compared::Compared;
use super::gaps::Gap;
use super::hours::HeatCell;
use super::money::{EnergyMoney, Money, Pricing};
use super::request::UsageRequest;
use super::session::{LargestSessions, Session};
use super::states::{CardEnergy, States, float, hours, share};
use super::suggestion::{PersonPage, Suggestion, smallest_memory};
use super::sums::{CardTotals, OnCards, Sums, card_times};
use super::verdict::Verdict;

/// What cards and people did over a window. Time that was not observed is no part of any share.
///
/// A report on one person holds their figures alone: `states`, energy, `equivalent_gpus`, `cards` and `money`
/// are their part of the cards that they were on (of free time they have none; means of a card are null),
/// `accounts` and `sessions` are theirs, and `verdict` and `heatmap`, which are about all cards, are null.
/// `share_of_total` and `idle_held_share` of their accounts are parts of what all held. Window, coverage, gaps
/// and basis are those of the host, as they say what the figures are based on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    pub schema: &'static str,
    /// Host of the newest run in the window, else of the newest run.
    pub host: Option<Host>,
    pub window: Window,
    /// From the first to the last record that is kept; null if there is none.
    pub data: Option<Stretch>,
    /// Thresholds of the newest run in the window; null if there is none.
    pub thresholds: Option<Thresholds>,
    /// Rules by which the window was classified, in order of time.
    pub basis: Vec<Basis>,
    /// Shares are of all card time; of one person, of theirs.
    pub states: States,
    #[serde(flatten)]
    pub energy: CardEnergy,
    pub equivalent_gpus: Equivalent,
    /// Number of GPUs that the cards are or are parts of.
    pub gpu_count: usize,
    pub cards: Vec<CardUsage>,
    /// Kinds of accounts that were asked for.
    pub accounts_by: Vec<By>,
    /// One kind after the other. The GPU-hours of each kind add up to those of `states`.
    pub accounts: Vec<Account>,
    /// Open ones first, then the longest.
    pub sessions: Vec<Session>,
    /// Ended sessions that are not listed, if only a number of them was asked for.
    #[serde(skip)]
    pub sessions_left_out: usize,
    /// Null if there are no prices.
    pub money: Option<Money>,
    /// Null if energy has no price.
    pub energy_money: Option<EnergyMoney>,
    /// Person whom the report is about. Null if nobody was asked for, or they held no card.
    pub person: Option<PersonPage>,
    /// The earlier window that was asked for.
    pub compared: Option<Compared>,
    /// Null in a report on one person.
    pub heatmap: Option<Vec<HeatCell>>,
    /// Null in a report on one person.
    pub verdict: Option<Verdict>,
    pub gaps: Vec<Gap>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    pub name: String,
    pub driver_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    pub from: Timestamp,
    /// End, at most the time up to which the record is final.
    pub to: Timestamp,
    /// End as it was asked for.
    pub requested_to: Timestamp,
    /// Zone of the heatmap.
    pub tz: String,
    pub seconds: f64,
    /// Time in which the recorder observed the host.
    pub observed_seconds: f64,
    /// Observed part of the window.
    pub coverage: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// Thresholds between the states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Thresholds {
    #[serde(flatten)]
    pub rule: RuleThresholds,
    /// Memory up to which a process has only the bare context of CUDA, in MB of 1024² bytes.
    pub context_mb: u64,
}

/// Cards that would have been in a state all the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Equivalent {
    pub idle_held: Option<f64>,
    pub truly_idle: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardUsage {
    pub uuid: Option<String>,
    /// Null if only its counters are known.
    pub index: Option<u32>,
    /// Slot of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    /// UUID of the GPU that it is a part of.
    pub parent_uuid: Option<String>,
    /// Its part of a GPU, by memory slices; 1 of 1 for a whole one, null if only its counters are known.
    /// GPU-hours are those of the part.
    pub slices: Option<u32>,
    pub slices_of: Option<u32>,
    /// True if it is what is left of a GPU beside its MIG instances.
    pub unpartitioned: bool,
    pub states: States,
    /// Means over the time for which they are known; null if they never were.
    pub mean_utilization_percent: Option<f64>,
    pub mean_memory_used_bytes: Option<u64>,
    #[serde(flatten)]
    pub energy: CardEnergy,
    /// Unknown GPU-hours by their reason.
    pub unknown_reasons: BTreeMap<&'static str, f64>,
}

impl Usage {
    /// Returns the report on the sums of a window.
    #[must_use]
    pub fn from_sums(sums: Sums, request: &UsageRequest) -> Self {
        let pricing = Pricing::new(&request.prices, &sums.cards);
        let all_times = sums.card_times();
        let accounting = Accounting { sums: &sums, pricing: &pricing, times: &all_times };
        let recorded_ms = float(sums.recorded_ms);
        let coverage = share(recorded_ms, float(sums.window.millis()));
        let equivalent = |millis: f64| match sums.basis.iter().all(|basis| basis.imported) {
            // Ticks count for what they are said to; the number of cards does not change with that.
            true => share(millis, all_times.observed_ms()).map(|part| part * sums.observed_cards()),
            false => share(millis, recorded_ms),
        };
        // One person's part of the cards, or all of them.
        let own = request.user.as_ref().map(|_| sums.cards_of_users());
        let cards = own.as_deref().unwrap_or(&sums.cards);
        let times = card_times(cards);
        let energy = CardEnergy::new(cards.iter());
        let card_usages: Vec<_> = cards.iter().map(CardUsage::from).collect();
        let is_about_all = own.is_none();
        let verdict = is_about_all.then(|| {
            let largest = LargestSessions::new(&sums.sessions, hours(times.idle_held_ms));
            Verdict::new(&times, recorded_ms / 1000.0, coverage, largest)
        });
        Self {
            schema: "gua.report/2",
            window: Window {
                from: sums.window.from.into(),
                to: sums.window.to.into(),
                requested_to: request.window.to.into(),
                tz: request.zone_name.clone(),
                seconds: float(sums.window.millis()) / 1000.0,
                observed_seconds: recorded_ms / 1000.0,
                coverage,
            },
            data: sums.data.map(Stretch::from),
            thresholds: sums.basis.last().map(|basis| Thresholds {
                rule: basis.thresholds,
                context_mb: request.context.0 >> 20,
            }),
            states: States::new(&times),
            energy,
            equivalent_gpus: Equivalent {
                idle_held: equivalent(times.idle_held_ms),
                truly_idle: equivalent(times.free_ms),
            },
            gpu_count: gpu_count(card_usages.iter()),
            cards: card_usages,
            accounts_by: request.by.clone(),
            accounts: accounting.accounts(request),
            money: Pricing::new(&request.prices, cards).money(sums.recorded_ms),
            energy_money: pricing.energy_money(&energy),
            person: person(&accounting, request),
            compared: None,
            heatmap: is_about_all.then(|| sums.week.cells()),
            verdict,
            host: sums.host,
            basis: sums.basis,
            sessions: sums.sessions,
            sessions_left_out: sums.sessions_left_out,
            gaps: sums.gaps,
        }
    }
}

impl From<Period> for Stretch {
    fn from(period: Period) -> Self {
        Self { from: period.from.into(), to: period.to.into() }
    }
}

impl CardUsage {
    /// Returns the number that a card is shown with; `None` if only its counters are known.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        super::sums::label(self.index, self.slot, self.unpartitioned)
    }

    /// Returns the time by the clock of GPU-hours on this card, in seconds: a part of a GPU has fewer
    /// GPU-hours than hours. A card whose part is not known counts as a whole one.
    #[must_use]
    pub fn seconds_of(&self, gpu_hours: f64) -> f64 {
        let slices = self.slices.zip(self.slices_of).filter(|(part, _)| *part > 0);
        let hours =
            slices.map_or(gpu_hours, |(part, of)| gpu_hours * f64::from(of) / f64::from(part));
        hours * 3_600.0
    }
}

impl From<&CardTotals> for CardUsage {
    fn from(card: &CardTotals) -> Self {
        let times = &card.times;
        let observed = times.observed_ms();
        let mean = |sum: f64, unknown: f64| {
            let known = observed - unknown;
            (known > 0.0).then(|| sum * 1000.0 / known)
        };
        let memory_mib = mean(times.memory, times.memory_unknown_ms);
        let mut unknown_reasons = BTreeMap::new();
        for (reason, millis) in &card.unknown_ms {
            *unknown_reasons.entry(reason.slug()).or_default() += hours(*millis);
        }
        Self {
            uuid: card.uuid.clone(),
            index: card.index,
            slot: card.slot,
            name: card.name.clone(),
            parent_uuid: card.parent_uuid.clone(),
            slices: card.slices.map(|slices| slices.part),
            slices_of: card.slices.map(|slices| slices.of),
            unpartitioned: card.unpartitioned,
            states: States::new(times),
            mean_utilization_percent: mean(times.busy, times.busy_unknown_ms)
                .map(super::states::rounded),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            mean_memory_used_bytes: memory_mib.map(|mib| (mib * 1024.0 * 1024.0).round() as u64),
            energy: CardEnergy::new(std::iter::once(card)),
            unknown_reasons,
        }
    }
}

/// Returns the number of GPUs that cards are or are parts of. Only counters do not say which GPU a part
/// belongs to: there, cards are those of one host, and parts of one index are one GPU.
pub fn gpu_count<'a>(cards: impl Iterator<Item = &'a CardUsage>) -> usize {
    let mut gpus = BTreeSet::new();
    let mut unknown = 0;
    for card in cards {
        let uuid = card.parent_uuid.as_ref().or(card.uuid.as_ref());
        match (card.slices, card.index, uuid) {
            (None, Some(index), _) => _ = gpus.insert(Err(index)),
            (_, _, Some(uuid)) => _ = gpus.insert(Ok(uuid)),
            (_, Some(index), None) => _ = gpus.insert(Err(index)),
            (_, None, None) => unknown += 1,
        }
    }
    gpus.len() + unknown
}

/// Returns the page of the person whom a report is about. All that they had counts, under the name that
/// has most of it.
fn person(accounting: &Accounting<'_>, request: &UsageRequest) -> Option<PersonPage> {
    request.user.as_ref()?;
    let sums = accounting.sums;
    let of_user = sums.accounts.iter().filter(|((by, _), _)| *by == By::User);
    let mut names: Vec<(&AccountName, &OnCards)> =
        of_user.map(|((_, name), on_cards)| (name, on_cards)).collect();
    let total =
        |on_cards: &OnCards| on_cards.0.iter().map(|(_, it)| total_ms(&it.times)).sum::<f64>();
    names.sort_by(|a, b| total(b.1).total_cmp(&total(a.1)).then_with(|| a.0.cmp(b.0)));
    let (name, _) = *names.first()?;
    let mut all = OnCards::default();
    for (card, holder) in names.iter().flat_map(|(_, on_cards)| &on_cards.0) {
        all.add(*card, holder);
    }
    let account = accounting.account(By::User, name, &all);
    let memory = smallest_memory(&all, &sums.cards);
    let suggestion = Suggestion::new(&account, &sums.sessions, memory);
    Some(PersonPage { account, suggestion })
}
