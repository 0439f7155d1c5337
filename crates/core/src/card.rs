//! One card: what is fixed about it, and what it does now.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::Holders;
use crate::reading::{Reading, Reason};
use crate::slices::Slices;
use crate::units::{Bytes, Celsius, Megahertz, Millijoules, Milliwatts, Percent};

/// A card as one look saw it.
#[derive(Debug, Clone)]
pub struct CardLook {
    pub facts: Arc<CardFacts>,
    pub vitals: Vitals,
}

impl CardLook {
    /// Used memory that belongs to no listed holder: what managed memory, hidden
    /// processes and leaks leave over. Unknown while any part of the sum is.
    #[must_use]
    pub fn unattributed(&self) -> Reading<Bytes> {
        self.vitals.unattributed()
    }
}

/// What does not change while the driver runs. Read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFacts {
    /// NVML's index; for an instance, that of its card. For showing, not for keeping.
    pub index: u32,
    /// What a card is known by.
    pub uuid: Reading<String>,
    pub name: Reading<String>,
    pub minor: Reading<u32>,
    pub bus_id: Reading<String>,
    pub power_limit: Reading<u32>,
    /// Set for a MIG instance, and for what is left of a GPU beside its instances.
    pub instance: Option<InstanceFacts>,
}

/// What a MIG instance has besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFacts {
    /// `None` for what is left of the GPU: nobody can hold it.
    pub slot: Option<u32>,
    pub gpu_instance: Reading<u32>,
    pub parent_uuid: Reading<String>,
    /// Its part of the GPU.
    pub slices: Slices,
}

impl CardFacts {
    /// A card of which nothing but its place is known.
    #[must_use]
    pub const fn unread(index: u32, why: Reason) -> Self {
        Self {
            index,
            uuid: Reading::Unknown(why),
            name: Reading::Unknown(why),
            minor: Reading::Unknown(why),
            bus_id: Reading::Unknown(why),
            power_limit: Reading::Unknown(why),
            instance: None,
        }
    }

    /// Returns true if both are one card: by UUID, or by place where that is not known.
    #[must_use]
    pub fn is_same_card(&self, other: &Self) -> bool {
        match (self.uuid.as_ref().known(), other.uuid.as_ref().known()) {
            (Some(one), Some(other)) => one == other,
            (None, None) => self.index == other.index && self.slot() == other.slot(),
            _ => false,
        }
    }

    /// Its number as it is shown.
    #[must_use]
    pub fn label(&self) -> String {
        if self.is_unpartitioned() {
            rest_label(self.index)
        } else {
            label(self.index, self.slot())
        }
    }

    /// Returns the slot of a MIG instance.
    #[must_use]
    pub fn slot(&self) -> Option<u32> {
        self.instance.as_ref()?.slot
    }

    /// Returns true if it is what is left of a GPU beside its MIG instances.
    #[must_use]
    pub fn is_unpartitioned(&self) -> bool {
        self.instance.as_ref().is_some_and(|instance| instance.slot.is_none())
    }

    /// Returns its part of a GPU.
    #[must_use]
    pub fn slices(&self) -> Slices {
        self.instance.as_ref().map_or(Slices::WHOLE, |instance| instance.slices)
    }

    /// The enforced power limit.
    #[must_use]
    pub fn power_limit(&self) -> Reading<Milliwatts> {
        self.power_limit.map(Milliwatts)
    }
}

/// A card's number as it is shown: `0`, or `0:2` for the MIG instance in its slot 2.
#[must_use]
pub fn label(index: u32, slot: Option<u32>) -> String {
    slot.map_or_else(|| index.to_string(), |slot| format!("{index}:{slot}"))
}

/// The number that is shown for what is left of a GPU beside its MIG instances.
#[must_use]
pub fn rest_label(index: u32) -> String {
    format!("{index}:rest")
}

/// What one look reads of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Vitals {
    pub utilization: Reading<Utilization>,
    /// Utilization samples that came with this reading; unknown where there is no sample buffer.
    pub samples: Reading<Samples>,
    pub memory: Reading<MemoryUse>,
    pub power: Reading<Milliwatts>,
    /// Since the driver was loaded.
    pub energy: Reading<Millijoules>,
    /// Energy of the GPU of a MIG instance, which has none of its own.
    pub gpu_energy: GpuEnergy,
    pub temperature: Reading<Celsius>,
    pub sm_clock: Reading<Megahertz>,
    pub memory_clock: Reading<Megahertz>,
    pub encoder: Reading<Percent>,
    pub decoder: Reading<Percent>,
    pub fan: Reading<Percent>,
    /// How much of the driver's last period memory was read or written.
    pub memory_work: Reading<Percent>,
    pub performance: Reading<PerformanceState>,
    pub setup: Setup,
    pub holders: Holders,
    /// SM samples of processes that came with this reading.
    pub process_samples: Reading<Vec<ProcessSample>>,
}

/// Energy of the whole GPU that a MIG instance is a part of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuEnergy {
    /// Since the driver was loaded.
    pub counter: Reading<Millijoules>,
    /// Power now; asked for where there is no counter.
    pub power: Reading<Milliwatts>,
}

impl GpuEnergy {
    #[must_use]
    pub const fn unknown(why: Reason) -> Self {
        Self { counter: Reading::Unknown(why), power: Reading::Unknown(why) }
    }

    #[must_use]
    pub const fn is_known(&self) -> bool {
        matches!(self.counter, Reading::Known(_)) || matches!(self.power, Reading::Known(_))
    }
}

