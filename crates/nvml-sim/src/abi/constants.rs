//! The numbers of NVIDIA's header that the modelled calls go by.

macro_rules! constants {
    ($($name:ident = $value:expr;)*) => {
        $(pub const $name: u32 = $value;)*

        /// Each constant under the name that the header gives it.
        pub const ALL: &[(&str, u32)] = &[$((concat!("NVML_", stringify!($name)), $name)),*];
    };
}

constants! {
    FEATURE_DISABLED = 0;
    FEATURE_ENABLED = 1;

    BRAND_UNKNOWN = 0;
    BRAND_TESLA = 2;
    BRAND_TITAN = 6;
    BRAND_NVIDIA_RTX = 13;
    BRAND_NVIDIA = 14;
    BRAND_GEFORCE_RTX = 15;

    DEVICE_ARCH_MAXWELL = 3;
    DEVICE_ARCH_PASCAL = 4;
    DEVICE_ARCH_VOLTA = 5;
    DEVICE_ARCH_TURING = 6;
    DEVICE_ARCH_AMPERE = 7;
    DEVICE_ARCH_ADA = 8;
    DEVICE_ARCH_HOPPER = 9;
    DEVICE_ARCH_BLACKWELL = 10;
    DEVICE_ARCH_UNKNOWN = 0xffff_ffff;

    BUS_TYPE_PCIE = 2;
    UUID_TYPE_ASCII = 1;
    UUID_TYPE_BINARY = 2;

    CLOCK_GRAPHICS = 0;
    CLOCK_SM = 1;
    CLOCK_MEM = 2;
    CLOCK_VIDEO = 3;
    CLOCK_ID_CURRENT = 0;
    CLOCK_ID_CUSTOMER_BOOST_MAX = 3;

    TEMPERATURE_GPU = 0;
    TEMPERATURE_THRESHOLD_SHUTDOWN = 0;
    TEMPERATURE_THRESHOLD_SLOWDOWN = 1;
    TEMPERATURE_THRESHOLD_MEM_MAX = 2;
    TEMPERATURE_THRESHOLD_GPU_MAX = 3;

    PSTATE_0 = 0;
    PSTATE_8 = 8;
    PCIE_UTIL_TX_BYTES = 0;
    PCIE_UTIL_RX_BYTES = 1;
    COMPUTEMODE_DEFAULT = 0;
    POWER_SOURCE_AC = 0;
    DEVICE_MIG_DISABLE = 0;
    DEVICE_MIG_ENABLE = 1;

    TOTAL_POWER_SAMPLES = 0;
    GPU_UTILIZATION_SAMPLES = 1;
    MEMORY_UTILIZATION_SAMPLES = 2;
    ENC_UTILIZATION_SAMPLES = 3;
    DEC_UTILIZATION_SAMPLES = 4;
    PROCESSOR_CLK_SAMPLES = 5;
    MEMORY_CLK_SAMPLES = 6;

    VALUE_TYPE_UNSIGNED_INT = 1;
    VALUE_TYPE_UNSIGNED_LONG_LONG = 3;

    FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83;
    FI_DEV_POWER_AVERAGE = 185;
    FI_DEV_POWER_INSTANT = 186;
    FI_DEV_POWER_MIN_LIMIT = 187;
    FI_DEV_POWER_MAX_LIMIT = 188;
    FI_DEV_POWER_DEFAULT_LIMIT = 189;
    FI_DEV_POWER_CURRENT_LIMIT = 190;

    GPM_METRIC_GRAPHICS_UTIL = 1;
    GPM_METRIC_SM_UTIL = 2;
    GPM_METRICS_GET_VERSION = 1;
    GPM_SUPPORT_VERSION = 1;
}

/// `NVML_VALUE_NOT_AVAILABLE` as a number of bytes.
pub const VALUE_NOT_AVAILABLE: u64 = u64::MAX;

/// The instance ids of a process on a card without MIG.
pub const NO_INSTANCE: u32 = u32::MAX;
