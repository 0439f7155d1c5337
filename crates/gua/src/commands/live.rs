//! Opens the cards of this host, for commands that look at them.

use gua_query::snapshot::LiveSource;
use probe::nvml::{OpenError, Prober, Wants};
use probe::proc::Host;

use crate::config::{Config, Machine};

/// Opens the driver. Every view finds out who is behind each holder, so that all name the same people.
pub(super) fn open(
    machine: &Machine,
    config: &Config,
    wants: Wants,
) -> Result<LiveSource, OpenError> {
    let host = Host::new(machine.host_root.clone()).with_who(true);
    let prober = Prober::open(machine.probe_options(wants))?;
    Ok(LiveSource::new(prober, host, config.thresholds.into()))
}

/// Fails if the driver could not be read at the last look: it answered when it was opened, and what was
/// shown is not the answer.
pub(super) fn check_driver(source: &LiveSource) -> Result<(), OpenError> {
    source.error().map_or(Ok(()), |error| Err(error.clone()))
}
