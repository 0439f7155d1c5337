//! Which cards are meant, held against the driver before the command starts.

use probe::nvml::OpenError;
use track::gpu::available::{FOR_A_COUNT, FOR_NAMED};
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
/// table. A command need not wait for it otherwise, and not for long there.
pub(super) fn find(machine: &Machine, meant: &Track) -> Result<Found, Failure> {
    let kind = meant.timeline.as_ref().map(|timeline| timeline.kind);
    let mut options =
        Options { every: meant.every, cards: Cards::All, library: machine.nvml.clone() };
    let within = match meant.gpus {
        Gpus::Named(_) => Some(FOR_NAMED),
        Gpus::All if kind == Some(TimelineKind::Table) => Some(FOR_A_COUNT),
        Gpus::All | Gpus::None => None,
    };
    let cards = within.map_or_else(|| Ok(Vec::new()), |within| available(&options, within));
    options.cards = match &meant.gpus {
        Gpus::All => Cards::All,
        Gpus::None => Cards::None,
        Gpus::Named(typed) => chosen(typed, cards.as_deref())?,
    };
    Ok(Found { counted: CountedCards::new(cards.as_deref(), &options.cards), options })
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
