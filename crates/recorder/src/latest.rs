//! What was last seen of the host and its cards, as JSON.

use std::sync::Arc;

use gua_core::card::Vitals;
use gua_core::classifier::CardActivity;
use gua_core::snapshot::{CardNow, HostNow, SeenProcess};
use gua_core::{Poll, Reading, Reason, Thresholds};
use gua_store::Latest;
use serde::Serialize;

use crate::processes::Processes;
use crate::recording::DriverNow;
use crate::samples::PlotSamples;

/// Returns the host and its driver at a poll.
pub(crate) fn host_now(host: &str, poll: &Poll, driver: DriverNow<'_>) -> HostNow {
    let reason = poll.cards.as_ref().err().copied();
    let unread = reason.unwrap_or(Reason::NotAsked);
    let facts = driver.facts;
    HostNow::new(
        Some(host.to_owned()).filter(|host| !host.is_empty()),
        facts.map_or(Reading::Unknown(unread), |facts| facts.version.clone()),
        facts.map_or(Reading::Unknown(unread), |facts| facts.cuda_version),
        facts.map_or(Reading::Unknown(unread), |facts| Reading::Known(facts.gpus)),
        reason.map(|reason| reason.to_string()),
    )
}

/// What the rows are made of.
#[derive(Debug)]
pub(crate) struct LatestRows<'a> {
    pub poll: &'a Poll,
    pub samples: &'a PlotSamples,
    pub processes: &'a Processes,
    pub thresholds: &'a Thresholds,
}

impl LatestRows<'_> {
    /// Returns a row for the host and one for each card.
    pub fn rows(&self, host: &HostNow, activities: &[CardActivity]) -> Vec<Latest> {
        let host = to_json(host).map(|body| Latest { card: None, body });
        let cards = activities.iter().filter_map(|activity| {
            let body = to_json(&self.card(activity))?;
            Some(Latest { card: Some(Arc::clone(&activity.card)), body })
        });
        host.into_iter().chain(cards).collect()
    }

    fn card(&self, activity: &CardActivity) -> CardNow {
        let poll = self.poll.cards.as_ref().map(|cards| {
            cards.iter().find(|card| card.card.is_same_card(&activity.card)).ok_or(Reason::Gone)
        });
        let at = self.poll.clocks.wall.into();
        match poll.map_err(|reason| *reason).flatten() {
            Err(reason) => {
                CardNow::new(activity, &Vitals::unknown(reason), &[], at, self.thresholds)
            }
            Ok(card) => {
                let vitals = self.samples.with_recent(&card.card, &card.reading);
                let processes: Vec<SeenProcess> =
                    card.processes.iter().map(|process| self.processes.seen(process.id)).collect();
                CardNow::new(activity, &vitals, &processes, at, self.thresholds)
            }
        }
    }
}

/// Returns JSON; numbers and texts can always be written.
fn to_json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
