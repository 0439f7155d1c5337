//! What goes wrong: which call, on which card, when, how often, and how.

use std::time::Duration;

use wildmatch::WildMatch;

use crate::moment::Moment;
use crate::nvml_code::NvmlCode;

/// What a faulty call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Answers with this code instead of doing its work.
    Code(NvmlCode),
    /// Never comes back.
    Hang,
    /// A size query reports this many entries too few, as if that many processes
    /// appeared before the read that follows it.
    Grow(u32),
    /// Each entry of a list is this many bytes longer than the header declares.
    ExtraBytes(u32),
}

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The functions it strikes, as a glob.
    pub call: WildMatch,
    /// The UUIDs it strikes: a card with its instances, or one instance. All of them, and
    /// calls that concern no card, when `None`.
    pub cards: Option<Vec<String>>,
    pub from: Option<Moment>,
    pub to: Option<Moment>,
    /// How many calls it strikes in one process; without end when `None`.
    pub times: Option<u32>,
    /// How long the call takes before it answers.
    pub latency: Option<Duration>,
    pub effect: Option<Effect>,
}

impl Fault {
    /// Calls that answer with a code for a time, on these cards or on all.
    #[must_use]
    pub fn answering(
        call: &str,
        code: NvmlCode,
        cards: Option<Vec<String>>,
        from: Moment,
        to: Moment,
    ) -> Self {
        Self {
            call: WildMatch::new(call),
            cards,
            from: Some(from),
            to: Some(to),
            times: None,
            latency: None,
            effect: Some(Effect::Code(code)),
        }
    }

    /// Whether it may strike at any moment between these two, both included.
    #[must_use]
    pub fn touches(&self, from: Moment, to: Moment) -> bool {
        self.from.is_none_or(|begin| begin <= to) && self.to.is_none_or(|end| from < end)
    }

    /// Whether it strikes this call now. How often it has struck is for the caller to count.
    #[must_use]
    pub fn strikes(&self, call: &str, card: Option<&str>, t: Moment) -> bool {
        self.from.is_none_or(|from| from <= t)
            && self.to.is_none_or(|to| t < to)
            && self
                .cards
                .as_ref()
                .is_none_or(|struck| struck.iter().any(|uuid| Some(&**uuid) == card))
            && self.call.matches(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_its_call_its_card_and_its_time_only() {
        let fault = Fault {
            call: WildMatch::new("nvmlDeviceGetUtil*"),
            cards: Some(vec!["GPU-1".into()]),
            from: Some(Moment::from_secs(10)),
            to: Some(Moment::from_secs(20)),
            times: None,
            latency: None,
            effect: Some(Effect::Hang),
        };
        let call = "nvmlDeviceGetUtilizationRates";
        assert!(fault.strikes(call, Some("GPU-1"), Moment::from_secs(10)));
        assert!(!fault.strikes(call, Some("GPU-1"), Moment::from_secs(20)));
        assert!(!fault.strikes(call, Some("GPU-2"), Moment::from_secs(15)));
        assert!(!fault.strikes(call, None, Moment::from_secs(15)));
        assert!(!fault.strikes("nvmlDeviceGetName", Some("GPU-1"), Moment::from_secs(15)));
    }
}
