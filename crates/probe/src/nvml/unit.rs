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
    was_asked: bool,
    /// What it was before it could no longer be attached.
    last_facts: Vec<Arc<CardFacts>>,
    /// Set for a card that can be divided: its layout, and when that was last read.
    census: Option<(Layout, Option<Instant>)>,
}

/// Whether the driver has handed out a GPU.
#[derive(Debug)]
enum Contact {
    /// Not asked yet, or lost since.
    None,
    Refused(Why),
    /// Never empty.
    Made(Vec<Member>),
}

/// One card of a GPU.
#[derive(Debug)]
enum Member {
    Card(Box<Attached>),
    /// An instance that is there but would not say what it is.
    Unread(Arc<CardFacts>, Why),
}

impl Member {
    const fn facts(&self) -> &Arc<CardFacts> {
        match self {
            Self::Card(card) => card.facts(),
            Self::Unread(facts, _) => facts,
        }
    }
}

/// Which slots are taken, by whom; `None` when MIG is off.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout(Option<Vec<Slot>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    slot: u32,
    gpu: Gpu,
    uuid: Reading<String>,
}

impl Unit {
    pub fn new(index: u32, nvml: Arc<Nvml>, host_root: PathBuf) -> Self {
        Self {
            index,
            nvml,
            host_root,
            contact: Contact::None,
            was_asked: false,
            last_facts: Vec::new(),
            census: None,
        }
    }

    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Whether the driver has been asked for this GPU before, and so has woken it up.
    pub const fn was_asked(&self) -> bool {
        self.was_asked
    }

    /// Asks the driver for this GPU. One that sleeps is woken up by it, which takes its
    /// time.
    pub fn attach(&mut self) {
        self.was_asked = true;
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
        let mut looks = self.read(wants);
        if has_trouble(&looks, |why| why == Why::Gone) {
            // An instance was removed under its handle: find out what there is now.
            self.attach();
            looks = self.read(wants);
        }
        if self.needs_a_new_handle(&looks) {
            self.contact = Contact::None;
        }
        looks
    }

    fn read(&mut self, wants: Wants) -> Vec<CardLook> {
        let Self { contact, nvml, host_root, .. } = self;
        let cards = match contact {
            Contact::Made(cards) => cards,
            Contact::Refused(why) => return unread(&self.last_facts, self.index, *why),
            Contact::None => return unread(&self.last_facts, self.index, Why::NotAsked),
        };
        let read = cards.iter_mut().map(|card| match card {
            Member::Card(card) => card.look(nvml, wants, host_root),
            Member::Unread(facts, why) => {
                CardLook { facts: Arc::clone(facts), vitals: Vitals::unknown(*why) }
            }
        });
        read.collect()
    }

    /// A card that was refused, lost or unnamed may be there again at the next look.
    fn needs_a_new_handle(&self, looks: &[CardLook]) -> bool {
        let is_whole = match &self.contact {
            Contact::Made(cards) => cards.iter().all(|card| matches!(card, Member::Card(_))),
            Contact::Refused(_) | Contact::None => false,
        };
        !is_whole || has_trouble(looks, |why| matches!(why, Why::Lost | Why::NeedsReset))
    }

    fn was_divided_anew(&mut self) -> bool {
        let Some((layout, at)) = &self.census else { return false };
        if at.is_some_and(|at| at.elapsed() < CENSUS_EVERY) {
            return false;
        }
        let now = self.nvml.device_by_index(self.index).and_then(|device| layout_of(&device));
        match now {
            Ok(Some(now)) if now != *layout => true,
            Ok(_) => {
                self.census = Some((layout.clone(), Some(Instant::now())));
                false
            }
            Err(_) => false,
        }
    }

    fn find_cards(&mut self) -> Result<Vec<Member>, NvmlError> {
        let nvml = Arc::clone(&self.nvml);
        let device = nvml.device_by_index(self.index)?;
        let facts = facts(self.index, &device)?;
        let gpu = Gpu::of(&device);
        let layout = match layout_of(&device) {
            Ok(layout) => layout,
            Err(error) if is_fatal(&error) => return Err(error),
            // Taken for whole for now, and asked again at the next look.
            Err(_) => {
                self.census = Some((Layout(None), None));
                return Ok(vec![Member::Card(Box::new(Attached::gpu(facts, gpu)))]);
            }
        };
        self.census = layout.clone().map(|layout| (layout, Some(Instant::now())));
        match layout {
            Some(Layout(Some(slots))) if !slots.is_empty() => {
                slots.into_iter().map(|slot| member(&nvml, &facts, gpu, slot)).collect()
            }
            _ => Ok(vec![Member::Card(Box::new(Attached::gpu(facts, gpu)))]),
        }
    }
}

/// Errors after which no other question about this GPU makes sense.
fn is_fatal(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::GpuLost
            | NvmlError::ResetRequired
            | NvmlError::Uninitialized
            | NvmlError::DriverNotLoaded
            | NvmlError::LibRmVersionMismatch
    )
}

fn has_trouble(looks: &[CardLook], is_it: impl Fn(Why) -> bool) -> bool {
    looks.iter().filter_map(|look| look.vitals.trouble()).any(is_it)
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

/// A slot as a card, or what is known of it when it would not say what it is.
fn member(nvml: &Nvml, card: &CardFacts, card_gpu: Gpu, slot: Slot) -> Result<Member, NvmlError> {
    let id = match raw::gpu_instance(nvml, slot.gpu) {
        Err(error) if is_fatal(&error) => return Err(error),
        id => Reading::from(id),
    };
    let why = slot.uuid.why().or(id.why());
    let name = slot.gpu.on(nvml).name().into();
    let place = InstanceFacts { slot: slot.slot, gpu_instance: id, parent_uuid: card.uuid.clone() };
    let facts = CardFacts {
        uuid: slot.uuid,
        name,
        power_limit: Reading::Unknown(Why::NotSupported),
        instance: Some(place),
        ..card.clone()
    };
    Ok(match (why, id) {
        (None, Reading::Known(id)) => {
            Member::Card(Box::new(Attached::instance(facts, slot.gpu, card_gpu, id)))
        }
        (why, _) => Member::Unread(Arc::new(facts), why.unwrap_or(Why::NotTold)),
    })
}

/// How a card is divided; `None` for one that cannot be.
fn layout_of(device: &Device<'_>) -> Result<Option<Layout>, NvmlError> {
    match device.mig_mode() {
        Ok(mode) if mode.current == 1 => Ok(Some(Layout(Some(slots(device)?)))),
        Ok(_) => Ok(Some(Layout(None))),
        Err(error) if is_lacking(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_lacking(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::NotSupported
            | NvmlError::InvalidArg
            | NvmlError::FunctionNotFound
            | NvmlError::FailedToLoadSymbol(_)
    )
}

fn slots(device: &Device<'_>) -> Result<Vec<Slot>, NvmlError> {
    let mut found = Vec::new();
    for slot in 0..device.mig_device_count()? {
        match device.mig_device_by_index(slot) {
            Ok(instance) => {
                found.push(Slot { slot, gpu: Gpu::of(&instance), uuid: instance.uuid().into() });
            }
            // Slots may have holes: go on past an empty one.
            Err(NvmlError::NotFound | NvmlError::InvalidArg) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
