//! What cards and people did over a window: everything that `gua report` answers.
//!
//! The record is added up to [`Sums`], and [`Usage::from_sums`] makes the answer of them. Sums that come
//! from elsewhere, such as counters in a metrics engine, become the same answer.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`request`] | what a report is asked for |
//! | `gather` | reads sums from the record |
//! | [`sums`] | sums of a window, wherever they come from |
//! | [`answer`] | the answer, from sums |
//! | [`states`] | card time by state, and how figures are written |
//! | [`account`] | shares of one user, job, container, pod, notebook, program or card |
//! | [`session`] | sessions, and the few with most of the idle-held time |
//! | `remedy` | commands that ask about a session or end it |
//! | [`hours`] | hours of the week in any time zone |
//! | [`gaps`] | time that was not observed, and why; the end of the window |
//! | [`basis`] | rules by which time was classified |
//! | [`verdict`] | whether cards are scarce because of idle holders |
//! | [`money`] | what idle time costs |
//! | [`suggestion`] | what would help one person |
//! | [`compared`] | two windows side by side |

pub mod account;
pub mod answer;
pub mod basis;
pub mod compared;
pub mod gaps;
mod gather;
pub mod hours;
pub mod money;
mod remedy;
pub mod request;
pub mod session;
pub mod states;
pub mod suggestion;
pub mod sums;
pub mod verdict;

pub use account::{Account, AccountName, By, Unattributed};
pub use answer::{CardUsage, Equivalent, Host, Stretch, Thresholds, Usage, Window};
pub use basis::{Basis, RuleThresholds};
pub use compared::{Compared, ComparedAccount, ComparedCard, ComparedState, Pair};
pub use gaps::{Gap, GapCause};
pub use hours::{HeatCell, Week};
pub use money::{Cost, Money, Price};
pub use request::{Prices, SortBy, UsageRequest};
pub use session::{LargestSessions, MOST_LARGEST, Session};
pub use states::{Amount, Energy, States, TotalState};
pub use suggestion::{PersonPage, Suggestion};
pub use sums::{CardTotals, OnCards, Sums};
pub use verdict::Verdict;

use gua_store::{Database, StoreError};

/// Returns what cards and people did over the window of a request.
pub fn usage(store: &Database, request: &UsageRequest) -> Result<Usage, StoreError> {
    store.at_once(|| {
        let mut usage = Usage::from_sums(gather::gather(store, request, request.window)?, request);
        if let Some(window) = request.compare {
            let earlier = UsageRequest { window, compare: None, ..request.clone() };
            let earlier = Usage::from_sums(gather::gather(store, &earlier, window)?, &earlier);
            usage.compared = Some(Compared::new(&usage, &earlier));
        }
        Ok(usage)
    })
}
