//! One card's counters, and those of everybody on it.

use std::time::Duration;

use probe::units::{Bytes, UnixMillis};
use serde::{Deserialize, Serialize};

use super::owner::{OTHERS, Owner, UNATTRIBUTED, Wanted};
use super::room::Room;
use super::split::split;
use crate::classify::State;
use crate::config::Metrics;
use crate::ledger::{self, CardEntry, Crew, Period};

/// The words for the states, in the order in which they are counted.
pub const STATES: [&str; 4] = ["active", "idle_held", "truly_idle", "unknown"];

/// What a sensor told is taken for what it is since, at least up to here; after that it is not
/// known. Sensors are read more rarely than cards.
const SENSORS_HOLD_MILLIS: i64 = 60_000;

/// What was counted of a card. Times are in microseconds, as shares are that fine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CardCounters {
    /// The number of the tick that saw it first.
    pub born: u64,
    /// When it was last seen.
    pub last_millis: i64,
    pub states: [u64; 4],
    /// Hundredths of a percent times microseconds, divided by 10,000.
    pub busy: u64,
    pub energy_microjoules: u64,
    /// Milliwatts and degrees Celsius, with when they were last read.
    pub(super) power: Option<(i64, u32)>,
    #[serde(default)]
    pub(super) temperature: Option<(i64, u32)>,
    /// By user.
    pub owners: Vec<OwnerCounters>,
    /// By user, job, container and notebook, as far as that is wanted.
    pub workloads: Vec<OwnerCounters>,
    pub people: Vec<PersonCounters>,
}

/// Somebody's share of a card's time, by what the card did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerCounters {
    pub owner: Owner,
    pub born: u64,
    /// When they last had a share.
    pub last_millis: i64,
    pub states: [u64; 4],
}

/// Somebody's time on a card, shared or not, by what they did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonCounters {
    pub user: String,
    pub born: u64,
    /// When they were last there.
    pub last_millis: i64,
    pub states: [u64; 4],
    /// Since when they hold it idle, and until when that was last seen.
    pub idle: Option<(i64, i64)>,
}

/// A tick, as far as a card's counters need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick<'a> {
    pub number: u64,
    pub covers: Period,
    pub wanted: &'a Wanted,
}

