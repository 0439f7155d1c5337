//! One GPU as the driver counts them: itself a card, or several MIG instances.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;
use gua_core::slices::Slices;
use nvml_wrapper::{Device, Nvml};

use super::accounts::CardAccounts;
use super::card::{self, CardReader, Unsupported};
use super::error::{reading, reason};
use super::library::count_call;
use super::mig::{Division, Slot, division_of, slices_of};
use super::options::Wants;
use super::raw::{self, Gpu, Version};
use crate::card::{CardFacts, CardLook, InstanceFacts, Vitals};
use crate::reading::{Reading, Why};

/// Interval at which a GPU that can be divided is checked for a new division.
const DIVISION_INTERVAL: Duration = Duration::from_secs(60);

/// One GPU by its index. The driver is asked for it at the first look.
#[derive(Debug)]
pub(super) struct Unit {
    index: u32,
    nvml: Arc<Nvml>,
    /// Newest version of the process lists that this driver is asked for.
    lists: Version,
    host_root: PathBuf,
    contact: Contact,
    was_asked: bool,
    /// True if a card was lost or could not be identified, and may be there at the next look.
    needs_attaching: bool,
    /// Its cards when it was last attached.
    last_facts: Vec<Arc<CardFacts>>,
    /// Its division when it was attached, and when that was last compared.
    division: Division,
    compared: Option<Instant>,
    /// The GPU itself if it is partitioned, for its energy.
    partitioned: Option<(Gpu, Unsupported)>,
}

/// Result of asking the driver for a GPU.
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
    Card(Box<CardReader>),
    /// Instance that exists but could not be identified.
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

impl Unit {
    pub fn new(index: u32, nvml: Arc<Nvml>, lists: Version, host_root: PathBuf) -> Self {
        Self {
            index,
            nvml,
            lists,
            host_root,
            contact: Contact::None,
            was_asked: false,
            needs_attaching: true,
            last_facts: Vec::new(),
            division: Division::Never,
            compared: None,
            partitioned: None,
        }
    }

    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Returns true if the driver has been asked for this GPU, which wakes it up.
    pub const fn was_asked(&self) -> bool {
        self.was_asked
    }

    /// Returns its cards when it was last attached.
    pub fn facts(&self) -> &[Arc<CardFacts>] {
        &self.last_facts
    }

    /// Asks the driver for this GPU, which takes long if it sleeps. Cards that are the same as before keep
    /// their state.
    pub fn attach(&mut self) {
        self.was_asked = true;
        let found = self.find_cards();
        let before = std::mem::replace(&mut self.contact, Contact::None);
        self.contact = match found {
            Ok(cards) => {
                self.last_facts = cards.iter().map(|card| Arc::clone(card.facts())).collect();
                Contact::Made(keep_known(cards, before))
            }
            Err(why) => Contact::Refused(why),
        };
        self.needs_attaching = false;
    }

    /// Reads all cards of this GPU. Never empty.
    pub fn look(&mut self, wants: Wants) -> Vec<CardLook> {
        if self.needs_attaching || self.has_new_division() {
            self.attach();
        }
        let mut looks = self.read(wants);
        if has_trouble(&looks, |why| why == Why::Gone) {
            // An instance was removed under its handle.
            self.attach();
            looks = self.read(wants);
        }
        self.needs_attaching = self.is_incomplete(&looks);
        looks
    }

    /// Reads the sample buffers of all cards of this GPU, and nothing else.
    pub fn drain(&mut self) {
        let Contact::Made(members) = &mut self.contact else { return };
        for member in members {
            if let Member::Card(card) = member {
                card.drain(&self.nvml);
            }
        }
    }

    /// Reads the process samples of all cards of this GPU, and nothing else.
    pub fn process_samples(&mut self) -> Vec<ProcessPoll> {
        let Self { contact: Contact::Made(members), nvml, .. } = self else { return Vec::new() };
        let read = |member: &mut Member| match member {
            Member::Card(card) => Some(card.process_samples(nvml)),
            Member::Unread(..) => None,
        };
        members.iter_mut().filter_map(read).collect()
    }

    /// Reads the driver's accounts of these processes.
    pub fn accounts(&self, pids: &[u32]) -> Vec<CardAccounts> {
        self.cards().map(|card| card.accounts(&self.nvml, pids)).collect()
    }

    /// Returns true if a look has found a sample buffer.
    pub fn has_samples(&self) -> bool {
        self.cards().any(CardReader::has_samples)
    }

    /// Returns how far back the shortest of its sample buffers reaches.
    pub fn buffer_length(&self) -> Option<Duration> {
        self.cards().filter_map(CardReader::buffer_length).min()
    }

    /// Returns the cards with a handle.
    fn cards(&self) -> impl Iterator<Item = &CardReader> {
        let members = match &self.contact {
            Contact::Made(members) => members.as_slice(),
            Contact::Refused(_) | Contact::None => &[],
        };
        members.iter().filter_map(|member| match member {
            Member::Card(card) => Some(&**card),
            Member::Unread(..) => None,
        })
    }

