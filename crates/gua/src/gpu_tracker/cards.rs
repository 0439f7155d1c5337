//! The cards that were named, held against the driver before anything starts.

use probe::Reading;
use probe::units::Bytes;
use track::gpu::Available;
use track::gpu_tracker::tracking_file::CountedCards;
use track::{Cards, Options};

use super::refusal::Refusal;

/// Checks that the chosen cards exist, and counts. Without a driver there is no card, which
/// is fine as long as none was named.
pub(super) fn count(options: &Options) -> Result<CountedCards, Refusal> {
    let available = track::gpu::available(options);
    let cards = available.as_deref().unwrap_or_default();
    let total = u32::try_from(cards.len()).unwrap_or(u32::MAX);
    let chosen = match &options.cards {
        Cards::All => total,
        Cards::None => 0,
        Cards::Only(uuids) => {
            let why = available.as_ref().err().map(ToString::to_string);
            check(uuids, cards, why)?;
            u32::try_from(uuids.len()).unwrap_or(u32::MAX)
        }
    };
    Ok(CountedCards { all: total, chosen, memory: memory(cards) })
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

/// Of all cards, or of none when one of them does not tell.
fn memory(cards: &[Available]) -> Reading<Bytes> {
    let mut sum = 0_u64;
    for card in cards {
        match card.memory {
            Reading::Known(Bytes(bytes)) => sum = sum.saturating_add(bytes),
            Reading::Unknown(why) => return Reading::Unknown(why),
        }
    }
    Reading::Known(Bytes(sum))
}
