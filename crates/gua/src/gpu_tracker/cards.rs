//! The cards that were named, held against the driver before anything starts.

use track::gpu::available::{Available, FOR_A_COUNT, FOR_NAMED, available};
use track::gpu_tracker::tracking_file::CountedCards;
use track::{Cards, Options};

use super::refusal::Refusal;

/// Checks that the chosen cards exist, and counts. Without a driver there is no card, which
/// is fine as long as none was named.
pub(super) fn count(options: &Options) -> Result<CountedCards, Refusal> {
    let within = if matches!(options.cards, Cards::Only(_)) { FOR_NAMED } else { FOR_A_COUNT };
    let told = available(options, within);
    if let Cards::Only(uuids) = &options.cards {
        let why = told.as_ref().err().map(ToString::to_string);
        check(uuids, told.as_deref().unwrap_or_default(), why)?;
    }
    Ok(CountedCards::new(told.as_deref(), &options.cards))
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
