//! Every family of series, and the counters in it.

/// Kind of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Series of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
}

impl Kind {
    /// Returns the word of the text formats.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

macro_rules! families {
    ($($constant:ident $kind:ident $name:literal $help:literal;)+) => {
        $(pub static $constant: Family = Family { name: $name, help: $help, kind: Kind::$kind };)+

        /// All families.
        pub static FAMILIES: &[&Family] = &[$(&$constant),+];
    };
}

families! {
    BUILD_INFO Gauge "gua_build_info"
        "Always 1. Version of gua and name of the host.";
    GPU_INFO Gauge "gua_gpu_info"
        "Always 1. Index, model and driver of a card.";
    GPU_STATE Gauge "gua_gpu_state"
        "1 for the state of the card at the last tick, else 0.";
    GPU_STATE_SECONDS Counter "gua_gpu_state_seconds_total"
        "Observed time of the card in each state. A MIG instance, and what is left of its GPU, count by their part of the GPU.";
    GPU_IDLE_HELD_SECONDS Counter "gua_gpu_idle_held_seconds_total"
        "Idle-held time of the card: unused, or in low use (work below its threshold).";
    GPU_BUSY_SECONDS Counter "gua_gpu_busy_seconds_total"
        "Utilization integrated over the observed time in which it was known.";
    GPU_UTILIZATION Gauge "gua_gpu_utilization_ratio"
        "Utilization of the card at the last tick, 0 to 1. Absent if unknown.";
    GPU_MEMORY_USED Gauge "gua_gpu_memory_used_bytes"
        "Used memory of the card. Absent if unknown.";
    GPU_MEMORY_TOTAL Gauge "gua_gpu_memory_total_bytes"
        "Memory of the card. Absent if unknown.";
    GPU_POWER Gauge "gua_gpu_power_watts"
        "Power draw when last read. Absent if unknown.";
    GPU_ENERGY Counter "gua_gpu_energy_joules_total"
        "Energy of the card over the observed time in which it was known. A MIG instance has its part of the GPU's.";
    GPU_STATE_ENERGY Counter "gua_gpu_state_energy_joules_total"
        "The same by state.";
    GPU_ENERGY_SECONDS Counter "gua_gpu_energy_seconds_total"
        "Observed time of the card by what its energy is from: counter of the driver, power × time, or unknown.";
    GPU_TEMPERATURE Gauge "gua_gpu_temperature_celsius"
        "Temperature when last read. Absent if unknown.";
    USER_SECONDS Counter "gua_user_gpu_seconds_total"
        "Shares of the card's time by its state: active time by work, other time by memory.";
    USER_IDLE_HELD_SECONDS Counter "gua_user_gpu_idle_held_seconds_total"
        "Shares of the card's idle-held time by what the user did: unused or low_use.";
    USER_ENERGY Counter "gua_user_gpu_energy_joules_total"
        "Shares of the card's energy by its state.";
    USER_ENERGY_UNKNOWN Counter "gua_user_gpu_energy_unknown_seconds_total"
        "Part of the user's active and idle-held time whose energy is unknown.";
    WORKLOAD_SECONDS Counter "gua_workload_gpu_seconds_total"
        "Shares of the card's time by job, container and notebook, if [metrics] asks for them. Part of the user's.";
    USER_PRESENT_SECONDS Counter "gua_user_gpu_present_seconds_total"
        "Time of a user on the card: active while they work on an active card, idle_held while they only hold it. A shared card counts in full for each user.";
    USER_MEMORY Gauge "gua_user_gpu_memory_bytes"
        "Memory that a user holds. Absent if unknown.";
    USER_IDLE_SINCE Gauge "gua_user_idle_since_timestamp_seconds"
        "Time since which a user holds the card without working. Absent while they do not.";
    HOLDERS Gauge "gua_holders"
        "Processes on the card by kind.";
    LAST_TICK Gauge "gua_last_tick_timestamp_seconds"
        "Time of the last tick.";
    FINAL_UNTIL Gauge "gua_final_until_timestamp_seconds"
        "Time up to which the counters are final.";
    INTERVAL Gauge "gua_interval_seconds"
        "Interval between ticks. Absent if unknown.";
    COUNTING_SINCE Gauge "gua_counting_since_timestamp_seconds"
        "Time at which the counters began at 0. It changes if they begin again.";
    OBSERVED_SECONDS Counter "gua_observed_seconds_total"
        "Time in which cards were observed.";
    GAP_SECONDS Counter "gua_gap_seconds_total"
        "Time in which no card was observed.";
    POLL_SECONDS Histogram "gua_tick_seconds"
        "Duration of a poll of all cards and holders.";
    ERRORS Counter "gua_errors_total"
        "Errors by reason: ticks in which a card was unknown, gaps, messages that were not sent, caps.";
}

/// Unit of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Microseconds,
    /// Percent × seconds.
    PercentSeconds,
    /// Exported as it is.
    One,
}

