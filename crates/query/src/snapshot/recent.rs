//! Looks of the last seconds: what a card does now is judged by 5 s, however close looks are.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gua_core::Reading;
use gua_core::card::{Basis, CardFacts, CardLook, Utilization, Vitals};
use gua_core::units::Percent;

/// Seconds over which a card and its holders are judged.
const WINDOW: f64 = 5.0;

/// Looks of the last seconds, by card.
#[derive(Debug, Default)]
pub(super) struct RecentLooks {
    cards: Vec<(Arc<CardFacts>, VecDeque<PastLook>)>,
}

/// Utilization over the time that a look covers.
#[derive(Debug)]
struct PastLook {
    seconds: f64,
    percent: f64,
    /// SM use of holders, by pid.
    own: Vec<(u32, f64)>,
}

impl RecentLooks {
    /// Forgets the cards that are no longer there.
    pub fn keep_only(&mut self, cards: &[CardLook]) {
        let is_there = |facts: &CardFacts| cards.iter().any(|it| it.facts.is_same_card(facts));
        self.cards.retain(|(facts, _)| is_there(facts));
    }

    /// Adds a look. Returns the vitals with the means of the last seconds; `None` if the look covers
    /// them itself. `elapsed` is the time since the look before.
    pub fn add(&mut self, look: &CardLook, elapsed: Duration) -> Option<Vitals> {
        let place = self.cards.iter().position(|(facts, _)| facts.is_same_card(&look.facts));
        let place = place.unwrap_or_else(|| {
            self.cards.push((Arc::clone(&look.facts), VecDeque::new()));
            self.cards.len() - 1
        });
        let (_, past) = self.cards.get_mut(place)?;
        let Reading::Known(utilization) = look.vitals.utilization else {
            past.clear();
            return None;
        };
        past.push_front(PastLook::new(&look.vitals, utilization, elapsed));
        let mut before = 0.0;
        past.retain(|look| {
            let is_recent = before < WINDOW;
            before += look.seconds;
            is_recent
        });
        (past.len() > 1).then(|| means(past, look.vitals.clone(), utilization))
    }
}

impl PastLook {
    fn new(vitals: &Vitals, utilization: Utilization, elapsed: Duration) -> Self {
        let covers = match utilization.basis {
            Basis::Samples { covers, .. } | Basis::Counters { covers } => covers,
            Basis::Instant => elapsed,
        };
        let own = |holder: &gua_core::process::Holder| Some((holder.pid, holder.sm.known()?.0));
        Self {
            seconds: covers.as_secs_f64(),
            percent: utilization.percent.0,
            own: vitals.holders.seen.iter().filter_map(own).collect(),
        }
    }
}

fn means(past: &VecDeque<PastLook>, vitals: Vitals, utilization: Utilization) -> Vitals {
    let mut vitals = vitals;
    let percent = mean(past, |look| Some(look.percent));
    let percent = percent.map_or(utilization.percent, Percent);
    vitals.utilization = Reading::Known(Utilization { percent, ..utilization });
    for holder in &mut vitals.holders.seen {
        let own = |look: &PastLook| {
            look.own.iter().find(|(pid, _)| *pid == holder.pid).map(|(_, percent)| *percent)
        };
        if let Some(mean) = mean(past, own) {
            holder.sm = Reading::Known(Percent(mean));
        }
    }
    vitals
}

/// Returns the mean over the last seconds, as far as it is known. The oldest look may be cut.
fn mean(past: &VecDeque<PastLook>, value: impl Fn(&PastLook) -> Option<f64>) -> Option<f64> {
    let (mut sum, mut known, mut before) = (0.0, 0.0, 0.0);
    for look in past {
        let seconds = look.seconds.min(WINDOW - before);
        before += look.seconds;
        if let Some(value) = value(look) {
            sum += value * seconds;
            known += seconds;
        }
    }
    (known > 0.0).then(|| sum / known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_core::Reason;
    use gua_core::process::{Holder, Holders, Kinds};

    fn look(percent: f64, own: f64, basis: Basis) -> CardLook {
        let holder = Holder {
            pid: 7,
            kinds: Kinds::COMPUTE,
            memory: Reading::Unknown(Reason::NotTold),
            sm: Reading::Known(Percent(own)),
            engines: Reading::Unknown(Reason::NotAsked),
        };
        let utilization = Utilization { percent: Percent(percent), basis };
        CardLook {
            facts: Arc::new(CardFacts::unread(0, Reason::NotAsked)),
            vitals: Vitals {
                utilization: Reading::Known(utilization),
                holders: Holders { seen: vec![holder], unread: None },
                ..Vitals::unknown(Reason::NotAsked)
            },
        }
    }

    fn over(seconds: f64) -> Basis {
        Basis::Samples { count: 6, covers: Duration::from_secs_f64(seconds) }
    }

    fn figures(vitals: Option<Vitals>) -> Option<(f64, f64)> {
        let vitals = vitals?;
        let own = vitals.holders.seen[0].sm.known()?.0;
        Some((vitals.utilization.known()?.percent.0, own))
    }

    /// A data loader pauses for a second: it still works.
    #[test]
    fn looks_that_are_close_are_judged_together() {
        let mut recent = RecentLooks::default();
        let second = Duration::from_secs(1);
        assert_eq!(recent.add(&look(20.0, 10.0, over(5.0)), second), None);
        let next = recent.add(&look(0.0, 0.0, over(1.0)), second);
        assert_eq!(figures(next), Some((16.0, 8.0)));
        for _ in 0..3 {
            recent.add(&look(0.0, 0.0, Basis::Instant), second);
        }
        let last = recent.add(&look(0.0, 0.0, Basis::Instant), second);
        assert_eq!(figures(last), Some((0.0, 0.0)));
        assert_eq!(recent.add(&look(50.0, 50.0, over(5.0)), second), None, "it covers 5 s itself");
    }

    #[test]
    fn look_that_failed_begins_again() {
        let mut recent = RecentLooks::default();
        let second = Duration::from_secs(1);
        recent.add(&look(90.0, 90.0, over(5.0)), second);
        let mut failed = look(0.0, 0.0, over(1.0));
        failed.vitals.utilization = Reading::Unknown(Reason::TimedOut);
        assert_eq!(recent.add(&failed, second), None);
        assert_eq!(recent.add(&look(0.0, 0.0, over(1.0)), second), None);
        recent.keep_only(&[]);
        assert!(recent.cards.is_empty());
    }
}
