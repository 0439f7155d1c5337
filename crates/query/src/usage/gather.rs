//! Reads the sums of a window from the record.

use std::collections::{BTreeMap, HashMap};

use gua_core::{Period, Slices};
use gua_store::{Database, HolderSums, OwnerProcess, Person, StoreError, WindowSums, Workload};

use super::account::{AccountName, By, Unattributed, bytes};
use super::basis::{basis, host};
use super::gaps::{Gap, RecordEnd, gaps};
use super::hours::{Week, grain};
use super::request::UsageRequest;
use super::session::SessionReader;
use super::sums::{CardTotals, Sums, add_holder_sums};

/// Reads the sums of a window of a request: its own, or the earlier one that it compares with.
pub(super) fn gather(
    store: &Database,
    request: &UsageRequest,
    window: Period,
) -> Result<Sums, StoreError> {
    let runs = store.runs()?;
    let data = store.extent()?;
    let end = RecordEnd::new(&runs, request);
    let window = end.end_window(window, request.now);
    let found = store.usage(window)?;
    let first = runs.iter().map(|run| run.run.started).chain(store.counting_since()?).min();
    let gaps = gaps(window, &found.gaps, data, first, &runs, &end);
    let missing: i64 = gaps.iter().map(|(period, _)| period.millis()).sum();
    let (cards, card_places) = cards(store, &found)?;
    let mut sums = Sums {
        host: host(&runs, window),
        window,
        data,
        recorded_ms: window.millis() - missing,
        gaps: gaps.iter().map(|(period, cause)| Gap::new(*period, *cause)).collect(),
        basis: basis(&runs, window),
        cards,
        uids: BTreeMap::new(),
        accounts: BTreeMap::new(),
        week: week(store, request, window)?,
        sessions: Vec::new(),
        sessions_left_out: 0,
    };
    let people = store.people()?;
    let mut accounts = AccountReader { store, request, people: &people, workloads: HashMap::new() };
    accounts.read(&mut sums, &found, &card_places)?;
    let gaps: Vec<_> = gaps.iter().map(|(period, _)| *period).collect();
    let sessions = SessionReader {
        store,
        request,
        window,
        is_now: end.is_now(window),
        gaps: &gaps,
        cards: &sums.cards,
        card_places: &card_places,
        people: &people,
    };
    (sums.sessions, sums.sessions_left_out) = sessions.read()?;
    Ok(sums)
}

/// Returns the cards of a window in the order of their numbers, and their places by their row ids.
fn cards(
    store: &Database,
    found: &WindowSums,
) -> Result<(Vec<CardTotals>, HashMap<i64, usize>), StoreError> {
    let facts = store.cards()?;
    let mut ids: Vec<_> = found.cards.keys().copied().collect();
    let order =
        |id: &i64| facts.get(id).map(|card| (card.index, card.is_unpartitioned(), card.slot, *id));
    ids.sort_by_key(order);
    let card = |id: &i64| {
        let sums = found.cards.get(id).cloned().unwrap_or_default();
        let totals = CardTotals {
            times: sums.times,
            unknown_ms: sums.unknown_ms,
            unknown_j: sums.unknown_j,
            slices: Some(Slices::WHOLE),
            ..CardTotals::default()
        };
        let Some(card) = facts.get(id) else { return totals };
        // Here, and where holders are added, a part of a GPU begins to count as such.
        let weight = card.slices.weight();
        let mut unknown_ms = totals.unknown_ms;
        unknown_ms.values_mut().for_each(|millis| *millis *= weight);
        CardTotals {
            uuid: card.uuid.clone(),
            parent_uuid: card.parent_uuid.clone(),
            slices: Some(card.slices),
            unpartitioned: card.is_unpartitioned(),
            times: totals.times.weighed(weight),
            unknown_ms,
            index: Some(card.index),
            slot: card.slot,
            name: card.name.clone(),
            memory_bytes: card.memory_mib.map(bytes),
            ..totals
        }
    };
    let places = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    Ok((ids.iter().map(card).collect(), places))
}

