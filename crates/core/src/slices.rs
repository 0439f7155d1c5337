//! Parts of a GPU that is partitioned into MIG instances.
//!
//! An instance counts by its memory slices, so that the instances of a GPU and what is left of it are one
//! GPU together.

use std::sync::Arc;
use std::time::Duration;

use crate::card::{
    Basis, CardFacts, GpuEnergy, InstanceFacts, MemorySource, MemoryUse, Utilization, Vitals,
};
use crate::poll::CardPoll;
use crate::process::Holders;
use crate::reading::{Reading, Reason};
use crate::units::{Bytes, Percent};

/// Memory slices of a partitioned GPU. Its instances are some of them.
const MEMORY_SLICES: u32 = 8;

/// Part of a GPU: some of its slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    pub part: u32,
    pub of: u32,
}

/// What the driver says of the size of a MIG instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstanceSize {
    pub memory: Option<Bytes>,
    /// Compute slices of the GPU instance, and those of them that the compute instance has. Several compute
    /// instances may share the memory of one GPU instance.
    pub compute: Option<[u32; 2]>,
}

/// What the driver says of the size of a partitioned GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuSize {
    /// Unknown without the permission to read the GPU as a whole.
    pub memory: Option<Bytes>,
    /// Largest number of instances: the compute slices.
    pub compute: Option<u32>,
}

impl Slices {
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// Returns the part as a number from 0 to 1.
    #[must_use]
    pub fn weight(self) -> f64 {
        f64::from(self.part) / f64::from(self.of.max(1))
    }

    /// Returns the part of an amount, rounded.
    #[must_use]
    pub fn portion(self, amount: i64) -> i64 {
        let of = i128::from(self.of.max(1));
        let portion = (i128::from(amount) * i128::from(self.part) * 2 + of).div_euclid(2 * of);
        i64::try_from(portion).unwrap_or(i64::MAX)
    }

    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.part == self.of
    }

    /// Returns what is left of these slices; nothing if the other ones are more.
    fn minus(self, other: Self) -> Self {
        let of = lcm(self.of, other.of);
        let part = |slices: Self| slices.part.saturating_mul(of / slices.of);
        Self { part: part(self).saturating_sub(part(other)), of }.reduced()
    }

    /// Returns the same part in eighths or, where that cannot be, in the fewest slices.
    fn reduced(self) -> Self {
        let divisor = gcd(self.part, self.of);
        let Self { part, of } = Self { part: self.part / divisor, of: self.of / divisor };
        match MEMORY_SLICES % of {
            0 => Self { part: part * (MEMORY_SLICES / of), of: MEMORY_SLICES },
            _ => Self { part, of },
        }
    }

    /// Returns the slices of an instance; `None` if the driver does not say enough.
    ///
    /// The driver says memory slices only to an administrator, but memory is assigned in whole slices: they
    /// are the part of the GPU's memory in eighths, rounded, as the driver keeps some memory for itself. A
    /// user who may not read the GPU's memory knows compute slices only, which are nearly the same part.
    fn of_instance(instance: InstanceSize, gpu: GpuSize) -> Option<Self> {
        let by_memory = instance.memory.zip(gpu.memory).and_then(|(part, all)| eighths(part, all));
        let by_compute = || {
            let ([gpu_instance, _], all) = instance.compute.zip(gpu.compute)?;
            (gpu_instance > 0).then_some(Self { part: gpu_instance.min(all), of: all.max(1) })
        };
        let Self { part, of } = by_memory.or_else(by_compute)?;
        Some(match instance.compute {
            Some([all, own]) if own > 0 && own < all => {
                Self { part: part.saturating_mul(own), of: of.saturating_mul(all) }.reduced()
            }
            _ => Self { part, of },
        })
    }
}

