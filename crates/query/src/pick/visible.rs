//! Cards that `CUDA_VISIBLE_DEVICES` allows: a scheduler sets it to the cards of a job.

use gua_core::snapshot::{CardIdentity, Snapshot};

/// Cards that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisibleDevices {
    /// Their numbers and slots; `None` for all.
    places: Option<Vec<(u32, Option<u32>)>>,
}

impl VisibleDevices {
    /// Returns the cards that a value of the variable stands for, among all cards of the host. As in
    /// CUDA, the first name that stands for no card ends the list, and an empty value stands for none.
    #[must_use]
    pub fn new(value: Option<&str>, snapshot: &Snapshot) -> Self {
        let Some(value) = value else { return Self::default() };
        let cards = || snapshot.cards.iter().map(|card| &card.card);
        // A card without a UUID may be the one that a UUID stands for.
        let is_one_unread = cards().any(|card| card.uuid.is_none());
        let mut places = Vec::new();
        for name in value.split(',').map(str::trim) {
            let before = places.len();
            places.extend(cards().filter(|card| is_called(card, name)).map(place));
            let may_be_unread = is_one_unread && is_uuid(name);
            if places.len() == before && !may_be_unread {
                break;
            }
        }
        Self { places: Some(places) }
    }

    #[must_use]
    pub fn has(&self, card: &CardIdentity) -> bool {
        self.places.as_ref().is_none_or(|places| places.contains(&place(card)))
    }
}

const fn place(card: &CardIdentity) -> (u32, Option<u32>) {
    (card.index, card.mig_slot)
}

fn is_uuid(name: &str) -> bool {
    name.starts_with("GPU-") || name.starts_with("MIG-")
}

/// Returns true if a card has this name: its number, its UUID or the beginning of it; an instance also
/// those of its GPU, or its place in it: `MIG-GPU-…/1/0`.
fn is_called(card: &CardIdentity, name: &str) -> bool {
    let begins = |uuid: &Option<String>| {
        is_uuid(name) && uuid.as_ref().is_some_and(|uuid| uuid.starts_with(name))
    };
    let is_instance = card.mig_slot.is_some() && {
        let mut parts = name.strip_prefix("MIG-").unwrap_or_default().split('/');
        let (parent, instance) = (parts.next(), parts.next());
        let is_its_parent = card.parent_uuid.is_some() && card.parent_uuid.as_deref() == parent;
        let is_its_place =
            card.gpu_instance.is_some_and(|id| instance == Some(id.to_string().as_str()));
        begins(&card.parent_uuid) || (is_its_parent && is_its_place)
    };
    name.parse() == Ok(card.index) || begins(&card.uuid) || is_instance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::snapshot::fixtures::{card, snapshot};

    fn gpu(index: u32, uuid: &str) -> CardIdentity {
        CardIdentity { index, uuid: Some(uuid.into()), ..CardIdentity::default() }
    }

    fn instance(index: u32, slot: u32, uuid: &str, parent: &str) -> CardIdentity {
        CardIdentity {
            mig_slot: Some(slot),
            gpu_instance: Some(slot + 1),
            parent_uuid: Some(parent.into()),
            ..gpu(index, uuid)
        }
    }

    fn host() -> Vec<CardIdentity> {
        vec![
            gpu(0, "GPU-aa"),
            gpu(1, "GPU-bb"),
            instance(2, 0, "MIG-m0", "GPU-cc"),
            instance(2, 1, "MIG-m1", "GPU-cc"),
        ]
    }

    fn visible(value: Option<&str>, cards: &[CardIdentity]) -> Vec<String> {
        let now = |identity: &CardIdentity| {
            let mut card = card(0, 0.0, &[]);
            card.card = identity.clone();
            card
        };
        let snapshot = snapshot(cards.iter().map(now).collect());
        let visible = VisibleDevices::new(value, &snapshot);
        cards.iter().filter(|card| visible.has(card)).map(CardIdentity::label).collect()
    }

    #[test]
    fn cards_have_many_names() {
        for (value, cards) in [
            ("0", "0"),
            ("1,0", "0 1"),
            (" 1 , 0 ", "0 1"),
            ("GPU-bb", "1"),
            ("GPU-b", "1"),
            ("2", "2:0 2:1"),
            ("GPU-cc", "2:0 2:1"),
            ("MIG-m1", "2:1"),
            ("MIG-GPU-cc/2/0", "2:1"),
            ("MIG-GPU-aa/2/0", ""),
        ] {
            assert_eq!(visible(Some(value), &host()).join(" "), cards, "{value}");
        }
        assert_eq!(visible(None, &host()).len(), 4);
    }

    #[test]
    fn first_name_of_no_card_ends_the_list() {
        for (value, cards) in
            [("", 0), ("-1", 0), ("NoDevFiles", 0), ("0,-1,1", 1), ("0,7,1", 1), ("0,,1", 1)]
        {
            assert_eq!(visible(Some(value), &host()).len(), cards, "{value}");
        }
    }

    #[test]
    fn card_without_a_uuid_ends_nothing() {
        let unread = CardIdentity { index: 1, ..CardIdentity::default() };
        let cards = [gpu(0, "GPU-aa"), unread, gpu(2, "GPU-cc")];
        assert_eq!(visible(Some("GPU-bb,GPU-cc"), &cards), ["2"]);
        assert_eq!(visible(Some("7,2"), &cards), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_value_is_accepted(value in "\\PC*") {
            prop_assert!(visible(Some(&value), &host()).len() <= 4);
        }
    }
}
