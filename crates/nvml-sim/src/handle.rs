//! Device handles: a number for each UUID ever handed out, never an address.

use std::sync::{PoisonError, RwLock};

use crate::abi::{Answer, Code};

/// `nvmlDevice_t`. Opaque to the caller, and checked when it comes back.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(usize);

impl Handle {
    /// `NULL`, for answers that concern no device.
    pub const NONE: Self = Self(0);
}

/// Handles look like pointers far from anything that is mapped.
const FIRST: usize = 0x4e56_0000;
const STEP: usize = 0x10;

/// A handle names a card by its UUID, so that it stays valid when the scenario changes.
/// The names are leaked: there are as many as cards were ever seen.
static UUIDS: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

impl Handle {
    /// The handle of the card or instance with this UUID.
    pub fn of(uuid: &str) -> Self {
        let known = UUIDS.read().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|name| *name == uuid);
        drop(known);
        Self(FIRST + STEP * place.unwrap_or_else(|| remember(uuid)))
    }

    /// The UUID it was made for; refuses what was never handed out.
    pub fn uuid(self) -> Answer<&'static str> {
        let offset = self.0.checked_sub(FIRST).ok_or(Code::INVALID_ARGUMENT)?;
        if offset % STEP != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let known = UUIDS.read().unwrap_or_else(PoisonError::into_inner);
        known.get(offset / STEP).copied().ok_or(Code::INVALID_ARGUMENT)
    }
}

fn remember(uuid: &str) -> usize {
    let mut known = UUIDS.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been first.
    known.iter().position(|name| *name == uuid).unwrap_or_else(|| {
        known.push(Box::leak(uuid.into()));
        known.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_back_to_its_uuid_and_nothing_else_is_one() {
        let (a, b) = (Handle::of("GPU-handle-a"), Handle::of("GPU-handle-b"));
        assert_ne!(a, b);
        assert_eq!(Handle::of("GPU-handle-a"), a);
        assert_eq!(a.uuid(), Ok("GPU-handle-a"));
        for wrong in [0, 1, FIRST - 1, a.0 + 1, FIRST + STEP * 1_000_000, usize::MAX] {
            assert_eq!(Handle(wrong).uuid(), Err(Code::INVALID_ARGUMENT), "{wrong:x}");
        }
    }
}
