//! What a scenario's faults mean for a tick that makes no calls.

use probe::Why;
use probe::nvml::OpenError;
use scenario::{Effect, Moment, NvmlCode, Scenario};

/// Why the driver could not be opened at a moment.
pub(super) fn open_error(scenario: &Scenario, at: Moment) -> Option<OpenError> {
    match struck(scenario, "nvmlInit_v2", None, at)? {
        Effect::Code(NvmlCode(0)) | Effect::Grow(_) | Effect::ExtraBytes(_) => None,
        Effect::Code(NvmlCode(9)) => Some(OpenError::DriverNotLoaded),
        Effect::Code(NvmlCode(18)) => Some(OpenError::VersionMismatch),
        Effect::Code(NvmlCode(4)) => Some(OpenError::NoPermission),
        Effect::Code(code) => Some(OpenError::Refused { detail: why(code).to_string() }),
        Effect::Hang => Some(OpenError::TimedOut { seconds: 10 }),
    }
}

/// What the faults leave unread of a card at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    pub work: Option<Why>,
    pub memory: Option<Why>,
    pub holders: Option<Why>,
}

impl Trouble {
    pub fn of(scenario: &Scenario, uuid: &str, at: Moment) -> Self {
        let why = |call| match struck(scenario, call, Some(uuid), at)? {
            Effect::Code(NvmlCode(0)) | Effect::Grow(_) | Effect::ExtraBytes(_) => None,
            Effect::Code(code) => Some(why(code)),
            Effect::Hang => Some(Why::TimedOut),
        };
        Self {
            // Where the buffer is not told, the rates may be; unknown is what neither tells.
            work: why("nvmlDeviceGetUtilizationRates").and_then(|_| why("nvmlDeviceGetSamples")),
            memory: why("nvmlDeviceGetMemoryInfo_v2"),
            holders: why("nvmlDeviceGetComputeRunningProcesses_v3"),
        }
    }

    /// What ails the card as a whole: a call that hangs leaves the rest unread too.
    pub fn of_the_card(&self) -> Option<Why> {
        let is_of_the_card = |why: &Why| why.concerns_the_whole_card() || *why == Why::TimedOut;
        [self.work, self.memory, self.holders].into_iter().flatten().find(is_of_the_card)
    }
}

/// What a call meets at a moment. A fault that strikes only so many calls is left out: a
/// tick here makes none.
fn struck(scenario: &Scenario, call: &str, card: Option<&str>, at: Moment) -> Option<Effect> {
    let lasting = scenario.faults.iter().filter(|fault| fault.times.is_none());
    lasting.filter(|fault| fault.strikes(call, card, at)).find_map(|fault| fault.effect)
}

/// A code in our words, as `probe` has it.
const fn why(NvmlCode(code): NvmlCode) -> Why {
    match code {
        1 | 9 | 18 => Why::DriverGone,
        2 => Why::Gone,
        3 | 13 | 25 => Why::NotSupported,
        4 | 17 => Why::NoPermission,
        6 | 21 => Why::NotTold,
        10 => Why::TimedOut,
        15 => Why::Lost,
        16 => Why::NeedsReset,
        other => Why::Code(other),
    }
}
