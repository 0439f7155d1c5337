//! The cards that live commands look at: those of the driver, or simulated ones.

use std::time::Duration;

use gua_query::snapshot::{LiveSource, Snapshot};
use probe::nvml::{OpenError, Prober, Wants};
use probe::proc::Host;
use probe::units::UnixMillis;

use crate::config::{Config, Machine};
use crate::context::{CardSource, Clock, Context};
use crate::simulated::SimulatedHost;

/// Time that a first look at simulated cards covers, as with a driver.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Cards and holders, to be looked at again and again.
#[derive(Debug)]
pub(super) enum Cards {
    Driver(Box<LiveSource>),
    Simulated(Box<SimulatedCards>),
}

/// A simulated host at the times of a clock.
#[derive(Debug)]
pub(super) struct SimulatedCards {
    host: SimulatedHost,
    /// Time of the last look.
    last: Option<UnixMillis>,
}

/// Opens the cards of a context.
pub(super) fn open(
    machine: &Machine,
    config: &Config,
    wants: Wants,
    context: &Context<'_>,
) -> Result<Cards, OpenError> {
    let CardSource::Simulated { scenario, origin } = &context.cards else {
        return Ok(Cards::Driver(Box::new(open_driver(machine, config, wants)?)));
    };
    let host = SimulatedHost::new((**scenario).clone(), *origin, config.thresholds.into());
    match host.driver_error(context.clock.unix_millis()) {
        Some(error) => Err(error),
        None => Ok(Cards::Simulated(Box::new(SimulatedCards { host, last: None }))),
    }
}

/// Opens the driver. Every view finds out who is behind each holder, so that all name the same people.
pub(super) fn open_driver(
    machine: &Machine,
    config: &Config,
    wants: Wants,
) -> Result<LiveSource, OpenError> {
    let host = Host::new(machine.host_root.clone()).with_identities(true);
    let prober = Prober::open(machine.probe_options(wants))?;
    Ok(LiveSource::new(prober, host, config.thresholds.into()))
}

impl Cards {
    /// Reads the command lines of holders, too. Simulated ones have none.
    pub fn with_commands(self, wanted: bool) -> Self {
        match self {
            Self::Driver(source) => Self::Driver(Box::new(source.with_commands(wanted))),
            Self::Simulated(_) => self,
        }
    }

    /// Reads all cards and holders. The clock is that of simulated ones.
    pub fn snapshot(&mut self, clock: Clock) -> Snapshot {
        match self {
            Self::Driver(source) => source.snapshot(),
            Self::Simulated(cards) => cards.snapshot(clock.unix_millis()),
        }
    }

    /// Takes what the driver has sampled since the last look, for the next one.
    pub fn drain(&mut self) {
        match self {
            Self::Driver(source) => source.drain(),
            Self::Simulated(_) => {}
        }
    }

    /// Returns the time after which samples are lost, where the driver buffers them.
    pub fn buffer_length(&self) -> Option<Duration> {
        match self {
            Self::Driver(source) => source.buffer_length(),
            Self::Simulated(_) => None,
        }
    }

    /// Fails if the driver could not be read at the last look: it answered when it was opened, and what
    /// was shown is not the answer.
    pub fn check_driver(&self) -> Result<(), OpenError> {
        let error = match self {
            Self::Driver(source) => source.error().cloned(),
            Self::Simulated(cards) => cards.last.and_then(|last| cards.host.driver_error(last)),
        };
        error.map_or(Ok(()), Err)
    }
}

impl SimulatedCards {
    fn snapshot(&mut self, now: UnixMillis) -> Snapshot {
        let since = |last: UnixMillis| u64::try_from(now.0.saturating_sub(last.0)).unwrap_or(0);
        let last = self.last.replace(now);
        let over = last.map_or(FIRST_LOOK, |last| Duration::from_millis(since(last)));
        self.host.snapshot(now, over)
    }
}
