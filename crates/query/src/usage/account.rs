//! Accounts: the shares of cards' time that belong to one user, job, container, pod, notebook,
//! program or card.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use gua_core::identity::{Container, Notebook, Pod, Source, Told, Who};
use gua_store::{CardTimes, HolderSums, HolderTimes, Person};
use serde::Serialize;

use super::money::Pricing;
use super::request::{SortBy, UsageRequest};
use super::states::{Energy, hours, rounded, share};
use super::sums::{CardTotals, OnCards, Sums};

/// What time is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    User,
    Job,
    Container,
    Pod,
    Notebook,
    Program,
    Card,
}

impl By {
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::Job,
        Self::Container,
        Self::Pod,
        Self::Notebook,
        Self::Program,
        Self::Card,
    ];

    /// Returns a stable word, for the command line and for other programs.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Job => "job",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Notebook => "notebook",
            Self::Program => "program",
            Self::Card => "card",
        }
    }

    /// Returns true if accounts of two users may have the same name.
    #[must_use]
    pub const fn has_user(self) -> bool {
        matches!(self, Self::Job | Self::Notebook)
    }

    /// Returns true if the workload of a process needs to be read.
    #[must_use]
    pub const fn needs_workload(self) -> bool {
        !matches!(self, Self::User | Self::Card)
    }

    /// Returns the account of a process; cards are accounts by their place.
    ///
    /// Anybody can say that they are of a job or notebook, and whoever made the control group that names
    /// a container or pod may have called it like another's: such an account is one of its user.
    #[must_use]
    pub fn account_name(
        self,
        person: &Person,
        program: Option<&Arc<str>>,
        who: Option<&Who>,
    ) -> AccountName {
        match self {
            Self::User | Self::Card => AccountName::from_person(person),
            Self::Program => {
                let script = who.and_then(|who| who.script.as_ref());
                program.map_or(AccountName::NOT_KNOWN, |program| match script {
                    Some(script) => AccountName::known(&format!("{program} {script}")),
                    None => AccountName::known(program),
                })
            }
            Self::Job => by_part(
                who,
                person,
                |who| &who.job,
                |_| true,
                |job| [&job.id, &job.id].map(Arc::clone),
            ),
            Self::Container => by_part(who, person, |who| &who.container, is_forgeable, container),
            Self::Pod => by_part(who, person, |who| &who.pod, is_forgeable, pod),
            Self::Notebook => by_part(who, person, |who| &who.notebook, |_| true, notebook),
        }
    }
}

/// Returns the account of a part of a workload, with its user where others may use the same name.
fn by_part<T>(
    who: Option<&Who>,
    person: &Person,
    part: impl FnOnce(&Who) -> &Option<Told<T>>,
    is_of_user: impl FnOnce(Source) -> bool,
    id_and_label: impl FnOnce(&T) -> [Arc<str>; 2],
) -> AccountName {
    let Some(who) = who else { return AccountName::NOT_KNOWN };
    let Some(told) = part(who) else { return AccountName::Unattributed(Unattributed::None) };
    let [id, label] = id_and_label(&told.value);
    let user = is_of_user(told.source).then(|| person_name(person).into());
    AccountName::Known { id, label, user }
}

fn is_forgeable(source: Source) -> bool {
    source == Source::DelegatedCgroup
}

fn container(container: &Container) -> [Arc<str>; 2] {
    [&container.id, container.name.as_ref().unwrap_or(&container.id)].map(Arc::clone)
}

fn pod(pod: &Pod) -> [Arc<str>; 2] {
    let label = match (&pod.namespace, &pod.name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        (None, Some(name)) => Arc::clone(name),
        (_, None) => Arc::clone(&pod.uid),
    };
    [Arc::clone(&pod.uid), label]
}

/// A notebook is the same one with another kernel; a kernel without a notebook is itself.
fn notebook(notebook: &Notebook) -> [Arc<str>; 2] {
    let name = notebook.path.as_ref().or(notebook.kernel.as_ref());
    let name = name.map_or_else(|| "a notebook".into(), Arc::clone);
    [Arc::clone(&name), name]
}

/// Returns the name that the accounts of a person have: the user's, else the uid.
pub(super) fn person_name(person: &Person) -> String {
    match (&person.user, person.uid) {
        (Some(user), _) => user.to_string(),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => "unattributed".to_owned(),
    }
}

/// Name of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountName {
    Known {
        id: Arc<str>,
        label: Arc<str>,
        /// Set for a user, and where others may have an account of the same name.
        user: Option<Arc<str>>,
    },
    /// Place of a card.
    Card(usize),
    Unattributed(Unattributed),
}

