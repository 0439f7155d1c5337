//! From sums to the answer.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{FleetPerson, FleetUsage, HostUsage, ModelUsage, Source};
use super::counter::Host;
use super::gather::Gather;
use super::tally::Sums;
use super::target::Target;
use crate::calendar::nearest;
use crate::config::Cost as Tariff;
use crate::metrics::UNATTRIBUTED;
use crate::report::usage::finish::{heatmap, stretch};
use crate::report::usage::times::{Times, hours, seconds, share};
use crate::report::usage::verdict::{self, Basis};
use crate::report::usage::{
    Card, Cost, Equivalent, Money, Person, Price, States, Stretch, Usage, Window,
};

use probe::units::UnixMillis;

/// Samples that are rare tell late of a host.
const SILENT_SAMPLES: i64 = 3;

/// What a month is taken for, and how much it takes to tell a pace.
const MONTH_SECONDS: f64 = 30.0 * 86_400.0;
const LEAST_PACE_SECONDS: f64 = 3_600.0;

/// One host, by all that is told of it.
struct Known<'a> {
    /// The way in which it was heard of last.
    target: &'a Target,
    sums: Sums,
}

/// What somebody counts on all hosts together.
#[derive(Debug, Default)]
struct Counted {
    hosts: BTreeSet<String>,
    present: Times,
    shares: Times,
}

impl Gather {
    /// The answer.
    #[must_use]
    pub fn finish(mut self, source: Source, tz_name: String, tariff: &Tariff) -> FleetUsage {
        let rare = self.distance() * SILENT_SAMPLES;
        let known = self.once_each();
        let mut hosts: Vec<HostUsage> = known.iter().map(|host| self.host(host, rare)).collect();
        hosts.sort_by(|a, b| {
            let idle = |host: &HostUsage| host.states.idle_held.gpu_hours;
            idle(b).total_cmp(&idle(a)).then_with(|| a.name.cmp(&b.name))
        });
        let silent_hosts =
            hosts.iter().filter(|host| host.is_silent).map(|host| host.name.clone()).collect();
        let (people, models) = (people(&known), models(&known));
        FleetUsage {
            usage: self.usage(&known, &hosts, &people, &models, tariff, tz_name),
            models,
            people,
            hosts,
            silent_hosts,
            source,
        }
    }

    /// Every host once, however it is known.
    fn once_each(&self) -> Vec<Known<'_>> {
        let mut sums: Vec<Sums> = self.counters.hosts.iter().map(|_| Sums::default()).collect();
        for (id, counter) in self.counters.iter().filter(|(id, _)| self.taken.contains(id)) {
            if let (Some(sums), Some(told)) = (sums.get_mut(counter.host), self.tally.get(id)) {
                sums.add(told);
            }
        }
        // A card that was taken out long ago is none of the window's.
        for sums in sums.iter_mut().filter(|sums| sums.observed_millis > 0) {
            sums.cards.retain(|_, times| times.all() > 0);
        }
        let hosts = self.counters.hosts.iter().zip(sums);
        hosts.filter_map(|(host, sums)| Some(Known { target: self.newest(host)?, sums })).collect()
    }

    /// The way in which a host was heard of last.
    fn newest(&self, host: &Host) -> Option<&Target> {
        let ways = host.ways.iter().filter_map(|way| self.targets.get(*way));
        ways.max_by_key(|target| target.last_tick)
    }

    fn host(&self, known: &Known<'_>, rare: i64) -> HostUsage {
        let Known { target, sums } = known;
        let times: Times = sums.cards.values().copied().sum();
        let (last, silent_after) = (target.last_tick, target.silent_after().max(rare));
        HostUsage {
            name: target.hostname.clone(),
            labels: target.labels.clone(),
            gua_version: target.version.clone(),
            driver_version: target.cards.values().find_map(|card| card.driver_version.clone()),
            states: times.into(),
            observed_seconds: seconds(sums.observed_millis),
            coverage: share(sums.observed_millis, self.window.millis()),
            last_tick: last.map(|last| nearest(UnixMillis(last))),
            is_silent: last.is_none_or(|last| self.window.to.0.saturating_sub(last) > silent_after),
            cards: cards(target, sums),
        }
    }

    fn usage(
        &self,
        known: &[Known<'_>],
        hosts: &[HostUsage],
        people: &[FleetPerson],
        models: &[ModelUsage],
        tariff: &Tariff,
        tz_name: String,
    ) -> Usage {
        let times: Times = known.iter().flat_map(|it| it.sums.cards.values().copied()).sum();
        let observed: i64 = known.iter().map(|it| it.sums.observed_millis).sum();
        let possible = self.window.millis() * i64::try_from(hosts.len()).unwrap_or(0);
        let coverage = share(observed, possible);
        let longest = known.iter().map(|it| it.sums.observed_millis).max().unwrap_or(0);
        let Stretch { from, to } = stretch(self.window);
        Usage {
            schema: "gua.fleet-report/1",
            host: None,
            window: Window {
                from,
                to,
                tz: tz_name,
                seconds: self.window.seconds(),
                observed_seconds: seconds(observed),
                coverage,
            },
            data: None,
            // Each host judges by its own, which it does not tell.
            thresholds: None,
            states: times.into(),
            equivalent_gpus: equivalent(known),
            cards: hosts.iter().flat_map(|host| host.cards.clone()).collect(),
            identities: Some(people.iter().map(identity).collect()),
            // Who works on a card that others work on is told by its host alone.
            accounts_by: Vec::new(),
            accounts: None,
            sessions: None,
            accounts_judged_by: None,
            sessions_left_out: 0,
            money: money(models, tariff, seconds(longest)),
            person: None,
            compared: None,
            heatmap: heatmap(&self.week.cells),
            verdict: verdict::verdict(times, Basis { seconds: seconds(longest), coverage }),
            gaps: Vec::new(),
            judged_again: None,
        }
    }
}

