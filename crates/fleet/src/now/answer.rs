//! The answers, and the JSON of `gua fleet`, `gua fleet --free` and `gua who --prometheus`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

/// All hosts now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetNow {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    /// Why responses of the engine are incomplete.
    pub warnings: Vec<String>,
    pub totals: StateCounts,
    /// By name.
    pub hosts: Vec<HostCards>,
}

/// Numbers of cards by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StateCounts {
    pub cards: usize,
    pub active: usize,
    pub idle_held: usize,
    pub free: usize,
    pub unknown: usize,
}

/// One host now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostCards {
    pub name: String,
    /// Labels that the engine knows it by.
    pub labels: BTreeMap<String, String>,
    pub last_tick: Option<Timestamp>,
    /// True if the last tick is too long ago to know more.
    pub is_silent: bool,
    pub totals: StateCounts,
    /// User who has held a card idle for longest.
    pub longest_idle: Option<LongestIdle>,
    pub cards: Vec<FleetCard>,
}

/// One card of a host now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetCard {
    pub uuid: String,
    /// Null if only its counters are known.
    pub gpu: Option<String>,
    pub model: Option<String>,
    pub state: FleetState,
    pub memory_total_bytes: Option<u64>,
    pub memory_used_bytes: Option<u64>,
    /// Longest idle first.
    pub holders: Vec<FleetHolder>,
}

/// State of a card now, as far as its host says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetState {
    Active,
    IdleHeld,
    Free,
    Unknown,
}

/// One user of a card now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetHolder {
    /// Null if nobody is known.
    pub user: Option<String>,
    pub memory_bytes: Option<u64>,
    /// Null while they work.
    pub idle_since: Option<Timestamp>,
    pub idle_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongestIdle {
    pub user: Option<String>,
    /// Null if only its counters are known.
    pub gpu: Option<String>,
    pub seconds: f64,
}

/// Cards that are free now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreeCards {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    pub warnings: Vec<String>,
    /// Hosts with the most free cards first.
    pub cards: Vec<FreeCard>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreeCard {
    pub host: String,
    /// Null if only its counters are known.
    pub gpu: Option<String>,
    pub uuid: String,
    pub model: Option<String>,
    pub memory_total_bytes: Option<u64>,
}

/// Every user of every card, longest idle first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HoldersNow {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    pub warnings: Vec<String>,
    pub holders: Vec<HolderOnHost>,
    /// Hosts of which nothing is known now.
    pub silent_hosts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HolderOnHost {
    pub host: String,
    /// Null if only its counters are known.
    pub gpu: Option<String>,
    pub uuid: String,
    pub model: Option<String>,
    pub card_state: FleetState,
    #[serde(flatten)]
    pub holder: FleetHolder,
}

impl FleetState {
    /// Returns the state of a label.
    #[must_use]
    pub(super) fn from_label(label: &str) -> Self {
        match label {
            "active" => Self::Active,
            "idle_held" => Self::IdleHeld,
            "truly_idle" => Self::Free,
            _ => Self::Unknown,
        }
    }

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::Free => "free",
            Self::Unknown => "unknown",
        }
    }
}

impl FleetNow {
    /// Removes cards of other models, and hosts that have none of this one.
    pub fn keep_models(&mut self, model: &str) {
        let model = model.to_lowercase();
        let is_it = |card: &FleetCard| {
            card.model.as_deref().is_some_and(|name| name.to_lowercase().contains(&model))
        };
        for host in &mut self.hosts {
            host.cards.retain(is_it);
            host.totals = StateCounts::from_cards(&host.cards);
            host.longest_idle = LongestIdle::from_cards(&host.cards).filter(|_| !host.is_silent);
        }
        self.hosts.retain(|host| !host.cards.is_empty());
        self.totals = StateCounts::from_hosts(&self.hosts);
    }

