//! From sums to the answer.

use std::collections::{BTreeMap, BTreeSet};

use gua_core::Period;
use gua_core::slices::gpu_name;
use gua_core::units::UnixMillis;
use gua_query::usage::{
    Account, AccountName, By, CardTotals, CardUsage, Equivalent, States, Sums, Unattributed, Usage,
    UsageRequest, Verdict, gpu_count,
};
use gua_store::{CardTimes, HolderSums, HolderTimes};

use super::answer::{FleetPerson, FleetUsage, HostUsage, ModelUsage, Source};
use super::collect::Collector;
use super::epoch::HostTargets;
use super::tally::{CardTally, HostTally};
use crate::labels::{UNATTRIBUTED, UNLISTED};
use crate::target::{Target, TargetId, UNPARTITIONED};

/// A host with rare samples is silent later: after the time of this many.
const SILENT_SAMPLES: i64 = 3;

/// One host with all of its targets.
struct FleetHost<'a> {
    /// The one that was heard of last.
    target: &'a Target,
    sums: HostTally,
    is_silent: bool,
}

impl Collector {
    /// Returns the report.
    pub fn finish(mut self, source: Source, request: &UsageRequest) -> FleetUsage {
        let silent_after = self.distance() * SILENT_SAMPLES;
        let week = self.hours.finish(&self.taken, request.zone.clone());
        let hosts = self.hosts(silent_after);
        let window = self.final_window(&hosts);
        let mut sums = Sums {
            host: None,
            window,
            data: None,
            recorded_ms: whole(hosts.iter().map(|host| host.sums.observed_ms).fold(0.0, f64::max)),
            gaps: Vec::new(),
            // Each host has thresholds of its own, which it does not export.
            basis: Vec::new(),
            cards: Vec::new(),
            uids: BTreeMap::new(),
            accounts: BTreeMap::new(),
            week,
            sessions: Vec::new(),
            sessions_left_out: 0,
        };
        let mut by_model = Models::new();
        let add = |host| add_host(&mut sums, &mut by_model, host, window);
        let host_usages = hosts.iter().map(add).collect();
        let models = models(by_model);
        let times = sums.card_times();
        let mut usage = Usage::from_sums(sums, request);
        usage.schema = "gua.fleet-report/2";
        usage.accounts.iter_mut().for_each(clear_process_hours);
        set_coverage(&mut usage, &hosts, &times);
        let people = people(&usage, &hosts);
        let mut hosts: Vec<HostUsage> = host_usages;
        usage.gpu_count = hosts.iter().map(|host| host.gpu_count).sum();
        hosts.sort_by(|a, b| {
            let idle = |host: &HostUsage| host.states.idle_held.gpu_hours;
            idle(b).total_cmp(&idle(a)).then_with(|| a.name.cmp(&b.name))
        });
        let silent = hosts.iter().filter(|host| host.is_silent);
        let silent_hosts = silent.map(|host| host.name.clone()).collect();
        FleetUsage { source, usage, hosts, models, people, silent_hosts }
    }

    /// Returns every host once, whatever its targets are.
    fn hosts(&self, silent_after: i64) -> Vec<FleetHost<'_>> {
        let mut all: Vec<HostTally> =
            self.epochs.hosts.iter().map(|_| HostTally::default()).collect();
        for (id, epoch) in self.epochs.iter().filter(|(id, _)| self.taken.contains(id)) {
            if let (Some(sums), Some(found)) = (all.get_mut(epoch.host), self.tally.get(id)) {
                sums.add_sums(found);
            }
        }
        // A card that was taken out long ago is no part of the window.
        for sums in all.iter_mut().filter(|sums| sums.observed_ms > 0.0) {
            sums.cards.retain(|_, card| card.times.observed_ms() > 0.0);
        }
        let hosts = self.epochs.hosts.iter().zip(all);
        let host = |(host, sums): (&HostTargets, HostTally)| {
            let target = self.newest(&host.targets)?;
            let silent_after = target.silent_after().max(silent_after);
            let is_late = |last| self.window.to.0.saturating_sub(last) > silent_after;
            Some(FleetHost { target, sums, is_silent: target.last_tick.is_none_or(is_late) })
        };
        hosts.filter_map(host).collect()
    }

    /// Returns the window up to where the counters of a host that goes on are final.
    fn final_window(&self, hosts: &[FleetHost<'_>]) -> Period {
        let going_on = hosts.iter().filter(|host| !host.is_silent);
        let last = going_on.filter_map(|host| host.target.final_until).max();
        let to = last.map_or(self.window.to, |last| self.window.to.min(UnixMillis(last)));
        Period::new(self.window.from, to.max(self.window.from))
    }

    /// Returns the target that was heard of last.
    fn newest(&self, targets: &[TargetId]) -> Option<&Target> {
        let targets = targets.iter().filter_map(|id| self.targets.get(*id));
        targets.max_by_key(|target| target.last_tick)
    }
}