    fn read(&mut self, wants: Wants) -> Vec<CardLook> {
        let Self { contact, nvml, host_root, partitioned, .. } = self;
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
        let mut looks: Vec<_> = read.collect();
        if let Some((gpu, unsupported)) =
            partitioned.as_mut().filter(|_| wants.energy || wants.power)
        {
            let energy = card::gpu_energy(nvml, *gpu, unsupported, wants);
            looks.iter_mut().for_each(|look| look.vitals.gpu_energy = energy);
        }
        looks
    }

    fn is_incomplete(&self, looks: &[CardLook]) -> bool {
        let is_whole = match &self.contact {
            Contact::Made(cards) => cards.iter().all(|card| matches!(card, Member::Card(_))),
            Contact::Refused(_) | Contact::None => false,
        };
        !is_whole || has_trouble(looks, Why::concerns_the_whole_card)
    }

    fn has_new_division(&mut self) -> bool {
        let is_recent = self.compared.is_some_and(|at| at.elapsed() < DIVISION_INTERVAL);
        if self.division == Division::Never || (is_recent && self.division.is_known()) {
            return false;
        }
        self.compared = Some(Instant::now());
        count_call();
        let device = self.nvml.device_by_index(self.index);
        let now = device.map_err(reason).and_then(|device| division_of(&device));
        // An unknown division is compared the next time.
        now.is_ok_and(|now| now.is_known() && now != self.division)
    }

    fn find_cards(&mut self) -> Result<Vec<Member>, Why> {
        let nvml = Arc::clone(&self.nvml);
        count_call();
        let device = nvml.device_by_index(self.index).map_err(reason)?;
        let facts = facts(self.index, &device)?;
        let gpu = Gpu::of(&device);
        self.division = division_of(&device)?;
        self.compared = Some(Instant::now());
        self.partitioned = None;
        Ok(match &self.division {
            Division::Into(slots) => {
                self.partitioned = Some((gpu, Unsupported::default()));
                let slices = slices_of(&nvml, gpu, slots);
                let members = slots.iter().zip(slices);
                members
                    .map(|(slot, slices)| member(&nvml, &facts, gpu, slot, slices, self.lists))
                    .collect()
            }
            Division::Hidden(why) => vec![Member::Unread(Arc::new(facts), *why)],
            Division::Never | Division::Whole | Division::Unsure => {
                vec![Member::Card(Box::new(CardReader::gpu(facts, gpu, self.lists)))]
            }
        })
    }
}

/// Replaces cards that were there before with the same handle by their old readers.
fn keep_known(found: Vec<Member>, before: Contact) -> Vec<Member> {
    let Contact::Made(mut before) = before else { return found };
    let known = |member: Member| {
        let Member::Card(card) = &member else { return member };
        let is_same = |old: &Member| matches!(old, Member::Card(old) if old.is_same(card));
        match before.iter().position(is_same) {
            Some(place) => before.swap_remove(place),
            None => member,
        }
    };
    found.into_iter().map(known).collect()
}

fn has_trouble(looks: &[CardLook], is_it: impl Fn(Why) -> bool) -> bool {
    looks.iter().filter_map(|look| look.vitals.trouble()).any(is_it)
}

/// Returns unknown readings of the cards that were known before, or of one without a name.
pub(super) fn unread(known: &[Arc<CardFacts>], index: u32, why: Why) -> Vec<CardLook> {
    let unread = |facts| CardLook { facts, vitals: Vitals::unknown(why) };
    if known.is_empty() {
        return vec![unread(Arc::new(CardFacts::unread(index, why)))];
    }
    known.iter().cloned().map(unread).collect()
}

/// Reads the facts of a GPU. Without a UUID it cannot be distinguished from others, so that must be
/// readable.
fn facts(index: u32, device: &Device<'_>) -> Result<CardFacts, Why> {
    count_call();
    Ok(CardFacts {
        index,
        uuid: Reading::Known(device.uuid().map_err(reason)?),
        name: reading(device.name()),
        minor: reading(device.minor_number()),
        bus_id: reading(device.pci_info()).map(|pci| pci.bus_id),
        power_limit: reading(device.enforced_power_limit()),
        instance: None,
    })
}

/// Returns the card in a slot, with what is known of it if it could not be identified.
fn member(
    nvml: &Nvml,
    card: &CardFacts,
    card_gpu: Gpu,
    slot: &Slot,
    slices: Slices,
    lists: Version,
) -> Member {
    let (id, name) = match slot.gpu {
        Reading::Known(gpu) => {
            (reading(raw::gpu_instance(nvml, gpu)), reading(gpu.on(nvml).name()))
        }
        Reading::Unknown(why) => (Reading::Unknown(why), Reading::Unknown(why)),
    };
    let why = slot.uuid.why().or(id.why());
    let parent_uuid = card.uuid.clone();
    let place = InstanceFacts { slot: Some(slot.slot), gpu_instance: id, parent_uuid, slices };
    let facts = CardFacts {
        uuid: slot.uuid.clone(),
        name,
        power_limit: Reading::Unknown(Why::NotSupported),
        instance: Some(place),
        ..card.clone()
    };
    match (why, slot.gpu, id) {
        (None, Reading::Known(gpu), Reading::Known(id)) => {
            Member::Card(Box::new(CardReader::instance(facts, gpu, card_gpu, id, lists)))
        }
        (why, ..) => Member::Unread(Arc::new(facts), why.unwrap_or(Why::NotTold)),
    }
}
