//! Cards that were asked for by their ids. A card that was found once stays selected.

use gua_core::Reason;
use gua_core::snapshot::{CardIdentity, CardNow, Snapshot};

/// Cards that were asked for; all if none was.
#[derive(Debug, Default)]
pub struct CardSelection {
    ids: Vec<SelectedId>,
    is_checked: bool,
}

/// One id, and the cards that it stood for when they were last seen, as cards that are gone.
#[derive(Debug)]
struct SelectedId {
    id: String,
    cards: Vec<CardNow>,
}

/// Why an id stands for no card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    #[error("there is no card `{id}` here")]
    NoSuchCard {
        id: String,
        /// Index of the last card; `None` if there is no card at all.
        last_index: Option<u32>,
    },
    /// It may be one of the cards that cannot be read.
    #[error(
        "there is no card `{id}` among those that can be read; card{} {} cannot be read",
        if unread.len() == 1 { "" } else { "s" },
        unread.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    )]
    MayBeUnread { id: String, unread: Vec<u32> },
}

impl CardSelection {
    /// Returns the selection of these ids: an index, an index with a slot, a UUID or a bus id.
    #[must_use]
    pub fn new(ids: &[String]) -> Self {
        let selected = |id: &String| SelectedId { id: id.clone(), cards: Vec::new() };
        Self { ids: ids.iter().map(selected).collect(), is_checked: ids.is_empty() }
    }

    /// Leaves only the selected cards in a snapshot. One that is no longer there is shown as gone.
    ///
    /// # Errors
    /// When an id stands for no card, in the first snapshot with a driver.
    pub fn apply(&mut self, snapshot: Snapshot) -> Result<Snapshot, SelectionError> {
        if self.ids.is_empty() {
            return Ok(snapshot);
        }
        let all = &snapshot.cards;
        if !self.is_checked && snapshot.host.driver_error.is_none() {
            self.ids.iter().try_for_each(|id| id.check(all))?;
            self.is_checked = true;
        }
        self.ids.iter_mut().for_each(|id| id.remember(&snapshot));
        let missing: Vec<_> = self.ids.iter().flat_map(|id| id.missing(all)).cloned().collect();
        let is_selected = |card: &CardNow| self.ids.iter().any(|id| id.selects(&card.card));
        let mut cards: Vec<_> = snapshot.cards.into_iter().filter(is_selected).collect();
        cards.extend(missing);
        cards.sort_by_key(|card| place(&card.card));
        cards.dedup_by_key(|card| place(&card.card));
        Ok(Snapshot { cards, ..snapshot })
    }
}

impl SelectedId {
    /// Returns true for the cards with this name or, where a card cannot be read, at the place that the
    /// selected one had before.
    fn selects(&self, card: &CardIdentity) -> bool {
        let is_its_place = |before: &CardNow| is_at_place_of(card, &before.card);
        is_called(card, &self.id) || (card.uuid.is_none() && self.cards.iter().any(is_its_place))
    }

    fn check(&self, cards: &[CardNow]) -> Result<(), SelectionError> {
        if cards.iter().any(|card| self.selects(&card.card)) {
            return Ok(());
        }
        let id = self.id.clone();
        let cards = || cards.iter().map(|card| &card.card);
        let may_be = |card: &&CardIdentity| card.uuid.is_none() && may_be_called(card, &id);
        let unread: Vec<_> = cards().filter(may_be).map(|card| card.index).collect();
        Err(match unread.is_empty() {
            true => SelectionError::NoSuchCard {
                id,
                last_index: cards().next_back().map(|card| card.index),
            },
            false => SelectionError::MayBeUnread { id, unread },
        })
    }

    /// Remembers the cards with this name, as long as there are any.
    fn remember(&mut self, snapshot: &Snapshot) {
        let named = || snapshot.cards.iter().filter(|card| is_called(&card.card, &self.id));
        let known = self.cards.iter().map(|card| &card.card);
        if named().next().is_some() && !named().map(|card| &card.card).eq(known) {
            let gone = |card: &CardNow| card.clone().into_unread(Reason::Gone, snapshot.time);
            self.cards = named().map(gone).collect();
        }
    }

    /// Returns the cards that it stood for before, if it stands for none now.
    fn missing(&self, cards: &[CardNow]) -> &[CardNow] {
        let is_there = cards.iter().any(|card| self.selects(&card.card));
        if is_there { &[] } else { &self.cards }
    }
}

const fn place(card: &CardIdentity) -> (u32, Option<u32>) {
    (card.index, card.mig_slot)
}

/// Returns true if a card that cannot be read may be another: without its GPU, instances cannot be told
/// apart.
fn is_at_place_of(card: &CardIdentity, other: &CardIdentity) -> bool {
    place(card) == place(other) || (card.mig_slot.is_none() && card.index == other.index)
}

