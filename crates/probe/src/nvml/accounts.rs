//! The driver's account of processes, where its accounting mode is on.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::AccountingStats;

use super::error::reason;
use super::raw::{self, Gpu, ListError};
use crate::account::Account;
use crate::reading::{Reading, Why};
use crate::units::{Bytes, UnixMillis};

/// The accounts of those of the processes that the card knows. The pids are in order.
pub(super) fn read(nvml: &Nvml, gpu: Gpu, pids: &[u32]) -> Reading<Vec<Account>> {
    match gpu.on(nvml).is_accounting_enabled() {
        Ok(true) => kept(nvml, gpu, pids).into(),
        Ok(false) => Reading::Unknown(Why::NotSupported),
        Err(error) => Reading::Unknown(reason(error)),
    }
}

/// The list comes first: a build may have had thousands of processes, of which few or none
/// were on a card.
fn kept(nvml: &Nvml, gpu: Gpu, pids: &[u32]) -> Result<Vec<Account>, ListError> {
    let device = gpu.on(nvml);
    let mut accounts = Vec::new();
    for pid in raw::accounting_pids(nvml, gpu)? {
        if pids.binary_search(&pid).is_err() {
            continue;
        }
        match device.accounting_stats_for(pid) {
            Ok(stats) => accounts.push(account(pid, &stats)),
            // The buffer is a ring: another process has taken its place meanwhile.
            Err(NvmlError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(accounts)
}

fn account(pid: u32, stats: &AccountingStats) -> Account {
    let peak = stats.max_memory_usage.map(Bytes);
    Account {
        pid,
        started: UnixMillis(i64::try_from(stats.start_time / 1000).unwrap_or(i64::MAX)),
        peak: peak.map_or(Reading::Unknown(Why::NotTold), Reading::Known),
    }
}
