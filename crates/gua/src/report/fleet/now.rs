//! The hosts at this moment: what is free where, and who idles.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use probe::units::UnixMillis;
use serde::Serialize;

use super::questions::Selection;
use super::target::{Target, TargetId, Targets, own};
use crate::calendar::{nearest, timestamp};
use crate::engine::Series;
use crate::ledger::Period;
use crate::metrics::UNATTRIBUTED;

/// What tells of now.
const NOW: &str = "gua_gpu_state|gua_gpu_memory_total_bytes|gua_gpu_memory_used_bytes|\
    gua_user_gpu_memory_bytes|gua_user_idle_since_timestamp_seconds";

/// What tells which hosts there are, also of those that are silent by now.
const LATELY: &str =
    "gua_build_info|gua_gpu_info|gua_last_tick_timestamp_seconds|gua_interval_seconds";

/// How far back hosts are looked for.
const LOOK_BACK: &str = "1d";

/// The questions about now.
#[must_use]
pub fn questions(selection: &Selection) -> [String; 2] {
    let named = |names: &str| selection.selector(&format!("__name__=~\"{names}\""), None);
    [format!("last_over_time({}[{LOOK_BACK}])", named(LATELY)), named(NOW)]
}

/// Which hosts are meant, where not all are.
#[must_use]
pub fn choice(selection: &Selection) -> Option<String> {
    let named = selection.selector("__name__=\"gua_build_info\"", Some(&selection.of_hosts()?));
    Some(format!("last_over_time({named}[{LOOK_BACK}])"))
}

/// What `gua fleet` answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    /// Why the answers of the engine are not whole, where it says so.
    pub flaws: Vec<String>,
    pub totals: Totals,
    /// By name.
    pub hosts: Vec<HostNow>,
}

/// Cards by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    pub cards: usize,
    pub active: usize,
    pub idle_held: usize,
    pub free: usize,
    pub unknown: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostNow {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub last_tick: Option<Timestamp>,
    /// Whether that is too long ago to know more.
    pub is_silent: bool,
    pub totals: Totals,
    /// Who has held a card idle for longest.
    pub longest_idle: Option<Idle>,
    pub cards: Vec<CardNow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardNow {
    pub uuid: String,
    /// Null where only its counters are known.
    pub gpu: Option<String>,
    pub model: Option<String>,
    pub state: StateNow,
    pub memory_total_bytes: Option<u64>,
    pub memory_used_bytes: Option<u64>,
    /// Longest idle first.
    pub holders: Vec<HolderNow>,
}

/// What a card does at this moment, as far as its host has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateNow {
    Active,
    IdleHeld,
    Free,
    Unknown,
}

