//! One GPU as the driver counts them: itself a card, or several MIG instances.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::attached::Attached;
use super::raw::{self, Gpu};
use crate::card::{CardFacts, CardLook, InstanceFacts, Vitals};
use crate::reading::{Reading, Why};

/// How often a card that can be divided is asked whether it was divided anew.
const CENSUS_EVERY: Duration = Duration::from_secs(60);

/// What to read besides utilization, memory and holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Wants {
    pub power: bool,
    pub energy: bool,
    pub temperature: bool,
    pub clocks: bool,
    pub codecs: bool,
    pub fan: bool,
}

impl Wants {
    pub const ALL: Self = Self {
        power: true,
        energy: true,
        temperature: true,
        clocks: true,
        codecs: true,
        fan: true,
    };

    /// Only utilization, memory and holders.
    pub const ESSENTIALS: Self = Self {
        power: false,
        energy: false,
        temperature: false,
        clocks: false,
        codecs: false,
        fan: false,
    };
}

/// One GPU by its index, attached when it is first looked at.
#[derive(Debug)]
pub(super) struct Unit {
    index: u32,
    nvml: Arc<Nvml>,
    host_root: PathBuf,
    contact: Contact,
    /// What it was before it could no longer be attached.
    last_facts: Vec<Arc<CardFacts>>,
    /// Set for a card that can be divided: its layout, and when it was last compared.
    census: Option<(Layout, Instant)>,
}

/// Whether the driver has handed out a GPU.
#[derive(Debug)]
enum Contact {
    /// Not asked yet, or lost since.
    None,
    Refused(Why),
    /// Never empty.
    Made(Vec<Attached>),
}

/// Which slots are taken, by whom; `None` when MIG is off.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout(Option<Vec<Slot>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    slot: u32,
    gpu: Gpu,
    uuid: String,
}

impl Unit {
    pub fn new(index: u32, nvml: Arc<Nvml>, host_root: PathBuf) -> Self {
        Self {
            index,
            nvml,
            host_root,
            contact: Contact::None,
            last_facts: Vec::new(),
            census: None,
        }
    }

    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Whether the driver has handed out this GPU.
    pub const fn is_attached(&self) -> bool {
        matches!(self.contact, Contact::Made(_))
    }

    /// Asks the driver for this GPU. One that sleeps is woken up by it, which takes its
    /// time.
    pub fn attach(&mut self) {
        self.contact = match self.find_cards() {
            Ok(cards) => {
                self.last_facts = cards.iter().map(|card| Arc::clone(card.facts())).collect();
                Contact::Made(cards)
            }
            Err(error) => Contact::Refused(error.into()),
        };
    }

    /// Reads all cards of this GPU. Never empty.
    pub fn look(&mut self, wants: Wants) -> Vec<CardLook> {
        if matches!(self.contact, Contact::None) || self.was_divided_anew() {
            self.attach();
        }
        let looks = self.read(wants);
        let is = |looks: &[CardLook], why| {
            looks.iter().any(|look| look.vitals.utilization.why() == Some(why))
        };
        if is(&looks, Why::Gone) {
            // An instance was removed under its handle: find out what there is now.
            self.attach();
            return self.read(wants);
        }
        if is(&looks, Why::Lost) {
            // A lost card needs a new handle when it comes back.
            self.contact = Contact::None;
        }
        looks
    }

    fn read(&mut self, wants: Wants) -> Vec<CardLook> {
        let Self { contact, nvml, host_root, .. } = self;
        match contact {
            Contact::Made(cards) => {
                cards.iter_mut().map(|card| card.look(nvml, wants, host_root)).collect()
            }
            Contact::Refused(why) => unread(&self.last_facts, self.index, *why),
            Contact::None => unread(&self.last_facts, self.index, Why::NotAsked),
        }
    }

    fn was_divided_anew(&mut self) -> bool {
        let Some((layout, at)) = &self.census else {
            return false;
        };
        if at.elapsed() < CENSUS_EVERY {
            return false;
        }
        let now = self.nvml.device_by_index(self.index).and_then(|device| layout_of(&device));
        match now {
            Ok(Some(now)) if now != *layout => true,
            _ => {
                self.census = Some((layout.clone(), Instant::now()));
                false
            }
        }
    }

    fn find_cards(&mut self) -> Result<Vec<Attached>, NvmlError> {
        let nvml = Arc::clone(&self.nvml);
        let device = nvml.device_by_index(self.index)?;
        let facts = facts(self.index, &device)?;
        let layout = layout_of(&device)?;
        self.census = layout.clone().map(|layout| (layout, Instant::now()));
        let gpu = Gpu::of(&device);
        match layout {
            Some(Layout(Some(slots))) if !slots.is_empty() => {
                slots.into_iter().map(|slot| instance(&nvml, &facts, gpu, slot)).collect()
            }
            _ => Ok(vec![Attached::gpu(facts, gpu)]),
        }
    }
}

/// The cards that were known before, or one without a name.
pub(super) fn unread(known: &[Arc<CardFacts>], index: u32, why: Why) -> Vec<CardLook> {
    let unread = |facts| CardLook { facts, vitals: Vitals::unknown(why) };
    if known.is_empty() {
        return vec![unread(Arc::new(CardFacts::unread(index, why)))];
    }
    known.iter().cloned().map(unread).collect()
}

/// A card without a UUID cannot be told from another, so that one must be readable.
fn facts(index: u32, device: &Device<'_>) -> Result<CardFacts, NvmlError> {
    Ok(CardFacts {
        index,
        uuid: Reading::Known(device.uuid()?),
        name: device.name().into(),
        minor: device.minor_number().into(),
        bus_id: Reading::from(device.pci_info()).map(|pci| pci.bus_id),
        power_limit: device.enforced_power_limit().into(),
        instance: None,
    })
}

fn instance(
    nvml: &Nvml,
    card: &CardFacts,
    card_gpu: Gpu,
    slot: Slot,
) -> Result<Attached, NvmlError> {
    let Slot { slot, gpu, uuid } = slot;
    let gpu_instance = raw::gpu_instance(nvml, gpu)?;
    let facts = CardFacts {
        uuid: Reading::Known(uuid),
        name: gpu.on(nvml).name().into(),
        power_limit: Reading::Unknown(Why::NotSupported),
        instance: Some(InstanceFacts { slot, gpu_instance, parent_uuid: card.uuid.clone() }),
        ..card.clone()
    };
    Ok(Attached::instance(facts, gpu, card_gpu, gpu_instance))
}

/// How a card is divided; `None` for one that cannot be.
fn layout_of(device: &Device<'_>) -> Result<Option<Layout>, NvmlError> {
    match device.mig_mode() {
        Ok(mode) if mode.current == 1 => Ok(Some(Layout(Some(slots(device)?)))),
        Ok(_) => Ok(Some(Layout(None))),
        Err(error) => match Why::from(error) {
            Why::NotSupported | Why::Gone => Ok(None),
            Why::Lost => Err(NvmlError::GpuLost),
            Why::DriverGone => Err(NvmlError::DriverNotLoaded),
            _ => Ok(None),
        },
    }
}

fn slots(device: &Device<'_>) -> Result<Vec<Slot>, NvmlError> {
    let mut found = Vec::new();
    for slot in 0..device.mig_device_count()? {
        match device.mig_device_by_index(slot) {
            Ok(instance) => {
                found.push(Slot { slot, gpu: Gpu::of(&instance), uuid: instance.uuid()? });
            }
            // Slots may have holes: go on past an empty one.
            Err(NvmlError::NotFound | NvmlError::InvalidArg) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
