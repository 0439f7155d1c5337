//! Which cards `CUDA_VISIBLE_DEVICES` lets be used: a scheduler gives a job its share with it.

use probe::Reading;
use probe::card::CardFacts;

/// The cards that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visible {
    /// Their numbers and slots; `None` where nothing is said, which means all.
    places: Option<Vec<(u32, Option<u32>)>>,
}

impl Visible {
    /// What a variable means, among all cards of the host. As in CUDA, the first name that means
    /// no card ends the list, and nothing at all means no card.
    #[must_use]
    pub fn of(typed: Option<&str>, cards: &[&CardFacts]) -> Self {
        let Some(typed) = typed else { return Self::default() };
        // What does not say who it is may be the one that is meant.
        let is_one_unread = cards.iter().any(|card| card.uuid.why().is_some());
        let mut places = Vec::new();
        for name in typed.split(',').map(str::trim) {
            let before = places.len();
            places
                .extend(cards.iter().filter(|card| is_called(card, name)).map(|card| place(card)));
            let may_be_unread = is_one_unread && is_uuid(name);
            if places.len() == before && !may_be_unread {
                break;
            }
        }
        Self { places: Some(places) }
    }

    #[must_use]
    pub fn has(&self, card: &CardFacts) -> bool {
        self.places.as_ref().is_none_or(|places| places.contains(&place(card)))
    }
}

fn place(card: &CardFacts) -> (u32, Option<u32>) {
    (card.index, card.instance.as_ref().map(|instance| instance.slot))
}

fn is_uuid(name: &str) -> bool {
    name.starts_with("GPU-") || name.starts_with("MIG-")
}

/// By its number as the driver counts, by its UUID or the beginning of it; an instance also by
/// what its GPU is called, or by its place in it: `MIG-GPU-…/1/0`.
fn is_called(card: &CardFacts, name: &str) -> bool {
    let begins = |uuid: &Reading<String>| {
        is_uuid(name) && uuid.as_ref().is_known_and(|uuid| uuid.starts_with(name))
    };
    let is_instance = card.instance.as_ref().is_some_and(|instance| {
        let mut parts = name.strip_prefix("MIG-").unwrap_or_default().split('/');
        let (parent, gpu) = (parts.next(), parts.next());
        let is_its_parent =
            instance.parent_uuid.as_ref().is_known_and(|uuid| Some(&**uuid) == parent);
        let is_its_place =
            instance.gpu_instance.is_known_and(|id| gpu == Some(id.to_string().as_str()));
        begins(&instance.parent_uuid) || (is_its_parent && is_its_place)
    });
    name.parse() == Ok(card.index) || begins(&card.uuid) || is_instance
}

#[cfg(test)]
mod tests {
    use probe::Why;
    use probe::card::InstanceFacts;
    use proptest::prelude::*;

    use super::*;

    fn gpu(index: u32, uuid: &str) -> CardFacts {
        let unread = CardFacts::unread(index, Why::NotAsked);
        CardFacts { uuid: Reading::Known(uuid.into()), ..unread }
    }

    fn instance(index: u32, slot: u32, uuid: &str, parent: &str) -> CardFacts {
        let parent_uuid = Reading::Known(parent.into());
        let instance = InstanceFacts { slot, gpu_instance: Reading::Known(slot + 1), parent_uuid };
        CardFacts { instance: Some(instance), ..gpu(index, uuid) }
    }

    fn host() -> Vec<CardFacts> {
        vec![
            gpu(0, "GPU-aa"),
            gpu(1, "GPU-bb"),
            instance(2, 0, "MIG-m0", "GPU-cc"),
            instance(2, 1, "MIG-m1", "GPU-cc"),
        ]
    }

    fn seen(typed: Option<&str>, cards: &[CardFacts]) -> Vec<String> {
        let visible = Visible::of(typed, &cards.iter().collect::<Vec<_>>());
        cards.iter().filter(|card| visible.has(card)).map(CardFacts::label).collect()
    }

    #[test]
    fn cards_have_many_names() {
        let of = |typed: &str| seen(Some(typed), &host()).join(" ");
        for (typed, cards) in [
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
            assert_eq!(of(typed), cards, "{typed}");
        }
        assert_eq!(seen(None, &host()).len(), 4);
    }

    #[test]
    fn the_first_that_means_nothing_ends_the_list() {
        for (typed, cards) in
            [("", 0), ("-1", 0), ("NoDevFiles", 0), ("0,-1,1", 1), ("0,7,1", 1), ("0,,1", 1)]
        {
            assert_eq!(seen(Some(typed), &host()).len(), cards, "{typed}");
        }
    }

    #[test]
    fn a_card_that_does_not_say_who_it_is_ends_nothing() {
        let cards = [gpu(0, "GPU-aa"), CardFacts::unread(1, Why::Lost), gpu(2, "GPU-cc")];
        assert_eq!(seen(Some("GPU-bb,GPU-cc"), &cards), ["2"]);
        assert_eq!(seen(Some("7,2"), &cards), [""; 0]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fall_over(typed in "\\PC*") {
            prop_assert!(seen(Some(&typed), &host()).len() <= 4);
        }
    }
}