impl StateNow {
    /// That of a label.
    fn of(slug: &str) -> Self {
        match slug {
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HolderNow {
    /// Null where nobody is known.
    pub user: Option<String>,
    pub memory_bytes: Option<u64>,
    /// Null while the card works.
    pub idle_since: Option<Timestamp>,
    pub idle_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Idle {
    pub user: Option<String>,
    /// Null where only its counters are known.
    pub gpu: Option<String>,
    pub seconds: f64,
}

/// What `gua fleet --free` answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Free {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    pub flaws: Vec<String>,
    /// Hosts with the most free cards first.
    pub cards: Vec<FreeCard>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreeCard {
    pub host: String,
    /// Null where only its counters are known.
    pub gpu: Option<String>,
    pub uuid: String,
    pub model: Option<String>,
    pub memory_total_bytes: Option<u64>,
}

/// What `gua who --prometheus` answers: everybody on every card, longest idle first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holders {
    pub schema: &'static str,
    pub url: String,
    pub at: Timestamp,
    pub flaws: Vec<String>,
    pub holders: Vec<HolderThere>,
    /// Hosts of which nothing is known now.
    pub silent_hosts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HolderThere {
    pub host: String,
    /// Null where only its counters are known.
    pub gpu: Option<String>,
    pub uuid: String,
    pub model: Option<String>,
    pub card_state: StateNow,
    #[serde(flatten)]
    pub holder: HolderNow,
}

impl Fleet {
    /// Leaves out cards of other models, and hosts that have none of this one.
    pub fn keep_models(&mut self, model: &str) {
        let model = model.to_lowercase();
        let fits = |card: &CardNow| {
            card.model.as_deref().is_some_and(|name| name.to_lowercase().contains(&model))
        };
        for host in &mut self.hosts {
            host.cards.retain(fits);
            host.totals = host.cards.iter().fold(Totals::default(), Totals::with);
            host.longest_idle = longest_idle(&host.cards).filter(|_| !host.is_silent);
        }
        self.hosts.retain(|host| !host.cards.is_empty());
        self.totals = self.hosts.iter().fold(Totals::default(), |sum, it| sum.plus(it.totals));
    }

    #[must_use]
    pub fn free(&self) -> Free {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by_key(|host| std::cmp::Reverse(host.totals.free));
        let free = |host: &HostNow| {
            let host_name = host.name.clone();
            let cards = host.cards.clone().into_iter().filter(|card| card.state == StateNow::Free);
            cards.map(move |card| FreeCard {
                host: host_name.clone(),
                gpu: card.gpu,
                uuid: card.uuid,
                model: card.model,
                memory_total_bytes: card.memory_total_bytes,
            })
        };
        let cards = hosts.into_iter().flat_map(free).collect();
        let (schema, url, flaws) = ("gua.fleet-free/1", self.url.clone(), self.flaws.clone());
        Free { schema, url, at: self.at, flaws, cards }
    }

    #[must_use]
    pub fn holders(&self) -> Holders {
        let mut holders: Vec<_> =
            self.hosts.iter().filter(|host| !host.is_silent).flat_map(holders_of).collect();
        holders.sort_by(|a, b| {
            let idle = |it: &HolderThere| it.holder.idle_seconds.unwrap_or(-1.0);
            idle(b).total_cmp(&idle(a)).then_with(|| (&a.host, &a.gpu).cmp(&(&b.host, &b.gpu)))
        });
        let silent = self.hosts.iter().filter(|host| host.is_silent);
        Holders {
            schema: "gua.fleet-who/1",
            url: self.url.clone(),
            at: self.at,
            flaws: self.flaws.clone(),
            holders,
            silent_hosts: silent.map(|host| host.name.clone()).collect(),
        }
    }
}

fn holders_of(host: &HostNow) -> impl Iterator<Item = HolderThere> {
    host.cards.iter().flat_map(|card| {
        card.holders.iter().map(|holder| HolderThere {
            host: host.name.clone(),
            gpu: card.gpu.clone(),
            uuid: card.uuid.clone(),
            model: card.model.clone(),
            card_state: card.state,
            holder: holder.clone(),
        })
    })
}

impl Holders {
    /// Leaves out who has not idled for so long, and others than these people.
    pub fn keep(&mut self, idle: Option<Duration>, users: &[String]) {
        self.holders.retain(|it| {
            let is_idle = idle.is_none_or(|least| {
                it.holder.idle_seconds.is_some_and(|seconds| seconds >= least.as_secs_f64())
            });
            let name = it.holder.user.as_deref();
            let is_meant = users.is_empty() || users.iter().any(|user| Some(user.as_str()) == name);
            is_idle && is_meant
        });
    }
}

/// Takes the series of now.
#[derive(Debug, Default)]
pub struct GatherNow {
    hosts: Vec<Series>,
    told: Vec<(Series, f64)>,
    /// The hosts that are meant, where not all are.
    chosen: Option<Vec<Series>>,
}

impl GatherNow {
    pub fn add(&mut self, series: Series) {
        let value = series.points().last().map(|(_, value)| *value);
        match series.label("__name__") {
            "gua_build_info" => self.hosts.push(series),
            _ => self.told.extend(value.map(|value| (series, value))),
        }
    }

    /// From here on, only hosts that are chosen are meant.
    pub fn begin_choosing(&mut self) {
        self.chosen = Some(Vec::new());
    }

    pub fn choose(&mut self, series: Series) {
        if let Some(chosen) = &mut self.chosen {
            chosen.push(series);
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() || self.chosen.as_ref().is_some_and(Vec::is_empty)
    }

    /// The answer.
    #[must_use]
    pub fn finish(self, url: &str, now: UnixMillis) -> Fleet {
        let Self { hosts, told, chosen } = self;
        let (times, told): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|(series, _)| own(series, "UUID").is_empty());
        let times: Vec<_> = times.into_iter().map(|(series, _)| series).collect();
        let mut targets = Targets::new(&hosts, &times);
        let mut cards: BTreeMap<TargetId, Told> = BTreeMap::new();
        for (series, value) in &told {
            match (series.label("__name__"), targets.of(series)) {
                ("gua_gpu_info", _) => targets.add_card(series),
                (_, Some(target)) => {
                    add_to_card(cards.entry(target).or_default(), series, *value, now);
                }
                (_, None) => {}
            }
        }
        let chosen: Option<Vec<_>> =
            chosen.map(|chosen| chosen.iter().filter_map(|one| targets.of(one)).collect());
        let is_meant = |id: TargetId| chosen.as_ref().is_none_or(|them| them.contains(&id));
        let meant = targets.iter().filter(|(id, _)| is_meant(*id));
        let hosts = meant.map(|(id, it)| host(it, cards.remove(&id).unwrap_or_default(), now));
        let hosts = once_each(hosts.collect());
        let totals = hosts.iter().fold(Totals::default(), |sum, host| sum.plus(host.totals));
        let (schema, url, at) = ("gua.fleet/1", url.to_owned(), nearest(now));
        Fleet { schema, url, at, flaws: Vec::new(), totals, hosts }
    }
}

/// By name. A host that is known in several ways is as the newest of them has it.
fn once_each(mut hosts: Vec<HostNow>) -> Vec<HostNow> {
    hosts.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| b.last_tick.cmp(&a.last_tick)));
    hosts.into_iter().fold(Vec::new(), |mut known: Vec<HostNow>, host| {
        let mut of_that_name = known.iter().rev().take_while(|newer| newer.name == host.name);
        if !of_that_name.any(|newer| is_same(newer, &host)) {
            known.push(host);
        }
        known
    })
}

/// What is told of the cards of one host now.
#[derive(Debug, Default)]
struct Told {
    cards: BTreeMap<String, CardNow>,
    /// Those whose state is told.
    present: BTreeSet<String>,
}

fn host(target: &Target, told: Told, now: UnixMillis) -> HostNow {
    let Told { mut cards, present } = told;
    for (uuid, told) in &target.cards {
        let card = cards.entry(uuid.clone()).or_insert_with(|| CardNow::unknown(uuid));
        card.gpu.clone_from(&told.gpu);
        card.model.clone_from(&told.model);
    }
    let is_silent =
        target.last_tick.is_none_or(|last| now.0.saturating_sub(last) > target.silent_after());
    if !is_silent && !present.is_empty() {
        // The others were there earlier today: they were taken out, or divided anew.
        cards.retain(|uuid, _| present.contains(uuid));
    }
    let mut cards: Vec<_> = cards.into_values().collect();
    let place = |card: &CardNow| {
        let gpu = card.gpu.clone();
        (gpu.is_none(), gpu.as_ref().map_or(0, String::len), gpu)
    };
    cards.sort_by_key(place);
    if is_silent {
        // What they did when they were last heard of says nothing about now.
        cards.iter_mut().for_each(|card| card.state = StateNow::Unknown);
    }
    HostNow {
        name: target.hostname.clone(),
        labels: target.labels.clone(),
        last_tick: target.last_tick.map(|last| nearest(UnixMillis(last))),
        is_silent,
        totals: cards.iter().fold(Totals::default(), Totals::with),
        longest_idle: longest_idle(&cards).filter(|_| !is_silent),
        cards,
    }
}

/// One host through two ways.
fn is_same(one: &HostNow, other: &HostNow) -> bool {
    let has = |uuid: &str| one.cards.iter().any(|card| card.uuid == uuid);
    let has_none = other.cards.is_empty() || one.cards.is_empty();
    one.name == other.name && (has_none || other.cards.iter().any(|card| has(&card.uuid)))
}

impl CardNow {
    fn unknown(uuid: &str) -> Self {
        Self {
            uuid: uuid.to_owned(),
            gpu: None,
            model: None,
            state: StateNow::Unknown,
            memory_total_bytes: None,
            memory_used_bytes: None,
            holders: Vec::new(),
        }
    }

    fn holder(&mut self, user: &str) -> Option<&mut HolderNow> {
        let user = Some(user.to_owned()).filter(|user| user != UNATTRIBUTED);
        if !self.holders.iter().any(|holder| holder.user == user) {
            let (memory_bytes, idle_since, idle_seconds) = (None, None, None);
            let user = user.clone();
            self.holders.push(HolderNow { user, memory_bytes, idle_since, idle_seconds });
        }
        self.holders.iter_mut().find(|holder| holder.user == user)
    }
}

fn add_to_card(told: &mut Told, series: &Series, value: f64, now: UnixMillis) {
    let uuid = own(series, "UUID");
    let card = told.cards.entry(uuid.to_owned()).or_insert_with(|| CardNow::unknown(uuid));
    if series.label("__name__") == "gua_gpu_state" {
        told.present.insert(uuid.to_owned());
    }
    match series.label("__name__") {
        "gua_gpu_state" if value > 0.5 => card.state = StateNow::of(own(series, "state")),
        "gua_gpu_memory_total_bytes" => card.memory_total_bytes = Some(whole(value)),
        "gua_gpu_memory_used_bytes" => card.memory_used_bytes = Some(whole(value)),
        "gua_user_gpu_memory_bytes" => {
            if let Some(holder) = card.holder(own(series, "user")) {
                holder.memory_bytes = Some(whole(value));
            }
        }
        "gua_user_idle_since_timestamp_seconds" => {
            if let Some(holder) = card.holder(own(series, "user")) {
                let since = moment(value);
                holder.idle_since = since.map(nearest);
                holder.idle_seconds = since.map(|since| Period::new(since, now).seconds());
            }
        }
        _ => {}
    }
    card.holders.sort_by(|a, b| {
        let idle = |it: &HolderNow| it.idle_seconds.unwrap_or(-1.0);
        idle(b).total_cmp(&idle(a)).then_with(|| a.user.cmp(&b.user))
    });
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a card")]
const fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A moment that somebody told in seconds; `None` where no calendar has it.
fn moment(seconds: f64) -> Option<UnixMillis> {
    let millis = (seconds >= 0.0).then(|| whole(seconds * 1000.0))?;
    let at = UnixMillis(i64::try_from(millis).ok()?);
    timestamp(at).map(|_| at)
}

impl Totals {
    fn with(self, card: &CardNow) -> Self {
        let one = |state| usize::from(card.state == state);
        self.plus(Self {
            cards: 1,
            active: one(StateNow::Active),
            idle_held: one(StateNow::IdleHeld),
            free: one(StateNow::Free),
            unknown: one(StateNow::Unknown),
        })
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            cards: self.cards + other.cards,
            active: self.active + other.active,
            idle_held: self.idle_held + other.idle_held,
            free: self.free + other.free,
            unknown: self.unknown + other.unknown,
        }
    }
}

fn longest_idle(cards: &[CardNow]) -> Option<Idle> {
    let idle = cards.iter().flat_map(|card| {
        card.holders.iter().filter_map(|holder| {
            let seconds = holder.idle_seconds?;
            Some(Idle { user: holder.user.clone(), gpu: card.gpu.clone(), seconds })
        })
    });
    idle.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
}