impl Tick<'_> {
    const fn at(&self) -> i64 {
        self.covers.to.0
    }

    /// Idle stretches go on over a doubt or a gap of this length, as sessions do.
    fn bridge(&self) -> i64 {
        ledger::bridge(millis(self.wanted.beat.interval))
    }

    /// Since when a sensor may have been read for it to hold still.
    fn sensors_since(&self) -> i64 {
        let every = millis(self.wanted.beat.sensors_every);
        self.at().saturating_sub(SENSORS_HOLD_MILLIS.max(every.saturating_add(every / 2)))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl CardCounters {
    pub(super) fn count(&mut self, card: &CardEntry, tick: Tick<'_>, room: &mut Room) {
        let micros = micros(tick.covers);
        self.last_millis = tick.at();
        self.states[place(card.state)] += micros;
        if let Some(work) = card.evidence.work.known() {
            self.busy += micros * u64::from(work.0) / 10_000;
        }
        self.read_sensors(card, tick);
        self.count_energy(tick.covers);
        // First, as who has a share is one of them.
        self.count_people(card, micros, tick, room);
        self.count_shares(card, micros, tick, room);
    }

    fn read_sensors(&mut self, card: &CardEntry, tick: Tick<'_>) {
        let (now, since) = (tick.at(), tick.sensors_since());
        let newest = |read: Option<u32>, before: Option<(i64, u32)>| {
            read.map(|read| (now, read)).or(before).filter(|(at, _)| *at >= since)
        };
        self.power = newest(card.measures.power_milliwatts, self.power);
        self.temperature = newest(card.measures.temperature_celsius, self.temperature);
    }

    /// By the power that was last read.
    fn count_energy(&mut self, covers: Period) {
        if let Some((_, milliwatts)) = self.power {
            let millis = u64::try_from(covers.millis()).unwrap_or(0);
            self.energy_microjoules += millis * u64::from(milliwatts);
        }
    }

    /// Divides the time of the card among those who hold it. Nobody has a free card's.
    fn count_shares(&mut self, card: &CardEntry, micros: u64, tick: Tick<'_>, room: &mut Room) {
        // Who is there at a tick that speaks for no time is not in a history.
        if card.state == State::TrulyIdle || micros == 0 {
            return;
        }
        let state = place(card.state);
        let shares = shares(card, &tick.wanted.labels);
        let weights: Vec<u64> = shares.iter().map(|(_, weight)| *weight).collect();
        let parts = split(micros, &weights);
        for ((owner, _), part) in shares.into_iter().zip(parts) {
            if let Some(workload) = self.workload(&owner, tick, room) {
                workload.states[state] += part;
            }
            self.share(owner.user, tick, room).states[state] += part;
        }
    }

    /// Where there is no room for a job, it is still counted for its person.
    fn workload(
        &mut self,
        owner: &Owner,
        tick: Tick<'_>,
        room: &mut Room,
    ) -> Option<&mut OwnerCounters> {
        if owner.more.is_empty() {
            return None;
        }
        let is_known = self.workloads.iter().any(|known| known.owner == *owner);
        if !is_known && room.workloads == 0 {
            room.short += 1;
            return None;
        }
        room.workloads -= usize::from(!is_known);
        Some(seat_of(&mut self.workloads, owner, tick))
    }

    /// A person's share; where there is no room for them, that of others.
    fn share(&mut self, user: String, tick: Tick<'_>, room: &mut Room) -> &mut OwnerCounters {
        let owner = match user == UNATTRIBUTED {
            true => Owner::named(UNATTRIBUTED),
            false => {
                let seat = self.person(user, tick, room);
                Owner::named(&self.people[seat].user)
            }
        };
        seat_of(&mut self.owners, &owner, tick)
    }

    /// By what somebody is told of here: their name, where they have a place, else others.
    pub(super) fn name(&self, user: String) -> String {
        let has_place = self.people.iter().any(|person| person.user == user);
        if has_place { user } else { OTHERS.to_owned() }
    }

    /// A card counts in full for everybody on it.
    fn count_people(&mut self, card: &CardEntry, micros: u64, tick: Tick<'_>, room: &mut Room) {
        let mut here: Vec<(usize, State)> = Vec::new();
        for (user, state) in people(&card.crew, card.state) {
            let seat = self.person(user, tick, room);
            room.short += u64::from(self.people[seat].user == OTHERS);
            self.people[seat].states[place(state)] += micros;
            match here.iter_mut().find(|(known, _)| *known == seat) {
                // Of others, one who idles is to be heard of.
                Some((_, known)) if *known != State::IdleHeld => *known = state,
                Some(_) => {}
                None => here.push((seat, state)),
            }
        }
        for (seat, person) in self.people.iter_mut().enumerate() {
            match here.iter().find(|(known, _)| *known == seat) {
                Some((_, state)) => person.see(*state, tick),
                None => person.idle = None,
            }
        }
    }

    /// The place of a person, or that of others.
    fn person(&mut self, user: String, tick: Tick<'_>, room: &mut Room) -> usize {
        let known = |people: &[PersonCounters], user: &str| {
            people.iter().position(|person| person.user == user)
        };
        if let Some(seat) = known(&self.people, &user) {
            return seat;
        }
        let user = match room.people {
            0 => OTHERS.to_owned(),
            _ => user,
        };
        known(&self.people, &user).unwrap_or_else(|| {
            room.people = room.people.saturating_sub(1);
            let (born, last_millis, states) = (tick.number, tick.at(), [0; 4]);
            self.people.push(PersonCounters { user, born, last_millis, states, idle: None });
            self.people.len() - 1
        })
    }
}

impl PersonCounters {
    /// Begins, goes on with or ends their idle stretch.
    fn see(&mut self, state: State, tick: Tick<'_>) {
        let (from, to, bridge) = (tick.covers.from.0, tick.at(), tick.bridge());
        let goes_on = |(_, until): &(i64, i64)| from.saturating_sub(*until) <= bridge;
        self.last_millis = to;
        self.idle = match state {
            State::IdleHeld => match self.idle.filter(goes_on) {
                Some((since, _)) => Some((since, to)),
                None => Some((from, to)),
            },
            State::Unknown(_) => self.idle.filter(goes_on),
            State::Active | State::TrulyIdle => None,
        };
    }

    /// Since when they hold it idle.
    #[must_use]
    pub fn idle_since(&self) -> Option<UnixMillis> {
        self.idle.map(|(since, _)| UnixMillis(since))
    }
}

/// The place of an owner, who has a share now.
fn seat_of<'a>(
    owners: &'a mut Vec<OwnerCounters>,
    owner: &Owner,
    tick: Tick<'_>,
) -> &'a mut OwnerCounters {
    let known = owners.iter().position(|known| known.owner == *owner);
    let seat = known.unwrap_or_else(|| {
        let (born, last_millis, states) = (tick.number, tick.at(), [0; 4]);
        owners.push(OwnerCounters { owner: owner.clone(), born, last_millis, states });
        owners.len() - 1
    });
    owners[seat].last_millis = tick.at();
    &mut owners[seat]
}

