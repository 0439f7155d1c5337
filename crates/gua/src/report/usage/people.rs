//! Whose time it was: identities of one name are one person.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::times::{Times, hours, share};
use crate::classify::State;
use crate::ledger::{HOUR, Identity, Period};
use crate::store::{OwnerKey, Span};

/// One person's time on all cards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Person {
    /// Null where the uid has no name, or where nobody is known.
    pub user: Option<String>,
    /// Null where not known, and where one name goes by several.
    pub uid: Option<u32>,
    /// A card counts once for everybody who has a process on it.
    pub gpu_hours: f64,
    pub idle_held_gpu_hours: f64,
    pub idle_held_share: Option<f64>,
}

/// What two identities are one person by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Name(String),
    Uid(u32),
    Nobody,
}

impl Key {
    fn of(identity: &Identity) -> Self {
        match identity {
            Identity { user: Some(user), .. } => Self::Name(user.to_string()),
            Identity { user: None, uid: Some(uid), .. } => Self::Uid(*uid),
            Identity { user: None, uid: None, .. } => Self::Nobody,
        }
    }
}

#[derive(Debug)]
struct Counted {
    user: Option<String>,
    uid: Uid,
    identities: usize,
    times: Times,
}

/// What somebody goes by in the window; others may stand in the same history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Uid {
    NotSeen,
    One(Option<u32>),
    Several,
}

impl Uid {
    fn and(self, uid: Option<u32>) -> Self {
        match self {
            Self::NotSeen => Self::One(uid),
            Self::One(known) if known == uid => self,
            Self::One(_) | Self::Several => Self::Several,
        }
    }

    const fn only(self) -> Option<u32> {
        match self {
            Self::One(uid) => uid,
            Self::NotSeen | Self::Several => None,
        }
    }
}

/// Everybody's time, added span by span.
#[derive(Debug)]
pub(super) struct People {
    people: Vec<Counted>,
    /// The place of each identity's person, and the uid that it has.
    person_of: HashMap<i64, (usize, Option<u32>)>,
    /// The spans of one hour of those who go by several identities: on one card at one
    /// time they are still one person.
    of_several: BTreeMap<(usize, i64), Vec<Span<OwnerKey>>>,
    hour: i64,
}

impl People {
    pub fn new(identities: &HashMap<i64, Identity>) -> Self {
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        let mut new = Self {
            people: Vec::new(),
            person_of: HashMap::new(),
            of_several: BTreeMap::new(),
            hour: i64::MIN,
        };
        for (id, identity) in identities {
            let place = *places.entry(Key::of(identity)).or_insert(new.people.len());
            new.person_of.insert(*id, (place, identity.uid));
            match new.people.get_mut(place) {
                Some(person) => person.identities += 1,
                None => new.people.push(Counted::first(identity)),
            }
        }
        new
    }

    pub fn add(&mut self, span: Span<OwnerKey>) {
        let Some((place, uid)) = self.person_of.get(&span.key.identity).copied() else { return };
        let Some(person) = self.people.get_mut(place) else { return };
        person.uid = person.uid.and(uid);
        if person.identities == 1 {
            person.times.add(span.state, span.counts);
            return;
        }
        let hour = span.period.from.0.div_euclid(HOUR);
        if hour != self.hour {
            self.settle();
            self.hour = hour;
        }
        self.of_several.entry((place, span.key.card)).or_default().push(span);
    }

    /// Counts what was kept of an hour, each moment once.
    fn settle(&mut self) {
        for ((place, _), spans) in std::mem::take(&mut self.of_several) {
            if let Some(person) = self.people.get_mut(place) {
                once_each(&spans, |state, counts| person.times.add(state, counts));
            }
        }
    }

    /// Everybody with any time, the longest idle holders first.
    pub fn finish(mut self) -> Vec<Person> {
        self.settle();
        let mut people: Vec<_> =
            self.people.into_iter().filter(|person| person.times.all() > 0).collect();
        people.sort_by(|a, b| {
            let order = |one: &Counted| (one.times.idle_held, one.times.all());
            let name = |one: &Counted| (one.user.is_none(), one.user.clone(), one.uid.only());
            order(b).cmp(&order(a)).then_with(|| name(a).cmp(&name(b)))
        });
        people.into_iter().map(Person::from).collect()
    }
}

impl Counted {
    fn first(identity: &Identity) -> Self {
        let user = identity.user.as_ref().map(ToString::to_string);
        Self { user, uid: Uid::NotSeen, identities: 1, times: Times::default() }
    }
}

impl From<Counted> for Person {
    fn from(counted: Counted) -> Self {
        let Counted { user, uid, times, .. } = counted;
        Self {
            user,
            uid: uid.only(),
            gpu_hours: hours(times.all()),
            idle_held_gpu_hours: hours(times.idle_held),
            idle_held_share: share(times.idle_held, times.all()),
        }
    }
}

/// Every stretch that any of the spans covers, in the state that says most about it.
fn once_each(spans: &[Span<OwnerKey>], mut each: impl FnMut(State, i64)) {
    let mut cuts: Vec<_> = spans.iter().flat_map(|s| [s.period.from, s.period.to]).collect();
    cuts.sort();
    cuts.dedup();
    for pair in cuts.windows(2) {
        let [from, to] = *pair else { continue };
        let stretch = Period::new(from, to);
        let covers = |span: &&Span<_>| span.period.from <= from && to <= span.period.to;
        if let Some(span) = spans.iter().filter(covers).max_by_key(|span| weight(span.state)) {
            each(span.state, span.period.counted(span.counts, stretch));
        }
    }
}

/// Who holds a card idle through one identity does so, whatever the others do; what cannot
/// be told may be more than nothing.
const fn weight(state: State) -> u8 {
    match state {
        State::Active => 3,
        State::IdleHeld => 2,
        State::Unknown(_) => 1,
        State::TrulyIdle => 0,
    }
}
