//! What `gua report` answers.

use jiff::Timestamp;
use serde::Serialize;

use super::account::Account;
use super::compared::Compared;
use super::gaps::Gap;
use super::judged_by::AsRecorded;
use super::money::Money;
use super::people::Person;
use super::person_page::PersonPage;
use super::session::Session;
use super::times::States;
use super::verdict::Verdict;
use crate::report::accounts::By;

/// What the cards did over a window of time. What nobody observed is no part of any share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    pub schema: &'static str,
    /// Of the newest run in the window, else of the newest at all.
    pub host: Option<Host>,
    pub window: Window,
    /// From the first to the last recorded moment; null where nothing is recorded.
    pub data: Option<Stretch>,
    /// Null over many hosts: each judges by its own.
    pub thresholds: Option<Lines>,
    /// Shares are of all card time.
    pub states: States,
    pub equivalent_gpus: Equivalent,
    pub cards: Vec<Card>,
    /// Longest idle holders first.
    pub identities: Option<Vec<Person>>,
    /// What accounts were asked for.
    pub accounts_by: Vec<By>,
    /// One kind after the other, each by their parts of the idle-held time; null where nobody
    /// looked for them.
    pub accounts: Option<Vec<Account>>,
    /// Those that are still on first, then the longest; null where nobody looked for them.
    pub sessions: Option<Vec<Session>>,
    /// What accounts, identities and sessions are judged by, where that is something else than
    /// the thresholds.
    pub accounts_judged_by: Option<AsRecorded>,
    /// How many more ended, where only a page's worth was asked for.
    #[serde(skip)]
    pub sessions_left_out: usize,
    /// Null where no card has a price.
    pub money: Option<Money>,
    /// Whom the page is about, where it is about one person: then accounts, identities, sessions
    /// and cards are theirs alone.
    pub person: Option<PersonPage>,
    /// The earlier window that was asked for.
    pub compared: Option<Compared>,
    pub heatmap: Vec<HeatCell>,
    pub verdict: Verdict,
    pub gaps: Vec<Gap>,
    /// Where other thresholds than the recorder's were asked for.
    pub judged_again: Option<JudgedAgain>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    pub name: String,
    pub driver_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The zone of the heatmap.
    pub tz: String,
    pub seconds: f64,
    /// What the ticks count for.
    pub observed_seconds: f64,
    /// The part of the window in which somebody recorded.
    pub coverage: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// The lines between the states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lines {
    pub active_percent: f64,
    /// In MB of 1024² bytes.
    pub held_mb: u64,
    /// From here on a holder works, where it is recorded.
    pub worked_percent: f64,
    /// Who holds no more has only the bare context of CUDA.
    pub context_mb: u64,
}

/// How many cards would have been in that state all the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Equivalent {
    pub idle_held: Option<f64>,
    pub truly_idle: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    pub uuid: Option<String>,
    /// Null where only its counters are known.
    pub index: Option<u32>,
    /// Of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    pub states: States,
}

/// One hour of the week, in the zone of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeatCell {
    /// 0 is Sunday.
    pub weekday: u8,
    pub hour: u8,
    pub active_share: f64,
    /// Card-seconds observed in that hour, over all weeks and cards.
    pub observed_seconds: f64,
}

/// What the samples speak for, from which the states were judged again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JudgedAgain {
    /// Null where no samples are kept of the window.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub covers_seconds: f64,
    pub share_of_observed: Option<f64>,
}

impl Usage {
    /// Whether anybody is known to have been on a card.
    #[must_use]
    pub fn has_accounts(&self) -> bool {
        self.accounts.as_ref().is_some_and(|accounts| !accounts.is_empty())
    }

    /// The same, set beside an earlier answer to the same question.
    #[must_use]
    pub fn beside(mut self, earlier: &Self) -> Self {
        self.compared = Some(super::compared::compared(&self, earlier));
        self
    }
}
