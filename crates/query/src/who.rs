//! Who holds which card, and since when without using it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use gua_core::snapshot::{
    CardIdentity, CardNow, HistoryNow, HolderNow, IdleNow, Reservation, Snapshot, SnapshotSource,
    UnlistedNow,
};
use gua_core::state::{State, with_reason};
use gua_core::units::Bytes;
use jiff::Timestamp;
use serde::Serialize;

/// Everybody who holds a card, longest idle first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhoAnswer {
    pub schema: &'static str,
    pub time: Timestamp,
    pub source: SnapshotSource,
    pub host: Option<String>,
    /// Why the driver cannot be read.
    pub driver_error: Option<String>,
    pub history: Option<HistoryNow>,
    pub holders: Vec<WhoHolder>,
    /// Cards with memory that no listed process holds, or may hold.
    pub unlisted: Vec<WhoUnlisted>,
    /// Cards that are idle-held, among those of these rows.
    pub idle_held_cards: usize,
    /// Idle holders on cards that are active: those cards are not idle-held.
    pub idle_beside: usize,
    /// Null if the reservations cannot be read.
    pub reservations: Option<Vec<WhoReservation>>,
    /// Number of holders left out as it is not known since when they are idle.
    pub idle_now_left_out: usize,
    /// Number of holders left out as it is not known whether they are idle.
    pub unknown_left_out: usize,
    /// Number of cards left out as it is not known whose their unlisted memory is.
    pub unlisted_left_out: usize,
}

/// One process on one card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhoHolder {
    pub card: CardIdentity,
    pub card_state: State,
    /// True if it holds no more than the bare context of CUDA. Null if its memory is.
    pub bare_context: Option<bool>,
    #[serde(flatten)]
    pub holder: HolderNow,
}

/// A card with unlisted memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhoUnlisted {
    pub card: CardIdentity,
    #[serde(flatten, with = "with_reason")]
    pub state: State,
    #[serde(flatten)]
    pub unlisted: UnlistedNow,
}

/// A card that somebody was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhoReservation {
    pub card: CardIdentity,
    #[serde(flatten)]
    pub reservation: Reservation,
}

/// One line of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WhoRow<'a> {
    Holder(&'a WhoHolder),
    Unlisted(&'a WhoUnlisted),
}

/// Which holders are wanted.
#[derive(Debug, Clone, Default)]
pub struct WhoFilter {
    /// Only those that have held a card idle for so long.
    pub idle: Option<Duration>,
    /// Only those of these users, by name or uid; all if empty.
    pub users: Vec<String>,
    /// Memory up to which a holder has only the bare context of CUDA.
    pub context: Bytes,
}

impl WhoAnswer {
    /// Returns the holders of a snapshot.
    #[must_use]
    pub fn new(snapshot: Snapshot, filter: &WhoFilter) -> Self {
        let Snapshot { time, source, host, cards, history, .. } = snapshot;
        let reservations = reservations(&cards, filter);
        let (mut holders, mut unlisted) = (Vec::new(), Vec::new());
        for CardNow { card, state, holders: of_card, unlisted: of_nobody, .. } in cards {
            let row = |unlisted| WhoUnlisted { card: card.clone(), state, unlisted };
            unlisted.extend(of_nobody.map(row));
            holders.extend(of_card.into_iter().map(|holder| WhoHolder {
                card: card.clone(),
                card_state: state,
                bare_context: holder.memory_bytes.map(|bytes| bytes <= filter.context.0),
                holder,
            }));
        }
        holders.retain(|row| filter.is_of_user(&row.holder));
        // It is not known whose unlisted memory is.
        let unlisted_left_out = if filter.users.is_empty() { 0 } else { unlisted.len() };
        unlisted.retain(|_| filter.users.is_empty());
        let states = holders.iter().map(|row| (row.holder.state, row.holder.idle));
        let states = states.chain(unlisted.iter().map(|row| (row.state, row.unlisted.idle)));
        let (idle_now_left_out, unknown_left_out) = filter.count_doubtful(states);
        holders.retain(|row| filter.is_long_enough(&row.holder.idle));
        unlisted.retain(|row| filter.is_long_enough(&row.unlisted.idle));
        holders.sort_by_key(|row| (WhoRow::Holder(row).rank(), row.holder.pid));
        unlisted.sort_by_key(|row| WhoRow::Unlisted(row).rank());
        Self {
            schema: "gua.who/2",
            time,
            source,
            host: host.host,
            driver_error: host.driver_error,
            history,
            idle_held_cards: idle_held_cards(&holders, &unlisted),
            idle_beside: holders.iter().filter(|row| row.is_idle_beside()).count(),
            holders,
            unlisted,
            reservations,
            idle_now_left_out,
            unknown_left_out,
            unlisted_left_out,
        }
    }

    /// Returns all rows, longest idle first; of equal ones those that can be named first.
    #[must_use]
    pub fn rows(&self) -> Vec<WhoRow<'_>> {
        let holders = self.holders.iter().map(WhoRow::Holder);
        let mut rows: Vec<_> = holders.chain(self.unlisted.iter().map(WhoRow::Unlisted)).collect();
        rows.sort_by_key(WhoRow::rank);
        rows
    }
}

