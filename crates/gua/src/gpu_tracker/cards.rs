//! The cards that were named, held against the driver before anything starts.

use track::gpu::Available;
use track::gpu_tracker::tracking_file::CountedCards;
use track::{Cards, Options};

use super::refusal::Refusal;

/// Checks that the chosen cards exist, and counts. Without a driver there is no card, which
/// is fine as long as none was named.
pub(super) fn count(options: &Options) -> Result<CountedCards, Refusal> {
    let available = track::gpu::available(options);
    let cards = available.as_deref().unwrap_or_default();
    if let Cards::Only(uuids) = &options.cards {
        let why = available.as_ref().err().map(ToString::to_string);
        check(uuids, cards, why)?;
    }
    Ok(CountedCards::new(cards, &options.cards))
}

fn check(uuids: &[String], cards: &[Available], why: Option<String>) -> Result<(), Refusal> {
    let mut known: Vec<&str> =
        cards.iter().filter_map(|card| card.uuid.as_ref().known()).map(String::as_str).collect();
    known.sort_unstable();
    let Some(uuid) = uuids.iter().find(|uuid| !known.contains(&uuid.as_str())) else {
        return Ok(());
    };
    let available = match why {
        Some(why) => format!("none, as the driver cannot be read: {why}"),
        None => known.join(", "),
    };
    Err(Refusal::Uuid { uuid: uuid.clone(), available })
}
