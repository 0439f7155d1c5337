//! One card's counters, and those of everybody on it.

use probe::units::{Bytes, UnixMillis};
use serde::{Deserialize, Serialize};

use super::owner::{OTHERS, Owner, UNATTRIBUTED, Wanted};
use super::split::split;
use crate::classify::State;
use crate::ledger::{CardEntry, Crew, Period};

/// The words for the states, in the order in which they are counted.
pub const STATES: [&str; 4] = ["active", "idle_held", "truly_idle", "unknown"];

/// Idle stretches go on over a doubt or a gap of this length.
const DOUBT_MILLIS: i64 = 120_000;

/// What a sensor told is taken for what it is since, up to here; after that it is not known.
/// Sensors are read more rarely than cards.
const SENSORS_HOLD_MILLIS: i64 = 60_000;

/// What was counted of a card. Times are in microseconds, as shares are that fine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CardCounters {
    /// The number of the tick that saw it first.
    pub born: u64,
    pub states: [u64; 4],
    /// Hundredths of a percent times microseconds, divided by 10,000.
    pub busy: u64,
    pub energy_microjoules: u64,
    /// Milliwatts and degrees Celsius, with when they were last read.
    pub(super) power: Option<(i64, u32)>,
    #[serde(default)]
    pub(super) temperature: Option<(i64, u32)>,
    pub owners: Vec<OwnerCounters>,
    pub people: Vec<PersonCounters>,
}

/// Somebody's share of a card's time, by what the card did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerCounters {
    pub owner: Owner,
    pub born: u64,
    pub states: [u64; 4],
}

/// Somebody's time on a card, shared or not, by what they did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonCounters {
    pub user: String,
    pub born: u64,
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

/// How many more can be told apart, on all cards together; the rest are others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Of those with a job, a container or a notebook.
    pub owners: usize,
    /// Of people.
    pub people: usize,
}

impl CardCounters {
    pub(super) fn count(&mut self, card: &CardEntry, tick: Tick<'_>, room: &mut Room) {
        let micros = micros(tick.covers);
        self.states[place(card.state)] += micros;
        if let Some(work) = card.evidence.work.known() {
            self.busy += micros * u64::from(work.0) / 10_000;
        }
        self.read_sensors(card, tick.covers.to.0);
        self.count_energy(tick.covers);
        // First, as who has a share is one of them.
        self.count_people(card, micros, tick, room);
        self.count_shares(card, micros, tick, room);
    }

    fn read_sensors(&mut self, card: &CardEntry, now: i64) {
        let since = now.saturating_sub(SENSORS_HOLD_MILLIS);
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
        if card.state == State::TrulyIdle {
            return;
        }
        let state = place(card.state);
        let shares = shares(card, tick.wanted);
        let weights: Vec<u64> = shares.iter().map(|(_, weight)| *weight).collect();
        let parts = split(micros, &weights);
        for ((owner, _), part) in shares.into_iter().zip(parts) {
            self.owner(owner, tick, room).states[state] += part;
        }
    }

    /// Where there is no room for all that is wanted of an owner, the person stays.
    fn owner(&mut self, owner: Owner, tick: Tick<'_>, room: &mut Room) -> &mut OwnerCounters {
        let known = |owners: &[OwnerCounters], owner: &Owner| {
            owners.iter().position(|known| known.owner == *owner)
        };
        let is_new_job = !owner.more.is_empty() && known(&self.owners, &owner).is_none();
        let owner = match is_new_job {
            true if room.owners > 0 => {
                room.owners -= 1;
                owner
            }
            false if !owner.more.is_empty() || owner.user == UNATTRIBUTED => owner,
            _ => {
                let seat = self.person(owner.user, tick, room);
                Owner::named(&self.people[seat].user)
            }
        };
        let place = known(&self.owners, &owner).unwrap_or_else(|| {
            self.owners.push(OwnerCounters { owner, born: tick.number, states: [0; 4] });
            self.owners.len() - 1
        });
        &mut self.owners[place]
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
                Some((_, state)) => person.see(*state, tick.covers),
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
            let (born, states) = (tick.number, [0; 4]);
            self.people.push(PersonCounters { user, born, states, idle: None });
            self.people.len() - 1
        })
    }
}

impl PersonCounters {
    /// Begins, goes on with or ends their idle stretch.
    fn see(&mut self, state: State, covers: Period) {
        let (from, to) = (covers.from.0, covers.to.0);
        let goes_on = |(_, until): &(i64, i64)| from.saturating_sub(*until) <= DOUBT_MILLIS;
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
fn shares(card: &CardEntry, wanted: &Wanted) -> Vec<(Owner, u64)> {
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
