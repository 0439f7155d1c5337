//! Which cards are meant, held against the driver before the command starts.

use probe::nvml::OpenError;
use track::gpu::{Available, ChoiceError, available, choose};
use track::gpu_tracker::tracking_file::CountedCards;
use track::{Cards, Options};

use crate::config::{Gpus, Machine, TimelineKind, Track};
use crate::failure::Failure;

/// How to measure, and the cards as far as they had to be asked for.
#[derive(Debug)]
pub(super) struct Found {
    pub options: Options,
    pub counted: CountedCards,
}

/// Asks the driver only for what must be known before: named cards, and the first row of a
/// table. A command need not wait for it otherwise.
pub(super) fn find(machine: &Machine, meant: &Track) -> Result<Found, Failure> {
    let kind = meant.timeline.as_ref().map(|timeline| timeline.kind);
    let mut options =
        Options { every: meant.every, cards: Cards::All, library: machine.nvml.clone() };
    let is_asked = match meant.gpus {
        Gpus::None => false,
        Gpus::All => kind == Some(TimelineKind::Table),
        Gpus::Named(_) => true,
    };
    let cards = if is_asked { available(&options) } else { Ok(Vec::new()) };
    options.cards = match &meant.gpus {
        Gpus::All => Cards::All,
        Gpus::None => Cards::None,
        Gpus::Named(typed) => chosen(typed, cards.as_deref())?,
    };
    let cards = cards.unwrap_or_default();
    Ok(Found { counted: CountedCards::new(&cards, &options.cards), options })
}

fn chosen(typed: &str, cards: Result<&[Available], &OpenError>) -> Result<Cards, Failure> {
    let cards = cards.map_err(|error| Failure::Usage {
        what: format!("there is no card `{typed}` here: {error}"),
        next: "Leave --gpus out to measure the rest; `gua doctor` checks the driver.".to_owned(),
    })?;
    choose(typed, cards).map_err(|error| refused(&error, cards))
}

fn refused(error: &ChoiceError, cards: &[Available]) -> Failure {
    let what = match error {
        ChoiceError::Empty { typed } => format!("--gpus `{typed}` names no card"),
        ChoiceError::NotThere { typed, .. } => format!("there is no card `{typed}` here"),
        ChoiceError::Ambiguous { typed, .. } => format!("`{typed}` may be several cards"),
        ChoiceError::Nameless { index, why } => {
            format!("card {index} cannot be chosen: its UUID is unknown, {why}")
        }
    };
    Failure::Usage { what, next: list(cards) }
}

/// What there is to choose from.
fn list(cards: &[Available]) -> String {
    let named = cards.iter().map(|card| {
        let uuid = card.uuid.as_ref().known().map_or("?", String::as_str);
        format!("{} ({uuid})", card.index)
    });
    match named.collect::<Vec<_>>() {
        none if none.is_empty() => "The driver counts no cards on this host.".to_owned(),
        some => format!("Choose from {}.", some.join(", ")),
    }
}