/// Adds the cards and people of a host, and returns what the host did.
fn add_host(
    sums: &mut Sums,
    models: &mut Models,
    host: &FleetHost<'_>,
    window: Period,
) -> HostUsage {
    let FleetHost { target, sums: host_sums, is_silent } = host;
    let mut cards: Vec<_> =
        host_sums.cards.iter().map(|it| (card_totals(target, it), it.1)).collect();
    // A card of which only counters are known comes last.
    cards
        .sort_by_key(|(card, _)| (card.index.is_none(), card.index, card.unpartitioned, card.slot));
    let mut times = CardTimes::default();
    let mut usages = Vec::new();
    for (card, tally) in cards {
        times.add_sums(&card.times);
        usages.push((CardUsage::from(&card), card.times));
        let place = sums.cards.len();
        sums.cards.push(card);
        for (user, times) in &tally.users {
            let holder = HolderSums { times: holder_times(times), peak_mib: 0 };
            sums.add_holder(By::User, account_name(user), place, &holder);
        }
    }
    add_models(models, &usages);
    let observed = Period::new(UnixMillis(0), UnixMillis(whole(host_sums.observed_ms)));
    HostUsage {
        name: target.hostname.clone(),
        labels: target.labels.clone(),
        gua_version: target.version.clone(),
        driver_version: target.cards.values().find_map(|card| card.driver_version.clone()),
        states: States::new(&times),
        observed_seconds: observed.seconds(),
        coverage: part(observed.seconds(), window.seconds()),
        last_tick: target.last_tick.map(|last| UnixMillis(last).into()),
        is_silent: *is_silent,
        gpu_count: gpu_count(usages.iter().map(|(card, _)| card)),
        cards: usages.into_iter().map(|(card, _)| card).collect(),
    }
}

fn card_totals(target: &Target, (uuid, tally): (&String, &CardTally)) -> CardTotals {
    let card = target.cards.get(uuid);
    let gpu = card.and_then(|card| card.gpu.as_deref()).unwrap_or_default();
    let (index, slot) = gpu.split_once(':').map_or((gpu, None), |(card, slot)| (card, Some(slot)));
    let times = tally.times;
    let observed_ms = times.observed_ms();
    CardTotals {
        uuid: Some(uuid.clone()),
        index: index.parse().ok(),
        slot: slot.and_then(|slot| slot.parse().ok()),
        name: card.and_then(|card| card.model.clone()),
        times: CardTimes { busy_unknown_ms: observed_ms, memory_unknown_ms: observed_ms, ..times },
        unknown_j: tally.unknown_j,
        unpartitioned: slot == Some(UNPARTITIONED),
        ..CardTotals::default()
    }
}

/// Returns the times of a user, with what counters do not say as unknown.
fn holder_times(times: &HolderTimes<f64>) -> HolderTimes<f64> {
    HolderTimes { memory_unknown_ms: times.working_ms + times.idle_ms + times.unknown_ms, ..*times }
}

fn account_name(user: &str) -> AccountName {
    match user {
        UNATTRIBUTED => AccountName::NOT_KNOWN,
        UNLISTED => AccountName::Unattributed(Unattributed::Unlisted),
        user => AccountName::user(user),
    }
}

