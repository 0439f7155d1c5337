//! When the machine could be observed: the scenario's faults, and the time in which it was suspended.

use gua_core::classifier::activity::Stretch;
use gua_core::reading::Reason;
use gua_core::span::GapReason;
use scenario::{Effect, NvmlCode};

use super::timeline::Timeline;
use crate::demo::play::Scene;

/// Whether a card can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Observed,
    /// The card cannot be read.
    Unread(Reason),
    /// Nothing of the host is observed.
    Gap(GapReason),
}

/// Returns the conditions of a card over a time; without a UUID, those of the host. Conditions next to
/// each other differ.
pub(super) fn conditions(
    scene: &Scene,
    uuid: Option<&str>,
    time: Stretch,
    asleep: &[Stretch],
) -> Vec<(Stretch, Condition)> {
    let timeline = Timeline::new(scene);
    let faults = scene.scenario.faults.iter().flat_map(|fault| [fault.from, fault.to]);
    let mut cuts: Vec<_> = faults.flatten().map(|at| timeline.micros(at)).collect();
    cuts.extend(asleep.iter().flat_map(|sleep| [sleep.from, sleep.to]));
    cuts.push(time.to);
    cuts.retain(|at| time.from < *at && *at <= time.to);
    cuts.sort_unstable();
    let mut found: Vec<(Stretch, Condition)> = Vec::new();
    let mut from = time.from;
    for to in cuts {
        let part = Stretch { from, to };
        let condition = match asleep.iter().any(|sleep| sleep.covers(part)) {
            true => Condition::Gap(GapReason::Suspended),
            false => condition(scene, uuid, timeline.moment(from)),
        };
        match found.last_mut() {
            Some((last, known)) if *known == condition => last.to = to,
            _ if from < to => found.push((part, condition)),
            _ => {}
        }
        from = to;
    }
    found
}

fn condition(scene: &Scene, uuid: Option<&str>, at: scenario::Moment) -> Condition {
    let struck = |call, card| {
        let faults = scene.scenario.faults.iter().filter(|fault| fault.times.is_none());
        faults.filter(|fault| fault.strikes(call, card, at)).find_map(|it| reason(it.effect?))
    };
    if let Some(reason) = struck("nvmlInit_v2", None) {
        return Condition::Gap(GapReason::Driver(reason));
    }
    match struck("nvmlDeviceGetMemoryInfo_v2", uuid).filter(|_| uuid.is_some()) {
        Some(reason) => Condition::Unread(reason),
        None => Condition::Observed,
    }
}

/// Returns the reason that a recorder would give.
const fn reason(effect: Effect) -> Option<Reason> {
    Some(match effect {
        Effect::Code(NvmlCode(0)) | Effect::Grow(_) | Effect::ExtraBytes(_) => return None,
        Effect::Code(NvmlCode(1 | 9 | 18)) => Reason::DriverGone,
        Effect::Code(NvmlCode(4)) => Reason::NoPermission,
        Effect::Code(NvmlCode(15)) => Reason::Lost,
        Effect::Code(NvmlCode(16)) => Reason::NeedsReset,
        Effect::Code(NvmlCode(code)) => Reason::Code(code),
        Effect::Hang => Reason::TimedOut,
    })
}
