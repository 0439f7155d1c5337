//! Which cards there are, for checking what was asked for before anything starts.

use probe::CardLook;
use probe::Reading;
use probe::nvml::{OpenError, Prober, Wants};
use probe::units::Bytes;

use crate::options::Options;

/// A card that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// That of its card, for a MIG instance.
    pub index: u32,
    pub uuid: Reading<String>,
    pub name: Reading<String>,
    pub memory: Reading<Bytes>,
}

/// The cards there are, by index. Waits for the driver.
///
/// # Errors
/// When there is no driver, or none that answers.
pub fn available(options: &Options) -> Result<Vec<Available>, OpenError> {
    let mut prober = Prober::open(driver(options, Wants::ESSENTIALS))?;
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