/// Sets what is different for many hosts: time of one may be observed while another is not.
fn set_coverage(usage: &mut Usage, hosts: &[FleetHost<'_>], times: &CardTimes<f64>) {
    let observed: f64 = hosts.iter().map(|host| host.sums.observed_ms).sum();
    let longest = usage.window.observed_seconds;
    let possible = usage.window.seconds * count(hosts.len());
    usage.window.observed_seconds = observed.round() / 1000.0;
    usage.window.coverage = part(observed / 1000.0, possible);
    usage.equivalent_gpus = Equivalent {
        idle_held: cards_all_the_time(hosts, |times| times.idle_held_ms),
        truly_idle: cards_all_the_time(hosts, |times| times.free_ms),
    };
    usage.verdict = Some(Verdict::new(times, longest, usage.window.coverage, None));
}

/// Returns the number of cards that would have been in a state all the time that their hosts were observed.
fn cards_all_the_time(hosts: &[FleetHost<'_>], millis: fn(&CardTimes<f64>) -> f64) -> Option<f64> {
    let of_host = |host: &FleetHost<'_>| {
        part(host.sums.cards.values().map(|card| millis(&card.times)).sum(), host.sums.observed_ms)
    };
    hosts.iter().filter_map(of_host).reduce(|a, b| a + b)
}

/// Sums by the model of the GPU: number of GPUs, and times.
type Models = BTreeMap<Option<String>, (usize, CardTimes<f64>)>;

/// Adds the cards of a host. MIG instances are of the model of their GPU.
fn add_models(models: &mut Models, cards: &[(CardUsage, CardTimes<f64>)]) {
    let mut of_host: BTreeMap<Option<String>, Vec<&(CardUsage, CardTimes<f64>)>> = BTreeMap::new();
    for card in cards {
        let name = card.0.name.as_deref().map(|name| gpu_name(name).to_owned());
        of_host.entry(name).or_default().push(card);
    }
    for (name, cards) in of_host {
        let (count, times) = models.entry(name).or_default();
        *count += gpu_count(cards.iter().map(|(card, _)| card));
        cards.iter().for_each(|(_, card)| times.add_sums(card));
    }
}

fn models(models: Models) -> Vec<ModelUsage> {
    let model = |(name, (cards, times)): (Option<String>, (usize, CardTimes<f64>))| ModelUsage {
        name,
        cards,
        states: States::new(&times),
    };
    let mut models: Vec<_> = models.into_iter().map(model).collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.cards));
    models
}

/// Sets what counters do not have: they count the presence of users, not of processes.
fn clear_process_hours(account: &mut Account) {
    account.present_process_hours = None;
    account.working_process_hours = None;
    account.idle_process_hours = None;
    account.idle_beside_process_hours = None;
    account.held_idle_gib_hours = None;
    account.memory_unknown_process_hours = None;
}

/// Returns the presence of the people of the accounts, in the same order.
fn people(usage: &Usage, hosts: &[FleetHost<'_>]) -> Vec<FleetPerson> {
    let mut present: BTreeMap<Option<&str>, (BTreeSet<&str>, HolderTimes<f64>)> = BTreeMap::new();
    for host in hosts {
        let users = host.sums.cards.values().flat_map(|card| &card.users);
        let users = users.filter(|(_, times)| times.values().iter().any(|value| *value > 0.0));
        for (user, times) in users.filter(|(user, _)| *user != UNLISTED) {
            let user = Some(user.as_str()).filter(|user| *user != UNATTRIBUTED);
            let (names, sums) = present.entry(user).or_default();
            names.insert(&host.target.hostname);
            sums.add_sums(times);
        }
    }
    let people = usage.accounts.iter().filter(|it| it.is_of_processes()).filter_map(|account| {
        let (hosts, times) = present.get(&account.name.as_deref())?;
        let present_ms = times.working_ms + times.idle_ms + times.unknown_ms;
        Some(FleetPerson {
            user: account.name.clone(),
            hosts: hosts.len(),
            present_gpu_hours: hours(present_ms),
            present_idle_gpu_hours: hours(times.idle_ms),
        })
    });
    people.collect()
}

/// Returns milliseconds as hours, to the billionth.
fn hours(millis: f64) -> f64 {
    (millis / 3.6e6 * 1e9).round() / 1e9
}

/// Returns a part of a whole, to six decimals; `None` if there is no whole.
fn part(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole * 1e6).round() / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of hosts")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds of centuries")]
fn whole(millis: f64) -> i64 {
    millis.round() as i64
}