/// Where a state is counted.
pub(super) const fn place(state: State) -> usize {
    match state {
        State::Active => 0,
        State::IdleHeld => 1,
        State::TrulyIdle => 2,
        State::Unknown(_) => 3,
    }
}

fn micros(covers: Period) -> u64 {
    u64::try_from(covers.millis()).unwrap_or(0) * 1000
}

/// Everybody with the memory that they hold, in KiB: as the history divides it, too.
fn shares(card: &CardEntry, wanted: &Metrics) -> Vec<(Owner, u64)> {
    let holders = &card.crew.holders;
    let (weights, unseen) = weights(card);
    let mut shares: Vec<(Owner, u64)> = Vec::new();
    let mut add = |owner: Owner, kib: u64| match shares.iter_mut().find(|(it, _)| *it == owner) {
        Some((_, held)) => *held += kib,
        None => shares.push((owner, kib)),
    };
    for (holder, kib) in holders.iter().zip(weights) {
        add(Owner::of_holder(holder, wanted), kib);
    }
    if unseen > 0 {
        add(Owner::named(UNATTRIBUTED), unseen);
    }
    shares
}

/// What each holds, and what nobody listed does. What is unseen is of those whose memory is not
/// told; where nothing is told of anybody, all hold the same.
fn weights(card: &CardEntry) -> (Vec<u64>, u64) {
    let holders = &card.crew.holders;
    let unseen = card.unseen.map_or(0, |unseen| unseen.0);
    let untold = holders.iter().filter(|holder| holder.memory.is_none()).count() as u64;
    let theirs = unseen.checked_div(untold).unwrap_or(0);
    let kib = |memory: Option<Bytes>| memory.map_or(theirs, |memory| memory.0.div_ceil(1024));
    let weights: Vec<u64> = holders.iter().map(|holder| kib(holder.memory)).collect();
    let unseen = if untold == 0 { unseen } else { 0 };
    if unseen == 0 && weights.iter().all(|weight| *weight == 0) {
        return (vec![1; holders.len()], u64::from(holders.is_empty()));
    }
    (weights, unseen)
}

/// Everybody on the card with what they did, each once: of two identities of one name, what
/// says most counts.
fn people(crew: &Crew, card: State) -> Vec<(String, State)> {
    let mut people: Vec<(String, State)> = Vec::new();
    for owner in &crew.owners {
        let (user, state) = (Owner::of_identity(&owner.identity).user, owner.holds.state(card));
        match people.iter_mut().find(|(known, _)| *known == user) {
            Some((_, known)) if weight(state) > weight(*known) => *known = state,
            Some(_) => {}
            None => people.push((user, state)),
        }
    }
    people
}

const fn weight(state: State) -> u8 {
    match state {
        State::Active => 3,
        State::IdleHeld => 2,
        State::Unknown(_) => 1,
        State::TrulyIdle => 0,
    }
}
