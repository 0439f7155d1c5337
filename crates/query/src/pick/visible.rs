//! What `CUDA_VISIBLE_DEVICES` lets a program use: a scheduler gives a job its share with it.

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
