//! All looks at all cards as one sum.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::card::MemorySource as Whose;
use probe::units::{Bytes, Millijoules, Percent, UnixMillis};
use probe::{Account, CardAccounts, CardFacts, CardLook, Reading, Why};

use super::card::{CardTally, each, in_order, of_role};
use super::course::{Course, load};
use super::peak::Peak;
use super::sum::sum;
use super::tree::{OnCard, Share};
use crate::members::Role;
use crate::options::Cards;
use crate::parts::Parts;
use crate::sample::GpuSample;
use crate::usage::{CardUsage, GpuUsage, Load};

/// A process that began so shortly before us began with us: the clocks are not the same.
const SLACK_MILLIS: i64 = 1000;

/// Everything since the begin.
#[derive(Debug)]
pub(super) struct Tally {
    chosen: Cards,
    /// Whether the pids that the driver tells are of our own kind.
    pids: Pids,
    cards: Vec<CardTally>,
    memory: Parts<Peak>,
    system_memory: Peak,
    /// The most that the chosen cards did together at any look.
    busiest: Option<f64>,
    tree: Course,
    looks: u64,
    /// Those in which a card did not tell who held it.
    unread_looks: u64,
    last: Option<Instant>,
    /// What the tree held at the begin, which is the first look if that comes in time, and at the
    /// newest look.
    ends: Option<[Parts<Reading<Bytes>>; 2]>,
}

/// Whose pids the driver tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pids {
    Ours,
    /// We are in a container, and none of the tree's has been among them.
    MaybeTheHosts,
}

/// What one look saw of one card.
#[derive(Debug, Clone, Copy)]
struct Seen<'a> {
    look: &'a CardLook,
    tree: &'a OnCard,
    /// In percent, since the last look.
    busy: Reading<f64>,
    is_chosen: bool,
}

impl Tally {
    pub fn new(chosen: Cards, pids: Pids) -> Self {
        Self {
            chosen,
            pids,
            cards: Vec::new(),
            memory: Parts::default(),
            system_memory: Peak::default(),
            busiest: None,
            tree: Course::default(),
            looks: 0,
            unread_looks: 0,
            last: None,
            ends: None,
        }
    }

    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// Notes a look that told nothing, or never came back.
    pub fn miss(&mut self) {
        self.looks += 1;
        self.unread_looks += 1;
        self.held(Parts::default().map(|()| Reading::Unknown(Why::TimedOut)));
    }

    /// The tree goes on from here: what a later look sees is not what there was at the begin.
    pub fn pass_the_begin(&mut self) {
        self.begin_with(Reading::Unknown(Why::TimedOut));
    }

    /// The tree was just born: it holds nothing.
    pub fn begin_with_nothing(&mut self) {
        self.begin_with(Reading::Known(Bytes(0)));
    }

    fn begin_with(&mut self, held: Reading<Bytes>) {
        self.ends.get_or_insert([Parts::default().map(|()| held); 2]);
    }

    fn held(&mut self, now: Parts<Reading<Bytes>>) {
        let first = self.ends.map_or(now, |[first, _]| first);
        self.ends = Some([first, now]);
    }

    /// Adds a look; what it saw is also a sample.
    pub fn see(&mut self, cards: &[CardLook], trees: &[OnCard], at: Instant) -> GpuSample {
        let since = self.last.map(|last| at.saturating_duration_since(last));
        let seen: Vec<Seen<'_>> = cards
            .iter()
            .zip(trees)
            .filter_map(|(look, tree)| self.see_card(look, tree, at, since.unwrap_or_default()))
            .collect();
        if trees.iter().any(|tree| !tree.members.is_empty()) {
            self.pids = Pids::Ours;
        }
        // Of a card that is lost there is nothing to be held.
        let is_unread =
            |one: &Seen<'_>| one.look.vitals.holders.unread.is_some_and(|why| why != Why::Lost);
        self.looks += 1;
        self.unread_looks += u64::from(seen.iter().any(is_unread));
        self.last = Some(at);
        let memory = self.see_memory(&seen);
        self.held(memory);
        GpuSample {
            memory,
            system_memory: self.see_system_memory(&seen),
            utilization: self.see_utilization(&seen).map(Percent),
            tree_utilization: self.see_tree(&seen, since).map(Percent),
        }
    }

