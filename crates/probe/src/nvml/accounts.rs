//! The driver's accounts of processes, which it keeps after their end if its accounting mode is on.

use std::sync::Arc;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::AccountingStats;

use super::error::reason;
use super::raw::{self, Gpu, ListError};
use crate::card::CardFacts;
use crate::reading::{Reading, Why};
use crate::units::{Bytes, UnixMillis};

/// Accounts of one card.
#[derive(Debug, Clone, PartialEq)]
pub struct CardAccounts {
    pub facts: Arc<CardFacts>,
    /// Accounts of the wanted processes that the card has. Unknown if the accounting mode is off.
    pub accounts: Reading<Vec<Account>>,
}

/// One process on one card, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    pub pid: u32,
    /// Start of the process. An earlier process may have had the same pid.
    pub started: UnixMillis,
    /// Greatest memory that it ever held.
    pub peak: Reading<Bytes>,
}

/// Reads the accounts of those of the processes that the card has. The pids must be in order.
pub(super) fn read(nvml: &Nvml, gpu: Gpu, pids: &[u32]) -> Reading<Vec<Account>> {
    match gpu.on(nvml).is_accounting_enabled() {
        Ok(true) => read_enabled(nvml, gpu, pids).into(),
        Ok(false) => Reading::Unknown(Why::NotSupported),
        Err(error) => Reading::Unknown(reason(error)),
    }
}

/// Reads the card's list first: a build may have had thousands of processes, and none of them on a card.
fn read_enabled(nvml: &Nvml, gpu: Gpu, pids: &[u32]) -> Result<Vec<Account>, ListError> {
    let device = gpu.on(nvml);
    let mut accounts = Vec::new();
    for pid in raw::accounting_pids(nvml, gpu)? {
        if pids.binary_search(&pid).is_err() {
            continue;
        }
        match device.accounting_stats_for(pid) {
            Ok(stats) => accounts.push(account(pid, &stats)),
            // The buffer is a ring, and another process has replaced it meanwhile.
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