/// Returns the slices of all instances of a GPU, which are at most the whole GPU together. Instances of
/// which the driver says nothing have equal parts of what the others leave.
#[must_use]
pub fn divide(instances: &[InstanceSize], gpu: GpuSize) -> Vec<Slices> {
    let known: Vec<_> = instances.iter().map(|it| Slices::of_instance(*it, gpu)).collect();
    let mut left = Slices::WHOLE;
    let mut take = |slices: Slices| {
        let is_more = slices.weight() > left.weight();
        let taken = if is_more { left } else { slices };
        left = left.minus(taken);
        taken
    };
    let known: Vec<_> = known.into_iter().map(|slices| slices.map(&mut take)).collect();
    let unknown = u32::try_from(known.iter().filter(|slices| slices.is_none()).count());
    let of = left.of.saturating_mul(unknown.unwrap_or(u32::MAX).max(1));
    let equal = Slices { part: left.part, of }.reduced();
    known.into_iter().map(|slices| slices.unwrap_or(equal)).collect()
}

/// What is left of each partitioned GPU, as a card of its own.
#[derive(Debug, Default)]
pub struct Unpartitioned {
    /// Those of the last poll.
    known: Vec<Arc<CardFacts>>,
}

impl Unpartitioned {
    /// Adds what is left of each partitioned GPU to the cards of a poll, behind its instances.
    pub fn add_to(&mut self, cards: Vec<CardPoll>) -> Vec<CardPoll> {
        let mut all: Vec<CardPoll> = Vec::with_capacity(cards.len());
        let mut found = Vec::new();
        let mut cards = cards.into_iter().peekable();
        while let Some(card) = cards.next() {
            let parent = parent(&card).map(str::to_owned);
            all.push(card);
            let Some(uuid) = parent else { continue };
            if cards.peek().is_some_and(|next| parent_is(next, &uuid)) {
                continue;
            }
            let begin = all.iter().rposition(|card| !parent_is(card, &uuid)).map_or(0, |it| it + 1);
            let instances = all.get(begin..).unwrap_or_default();
            if let Some(rest) = self.rest(instances, &uuid) {
                found.push(Arc::clone(&rest.card));
                all.push(rest);
            }
        }
        self.known = found;
        all
    }

    /// Returns what instances leave of their GPU; `None` if that is nothing.
    fn rest(&self, instances: &[CardPoll], parent: &str) -> Option<CardPoll> {
        let facts = rest_facts(instances.iter().map(|card| &*card.card), parent)?;
        let known = self.known.iter().find(|known| ***known == facts);
        let card = known.map_or_else(|| Arc::new(facts), Arc::clone);
        let reading = rest_vitals(instances, card.slices());
        Some(CardPoll { card, reading, processes: Vec::new() })
    }
}

/// Returns what instances leave of their GPU; `None` if that is nothing. Its UUID has its size in it: a
/// rest of another size is another card.
pub fn rest_facts<'a>(
    instances: impl Iterator<Item = &'a CardFacts>,
    parent: &str,
) -> Option<CardFacts> {
    let mut slices = Slices::WHOLE;
    let mut first = None;
    for facts in instances {
        slices = slices.minus(facts.slices());
        first = first.or(Some(facts));
    }
    let first = first.filter(|_| slices.part > 0)?;
    let size = match slices {
        Slices { part, of: MEMORY_SLICES } => part.to_string(),
        Slices { part, of } => format!("{part}of{of}"),
    };
    let name = first.name.as_ref().map(|name| format!("{} MIG unpartitioned", gpu_name(name)));
    Some(CardFacts {
        uuid: Reading::Known(format!("{parent}/unpartitioned/{size}")),
        name,
        instance: Some(InstanceFacts {
            slot: None,
            gpu_instance: Reading::Unknown(Reason::NotSupported),
            parent_uuid: Reading::Known(parent.to_owned()),
            slices,
        }),
        ..first.clone()
    })
}

/// Returns the name of the GPU in that of a card: instances are called `NVIDIA H100 80GB HBM3 MIG 3g.40gb`.
#[must_use]
pub fn gpu_name(card: &str) -> &str {
    card.split_once(" MIG ").map_or(card, |(gpu, _)| gpu)
}

