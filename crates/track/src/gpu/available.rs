//! Which cards there are, for checking what was asked for before anything starts.

use std::time::Duration;

use probe::CardLook;
use probe::Reading;
use probe::nvml::{OpenError, Patience, Prober, Wants};
use probe::units::Bytes;

use crate::options::Options;

/// How long to wait for cards that were named: without them nothing can begin.
pub const FOR_NAMED: Duration = Duration::from_secs(10);

/// How long to wait for cards that are only to be counted.
pub const FOR_A_COUNT: Duration = Duration::from_secs(2);

/// A card that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// That of its card, for a MIG instance.
    pub index: u32,
    pub uuid: Reading<String>,
    pub name: Reading<String>,
    pub memory: Reading<Bytes>,
}

/// The cards there are, by index. Waits so long for the driver to start, and as long for an
/// answer: a command waits with it.
///
/// # Errors
/// When there is no driver, or none that answers in time.
pub fn available(options: &Options, within: Duration) -> Result<Vec<Available>, OpenError> {
    let patience = Patience { open: within, attach: within, card: within, look: within };
    let driver = driver(options, Wants::ESSENTIALS);
    let mut prober = Prober::open(probe::nvml::Options { patience, ..driver })?;
    let look = prober.look();
    look.driver?;
    Ok(look.cards.iter().map(Available::from).collect())
}

/// How the driver is opened.
pub(super) fn driver(options: &Options, wants: Wants) -> probe::nvml::Options {
    let library = options.library.clone();
    probe::nvml::Options { library, wants, ..probe::nvml::Options::default() }
}

impl From<&CardLook> for Available {
    fn from(card: &CardLook) -> Self {
        Self {
            index: card.facts.index,
            uuid: card.facts.uuid.clone(),
            name: card.facts.name.clone(),
            memory: card.vitals.memory.map(|memory| memory.total),
        }
    }
}