impl Unit {
    /// Returns a total in the unit that is exported.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "totals of a century fit 53 bits")]
    pub fn exported(self, total: i64) -> f64 {
        let divisor = match self {
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1e6,
            Self::PercentSeconds => 1e2,
            Self::One => 1.0,
        };
        total as f64 / divisor
    }
}

macro_rules! counters {
    ($($number:literal $name:ident $unit:ident $family:expr, $label:expr;)+) => {
        /// Something that is counted, by the number that it has in the database.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i64)]
        pub enum Counter {
            $($name = $number),+
        }

        impl Counter {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit),+ }
            }

            /// Returns the family; `None` for what is only remembered.
            #[must_use]
            pub fn family(self) -> Option<&'static Family> {
                match self { $(Self::$name => $family),+ }
            }

            /// Returns the label that tells the counters of a family apart.
            #[must_use]
            pub const fn label(self) -> Option<(&'static str, &'static str)> {
                match self { $(Self::$name => $label),+ }
            }
        }
    };
}

counters! {
    1 StateActive Milliseconds Some(&GPU_STATE_SECONDS), Some(("state", "active"));
    2 StateIdleHeld Milliseconds Some(&GPU_STATE_SECONDS), Some(("state", "idle_held"));
    3 StateFree Milliseconds Some(&GPU_STATE_SECONDS), Some(("state", "truly_idle"));
    4 StateUnknown Milliseconds Some(&GPU_STATE_SECONDS), Some(("state", "unknown"));
    5 Unused Milliseconds Some(&GPU_IDLE_HELD_SECONDS), Some(("use", "unused"));
    6 LowUse Milliseconds Some(&GPU_IDLE_HELD_SECONDS), Some(("use", "low_use"));
    7 Busy PercentSeconds Some(&GPU_BUSY_SECONDS), None;
    8 Energy One Some(&GPU_ENERGY), None;
    9 EnergyActive One Some(&GPU_STATE_ENERGY), Some(("state", "active"));
    10 EnergyIdleHeld One Some(&GPU_STATE_ENERGY), Some(("state", "idle_held"));
    11 EnergyFree One Some(&GPU_STATE_ENERGY), Some(("state", "truly_idle"));
    12 EnergyUnknownState One Some(&GPU_STATE_ENERGY), Some(("state", "unknown"));
    13 EnergyCounted Milliseconds Some(&GPU_ENERGY_SECONDS), Some(("basis", "counter"));
    14 EnergyEstimated Milliseconds Some(&GPU_ENERGY_SECONDS), Some(("basis", "power"));
    15 EnergyUnknown Milliseconds Some(&GPU_ENERGY_SECONDS), Some(("basis", "unknown"));
    20 UserActive Milliseconds Some(&USER_SECONDS), Some(("state", "active"));
    21 UserIdleHeld Milliseconds Some(&USER_SECONDS), Some(("state", "idle_held"));
    22 UserUnknown Milliseconds Some(&USER_SECONDS), Some(("state", "unknown"));
    23 UserUnused Milliseconds Some(&USER_IDLE_HELD_SECONDS), Some(("use", "unused"));
    24 UserLowUse Milliseconds Some(&USER_IDLE_HELD_SECONDS), Some(("use", "low_use"));
    25 UserEnergyActive One Some(&USER_ENERGY), Some(("state", "active"));
    26 UserEnergyIdleHeld One Some(&USER_ENERGY), Some(("state", "idle_held"));
    27 UserEnergyUnknown Milliseconds Some(&USER_ENERGY_UNKNOWN), None;
    30 WorkloadActive Milliseconds Some(&WORKLOAD_SECONDS), Some(("state", "active"));
    31 WorkloadIdleHeld Milliseconds Some(&WORKLOAD_SECONDS), Some(("state", "idle_held"));
    32 WorkloadUnknown Milliseconds Some(&WORKLOAD_SECONDS), Some(("state", "unknown"));
    40 PresentActive Milliseconds Some(&USER_PRESENT_SECONDS), Some(("state", "active"));
    41 PresentIdleHeld Milliseconds Some(&USER_PRESENT_SECONDS), Some(("state", "idle_held"));
    42 PresentFree Milliseconds Some(&USER_PRESENT_SECONDS), Some(("state", "truly_idle"));
    43 PresentUnknown Milliseconds Some(&USER_PRESENT_SECONDS), Some(("state", "unknown"));
    50 Observed Milliseconds Some(&OBSERVED_SECONDS), None;
    51 Gap Milliseconds Some(&GAP_SECONDS), None;
    52 Errors One Some(&ERRORS), None;
    // Polls that took no longer than the bound that is the label.
    53 PollBucket One Some(&POLL_SECONDS), None;
    54 PollSum Microseconds Some(&POLL_SECONDS), None;
    // Times in milliseconds since 1970.
    60 FinalUntil Milliseconds None, None;
    61 IdleSince Milliseconds None, None;
    62 PushedUntil Milliseconds None, None;
}