/// Each host's by its own observed time.
fn equivalent(known: &[Known<'_>]) -> Equivalent {
    let sum = |millis: fn(&Times) -> i64| {
        let of_host = |host: &Known<'_>| {
            share(host.sums.cards.values().map(millis).sum(), host.sums.observed_millis)
        };
        known.iter().filter_map(of_host).reduce(|a, b| a + b)
    };
    Equivalent { idle_held: sum(|it| it.idle_held), truly_idle: sum(|it| it.truly_idle) }
}

fn models(known: &[Known<'_>]) -> Vec<ModelUsage> {
    let mut models: BTreeMap<Option<String>, (usize, Times)> = BTreeMap::new();
    for Known { target, sums } in known {
        for (uuid, times) in &sums.cards {
            let model = target.cards.get(uuid).and_then(|card| card.model.clone());
            let (cards, all) = models.entry(model).or_default();
            *cards += 1;
            *all = [*all, *times].into_iter().sum();
        }
    }
    let mut models: Vec<_> = models
        .into_iter()
        .map(|(name, (cards, times))| ModelUsage { name, cards, states: times.into() })
        .collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.cards));
    models
}

/// Everybody, the longest idle holders first.
fn people(known: &[Known<'_>]) -> Vec<FleetPerson> {
    let mut people: BTreeMap<String, Counted> = BTreeMap::new();
    for Known { target, sums } in known {
        for (user, times) in &sums.present {
            let counted = people.entry(user.clone()).or_default();
            if times.all() > 0 {
                counted.hosts.insert(target.hostname.clone());
            }
            counted.present = [counted.present, *times].into_iter().sum();
        }
        for (user, times) in &sums.shares {
            let counted = people.entry(user.clone()).or_default();
            counted.shares = [counted.shares, *times].into_iter().sum();
        }
    }
    let mut people: Vec<_> = people
        .into_iter()
        .filter(|(_, counted)| counted.present.all() > 0 || counted.shares.idle_held > 0)
        .collect();
    people.sort_by_key(|(_, it)| std::cmp::Reverse((it.shares.idle_held, it.present.all())));
    people.into_iter().map(|(user, counted)| person(user, &counted)).collect()
}

/// In money, where there are prices.
fn money(models: &[ModelUsage], tariff: &Tariff, observed: f64) -> Option<Money> {
    let price = |model: &ModelUsage| tariff.price_of(model.name.as_deref().unwrap_or_default());
    let prices = models.iter().map(|model| Price {
        model: model.name.clone(),
        cards: model.cards,
        cost_per_gpu_hour: price(model),
    });
    let cost = |hours: fn(&States) -> f64| {
        let with = models.iter().filter_map(|it| Some(price(it)? * hours(&it.states)));
        let without = models.iter().filter(|it| price(it).is_none());
        let cost: f64 = (with.sum::<f64>() * 1e6).round() / 1e6;
        Cost {
            cost: Some(cost),
            cost_per_month: (observed >= LEAST_PACE_SECONDS)
                .then(|| (cost * MONTH_SECONDS / observed * 1e6).round() / 1e6),
            unpriced_gpu_hours: without.map(|it| hours(&it.states)).sum(),
        }
    };
    models.iter().any(|model| price(model).is_some()).then(|| Money {
        currency: tariff.currency.clone(),
        idle_held: cost(|states| states.idle_held.gpu_hours),
        truly_idle: cost(|states| states.truly_idle.gpu_hours),
        prices: prices.collect(),
        month_seconds: MONTH_SECONDS,
        rests_on_seconds: observed,
    })
}

fn cards(target: &Target, sums: &Sums) -> Vec<Card> {
    let mut cards: Vec<_> =
        sums.cards.iter().map(|(uuid, times)| card(target, uuid, *times)).collect();
    // A card that only its counters tell of stands behind those that have a place.
    cards.sort_by_key(|card| (card.index.is_none(), card.index, card.slot));
    cards
}

fn card(target: &Target, uuid: &str, times: Times) -> Card {
    let told = target.cards.get(uuid);
    let gpu = told.and_then(|card| card.gpu.as_deref()).unwrap_or_default();
    let (index, slot) = gpu.split_once(':').map_or((gpu, None), |(card, slot)| (card, Some(slot)));
    Card {
        uuid: Some(uuid.to_owned()),
        index: index.parse().ok(),
        slot: slot.and_then(|slot| slot.parse().ok()),
        name: told.and_then(|card| card.model.clone()),
        states: States::from(times),
    }
}

fn person(user: String, counted: &Counted) -> FleetPerson {
    FleetPerson {
        user: Some(user).filter(|user| user != UNATTRIBUTED),
        hosts: counted.hosts.len(),
        gpu_hours: hours(counted.present.all()),
        idle_held_gpu_hours: hours(counted.present.idle_held),
        idle_held_part_gpu_hours: hours(counted.shares.idle_held),
    }
}

fn identity(person: &FleetPerson) -> Person {
    let share = (person.gpu_hours > 0.0).then(|| person.idle_held_gpu_hours / person.gpu_hours);
    Person {
        user: person.user.clone(),
        uid: None,
        gpu_hours: person.gpu_hours,
        idle_held_gpu_hours: person.idle_held_gpu_hours,
        idle_held_share: share.map(|share| (share * 1e6).round() / 1e6),
    }
}