/// Reason why an account has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unattributed {
    /// There is none: the process runs in no job, in no container.
    None,
    /// It could not be read, or was not stored.
    NotKnown,
    /// Memory that no listed process holds.
    Unlisted,
    /// Time of cards whose holders are not known.
    HoldersUnknown,
}

impl Unattributed {
    /// Returns a stable word.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NotKnown => "not_known",
            Self::Unlisted => "unlisted",
            Self::HoldersUnknown => "holders_unknown",
        }
    }
}

impl AccountName {
    pub const NOT_KNOWN: Self = Self::Unattributed(Unattributed::NotKnown);

    #[must_use]
    pub fn known(name: &str) -> Self {
        let name: Arc<str> = name.into();
        Self::Known { id: Arc::clone(&name), label: name, user: None }
    }

    /// Returns the account of a user.
    #[must_use]
    pub fn user(name: &str) -> Self {
        let name: Arc<str> = name.into();
        Self::Known { id: Arc::clone(&name), label: Arc::clone(&name), user: Some(name) }
    }

    /// Returns the account of a person. One name is one person, whichever uid it has.
    #[must_use]
    pub fn from_person(person: &Person) -> Self {
        match (&person.user, person.uid) {
            (None, None) => Self::NOT_KNOWN,
            _ => Self::user(&person_name(person)),
        }
    }
}

/// Time of one account. GPU-hours are shares of the cards' time: those of all accounts of one kind add up
/// to the cards'. Process-hours add up the processes, also those that are on one card at once; they are
/// null if the report is made of counters, which do not have them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    pub by: By,
    /// Null if it has none.
    pub name: Option<String>,
    /// Why there is no name.
    pub unattributed: Option<Unattributed>,
    /// Id of a container, uid of a pod, UUID of a card.
    pub id: Option<String>,
    /// The user itself; user of a job, of a notebook, or of a container or pod whose name anybody could
    /// have chosen. `uid 1001` if the uid has no name.
    pub user: Option<String>,
    /// Null if the user has several, or it is not known.
    pub uid: Option<u32>,
    /// Active, idle-held and unknown.
    pub total_gpu_hours: f64,
    /// Part of the cards' active, idle-held and unknown time.
    pub share_of_total: Option<f64>,
    pub active_gpu_hours: f64,
    /// Unused and low use.
    pub idle_held_gpu_hours: f64,
    /// Part of the cards' idle-held time.
    pub idle_held_share: Option<f64>,
    /// Idle-held without any work.
    pub unused_gpu_hours: f64,
    /// Idle-held with work below the threshold of the card.
    pub low_use_gpu_hours: f64,
    pub unknown_gpu_hours: f64,
    pub present_process_hours: Option<f64>,
    pub working_process_hours: Option<f64>,
    pub idle_process_hours: Option<f64>,
    /// Part of the idle time in which another process worked on the card.
    pub idle_beside_process_hours: Option<f64>,
    /// Most memory of one process on one card; null if memory was not always known.
    pub peak_memory_bytes: Option<u64>,
    /// Memory held without working, over time; null if nothing of it is known.
    pub held_idle_gib_hours: Option<f64>,
    /// Time of processes whose memory is not known and not in the figure.
    pub memory_unknown_process_hours: Option<f64>,
    #[serde(flatten)]
    pub energy: Energy,
    /// Cost of the active time; null if it is not known.
    pub active_cost: Option<f64>,
    /// Cost of the idle-held time; null if it is not known.
    pub idle_held_cost: Option<f64>,
    /// Time that is not in the costs, as its cards have no price.
    pub unpriced_active_gpu_hours: f64,
    pub unpriced_idle_held_gpu_hours: f64,
    /// Cost of the energy of active and idle-held time; null if it is not known or has no price.
    pub energy_cost: Option<f64>,
}

/// What the figures of accounts are set in relation to.
#[derive(Debug)]
pub(super) struct Accounting<'a> {
    pub sums: &'a Sums,
    pub pricing: &'a Pricing<'a>,
    /// Sums of all cards.
    pub times: &'a CardTimes<f64>,
}

