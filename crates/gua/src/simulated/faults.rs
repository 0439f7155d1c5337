//! What a scenario's faults leave unread of a look that makes no calls.

use gua_core::Reason;
use probe::nvml::OpenError;
use scenario::{Effect, Moment, NvmlCode, Scenario};

/// Returns why the driver could not be opened at a moment.
pub(super) fn open_error(scenario: &Scenario, at: Moment) -> Option<OpenError> {
    match struck(scenario, "nvmlInit_v2", None, at)? {
        Effect::Code(NvmlCode(0)) | Effect::Grow(_) | Effect::ExtraBytes(_) => None,
        Effect::Code(NvmlCode(9)) => Some(OpenError::DriverNotLoaded),
        Effect::Code(NvmlCode(18)) => Some(OpenError::VersionMismatch),
        Effect::Code(NvmlCode(4)) => Some(OpenError::NoPermission),
        Effect::Code(code) => Some(OpenError::Refused { detail: reason_of_code(code).to_string() }),
        Effect::Hang => Some(OpenError::TimedOut { seconds: 10 }),
    }
}

/// Parts of a card that cannot be read at a moment, with the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unread {
    pub work: Option<Reason>,
    pub memory: Option<Reason>,
    pub holders: Option<Reason>,
}

impl Unread {
    pub fn new(scenario: &Scenario, uuid: &str, at: Moment) -> Self {
        let reason = |call| match struck(scenario, call, Some(uuid), at)? {
            Effect::Code(NvmlCode(0)) | Effect::Grow(_) | Effect::ExtraBytes(_) => None,
            Effect::Code(code) => Some(reason_of_code(code)),
            Effect::Hang => Some(Reason::TimedOut),
        };
        Self {
            // Without the sample buffer there may be the rates.
            work: reason("nvmlDeviceGetUtilizationRates")
                .and_then(|_| reason("nvmlDeviceGetSamples")),
            memory: reason("nvmlDeviceGetMemoryInfo_v2"),
            holders: reason("nvmlDeviceGetComputeRunningProcesses_v3"),
        }
    }

    /// Returns why the whole card cannot be read: a call that hangs leaves the rest unread, too.
    pub fn whole_card(&self) -> Option<Reason> {
        let is_whole =
            |reason: &Reason| reason.concerns_the_whole_card() || *reason == Reason::TimedOut;
        [self.work, self.memory, self.holders].into_iter().flatten().find(is_whole)
    }
}

/// Returns the effect of a fault on a call at a moment. A fault of a number of calls is left out: there are
/// none here.
fn struck(scenario: &Scenario, call: &str, card: Option<&str>, at: Moment) -> Option<Effect> {
    let lasting = scenario.faults.iter().filter(|fault| fault.times.is_none());
    lasting.filter(|fault| fault.strikes(call, card, at)).find_map(|fault| fault.effect)
}

/// Returns the reason for a code, as `probe` has it.
const fn reason_of_code(NvmlCode(code): NvmlCode) -> Reason {
    match code {
        1 | 9 | 18 => Reason::DriverGone,
        2 => Reason::Gone,
        3 | 13 | 25 => Reason::NotSupported,
        4 | 17 => Reason::NoPermission,
        6 | 21 => Reason::NotTold,
        10 => Reason::TimedOut,
        15 => Reason::Lost,
        16 => Reason::NeedsReset,
        other => Reason::Code(other),
    }
}