impl WhoHolder {
    /// Returns true if it is idle on a card that is active.
    #[must_use]
    pub fn is_idle_beside(&self) -> bool {
        self.holder.state == State::IdleHeld && self.card_state == State::Active
    }
}

/// Returns the number of cards that are idle-held, by these holders and unlisted memory.
fn idle_held_cards(holders: &[WhoHolder], unlisted: &[WhoUnlisted]) -> usize {
    let holders = holders.iter().map(|row| (row.card_state, &row.card));
    let all = holders.chain(unlisted.iter().map(|row| (row.state, &row.card)));
    let held = all.filter(|(state, _)| *state == State::IdleHeld);
    held.map(|(_, card)| (card.index, card.mig_slot)).collect::<BTreeSet<_>>().len()
}

/// Returns the reservations; `None` if they cannot be read.
fn reservations(cards: &[CardNow], filter: &WhoFilter) -> Option<Vec<WhoReservation>> {
    if cards.iter().any(|card| card.unknown.reason("reservations").is_some()) {
        return None;
    }
    let all = cards.iter().flat_map(|card| card.reservations.iter().map(move |by| (card, by)));
    // Somebody who holds nothing yet is not idle.
    let wanted = all.filter(|(_, by)| {
        filter.idle.is_none() && filter.has_user(by.user.as_deref(), Some(by.uid))
    });
    let reservation = |(card, by): (&CardNow, &Reservation)| WhoReservation {
        card: card.card.clone(),
        reservation: by.clone(),
    };
    Some(wanted.map(reservation).collect())
}

impl WhoFilter {
    fn is_of_user(&self, holder: &HolderNow) -> bool {
        self.has_user(holder.user.as_deref(), holder.uid)
    }

    fn has_user(&self, name: Option<&str>, uid: Option<u32>) -> bool {
        let is =
            |user: &String| name == Some(user) || uid.is_some_and(|uid| *user == uid.to_string());
        self.users.is_empty() || self.users.iter().any(is)
    }

    /// Counts those that may be idle for so long and are left out: idle now, but not known since when;
    /// and not known whether at all.
    fn count_doubtful(&self, all: impl Iterator<Item = (State, IdleNow)>) -> (usize, usize) {
        if self.idle.is_none() {
            return (0, 0);
        }
        all.fold((0, 0), |(idle_now, unknown), (state, idle)| match state {
            State::IdleHeld if !idle.is_known() => (idle_now + 1, unknown),
            State::Unknown(_) => (idle_now, unknown + 1),
            _ => (idle_now, unknown),
        })
    }

    fn is_long_enough(&self, idle: &IdleNow) -> bool {
        let is_so_long = |wanted: Duration| {
            idle.idle_seconds.is_some_and(|seconds| seconds >= wanted.as_secs_f64())
        };
        self.idle.is_none_or(is_so_long)
    }
}

type Rank = (u8, Reverse<u64>, u32, Option<u32>);

