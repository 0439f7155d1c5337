//! One GPU as the driver counts them: itself a card, or several MIG instances.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;
use gua_core::slices::{self, GpuSize, InstanceSize, Slices};
use nvml_wrapper::{Device, Nvml};

use super::attached::{self, Attached, Lacks};
use super::calls::count_call;
use super::division::{Division, Slot, division_of};
use super::error::{reading, reason};
use super::memory::MemoryReader;
use super::raw::{self, Gpu, Version};
use crate::account::CardAccounts;
use crate::card::{CardFacts, CardLook, InstanceFacts, Vitals};
use crate::reading::{Reading, Why};
use crate::units::Bytes;

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
    /// The lists of graphics and MPS processes. Otherwise their last known entries stand.
    pub all_lists: bool,
    /// Each holder's own share of the work.
    pub shares: bool,
    /// Shares also on idle cards: those without new samples and with an instant utilization of 0.
    pub idle_shares: bool,
    /// How much of the time memory was read or written.
    pub memory_work: bool,
    pub performance: bool,
    pub compute_mode: bool,
    pub persistence: bool,
    pub mig: bool,
    /// The limit that was set, which another may lie below.
    pub set_power_limit: bool,
}

impl Wants {
    pub const ALL: Self = Self {
        power: true,
        energy: true,
        temperature: true,
        clocks: true,
        codecs: true,
        fan: true,
        all_lists: true,
        shares: true,
        idle_shares: true,
        memory_work: true,
        performance: true,
        compute_mode: true,
        persistence: true,
        mig: true,
        set_power_limit: true,
    };

    /// Only utilization, memory and holders.
    pub const ESSENTIALS: Self = Self {
        power: false,
        energy: false,
        temperature: false,
        clocks: false,
        codecs: false,
        fan: false,
        all_lists: true,
        shares: false,
        idle_shares: true,
        memory_work: false,
        performance: false,
        compute_mode: false,
        persistence: false,
        mig: false,
        set_power_limit: false,
    };
}

/// One GPU by its index, attached when it is first looked at.
#[derive(Debug)]
pub(super) struct Unit {
    index: u32,
    nvml: Arc<Nvml>,
    /// The newest version of the process lists that this driver is asked for.
    lists: Version,
    host_root: PathBuf,
    contact: Contact,
    was_asked: bool,
    /// A card was lost or unnamed, and may be there again at the next look.
    needs_attaching: bool,
    /// What it was before it could no longer be attached.
    last_facts: Vec<Arc<CardFacts>>,
    /// How it was divided when it was attached, and when that was last compared.
    division: Division,
    compared: Option<Instant>,
    /// The GPU itself if it is partitioned, for its energy.
    partitioned: Option<(Gpu, Lacks)>,
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

    /// Whether the driver has been asked for this GPU before, and so has woken it up.
    pub const fn was_asked(&self) -> bool {
        self.was_asked
    }

    /// What it is, or was when it could last be asked.
    pub fn facts(&self) -> &[Arc<CardFacts>] {
        &self.last_facts
    }