impl Counter {
    /// Counters of a card.
    pub const CARD: &[Self] = &[
        Self::StateActive,
        Self::StateIdleHeld,
        Self::StateFree,
        Self::StateUnknown,
        Self::Unused,
        Self::LowUse,
        Self::Busy,
        Self::Energy,
        Self::EnergyActive,
        Self::EnergyIdleHeld,
        Self::EnergyFree,
        Self::EnergyUnknownState,
        Self::EnergyCounted,
        Self::EnergyEstimated,
        Self::EnergyUnknown,
    ];
    /// Counters of a user's shares of a card.
    pub const SHARES: &[Self] = &[
        Self::UserActive,
        Self::UserIdleHeld,
        Self::UserUnknown,
        Self::UserUnused,
        Self::UserLowUse,
        Self::UserEnergyActive,
        Self::UserEnergyIdleHeld,
        Self::UserEnergyUnknown,
    ];
    /// Counters of a workload's shares of a card.
    pub const WORKLOAD: &[Self] =
        &[Self::WorkloadActive, Self::WorkloadIdleHeld, Self::WorkloadUnknown];
    /// Counters of a user's presence on a card.
    pub const PRESENCE: &[Self] =
        &[Self::PresentActive, Self::PresentIdleHeld, Self::PresentFree, Self::PresentUnknown];

    #[must_use]
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the counter with a number; `None` for one of a newer version.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|counter| counter.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_numbers_are_unique() {
        let names: BTreeSet<_> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for counter in Counter::ALL {
            assert_eq!(Counter::from_number(counter.number()), Some(*counter));
        }
        let counters = FAMILIES.iter().filter(|family| family.kind == Kind::Counter);
        assert!(counters.into_iter().all(|family| family.name.ends_with("_total")));
    }

    #[test]
    fn counters_of_a_family_are_neighbours() {
        let names = Counter::ALL.iter().filter_map(|it| it.family()).map(|family| family.name);
        let mut names: Vec<_> = names.collect();
        names.dedup();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
