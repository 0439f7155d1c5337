//! What was typed for cards, and which are meant.

use probe::{Reading, Why};

use super::available::Available;
use crate::options::Cards;

/// Why it cannot be told which cards are meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("No card is named in \"{typed}\". Write indices or UUIDs with commas, like 0,1.")]
    Empty { typed: String },
    #[error(
        "GPU UUID of {typed} is not valid. Available UUIDs are: {}{}",
        uuids.join(", "),
        untold(nameless)
    )]
    NotThere { typed: String, uuids: Vec<String>, nameless: Vec<(u32, Why)> },
    #[error("{typed} may be any of {}. Write more of the UUID.", uuids.join(", "))]
    Ambiguous { typed: String, uuids: Vec<String> },
    #[error("Card {index} cannot be chosen, as its UUID could not be read: {why}.")]
    Nameless { index: u32, why: Why },
}

/// It may be the one that was meant.
fn untold(nameless: &[(u32, Why)]) -> String {
    let one = |(index, why): &(u32, Why)| format!(". The UUID of card {index} is unknown: {why}");
    nameless.iter().map(one).collect()
}

/// The cards that are meant by indices, UUIDs or their beginnings, with commas between them.
/// The index of a divided card means all its instances.
///
/// # Errors
/// When one of them is no card, or may be several.
pub fn choose(typed: &str, cards: &[Available]) -> Result<Cards, ChoiceError> {
    let mut chosen: Vec<String> = Vec::new();
    for one in typed.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        for uuid in meant(one, cards)? {
            if !chosen.contains(&uuid) {
                chosen.push(uuid);
            }
        }
    }
    match chosen.is_empty() {
        true => Err(ChoiceError::Empty { typed: typed.to_owned() }),
        false => Ok(Cards::Only(chosen)),
    }
}

fn meant(typed: &str, cards: &[Available]) -> Result<Vec<String>, ChoiceError> {
    match typed.parse() {
        Ok(index) => with_index(typed, index, cards),
        Err(_) => with_uuid(typed, cards).map(|uuid| vec![uuid]),
    }
}

fn with_index(typed: &str, index: u32, cards: &[Available]) -> Result<Vec<String>, ChoiceError> {
    let found: Vec<_> = cards.iter().filter(|card| card.index == index).collect();
    if found.is_empty() {
        return Err(not_there(typed, cards));
    }
    let uuid = |card: &&Available| match &card.uuid {
        Reading::Known(uuid) => Ok(uuid.clone()),
        Reading::Unknown(why) => Err(ChoiceError::Nameless { index, why: *why }),
    };
    found.iter().map(uuid).collect()
}

/// A whole UUID is meant as it is, even where another one begins with it.
fn with_uuid(typed: &str, cards: &[Available]) -> Result<String, ChoiceError> {
    let begins = |uuid: &&String| {
        uuid.get(..typed.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(typed))
    };
    let found: Vec<&String> = uuids(cards).filter(begins).collect();
    match found.iter().find(|uuid| uuid.len() == typed.len()).or(found.first()) {
        None => Err(not_there(typed, cards)),
        Some(uuid) if found.len() == 1 || uuid.len() == typed.len() => Ok((*uuid).clone()),
        Some(_) => {
            let uuids = found.into_iter().cloned().collect();
            Err(ChoiceError::Ambiguous { typed: typed.to_owned(), uuids })
        }
    }
}

fn not_there(typed: &str, cards: &[Available]) -> ChoiceError {
    let nameless = cards.iter().filter_map(|card| Some((card.index, card.uuid.why()?)));
    ChoiceError::NotThere {
        typed: typed.to_owned(),
        uuids: uuids(cards).cloned().collect(),
        nameless: nameless.collect(),
    }
}

fn uuids(cards: &[Available]) -> impl Iterator<Item = &String> {
    cards.iter().filter_map(|card| card.uuid.as_ref().known())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(index: u32, uuid: &str) -> Available {
        Available {
            index,
            uuid: Reading::Known(uuid.to_owned()),
            name: Reading::Known("A100".to_owned()),
            memory: Reading::Unknown(Why::NotAsked),
        }
    }

    /// Two whole cards, a divided one, one that is lost.
    fn lab() -> Vec<Available> {
        let lost = Available { uuid: Reading::Unknown(Why::Lost), ..card(3, "") };
        vec![card(0, "GPU-aa1"), card(1, "GPU-aa2"), card(2, "MIG-x"), card(2, "MIG-xy"), lost]
    }

    fn chosen(typed: &str) -> Vec<String> {
        match choose(typed, &lab()).unwrap() {
            Cards::Only(uuids) => uuids,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(typed: &str) -> String {
        choose(typed, &lab()).unwrap_err().to_string()
    }

    #[test]
    fn cards_go_by_index_uuid_or_the_beginning_of_one() {
        assert_eq!(chosen("1"), ["GPU-aa2"]);
        assert_eq!(chosen(" 1, GPU-aa1 "), ["GPU-aa2", "GPU-aa1"]);
        assert_eq!(chosen("gpu-AA1"), ["GPU-aa1"]);
        assert_eq!(chosen("2,"), ["MIG-x", "MIG-xy"]);
        assert_eq!(chosen("0,GPU-aa1,0"), ["GPU-aa1"], "each is chosen once");
    }

    #[test]
    fn a_whole_uuid_is_not_the_beginning_of_another() {
        assert_eq!(chosen("MIG-x"), ["MIG-x"]);
        assert_eq!(chosen("MIG-xy"), ["MIG-xy"]);
    }

    #[test]
    fn what_is_no_card_is_refused_with_those_there_are() {
        let there = "Available UUIDs are: GPU-aa1, GPU-aa2, MIG-x, MIG-xy. \
                     The UUID of card 3 is unknown: lost from the bus";
        for typed in ["GPU-b", "7", "-1", "GPU-aa11", "ü", "4294967296"] {
            assert_eq!(refusal(typed), format!("GPU UUID of {typed} is not valid. {there}"));
        }
        assert_eq!(refusal("0,GPU-b"), format!("GPU UUID of GPU-b is not valid. {there}"));
    }

    #[test]
    fn what_may_be_several_or_none_is_refused() {
        assert_eq!(
            refusal("GPU-aa"),
            "GPU-aa may be any of GPU-aa1, GPU-aa2. Write more of the UUID."
        );
        assert_eq!(
            refusal(" ,"),
            "No card is named in \" ,\". Write indices or UUIDs with commas, like 0,1."
        );
        assert_eq!(
            refusal("3"),
            "Card 3 cannot be chosen, as its UUID could not be read: lost from the bus."
        );
    }
}