    /// Asks the driver for this GPU. One that sleeps is woken up by it, which takes its
    /// time. Cards that are the same as before keep what they remember.
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
        if self.needs_attaching || self.was_divided_anew() {
            self.attach();
        }
        let mut looks = self.read(wants);
        if has_trouble(&looks, |why| why == Why::Gone) {
            // An instance was removed under its handle: find out what there is now.
            self.attach();
            looks = self.read(wants);
        }
        self.needs_attaching = self.is_missing_something(&looks);
        looks
    }

    /// Takes what the cards' sample buffers hold, and asks for nothing else.
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

    /// What the driver keeps account of, of these processes.
    pub fn accounts(&self, pids: &[u32]) -> Vec<CardAccounts> {
        self.cards().map(|card| card.accounts(&self.nvml, pids)).collect()
    }

    /// Whether there is something to drain: not before it has been looked at.
    pub fn keeps_samples(&self) -> bool {
        self.cards().any(Attached::keeps_samples)
    }

    /// How far back its sample buffers reach, the shortest of them.
    pub fn buffer_length(&self) -> Option<Duration> {
        self.cards().filter_map(Attached::buffer_length).min()
    }

    /// The cards with a live handle.
    fn cards(&self) -> impl Iterator<Item = &Attached> {
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
        if let Some((gpu, lacks)) = partitioned.as_mut().filter(|_| wants.energy || wants.power) {
            let energy = attached::gpu_energy(nvml, *gpu, lacks, wants);
            looks.iter_mut().for_each(|look| look.vitals.gpu_energy = energy);
        }
        looks
    }

    fn is_missing_something(&self, looks: &[CardLook]) -> bool {
        let is_whole = match &self.contact {
            Contact::Made(cards) => cards.iter().all(|card| matches!(card, Member::Card(_))),
            Contact::Refused(_) | Contact::None => false,
        };
        !is_whole || has_trouble(looks, Why::concerns_the_whole_card)
    }

    fn was_divided_anew(&mut self) -> bool {
        let is_recent = self.compared.is_some_and(|at| at.elapsed() < CENSUS_EVERY);
        if self.division == Division::Never || (is_recent && self.division.is_told()) {
            return false;
        }
        self.compared = Some(Instant::now());
        count_call();
        let device = self.nvml.device_by_index(self.index);
        let now = device.map_err(reason).and_then(|device| division_of(&device));
        // What cannot be told now is compared next time.
        now.is_ok_and(|now| now.is_told() && now != self.division)
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
                self.partitioned = Some((gpu, Lacks::default()));
                let slices = slices_of(&nvml, gpu, slots);
                let members = slots.iter().zip(slices);
                members
                    .map(|(slot, slices)| member(&nvml, &facts, gpu, slot, slices, self.lists))
                    .collect()
            }
            Division::Hidden(why) => vec![Member::Unread(Arc::new(facts), *why)],
            Division::Never | Division::Whole | Division::Unsure => {
                vec![Member::Card(Box::new(Attached::gpu(facts, gpu, self.lists)))]
            }
        })
    }
}

/// The cards that were there before under the same handle, in place of their new selves.
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

/// The cards that were known before, or one without a name.
pub(super) fn unread(known: &[Arc<CardFacts>], index: u32, why: Why) -> Vec<CardLook> {
    let unread = |facts| CardLook { facts, vitals: Vitals::unknown(why) };
    if known.is_empty() {
        return vec![unread(Arc::new(CardFacts::unread(index, why)))];
    }
    known.iter().cloned().map(unread).collect()
}

/// A card without a UUID cannot be told from another, so that one must be readable.
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

/// Returns the part of a GPU that each of its instances is.
fn slices_of(nvml: &Nvml, gpu: Gpu, slots: &[Slot]) -> Vec<Slices> {
    let instance = |slot: &Slot| match slot.gpu {
        Reading::Known(instance) => instance_size(nvml, instance),
        Reading::Unknown(_) => InstanceSize::default(),
    };
    let instances: Vec<_> = slots.iter().map(instance).collect();
    count_call();
    let compute = gpu.on(nvml).mig_device_count().ok();
    slices::divide(&instances, GpuSize { memory: memory_of(nvml, gpu), compute })
}

fn instance_size(nvml: &Nvml, instance: Gpu) -> InstanceSize {
    count_call();
    let attributes = instance.on(nvml).attributes().ok();
    let compute = attributes.as_ref().map(|attributes| {
        [attributes.gpu_instance_slice_count, attributes.compute_instance_slice_count]
    });
    let memory = attributes.map(|attributes| Bytes::from_mib(attributes.memory_size_mb));
    let memory = memory.filter(|memory| memory.0 > 0).or_else(|| memory_of(nvml, instance));
    InstanceSize { memory, compute }
}

/// Returns the size of a card's memory; `None` if it may not be read.
fn memory_of(nvml: &Nvml, gpu: Gpu) -> Option<Bytes> {
    let memory = MemoryReader::default().read(nvml, gpu, || None).known()?;
    Some(memory.total)
}

/// A slot as a card, or what is known of it when it would not say what it is.
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
            Member::Card(Box::new(Attached::instance(facts, gpu, card_gpu, id, lists)))
        }
        (why, ..) => Member::Unread(Arc::new(facts), why.unwrap_or(Why::NotTold)),
    }
}