    /// `None` for a card that was lost from the beginning.
    fn see_card<'a>(
        &mut self,
        look: &'a CardLook,
        tree: &'a OnCard,
        at: Instant,
        since: Duration,
    ) -> Option<Seen<'a>> {
        let card = self.card(&look.facts);
        let busy = card.see(&look.vitals, tree, at, since);
        let is_chosen = card.is_chosen();
        (!card.is_dead()).then_some(Seen { look, tree, busy, is_chosen })
    }

    fn card(&mut self, facts: &Arc<CardFacts>) -> &mut CardTally {
        self.cards.retain(|card| !card.was_nameless(facts));
        let place = self.cards.iter().position(|card| card.is(facts)).unwrap_or_else(|| {
            let is_chosen = is_chosen(&self.chosen, facts);
            self.cards.push(CardTally::new(Arc::clone(facts), is_chosen));
            self.cards.len() - 1
        });
        &mut self.cards[place]
    }

    fn see_memory(&mut self, seen: &[Seen<'_>]) -> Parts<Reading<Bytes>> {
        let mut sums: Parts<Share> = Parts::default();
        for one in seen {
            sums = sums.zip(one.tree.memory).map(|(sum, share)| sum.and(share));
        }
        for (peak, sum) in each(&mut self.memory).into_iter().zip(in_order(sums)) {
            peak.see(sum.known, sum.missing);
        }
        sums.map(|sum| self.unless_foreign(sum.tell()))
    }

    fn see_system_memory(&mut self, seen: &[Seen<'_>]) -> Reading<Bytes> {
        let used = seen.iter().map(|one| {
            let memory = one.look.vitals.memory;
            let is_hosts = memory.is_known_and(|memory| memory.source == Whose::System);
            (memory.map(|memory| memory.used), is_hosts)
        });
        let used = hosts_once(used).fold(Share::default(), |sum, used| sum.and(used.into()));
        self.system_memory.see(used.known, used.missing);
        used.tell()
    }

    fn see_utilization(&mut self, seen: &[Seen<'_>]) -> Reading<f64> {
        let together = self.of_chosen(seen, |one| one.busy);
        if let Reading::Known(percent) = together {
            self.busiest = Some(self.busiest.map_or(percent, |busiest| busiest.max(percent)));
        }
        together
    }

    fn see_tree(&mut self, seen: &[Seen<'_>], since: Option<Duration>) -> Reading<f64> {
        let work = self.unless_foreign(self.of_chosen(seen, |one| one.tree.work));
        let (work, since) = match since {
            Some(since) => (work, since),
            None => (Reading::Unknown(Why::FirstLook), Duration::ZERO),
        };
        match work {
            Reading::Known(percent) => self.tree.momentary(percent, since),
            Reading::Unknown(why) => self.tree.missing(why),
        }
        work
    }

    /// A figure of all chosen cards together.
    fn of_chosen(
        &self,
        seen: &[Seen<'_>],
        figure: impl Fn(&Seen<'_>) -> Reading<f64>,
    ) -> Reading<f64> {
        let chosen = || seen.iter().filter(|one| one.is_chosen);
        let is_there =
            |uuid: &String| chosen().any(|one| one.look.facts.uuid.as_ref().known() == Some(uuid));
        match &self.chosen {
            Cards::Only(uuids) if !uuids.iter().all(is_there) => Reading::Unknown(Why::Gone),
            _ => sum(chosen().map(figure)),
        }
    }

    /// Adds what the driver kept account of, for processes that began since then.
    pub fn account(
        &mut self,
        cards: &[CardAccounts],
        roles: &HashMap<u32, Role>,
        began: UnixMillis,
    ) {
        let is_meanwhile = |account: &&Account| account.started.0 >= began.0 - SLACK_MILLIS;
        let mut processes: HashMap<u32, (Role, Bytes)> = HashMap::new();
        for card in cards {
            let accounts = card.accounts.as_ref().known().into_iter().flatten();
            for account in accounts.filter(is_meanwhile) {
                let (Some(role), Reading::Known(peak)) = (roles.get(&account.pid), account.peak)
                else {
                    continue;
                };
                self.card(&card.facts).lift(account.pid, *role, peak);
                let (_, sum) = processes.entry(account.pid).or_insert((*role, Bytes(0)));
                *sum = [*sum, peak].into_iter().sum();
            }
        }
        for (role, peak) in processes.into_values() {
            self.pids = Pids::Ours;
            of_role(&mut self.memory, role).lift(peak);
            self.memory.combined.lift(peak);
        }
    }

    /// What it comes to.
    pub fn usage(&self) -> GpuUsage {
        let capacity = self.live().map(CardTally::capacity);
        let nothing = Parts::default().map(|()| Reading::Unknown(Why::NotTold));
        let [at_begin, at_end] = self.ends.unwrap_or([nothing; 2]);
        GpuUsage {
            cards: self.card_usages(),
            memory: self.tree_memory(),
            at_begin: at_begin.map(|held| self.unless_foreign(held)),
            at_end: at_end.map(|held| self.unless_foreign(held)),
            system_memory: self.system_memory.tell(),
            capacity: sum(hosts_once(capacity)),
            utilization: self.utilization(),
            tree_utilization: self.unless_foreign(self.tree.tell()),
            energy: self.energy(),
            looks: self.looks,
            unread_looks: self.unread_looks,
        }
    }

    fn card_usages(&self) -> Vec<CardUsage> {
        let mut cards: Vec<&CardTally> = self.cards.iter().collect();
        cards.sort_by_key(|card| card.place());
        let usage = |card: &CardTally| {
            let usage = card.usage();
            CardUsage { memory: self.unless_foreign(usage.memory), ..usage }
        };
        cards.into_iter().map(usage).collect()
    }

    /// Known when a look was complete or each card's is known, and nothing was hidden.
    fn tree_memory(&self) -> Parts<Reading<Bytes>> {
        let mut all = Parts { main: Vec::new(), descendants: Vec::new(), combined: Vec::new() };
        for card in self.live() {
            all = all.zip(card.memory()).map(|(mut all, memory)| {
                all.push(memory);
                all
            });
        }
        self.memory.zip(all).map(|(peak, cards)| self.unless_foreign(together(peak, &cards)))
    }

    /// The mean is the sum of the cards' means.
    fn utilization(&self) -> Reading<Load> {
        let chosen: Vec<CardUsage> = self.chosen_usages();
        let mean = sum(chosen.iter().map(|card| card.utilization.map(|load| load.mean.0)));
        let mean = self.unless_one_is_gone(&chosen, mean);
        mean.map(|mean| load(self.busiest.unwrap_or(mean), mean))
    }

    fn energy(&self) -> Reading<Millijoules> {
        let chosen = self.chosen_usages();
        let all: Reading<u64> = sum(chosen.iter().map(|card| card.energy.map(|energy| energy.0)));
        self.unless_one_is_gone(&chosen, all).map(Millijoules)
    }

    fn chosen_usages(&self) -> Vec<CardUsage> {
        self.live().filter(|card| card.is_chosen()).map(CardTally::usage).collect()
    }

    fn unless_one_is_gone<T>(&self, chosen: &[CardUsage], told: Reading<T>) -> Reading<T> {
        match &self.chosen {
            Cards::Only(uuids) if uuids.len() > chosen.len() => Reading::Unknown(Why::Gone),
            _ => told,
        }
    }

    /// The cards that somebody can have had something on.
    fn live(&self) -> impl Iterator<Item = &CardTally> {
        self.cards.iter().filter(|card| !card.is_dead())
    }

    fn unless_foreign<T>(&self, told: Reading<T>) -> Reading<T> {
        match self.pids {
            Pids::Ours => told,
            Pids::MaybeTheHosts => Reading::Unknown(Why::Foreign),
        }
    }
}

fn is_chosen(chosen: &Cards, facts: &CardFacts) -> bool {
    match chosen {
        Cards::All => true,
        Cards::Only(uuids) => facts.uuid.as_ref().is_known_and(|uuid| uuids.contains(uuid)),
        Cards::None => false,
    }
}

/// One part of the tree on all cards.
fn together(peak: Peak, cards: &[Reading<Bytes>]) -> Reading<Bytes> {
    let is_untold = |memory: &&Reading<Bytes>| memory.why() == Some(Why::NotTold);
    if let Some(untold) = cards.iter().find(is_untold) {
        return *untold;
    }
    let known: Vec<Bytes> = cards.iter().filter_map(|memory| memory.known()).collect();
    if !cards.is_empty() && known.len() == cards.len() {
        let largest = known.into_iter().max().unwrap_or_default();
        return Reading::Known(peak.at_least().max(largest));
    }
    peak.tell()
}

/// The figures of cards, of those that share the host's memory only the first.
fn hosts_once(
    figures: impl Iterator<Item = (Reading<Bytes>, bool)>,
) -> impl Iterator<Item = Reading<Bytes>> {
    let mut has_hosts = false;
    figures.filter_map(move |(figure, is_hosts)| {
        let is_again = is_hosts && std::mem::replace(&mut has_hosts, true);
        (!is_again).then_some(figure)
    })
}
