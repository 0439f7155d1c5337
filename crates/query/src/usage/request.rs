//! What a report is asked for.

use gua_core::Period;
use gua_core::units::{Bytes, UnixMillis};
use jiff::tz::TimeZone;

use super::account::By;

/// What a report is asked for.
#[derive(Debug, Clone)]
pub struct UsageRequest {
    pub window: Period,
    pub now: UnixMillis,
    /// Zone of the heatmap.
    pub zone: TimeZone,
    pub zone_name: String,
    /// Kinds of accounts, in the order in which they are shown.
    pub by: Vec<By>,
    pub sort: SortBy,
    /// Name or uid of the one person that the report is about.
    pub user: Option<String>,
    pub prices: Prices,
    /// Earlier window to compare with.
    pub compare: Option<Period>,
    /// Memory up to which a process has only the bare context of CUDA.
    pub context: Bytes,
    /// Sessions of each standing, open or ended, that are shown; `None` for all.
    pub most_sessions: Option<usize>,
    /// Who will type the commands that end something.
    pub viewer_uid: u32,
    /// True if a recorder has the database now; `None` if that is not known.
    pub is_recording: Option<bool>,
}

impl UsageRequest {
    /// Returns a request for the accounts of users, in UTC.
    #[must_use]
    pub fn new(window: Period, now: UnixMillis) -> Self {
        Self {
            window,
            now,
            zone: TimeZone::UTC,
            zone_name: "UTC".to_owned(),
            by: vec![By::User],
            sort: SortBy::Total,
            user: None,
            prices: Prices::default(),
            compare: None,
            context: Bytes::from_mib(600),
            most_sessions: None,
            viewer_uid: 0,
            is_recording: None,
        }
    }

    /// Returns true if a report is about somebody of this name and uid.
    #[must_use]
    pub fn is_about(&self, name: Option<&str>, uid: Option<u32>) -> bool {
        self.user
            .as_deref()
            .is_none_or(|user| name == Some(user) || uid.is_some_and(|uid| user == uid.to_string()))
    }
}

/// Figure by which accounts are sorted, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    #[default]
    Total,
    Idle,
    Active,
    /// Cost of idle-held time.
    Cost,
}

/// Prices of GPU-hours and energy.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    pub currency: String,
    /// Price of a GPU-hour on cards that no model names.
    pub gpu_hour: Option<f64>,
    /// Prices by parts of models' names in small letters. The first part that fits counts.
    pub models: Vec<(String, f64)>,
    pub kwh: Option<f64>,
}

impl Prices {
    /// Returns true if there is a price of a GPU-hour, on whatever card.
    #[must_use]
    pub fn has_gpu_hour(&self) -> bool {
        self.gpu_hour.is_some() || !self.models.is_empty()
    }

    /// Returns the price of a GPU-hour on a model; `None` if there is none.
    #[must_use]
    pub fn gpu_hour_on(&self, model: Option<&str>) -> Option<f64> {
        let model = model.unwrap_or_default().to_lowercase();
        let price = self.models.iter().find(|(part, _)| model.contains(part));
        price.map(|(_, price)| *price).or(self.gpu_hour)
    }
}
