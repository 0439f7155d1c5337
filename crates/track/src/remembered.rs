//! What was read of this very process a moment ago, for measurements that follow each other closely:
//! the kernel walks through all pages of a process to make its map.

use std::process;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::ram::Map;

static MAP: Mutex<Option<Remembered>> = Mutex::new(None);

#[derive(Debug, Clone, Copy)]
struct Remembered {
    /// Whose it is. A fork has a copy of what was its parent's.
    pid: u32,
    map: Map,
    at: Instant,
}

/// Keeps the map of a process that was read just now, if it is our own: other pids are given out
/// again.
pub fn keep(pid: u32, map: Map) {
    if pid == process::id() {
        // Somebody who forks may hold it for ever; then nothing is remembered.
        if let Ok(mut place) = MAP.try_lock() {
            *place = Some(Remembered { pid, map, at: Instant::now() });
        }
    }
}

/// The map of this process, if it was read not longer ago than that; and when it was.
#[must_use]
pub fn map_of(pid: u32, now: Instant, longest: Duration) -> Option<(Map, Instant)> {
    let place = MAP.try_lock().ok()?;
    let found = place.filter(|one| one.pid == pid && pid == process::id())?;
    (now.saturating_duration_since(found.at) < longest).then_some((found.map, found.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a process of its own, as nextest runs it.
    #[test]
    fn only_what_is_young_and_our_own_is_recalled() {
        let us = process::id();
        let (long, now) = (Duration::from_secs(60), Instant::now);
        assert_eq!(map_of(us, now(), long), None);
        keep(1, Map::Hidden);
        assert_eq!(map_of(1, now(), long), None);
        keep(us, Map::Hidden);
        assert_eq!(map_of(us, now(), long).map(|(map, _)| map), Some(Map::Hidden));
        assert_eq!(map_of(us, now() + long, long), None);
    }
}