impl WhoRow<'_> {
    /// Returns the place of a row: longest idle first, then those that may be idle, then the others.
    fn rank(&self) -> Rank {
        let (card, state, idle) = match self {
            Self::Holder(row) => (&row.card, row.holder.state, &row.holder.idle),
            Self::Unlisted(row) => (&row.card, row.state, &row.unlisted.idle),
        };
        let rank = match state {
            State::IdleHeld if idle.is_known() => 0,
            State::IdleHeld => 1,
            State::Unknown(_) => 2,
            State::TrulyIdle => 3,
            State::Active => 4,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let seconds = idle.idle_seconds.unwrap_or(0.0) as u64;
        (rank, Reverse(seconds), card.index, card.mig_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::fixtures::{NOW, card, card_of, facts, process_behind, snapshot, vitals};
    use gua_core::Reason;
    use gua_core::card::Vitals;
    use gua_core::identity::{self, Source, Told};
    use gua_core::snapshot::{IdleDoubt, IdleSource};
    use gua_core::units::UnixMillis;

    fn idle(hours: i64) -> IdleNow {
        let since = UnixMillis(NOW.0 - hours * 3_600_000).into();
        IdleNow::since(since, NOW.into(), IdleSource::Record)
    }

    /// Bob and carol are idle for 30 and 20 hours, dave since an unknown time, erin works, one card has
    /// unlisted memory for 25 hours and one cannot be read.
    fn four() -> Snapshot {
        let mut cards = vec![
            card(0, 0.0, &[(200, "bob", 8000, 0.0)]),
            card(1, 0.0, &[(300, "carol", 400, 0.0), (301, "dave", 8000, 0.0)]),
            card(2, 80.0, &[(400, "erin", 8000, 80.0)]),
            card_of(facts(3), &vitals(0.0, &[], 8000), &[]),
            card_of(facts(4), &Vitals::unknown(Reason::Lost), &[]),
        ];
        cards[0].holders[0].idle = idle(30);
        cards[1].holders[0].idle = idle(20);
        cards[1].holders[1].idle = IdleNow::doubtful(IdleDoubt::NotRecorded);
        cards[3].unlisted.as_mut().unwrap().idle = idle(25);
        snapshot(cards)
    }

    fn filter(idle_hours: Option<u64>, users: &[&str]) -> WhoFilter {
        WhoFilter {
            idle: idle_hours.map(|hours| Duration::from_secs(hours * 3600)),
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            context: Bytes::from_mib(600),
        }
    }

    fn rows(who: &WhoAnswer) -> Vec<String> {
        let name = |row: WhoRow<'_>| match row {
            WhoRow::Holder(row) => row.holder.format_user(),
            WhoRow::Unlisted(row) => format!("card {}", row.card.index),
        };
        who.rows().into_iter().map(name).collect()
    }

    #[test]
    fn longest_idle_comes_first() {
        let who = WhoAnswer::new(four(), &filter(None, &[]));
        assert_eq!(rows(&who), ["bob", "card 3", "carol", "dave", "card 4", "erin"]);
        let bare: Vec<_> = who.holders.iter().map(|row| row.bare_context).collect();
        assert_eq!(bare, [Some(false), Some(true), Some(false), Some(false)]);
        let left_out = (who.idle_now_left_out, who.unknown_left_out, who.unlisted_left_out);
        assert_eq!(left_out, (0, 0, 0));
        let json = serde_json::to_value(&who).unwrap();
        let erin = &json["holders"][3];
        assert_eq!(
            (&erin["user"], &erin["state"], &erin["card_state"]),
            (&"erin".into(), &"active".into(), &"active".into(),)
        );
        assert_eq!(json["unlisted"][1]["state_reason"], "lost");
        assert_eq!(json["unlisted"][1]["unknown"]["memory_bytes"], "lost");
        assert_eq!(json["holders"][0]["card"]["uuid"], "GPU-0");
    }

    #[test]
    fn holders_left_out_are_counted() {
        let who = WhoAnswer::new(four(), &filter(Some(22), &[]));
        assert_eq!(rows(&who), ["bob", "card 3"]);
        let left_out = (who.idle_now_left_out, who.unknown_left_out, who.unlisted_left_out);
        assert_eq!(left_out, (1, 1, 0), "dave; the card that cannot be read");
        let who = WhoAnswer::new(four(), &filter(None, &["carol", "1234"]));
        assert_eq!((rows(&who), who.unlisted_left_out), (vec!["carol".to_owned()], 2));
        assert_eq!(WhoAnswer::new(four(), &filter(None, &["1000"])).holders.len(), 4, "by uid");
    }

    /// A process of root may be somebody's: the person behind it counts.
    #[test]
    fn filter_is_by_the_person_behind_a_process() {
        let mut snapshot = four();
        let user = identity::User { uid: 7, name: Some("ann".into()) };
        let user = Some(Told { value: user, source: Source::UserSlice });
        let ann = identity::Who { user, ..identity::Who::default() };
        let behind = |pid: u32, owner: &str, who: identity::Who| {
            let process = process_behind(pid, owner, who);
            card_of(facts(0), &vitals(0.0, &[(pid, owner, 8000, 0.0)], 0), &[process])
        };
        snapshot.cards[0] = behind(200, "bob", ann);
        snapshot.cards[1] = behind(300, "carol", identity::Who::default());
        let found = |user: &str| rows(&WhoAnswer::new(snapshot.clone(), &filter(None, &[user])));
        assert_eq!((found("ann"), found("7")), (vec!["ann".to_owned()], vec!["ann".to_owned()]));
        assert_eq!((found("bob"), found("carol")), (vec![], vec![]), "carol is unattributed");
    }

    #[test]
    fn reservations_are_listed_unless_idle_holders_are_wanted() {
        let mut snapshot = four();
        let by = |uid| Reservation { user: None, uid, pid: Some(9), seconds_left: None };
        snapshot.set_reservations(|uuid| if uuid == "GPU-3" { vec![by(7)] } else { vec![] });
        let cards = |filter: &WhoFilter| {
            let reservations = WhoAnswer::new(snapshot.clone(), filter).reservations.unwrap();
            reservations.iter().map(|row| row.card.index).collect::<Vec<_>>()
        };
        assert_eq!(cards(&filter(None, &[])), [3]);
        assert_eq!(cards(&filter(None, &["8"])), [0; 0]);
        assert_eq!(cards(&filter(Some(1), &[])), [0; 0]);
        let mut unread = four();
        unread.note_unread_reservations();
        assert_eq!(WhoAnswer::new(unread, &filter(None, &[])).reservations, None);
    }
}