    /// Returns the cards that are free.
    #[must_use]
    pub fn free(&self) -> FreeCards {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by_key(|host| std::cmp::Reverse(host.totals.free));
        let free = |host: &HostCards| {
            let host_name = host.name.clone();
            let cards = host.cards.clone().into_iter();
            let cards = cards.filter(|card| card.state == FleetState::Free);
            cards.map(move |card| FreeCard {
                host: host_name.clone(),
                gpu: card.gpu,
                uuid: card.uuid,
                model: card.model,
                memory_total_bytes: card.memory_total_bytes,
            })
        };
        FreeCards {
            schema: "gua.fleet-free/2",
            url: self.url.clone(),
            at: self.at,
            warnings: self.warnings.clone(),
            cards: hosts.into_iter().flat_map(free).collect(),
        }
    }

    /// Returns the users of all cards.
    #[must_use]
    pub fn holders(&self) -> HoldersNow {
        let heard = self.hosts.iter().filter(|host| !host.is_silent);
        let mut holders: Vec<_> = heard.flat_map(holders_on).collect();
        holders.sort_by(|a, b| {
            let idle = |it: &HolderOnHost| it.holder.idle_seconds.unwrap_or(-1.0);
            idle(b).total_cmp(&idle(a)).then_with(|| (&a.host, &a.gpu).cmp(&(&b.host, &b.gpu)))
        });
        let silent = self.hosts.iter().filter(|host| host.is_silent);
        HoldersNow {
            schema: "gua.fleet-who/2",
            url: self.url.clone(),
            at: self.at,
            warnings: self.warnings.clone(),
            holders,
            silent_hosts: silent.map(|host| host.name.clone()).collect(),
        }
    }
}

fn holders_on(host: &HostCards) -> impl Iterator<Item = HolderOnHost> {
    host.cards.iter().flat_map(|card| {
        card.holders.iter().map(|holder| HolderOnHost {
            host: host.name.clone(),
            gpu: card.gpu.clone(),
            uuid: card.uuid.clone(),
            model: card.model.clone(),
            card_state: card.state,
            holder: holder.clone(),
        })
    })
}

impl HoldersNow {
    /// Removes users who are not idle for so long, and others than these users.
    pub fn keep(&mut self, idle: Option<Duration>, users: &[String]) {
        self.holders.retain(|it| {
            let is_idle = idle.is_none_or(|least| {
                it.holder.idle_seconds.is_some_and(|seconds| seconds >= least.as_secs_f64())
            });
            let name = it.holder.user.as_deref();
            let is_it = users.is_empty() || users.iter().any(|user| Some(user.as_str()) == name);
            is_idle && is_it
        });
    }
}

impl StateCounts {
    pub(super) fn from_cards(cards: &[FleetCard]) -> Self {
        let mut counts = Self { cards: cards.len(), ..Self::default() };
        for card in cards {
            let count = match card.state {
                FleetState::Active => &mut counts.active,
                FleetState::IdleHeld => &mut counts.idle_held,
                FleetState::Free => &mut counts.free,
                FleetState::Unknown => &mut counts.unknown,
            };
            *count += 1;
        }
        counts
    }

    pub(super) fn from_hosts(hosts: &[HostCards]) -> Self {
        hosts.iter().fold(Self::default(), |sum, HostCards { totals, .. }| Self {
            cards: sum.cards + totals.cards,
            active: sum.active + totals.active,
            idle_held: sum.idle_held + totals.idle_held,
            free: sum.free + totals.free,
            unknown: sum.unknown + totals.unknown,
        })
    }
}

impl LongestIdle {
    pub(super) fn from_cards(cards: &[FleetCard]) -> Option<Self> {
        let idle = cards.iter().flat_map(|card| {
            card.holders.iter().filter_map(|holder| {
                let seconds = holder.idle_seconds?;
                Some(Self { user: holder.user.clone(), gpu: card.gpu.clone(), seconds })
            })
        });
        idle.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }
}
