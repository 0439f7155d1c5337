//! Signs that a process works, besides its classified time (pure).

use gua_core::sign::Sign as StoredSign;
use gua_core::units::UnixMillis;
use gua_core::{Period, Reason};

use crate::policy::subject::{Activity, Sign, Subject};

/// A stretch in which a sign of a process lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignTime {
    pub subject: Subject,
    pub sign: StoredSign,
    pub from: UnixMillis,
    /// `None` while it lasts.
    pub to: Option<UnixMillis>,
}

impl SignTime {
    /// Returns true if the sign lasts at some time of a period. Samples are moments, so the last one
    /// counts, too.
    pub fn is_in(&self, period: Period) -> bool {
        let is_moment = self.sign == StoredSign::Sm;
        let is_after = |to: UnixMillis| to > period.from || (is_moment && to == period.from);
        self.from < period.to && self.to.is_none_or(is_after)
    }
}

/// Returns the sign of a process that says most in a period; `None` if nothing was read.
pub fn strongest(signs: &[SignTime], subject: Subject, period: Period) -> Option<StoredSign> {
    let signs = signs.iter().filter(|sign| sign.subject == subject && sign.is_in(period));
    signs.map(|sign| sign.sign).min_by_key(|sign| rank(*sign))
}

/// Returns the place of a sign: those of work come first, then what is unknown.
pub const fn rank(sign: StoredSign) -> u8 {
    match sign {
        StoredSign::Sm => 0,
        StoredSign::Encoder => 1,
        StoredSign::Decoder => 2,
        StoredSign::Cpu => 3,
        StoredSign::Unknown => 4,
        StoredSign::Quiet => 5,
    }
}

/// Returns what a process did, with its signs. A sample of its own counts where it is not known who
/// works, too.
pub const fn with_sign(on_cards: Activity, sign: Option<StoredSign>) -> Activity {
    match (on_cards, sign) {
        (Activity::Idle | Activity::Unknown(_), Some(StoredSign::Sm)) => Activity::Works(Sign::Sm),
        (Activity::Idle, Some(StoredSign::Encoder)) => Activity::Works(Sign::Encoder),
        (Activity::Idle, Some(StoredSign::Decoder)) => Activity::Works(Sign::Decoder),
        (Activity::Idle, Some(StoredSign::Cpu)) => Activity::Works(Sign::Cpu),
        (Activity::Idle, Some(StoredSign::Unknown)) => Activity::Unknown(Reason::NotTold),
        (activity, _) => activity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::subject;

    #[test]
    fn work_says_more_than_doubt_and_doubt_more_than_quiet() {
        let time = |sign, from: i64, to: Option<i64>| SignTime {
            subject: subject(1),
            sign,
            from: UnixMillis(from),
            to: to.map(UnixMillis),
        };
        let period = Period::new(UnixMillis(100), UnixMillis(200));
        let found = |signs: &[SignTime]| strongest(signs, subject(1), period);
        let quiet = time(StoredSign::Quiet, 0, None);
        assert_eq!(found(&[quiet, time(StoredSign::Cpu, 150, Some(160))]), Some(StoredSign::Cpu));
        assert_eq!(found(&[quiet, time(StoredSign::Cpu, 50, Some(100))]), Some(StoredSign::Quiet));
        assert_eq!(found(&[quiet, time(StoredSign::Sm, 50, Some(100))]), Some(StoredSign::Sm));
        assert_eq!(found(&[time(StoredSign::Sm, 200, Some(200))]), None);
        let unknown = time(StoredSign::Unknown, 0, Some(101));
        assert_eq!(found(&[quiet, unknown]), Some(StoredSign::Unknown));
        assert_eq!(strongest(&[quiet], subject(2), period), None);
    }

    #[test]
    fn every_sign_must_be_quiet() {
        let idle = |sign| with_sign(Activity::Idle, sign);
        assert_eq!(idle(Some(StoredSign::Quiet)), Activity::Idle);
        assert_eq!(idle(None), Activity::Idle);
        assert_eq!(idle(Some(StoredSign::Cpu)), Activity::Works(Sign::Cpu));
        assert_eq!(idle(Some(StoredSign::Sm)), Activity::Works(Sign::Sm));
        assert_eq!(idle(Some(StoredSign::Unknown)), Activity::Unknown(Reason::NotTold));
        let little = Activity::HoldsLittle;
        assert_eq!(with_sign(little, Some(StoredSign::Cpu)), little);
    }
}