impl Accounting<'_> {
    /// Returns the accounts of all kinds that are asked for, each kind sorted.
    pub fn accounts(&self, request: &UsageRequest) -> Vec<Account> {
        let mut all = Vec::new();
        for (place, by) in request.by.iter().enumerate() {
            if !request.by.iter().take(place).any(|before| before == by) {
                all.extend(self.accounts_by(*by, request));
            }
        }
        all
    }

    fn accounts_by(&self, by: By, request: &UsageRequest) -> Vec<Account> {
        let of_kind = self.sums.accounts.iter().filter(|((kind, _), _)| *kind == by);
        let mut rows: Vec<_> = of_kind.map(|((_, name), on_cards)| (name, on_cards)).collect();
        // Time of which the holders are not known belongs to nobody, but to its card.
        let mut without_holders: BTreeMap<AccountName, OnCards> = BTreeMap::new();
        if request.user.is_none() {
            for (card, rest) in self.without_holders(&rows) {
                let name = match by {
                    By::Card => AccountName::Card(card),
                    _ => AccountName::Unattributed(Unattributed::HoldersUnknown),
                };
                let known = rows.iter().position(|(row, _)| **row == name);
                let known = known.map(|place| rows.swap_remove(place).1.clone());
                let on_cards = without_holders.entry(name).or_insert(known.unwrap_or_default());
                on_cards.add(card, &rest);
            }
        }
        rows.extend(&without_holders);
        let mut accounts: Vec<_> =
            rows.iter().map(|(name, on_cards)| self.account(by, name, on_cards)).collect();
        accounts.retain(Account::is_shown);
        accounts.sort_by(|a, b| order(a, b, request.sort));
        accounts
    }

    /// Returns the time of each card that no holder has a share of.
    fn without_holders(&self, rows: &[(&AccountName, &OnCards)]) -> Vec<(usize, HolderSums)> {
        let mut shared = vec![HolderSums::default(); self.sums.cards.len()];
        for (card, holder) in rows.iter().flat_map(|(_, on_cards)| &on_cards.0) {
            if let Some(shared) = shared.get_mut(*card) {
                shared.times.add_sums(&holder.times);
            }
        }
        let rests = self.sums.cards.iter().zip(&shared).map(|(card, shared)| HolderSums {
            times: rest(&card.times, &shared.times),
            peak_mib: 0,
        });
        rests.enumerate().filter(|(_, rest)| total_ms(&rest.times) > LEAST_MS).collect()
    }

    /// Returns an account as it is shown.
    pub fn account(&self, by: By, name: &AccountName, on_cards: &OnCards) -> Account {
        let mut times = HolderTimes::default();
        on_cards.0.iter().for_each(|(_, holder)| times.add_sums(&holder.times));
        let peak = on_cards.0.iter().map(|(_, holder)| holder.peak_mib).max();
        let on = || on_cards.0.iter();
        let active_cost =
            self.pricing.cost(on().map(|(card, it)| (*card, it.times.active_share_ms)));
        let idle_cost = self.pricing.cost(on().map(|(card, it)| (*card, idle_held_ms(&it.times))));
        let cards = self.times;
        let held = cards.active_ms + cards.idle_held_ms + cards.unknown_ms;
        let idle_held = idle_held_ms(&times);
        let present = times.working_ms + times.idle_ms + times.unknown_ms;
        let is_memory_known = present > 0.0 && times.memory_unknown_ms <= 0.0;
        let energy = Energy::new(
            [times.active_j, times.active_share_ms],
            [times.idle_held_j, idle_held],
            times.energy_unknown_ms,
        );
        let held_idle_mib_s = times.memory - times.working_memory;
        // Nothing is known of the processes on a card whose holders are not known.
        let is_known = *name != AccountName::Unattributed(Unattributed::HoldersUnknown);
        let process_hours = |millis| is_known.then(|| hours(millis));
        let is_any_memory_known = is_known && times.memory_unknown_ms < present.max(1.0);
        let account = Account {
            by,
            name: None,
            unattributed: None,
            id: None,
            user: None,
            uid: None,
            total_gpu_hours: hours(total_ms(&times)),
            share_of_total: share(total_ms(&times), held),
            active_gpu_hours: hours(times.active_share_ms),
            idle_held_gpu_hours: hours(idle_held),
            idle_held_share: share(idle_held, cards.idle_held_ms),
            unused_gpu_hours: hours(times.unused_share_ms),
            low_use_gpu_hours: hours(times.low_use_share_ms),
            unknown_gpu_hours: hours(times.unknown_share_ms),
            present_process_hours: process_hours(present),
            working_process_hours: process_hours(times.working_ms),
            idle_process_hours: process_hours(times.idle_ms),
            idle_beside_process_hours: process_hours(times.idle_beside_ms),
            peak_memory_bytes: peak.filter(|_| is_memory_known).map(bytes),
            held_idle_gib_hours: is_any_memory_known
                .then(|| rounded(held_idle_mib_s / 1024.0 / 3600.0)),
            memory_unknown_process_hours: process_hours(times.memory_unknown_ms),
            energy,
            active_cost: active_cost.cost,
            idle_held_cost: idle_cost.cost,
            unpriced_active_gpu_hours: active_cost.unpriced_gpu_hours,
            unpriced_idle_held_gpu_hours: idle_cost.unpriced_gpu_hours,
            energy_cost: self.pricing.energy_cost(energy.energy_kwh),
        };
        account.with_name(name, self.sums)
    }
}

