//! Every family of series: its name, what it means, its kind.

/// What kind of figure a family holds.
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
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: Kind::Counter }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: Kind::Gauge }
}

pub const BUILD_INFO: Family =
    gauge("gua_build_info", "Always 1; the version of gua and the name of the host.");
pub const GPU_INFO: Family =
    gauge("gua_gpu_info", "Always 1; what a card is: its index, its model and its driver.");
pub const GPU_STATE: Family =
    gauge("gua_gpu_state", "1 for the state that the card was in at the last tick, else 0.");
pub const GPU_STATE_SECONDS: Family =
    counter("gua_gpu_state_seconds_total", "Observed time of the card in each state.");
pub const GPU_BUSY_SECONDS: Family = counter(
    "gua_gpu_busy_seconds_total",
    "Utilization integrated over the observed time in which it was known.",
);
pub const GPU_UTILIZATION: Family = gauge(
    "gua_gpu_utilization_ratio",
    "Mean utilization over the last tick, 0 to 1; absent where not known.",
);
pub const GPU_MEMORY_USED: Family =
    gauge("gua_gpu_memory_used_bytes", "Used memory of the card; absent where not known.");
pub const GPU_MEMORY_TOTAL: Family =
    gauge("gua_gpu_memory_total_bytes", "Memory of the card; absent where not known.");
pub const GPU_POWER: Family =
    gauge("gua_gpu_power_watts", "Power draw when last read; absent where not known.");
pub const GPU_ENERGY: Family = counter(
    "gua_gpu_energy_joules_total",
    "Power draw integrated over the observed time in which it was known.",
);
pub const GPU_TEMPERATURE: Family =
    gauge("gua_gpu_temperature_celsius", "Temperature when last read; absent where not known.");
pub const USER_SECONDS: Family = counter(
    "gua_user_gpu_seconds_total",
    "Observed time of the card by its state, divided by memory among those who hold it.",
);
pub const WORKLOAD_SECONDS: Family = counter(
    "gua_workload_gpu_seconds_total",
    "The same by job, container and notebook, where the config asks for them; part of the user's.",
);
pub const USER_PRESENT_SECONDS: Family = counter(
    "gua_user_gpu_present_seconds_total",
    "Observed time of a user on the card by what they did; a shared card counts in full for each.",
);
pub const USER_MEMORY: Family =
    gauge("gua_user_gpu_memory_bytes", "Memory that a user holds; absent where not known.");
pub const USER_IDLE_SINCE: Family = gauge(
    "gua_user_idle_since_timestamp_seconds",
    "Since when a user holds the card without its working; absent while they do not.",
);
pub const HOLDERS: Family = gauge("gua_holders", "Processes on the card by kind.");
pub const LAST_TICK: Family =
    gauge("gua_last_tick_timestamp_seconds", "When the last tick was that is counted here.");
pub const INTERVAL: Family =
    gauge("gua_interval_seconds", "How far apart ticks are meant to be; absent where not known.");
pub const COUNTING_SINCE: Family = gauge(
    "gua_counting_since_timestamp_seconds",
    "When the counters began at 0; another one means that they began anew.",
);
pub const OBSERVED_SECONDS: Family =
    counter("gua_observed_seconds_total", "Time that ticks speak for.");
pub const GAP_SECONDS: Family =
    counter("gua_gap_seconds_total", "Time between ticks that no tick speaks for.");
pub const TICK_SECONDS: Family = Family {
    name: "gua_tick_seconds",
    help: "How long a look at all cards and holders took.",
    kind: Kind::Histogram,
};
pub const ERRORS: Family = counter(
    "gua_errors_total",
    "What went wrong, by reason: cards that could not be judged, time, pushes, caps.",
);
