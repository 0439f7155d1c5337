//! The driver's own word on whether a process still holds a card idle, at this moment.

use probe::nvml::Wants;
use probe::units::Percent;
use probe::{Reading, Why};

use crate::classify::Thresholds;
use crate::config::Machine;
use crate::ledger::{Judge, Period};
use crate::policy::activity::{on_cards, sign, with_sign};
use crate::policy::company::beside;
use crate::policy::observed::{Observed, is_whole, observed};
use crate::policy::{Activity, Subject};
use crate::sampler::Sampler;

const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    Holds(Activity),
    /// It is in no list.
    LetGo,
    /// Not all lists could be read.
    Untold(String),
}

/// Looks at one process, and at others that must be idle too.
pub trait Look {
    fn look(&mut self, subject: Subject, company: &[Subject]) -> Looked;
}

/// Through the driver, opened for this look alone: the recorder's own may be at work.
#[derive(Debug, Clone)]
pub struct DriverLook {
    pub machine: Machine,
    pub thresholds: Thresholds,
}

impl Look for DriverLook {
    fn look(&mut self, subject: Subject, company: &[Subject]) -> Looked {
        let mut sampler = match Sampler::open(&self.machine, WANTS) {
            Ok(sampler) => sampler,
            Err(error) => return Looked::Untold(error.to_string()),
        };
        let tick = sampler.first_tick();
        if let Err(error) = &tick.driver {
            return Looked::Untold(error.to_string());
        }
        let covers = Period::none_at(tick.at);
        let entry = Judge::new(self.thresholds).entry(&tick, covers, None);
        let all = observed(&tick, &entry);
        let others = all.iter().filter(|one| company.contains(&one.subject));
        match all.iter().find(|one| one.subject == subject) {
            Some(one) => {
                let others = others.map(|one| self.activity(one));
                Looked::Holds(beside(self.activity(one), others))
            }
            None if is_whole(&tick, &entry) => Looked::LetGo,
            None => Looked::Untold(Why::NotTold.to_string()),
        }
    }
}

impl DriverLook {
    fn activity(&self, one: &Observed) -> Activity {
        let worked = self.thresholds.worked;
        // The processors were watched until now, and need two looks.
        let quiet = Reading::Known(Percent(0.0));
        let code = sign(one.encoder, one.decoder, quiet, worked, Percent(f64::MAX));
        with_sign(on_cards(&one.on_cards, worked), code)
    }
}