/// Time below which an account is left out: rounding, not time.
const LEAST_MS: f64 = 0.5;

pub(super) fn total_ms(times: &HolderTimes<f64>) -> f64 {
    times.active_share_ms + idle_held_ms(times) + times.unknown_share_ms
}

fn idle_held_ms(times: &HolderTimes<f64>) -> f64 {
    times.unused_share_ms + times.low_use_share_ms
}

/// Returns what a card did without what its holders have a share of.
fn rest(card: &CardTimes<f64>, shared: &HolderTimes<f64>) -> HolderTimes<f64> {
    let active_share_ms = card.active_ms - shared.active_share_ms;
    let unused_share_ms = card.idle_held_ms - idle_held_ms(shared);
    let times = HolderTimes {
        active_share_ms,
        unused_share_ms,
        unknown_share_ms: card.unknown_ms - shared.unknown_share_ms,
        active_j: card.active_j - shared.active_j,
        idle_held_j: card.idle_held_j - shared.idle_held_j,
        // Of a card, the time of unknown energy is not kept by state.
        energy_unknown_ms: (card.energy_unknown_ms - shared.energy_unknown_ms)
            .min(active_share_ms + unused_share_ms),
        ..HolderTimes::default()
    };
    // Sums of clipped rows differ in their last bits.
    HolderTimes::from_values(times.values().map(|value| value.max(0.0)))
}

/// Returns a number of MiB in bytes.
pub(super) fn bytes(mib: i64) -> u64 {
    u64::try_from(mib).unwrap_or(0).saturating_mul(1 << 20)
}

impl Account {
    fn with_name(self, name: &AccountName, sums: &Sums) -> Self {
        match name {
            AccountName::Known { id, label, user } => Self {
                name: Some(label.to_string()),
                id: matches!(self.by, By::Container | By::Pod).then(|| id.to_string()),
                user: user.as_ref().map(ToString::to_string),
                uid: user.as_ref().and_then(|user| sums.uids.get(user).copied().flatten()),
                ..self
            },
            AccountName::Card(place) => {
                let card = sums.cards.get(*place);
                let uuid = card.and_then(|card| card.uuid.clone());
                Self { name: card.and_then(CardTotals::label), id: uuid, ..self }
            }
            AccountName::Unattributed(why) => Self { unattributed: Some(*why), ..self },
        }
    }

    /// Returns true if it has any time. A process that held next to nothing on a free card has none, but
    /// was there.
    fn is_shown(&self) -> bool {
        let was_present = self.present_process_hours.is_some_and(|hours| hours > 0.0);
        self.total_gpu_hours > 0.0 || (was_present && self.is_of_processes())
    }

    /// Returns false for unlisted memory, and for time of cards whose holders are not known.
    #[must_use]
    pub const fn is_of_processes(&self) -> bool {
        !matches!(self.unattributed, Some(Unattributed::Unlisted | Unattributed::HoldersUnknown))
    }
}

fn order(a: &Account, b: &Account, by: SortBy) -> Ordering {
    let figures = |it: &Account| {
        let first = match by {
            SortBy::Total => it.total_gpu_hours,
            SortBy::Idle => it.idle_held_gpu_hours,
            SortBy::Active => it.active_gpu_hours,
            SortBy::Cost => it.idle_held_cost.unwrap_or(-1.0),
        };
        let present = it.present_process_hours.unwrap_or(0.0);
        [first, it.total_gpu_hours, it.idle_held_gpu_hours, present]
    };
    let pairs = figures(b).into_iter().zip(figures(a));
    let largest = pairs.map(|(b, a)| b.total_cmp(&a)).fold(Ordering::Equal, Ordering::then);
    let has_name = b.name.is_some().cmp(&a.name.is_some());
    let name = a.name.cmp(&b.name).then_with(|| a.id.cmp(&b.id)).then_with(|| a.user.cmp(&b.user));
    largest.then(has_name).then(name)
}