/// From 0, the highest, to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerformanceState(pub u8);

/// What an administrator has set. It may change at any time, so it is no fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    pub compute_mode: Reading<ComputeMode>,
    pub persistence: Reading<bool>,
    /// Whether the card is in MIG mode; so is the card of an instance.
    pub mig: Reading<bool>,
    /// The limit that was set. The enforced one may lie below it.
    pub power_limit: Reading<Milliwatts>,
}

/// Who may compute on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputeMode {
    Default,
    /// One thread of one process; no longer supported.
    ExclusiveThread,
    ExclusiveProcess,
    Prohibited,
}

impl Vitals {
    /// Nothing could be read, for one reason.
    #[must_use]
    pub const fn unknown(why: Reason) -> Self {
        Self {
            utilization: Reading::Unknown(why),
            samples: Reading::Unknown(why),
            memory: Reading::Unknown(why),
            power: Reading::Unknown(why),
            energy: Reading::Unknown(why),
            gpu_energy: GpuEnergy::unknown(why),
            temperature: Reading::Unknown(why),
            sm_clock: Reading::Unknown(why),
            memory_clock: Reading::Unknown(why),
            encoder: Reading::Unknown(why),
            decoder: Reading::Unknown(why),
            fan: Reading::Unknown(why),
            memory_work: Reading::Unknown(why),
            performance: Reading::Unknown(why),
            setup: Setup::unknown(why),
            holders: Holders::unread(why),
            process_samples: Reading::Unknown(why),
        }
    }
}

impl Setup {
    #[must_use]
    pub const fn unknown(why: Reason) -> Self {
        Self {
            compute_mode: Reading::Unknown(why),
            persistence: Reading::Unknown(why),
            mig: Reading::Unknown(why),
            power_limit: Reading::Unknown(why),
        }
    }
}

impl Vitals {
    /// Returns the used memory that no listed holder has, the driver's reserve included where it
    /// counts as used. Unknown while any part of the sum is.
    #[must_use]
    pub fn unattributed(&self) -> Reading<Bytes> {
        let memory = match self.memory {
            Reading::Known(memory) => memory,
            Reading::Unknown(why) => return Reading::Unknown(why),
        };
        if memory.source != MemorySource::Card {
            return Reading::Unknown(Reason::NotSupported);
        }
        self.holders.memory().map(|held| memory.used.saturating_sub(held))
    }

    /// Returns the used memory that neither a listed holder is known to have nor the driver can have
    /// reserved. `None` where that is not known; memory that is shared with the host says nothing.
    #[must_use]
    pub fn unlisted_memory(&self) -> Option<Bytes> {
        let memory = self.memory.known().filter(|it| it.source == MemorySource::Card)?;
        let reserve = match memory.reserved {
            // It does not count as used.
            Reading::Known(_) => Bytes(0),
            Reading::Unknown(_) => largest_reserve(memory.total),
        };
        Some(memory.used.saturating_sub(self.holders.known_memory()).saturating_sub(reserve))
    }

    /// What ails the card as a whole, from the readings that every card has: the worst of
    /// it. A single quantity that fails for a reason of its own is none.
    #[must_use]
    pub fn trouble(&self) -> Option<Reason> {
        const WORST_FIRST: [Reason; 6] = [
            Reason::DriverGone,
            Reason::Lost,
            Reason::NeedsReset,
            Reason::TimedOut,
            Reason::NoTurn,
            Reason::Gone,
        ];
        let said = [self.utilization.why(), self.memory.why(), self.holders.unread];
        WORST_FIRST.into_iter().find(|why| match why {
            // A handle that no longer holds is refused by the call that all cards have; others
            // refuse an argument for reasons of their own.
            Reason::Gone => self.memory.why() == Some(Reason::Gone),
            why => said.contains(&Some(*why)),
        })
    }
}

/// How busy a card was, and what that figure rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilization {
    pub percent: Percent,
    pub basis: Basis,
}

/// Where a utilization comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The mean of the driver's buffered samples since the last look.
    Samples { count: u32, covers: Duration },
    /// Hardware counters of a MIG instance since the last look.
    Counters { covers: Duration },
    /// The driver's last fraction of a second only.
    Instant,
}

/// An answer of the driver's buffer of utilization samples, in any order. It may repeat samples of
/// earlier answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    pub samples: Vec<Sample>,
    /// True if the answer is as long as the buffer: older samples may have been overwritten.
    pub is_full: bool,
}

/// Utilization of a card over the period before its time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Microseconds on the driver's clock: since boot, or Unix time.
    pub stamp: u64,
    pub percent: u32,
}

/// SM utilization of a process around its time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSample {
    pub pid: u32,
    /// Microseconds on the driver's clock.
    pub stamp: u64,
    pub percent: u32,
}

/// A card's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    pub total: Bytes,
    /// Without the driver's reserve where that is known apart.
    pub used: Bytes,
    pub free: Bytes,
    /// Kept by the driver for itself. An old driver counts it as used instead.
    pub reserved: Reading<Bytes>,
    pub source: MemorySource,
}

/// Returns more memory than any driver keeps for itself, for drivers that count it as used: some
/// hundred MiB, a little more on larger cards.
#[must_use]
pub fn largest_reserve(total: Bytes) -> Bytes {
    Bytes::from_mib(2048).max(Bytes(total.0 / 16))
}

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    Card,
    /// The card shares the host's memory, so the host's figures stand in.
    System,
}
