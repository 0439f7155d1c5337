//! Times since which users hold a card without working.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gua_core::State;
use gua_core::session::LONGEST_DOUBT_MS;
use gua_core::span::{Span, Work};
use gua_core::units::{Bytes, UnixMillis};

use crate::counters::{Counters, Key, TickStamp};
use crate::family::Counter;

/// Ends of the newest idle time, by card and user.
pub(crate) type IdleUntil = HashMap<(Arc<str>, Arc<str>), UnixMillis>;

/// What a user does on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UserUse {
    Idle,
    Doubt,
    Works,
}

/// Returns the ends of idle times that an earlier run has begun.
pub(crate) fn resume(counters: &Counters, until: UnixMillis) -> IdleUntil {
    let owners = counters.all(Counter::IdleSince).map(|(key, _)| key);
    owners.map(|key| ((Arc::clone(&key.card), Arc::clone(&key.label)), until)).collect()
}

/// Begins, goes on with or ends the idle time of everybody on a card. `users` are those of the span's
/// holders.
pub(crate) fn see(
    counters: &mut Counters,
    until: &mut IdleUntil,
    stamp: TickStamp,
    card: &Arc<str>,
    span: &Span,
    users: &[Option<Arc<str>>],
    held: Bytes,
) {
    // What cannot be read is a doubt.
    if matches!(span.state, State::Unknown(_)) {
        return;
    }
    let present = uses(span, users, held);
    let gone = counters.all(Counter::IdleSince).map(|(key, _)| key);
    let gone: Vec<Key> = gone
        .filter(|key| key.card == *card && !present.contains_key(&key.label))
        .cloned()
        .collect();
    for key in gone {
        until.remove(&(Arc::clone(&key.card), Arc::clone(&key.label)));
        counters.remove(key);
    }
    for (user, usage) in present {
        let key = Key::new(Counter::IdleSince, card, &user);
        let owner = (Arc::clone(card), user);
        let goes_on = until
            .get(&owner)
            .is_some_and(|until| span.period.from.0.saturating_sub(until.0) <= LONGEST_DOUBT_MS);
        // After the clock was set back, the begin may lie ahead.
        let is_known = counters.get(&key).is_some_and(|it| it.value <= span.period.from.0);
        match usage {
            UserUse::Idle => {
                if !(is_known && goes_on) {
                    counters.set(key, span.period.from.0, stamp);
                }
                until.insert(owner, span.period.to);
            }
            UserUse::Doubt if goes_on => {}
            UserUse::Doubt | UserUse::Works => {
                counters.remove(key);
                until.remove(&owner);
            }
        }
    }
}

/// Returns what each user does: they work if one of their processes does. Of others, who are several
/// people, one who idles is reported.
fn uses(span: &Span, users: &[Option<Arc<str>>], held: Bytes) -> BTreeMap<Arc<str>, UserUse> {
    let mut memory: HashMap<&Arc<str>, f64> = HashMap::new();
    let mut uses: BTreeMap<Arc<str>, UserUse> = BTreeMap::new();
    for (time, user) in span.holders.iter().zip(users) {
        let Some(user) = user else { continue };
        let usage = match time.work {
            Work::Working => UserUse::Works,
            Work::Idle => UserUse::Idle,
            Work::Unknown => UserUse::Doubt,
        };
        // Memory that is unknown may be much.
        *memory.entry(user).or_default() += time.memory.mean().unwrap_or(f64::MAX);
        let is_others = **user == *crate::labels::OTHERS;
        let known = uses.entry(Arc::clone(user)).or_insert(usage);
        *known = if is_others { (*known).min(usage) } else { (*known).max(usage) };
    }
    let held_mib = held.0 as f64 / f64::from(1 << 20);
    for (user, usage) in &mut uses {
        let holds = memory.get(user).is_some_and(|mib| *mib > held_mib);
        if !holds || span.state == State::TrulyIdle {
            *usage = UserUse::Works;
        }
    }
    uses
}