/// Returns the reading of a rest: nobody can use it. While no instance can be read, the GPU is in trouble.
fn rest_vitals(instances: &[CardPoll], slices: Slices) -> Vitals {
    let troubles: Option<Vec<_>> = instances.iter().map(|card| card.reading.trouble()).collect();
    if let Some(trouble) = troubles.and_then(|troubles| troubles.first().copied()) {
        return Vitals::unknown(trouble);
    }
    let readings = instances.iter().map(|card| &card.reading);
    let mut energies = readings.map(|reading| reading.gpu_energy);
    let energy = energies.clone().find(GpuEnergy::is_known).or_else(|| energies.next());
    let total = instances.iter().find_map(|card| {
        let total = card.reading.memory.known()?.total.0 as f64;
        let weight = card.card.slices().weight();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let rest = (weight > 0.0).then(|| Bytes((total / weight * slices.weight()) as u64));
        rest
    });
    let (used, total) = (Bytes(0), total.unwrap_or_default());
    let reserved = Reading::Known(Bytes(0));
    let source = MemorySource::Card;
    let basis = Basis::Counters { covers: Duration::ZERO };
    Vitals {
        utilization: Reading::Known(Utilization { percent: Percent(0.0), basis }),
        memory: Reading::Known(MemoryUse { total, used, free: total, reserved, source }),
        holders: Holders { seen: Vec::new(), unread: None },
        gpu_energy: energy.unwrap_or(GpuEnergy::unknown(Reason::NotTold)),
        ..Vitals::unknown(Reason::NotSupported)
    }
}

fn parent(card: &CardPoll) -> Option<&str> {
    let parent = &card.card.instance.as_ref()?.parent_uuid;
    parent.as_ref().known().map(String::as_str)
}

fn parent_is(card: &CardPoll, uuid: &str) -> bool {
    parent(card) == Some(uuid)
}

/// Returns a part of the memory of a GPU in eighths, at least one; `None` if there is no memory.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most eight")]
fn eighths(part: Bytes, all: Bytes) -> Option<Slices> {
    if part.0 == 0 || all.0 == 0 {
        return None;
    }
    let exact = part.0 as f64 / all.0 as f64 * f64::from(MEMORY_SLICES);
    let part = exact.round().clamp(1.0, f64::from(MEMORY_SLICES)) as u32;
    Some(Slices { part, of: MEMORY_SLICES })
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { if a == 0 { 1 } else { a } } else { gcd(b, a % b) }
}