fn week(store: &Database, request: &UsageRequest, window: Period) -> Result<Week, StoreError> {
    let mut week = Week::new(request.zone.clone());
    let grain = grain(&request.zone, window);
    store.card_hours(window, grain, |hours| week.add(&hours))?;
    Ok(week)
}

/// Adds up holders by account.
struct AccountReader<'a> {
    store: &'a Database,
    request: &'a UsageRequest,
    people: &'a HashMap<i64, Person>,
    /// Workloads by their row ids; `None` for one that is gone.
    workloads: HashMap<i64, Option<Workload>>,
}

impl AccountReader<'_> {
    fn read(
        &mut self,
        sums: &mut Sums,
        found: &WindowSums,
        card_places: &HashMap<i64, usize>,
    ) -> Result<(), StoreError> {
        let kinds = self.kinds();
        let nobody = Person::default();
        let groups = self.groups(found, &sums.cards, card_places, &kinds)?;
        for ((card, process), holder) in &groups {
            let Some(process) = process else {
                self.add_unlisted(sums, &kinds, *card, holder);
                continue;
            };
            let person = self.people.get(&process.person).unwrap_or(&nobody);
            if !self.request.is_about(person.user.as_deref(), person.uid) {
                continue;
            }
            sums.add_uid(person);
            for by in &kinds {
                let name = match by {
                    By::Card => AccountName::Card(*card),
                    By::User => AccountName::from_person(person),
                    by => self.work_name(*by, person, process)?,
                };
                sums.add_holder(*by, name, *card, holder);
            }
        }
        Ok(())
    }

    /// Adds up holders of one card that no kind of account tells apart.
    fn groups(
        &self,
        found: &WindowSums,
        cards: &[CardTotals],
        card_places: &HashMap<i64, usize>,
        kinds: &[By],
    ) -> Result<BTreeMap<(usize, Option<OwnerProcess>), HolderSums>, StoreError> {
        let needs_workload = kinds.iter().any(|by| by.needs_workload());
        let ids: Vec<_> = found.holders.keys().copied().collect();
        let mut groups: BTreeMap<_, HolderSums> = BTreeMap::new();
        for owner in self.store.owners(&ids)? {
            let Some(card) = card_places.get(&owner.card) else { continue };
            let Some(holder) = found.holders.get(&owner.holder) else { continue };
            let slices = cards.get(*card).and_then(|card| card.slices).unwrap_or(Slices::WHOLE);
            let holder = &HolderSums { times: holder.times.weighed(slices.weight()), ..*holder };
            let process = owner.process.map(|process| match needs_workload {
                true => process,
                false => OwnerProcess { program: None, workload: None, ..process },
            });
            add_holder_sums(groups.entry((*card, process)).or_default(), holder);
        }
        Ok(groups)
    }

    /// Returns the kinds of accounts to add up; of one person also all that they had.
    fn kinds(&self) -> Vec<By> {
        let is_wanted = |by: &By| {
            self.request.by.contains(by) || (*by == By::User && self.request.user.is_some())
        };
        By::ALL.into_iter().filter(is_wanted).collect()
    }

    /// Adds memory that no listed process holds.
    fn add_unlisted(&self, sums: &mut Sums, kinds: &[By], card: usize, holder: &HolderSums) {
        if self.request.user.is_some() {
            return;
        }
        for by in kinds {
            let name = match by {
                By::Card => AccountName::Card(card),
                _ => AccountName::Unattributed(Unattributed::Unlisted),
            };
            sums.add_holder(*by, name, card, holder);
        }
    }

    fn work_name(
        &mut self,
        by: By,
        person: &Person,
        process: &OwnerProcess,
    ) -> Result<AccountName, StoreError> {
        let OwnerProcess { program, workload, .. } = process;
        if let Some(id) = workload.filter(|id| !self.workloads.contains_key(id)) {
            self.workloads.insert(id, self.store.workload(id)?);
        }
        let workload = workload.and_then(|id| self.workloads.get(&id)).and_then(Option::as_ref);
        Ok(by.account_name(person, program.as_ref(), workload.map(|workload| &workload.who)))
    }
}