/// Returns true if a card has this index, index and slot, UUID (or that of its GPU) or bus id.
fn is_called(card: &CardIdentity, id: &str) -> bool {
    let is = |uuid: &Option<String>| uuid.as_deref() == Some(id);
    let is_instance = card.mig_slot.is_some() && (is(&card.parent_uuid) || id == card.label());
    id == card.index.to_string()
        || is(&card.uuid)
        || card.bus_id.as_ref().is_some_and(|bus_id| bus_id.eq_ignore_ascii_case(id))
        || is_instance
}

/// Returns true if a card without a UUID may have this id: an index says which, a UUID may be any
/// card's.
fn may_be_called(card: &CardIdentity, id: &str) -> bool {
    let index = id.split_once(':').map_or(id, |(index, _)| index);
    index.parse::<u32>().map_or(!id.is_empty(), |index| index == card.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::fixtures::{card, snapshot};
    use gua_core::state::State;

    fn known(index: u32, uuid: &str) -> CardNow {
        let mut known = card(index, 0.0, &[]);
        known.card.uuid = Some(uuid.to_owned());
        known
    }

    fn instance(index: u32, slot: u32, uuid: &str, parent: &str) -> CardNow {
        let mut instance = known(index, uuid);
        instance.card.mig_slot = Some(slot);
        instance.card.parent_uuid = Some(parent.to_owned());
        instance
    }

    fn lost(index: u32) -> CardNow {
        let mut lost = card(index, 0.0, &[]);
        (lost.card.uuid, lost.state) = (None, State::Unknown(Reason::Lost));
        lost
    }

    fn selection(ids: &[&str]) -> CardSelection {
        CardSelection::new(&ids.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// Labels and states of the cards that are left.
    fn left(selection: &mut CardSelection, cards: Vec<CardNow>) -> Vec<String> {
        let snapshot = selection.apply(snapshot(cards)).unwrap();
        let shown = |card: &CardNow| match card.state {
            State::Unknown(reason) => format!("{} {}", card.card.label(), reason.slug()),
            _ => card.card.label(),
        };
        snapshot.cards.iter().map(shown).collect()
    }

    #[test]
    fn cards_are_selected_by_index_slot_or_uuid() {
        let cards = || vec![known(0, "A"), instance(1, 2, "M", "B"), instance(1, 5, "N", "B")];
        let labels = |ids: &[&str]| left(&mut selection(ids), cards()).join(" ");
        assert_eq!(labels(&["A"]), "0");
        assert_eq!(labels(&["1"]), "1:2 1:5");
        assert_eq!(labels(&["B"]), "1:2 1:5");
        assert_eq!(labels(&["1:5", "0", "A"]), "0 1:5");
        assert_eq!(labels(&[]), "0 1:2 1:5");
    }

    #[test]
    fn card_that_was_found_once_stays_selected() {
        let mut one = selection(&["B"]);
        assert_eq!(left(&mut one, vec![known(0, "A"), known(1, "B")]), ["1"]);
        assert_eq!(left(&mut one, vec![known(0, "A"), lost(1)]), ["1 lost"]);
        assert_eq!(left(&mut one, vec![known(0, "A")]), ["1 gone"]);
        assert_eq!(left(&mut one, vec![known(0, "B"), known(1, "A")]), ["0"]);
    }

    #[test]
    fn instance_is_followed_through_the_loss_of_its_gpu() {
        let mut one = selection(&["1:5"]);
        let whole = || vec![instance(1, 2, "M", "B"), instance(1, 5, "N", "B")];
        assert_eq!(left(&mut one, whole()), ["1:5"]);
        assert_eq!(left(&mut one, vec![lost(1)]), ["1 lost"]);
        assert_eq!(left(&mut one, vec![known(1, "B")]), ["1:5 gone"]);
        assert_eq!(left(&mut one, whole()), ["1:5"]);
    }

    #[test]
    fn id_of_no_card_is_an_error() {
        let error = |id: &str| {
            let cards = vec![known(0, "A"), lost(1), lost(3)];
            selection(&[id]).apply(snapshot(cards)).unwrap_err()
        };
        for id in ["7", "0:1", ""] {
            let expected = SelectionError::NoSuchCard { id: id.to_owned(), last_index: Some(3) };
            assert_eq!(error(id), expected);
        }
        assert_eq!(
            error("B").to_string(),
            "there is no card `B` among those that can be read; cards 1,3 cannot be read"
        );
        assert!(error("3:4").to_string().ends_with("; card 3 cannot be read"));
    }

    #[test]
    fn without_a_driver_no_id_is_wrong_yet() {
        let mut one = selection(&["B"]);
        let mut away = snapshot(Vec::new());
        away.host.driver_error = Some("the driver is away".to_owned());
        assert_eq!(one.apply(away).unwrap().cards.len(), 0);
        assert!(one.apply(snapshot(vec![known(0, "A")])).is_err());
    }
}