const fn lcm(a: u32, b: u32) -> u32 {
    (a / gcd(a, b)).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(mib: Option<u64>, compute: Option<[u32; 2]>) -> InstanceSize {
        InstanceSize { memory: mib.map(Bytes::from_mib), compute }
    }

    fn divided(instances: &[InstanceSize], mib: Option<u64>, compute: u32) -> Vec<(u32, u32)> {
        let gpu = GpuSize { memory: mib.map(Bytes::from_mib), compute: Some(compute) };
        divide(instances, gpu).iter().map(|slices| (slices.part, slices.of)).collect()
    }

    /// Memory as drivers report it for the profiles of NVIDIA's MIG user guide.
    #[test]
    fn instances_count_by_memory_slices() {
        let a100 = [(4864, 1), (9856, 2), (19_968, 4), (40_192, 8)];
        for (mib, slices) in a100 {
            assert_eq!(divided(&[size(Some(mib), None)], Some(40_960), 7), [(slices, 8)], "{mib}");
        }
        let h100 = [(9984, 1), (20_224, 2), (40_448, 4), (81_559, 8)];
        for (mib, slices) in h100 {
            assert_eq!(divided(&[size(Some(mib), None)], Some(81_559), 7), [(slices, 8)], "{mib}");
        }
        // The four slices of an A30.
        let a30 = [(5952, 2), (12_032, 4), (24_062, 8)];
        for (mib, slices) in a30 {
            assert_eq!(divided(&[size(Some(mib), None)], Some(24_576), 4), [(slices, 8)], "{mib}");
        }
        // 1g.20gb has one compute slice and two of memory.
        let wide = size(Some(19_968), Some([1, 1]));
        assert_eq!(divided(&[wide], Some(81_920), 7), [(2, 8)]);
    }

    #[test]
    fn compute_instances_share_the_memory_of_their_gpu_instance() {
        let shared = [[3, 1], [3, 2]].map(|compute| size(Some(40_448), Some(compute)));
        assert_eq!(divided(&shared, Some(81_559), 7), [(1, 6), (1, 3)]);
    }

    #[test]
    fn without_the_memory_of_the_gpu_compute_slices_count() {
        let instances = [size(Some(40_448), Some([3, 3])), size(None, Some([4, 4]))];
        assert_eq!(divided(&instances, None, 7), [(3, 7), (4, 7)]);
    }

    #[test]
    fn unknown_instances_have_equal_parts_of_what_is_left() {
        let nothing = InstanceSize::default();
        assert_eq!(divided(&[nothing; 3], Some(81_559), 7), [(1, 3); 3]);
        let known = size(Some(40_448), None);
        assert_eq!(divided(&[known, nothing, nothing], Some(81_559), 7), [(4, 8), (2, 8), (2, 8)]);
    }

    #[test]
    fn instances_are_never_more_than_their_gpu() {
        let instances = [size(Some(60_000), None), size(Some(60_000), None)];
        assert_eq!(divided(&instances, Some(81_559), 7), [(6, 8), (2, 8)]);
    }

    fn instance(parent: &str, slot: u32, part: u32) -> CardPoll {
        let slices = Slices { part, of: 8 };
        let facts = CardFacts {
            uuid: Reading::Known(format!("MIG-{parent}-{slot}")),
            name: Reading::Known("NVIDIA H100 80GB HBM3 MIG 3g.40gb".to_owned()),
            instance: Some(InstanceFacts {
                slot: Some(slot),
                gpu_instance: Reading::Known(1),
                parent_uuid: Reading::Known(parent.to_owned()),
                slices,
            }),
            ..CardFacts::unread(1, Reason::NotAsked)
        };
        let reading = Vitals::unknown(Reason::NotSupported);
        CardPoll { card: Arc::new(facts), reading, processes: Vec::new() }
    }

    fn uuids(cards: &[CardPoll]) -> Vec<&str> {
        cards.iter().filter_map(|card| Some(card.card.uuid.as_ref().known()?.as_str())).collect()
    }

    #[test]
    fn what_is_left_of_a_gpu_is_a_card() {
        let mut unpartitioned = Unpartitioned::default();
        let cards = || vec![instance("A", 0, 4), instance("A", 1, 2), instance("B", 0, 8)];
        let all = unpartitioned.add_to(cards());
        assert_eq!(uuids(&all), ["MIG-A-0", "MIG-A-1", "A/unpartitioned/2", "MIG-B-0"]);
        let rest = &all[2];
        assert_eq!(rest.card.slices(), Slices { part: 2, of: 8 });
        assert_eq!(rest.card.label(), "1:rest");
        let name = rest.card.name.as_ref().known().unwrap();
        assert_eq!(name, "NVIDIA H100 80GB HBM3 MIG unpartitioned");
        assert_eq!(rest.reading.trouble(), None);
        // It is the same card at the next poll, and another one when its size changes.
        let next = unpartitioned.add_to(cards());
        assert!(Arc::ptr_eq(&next[2].card, &rest.card));
        let changed = unpartitioned.add_to(vec![instance("A", 0, 4)]);
        assert_eq!(uuids(&changed), ["MIG-A-0", "A/unpartitioned/4"]);
    }

    /// Trap: the rest of a lost GPU is not free.
    #[test]
    fn rest_of_a_lost_gpu_is_unknown() {
        let mut lost = instance("A", 0, 4);
        lost.reading = Vitals::unknown(Reason::Lost);
        let all = Unpartitioned::default().add_to(vec![lost.clone()]);
        assert_eq!(all[1].reading.trouble(), Some(Reason::Lost));
        let all = Unpartitioned::default().add_to(vec![lost, instance("A", 1, 2)]);
        assert_eq!(all[2].reading.trouble(), None);
    }
}
