//! How many wrong tokens came from where. Each address has its own count: who guesses shuts out
//! nobody else.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many are heard in a minute.
const MOST_WRONG: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);
/// So many addresses are remembered; when there are more, one that was there for longest is not.
const MOST_ADDRESSES: usize = 4_096;

/// Since when, and how many.
type Count = (Instant, u32);

#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<HashMap<IpAddr, Count>>);

impl Guesses {
    /// Whether one more may be tried from there.
    pub fn are_left(&self, from: IpAddr) -> bool {
        current(&self.lock(), from).is_none_or(|(_, wrong)| wrong < MOST_WRONG)
    }

    pub fn was_wrong(&self, from: IpAddr) {
        let mut counts = self.lock();
        let (since, wrong) = current(&counts, from).unwrap_or((Instant::now(), 0));
        if counts.len() >= MOST_ADDRESSES && !counts.contains_key(&from) {
            make_room(&mut counts);
        }
        counts.insert(from, (since, wrong + 1));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn current(counts: &HashMap<IpAddr, Count>, from: IpAddr) -> Option<Count> {
    counts.get(&from).copied().filter(|(since, _)| since.elapsed() < MINUTE)
}

fn make_room(counts: &mut HashMap<IpAddr, Count>) {
    counts.retain(|_, (since, _)| since.elapsed() < MINUTE);
    let oldest = counts.iter().min_by_key(|(_, (since, _))| *since).map(|(from, _)| *from);
    if counts.len() >= MOST_ADDRESSES
        && let Some(oldest) = oldest
    {
        counts.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn who_guesses_shuts_out_nobody_else() {
        let guesses = Guesses::default();
        let [guesser, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        for _ in 0..MOST_WRONG {
            assert!(guesses.are_left(guesser));
            guesses.was_wrong(guesser);
        }
        assert!(!guesses.are_left(guesser) && guesses.are_left(other));
    }

    #[test]
    fn many_addresses_take_no_more_room() {
        let guesses = Guesses::default();
        for number in 0..MOST_ADDRESSES + 100 {
            guesses.was_wrong(Ipv4Addr::from_bits(u32::try_from(number).unwrap()).into());
        }
        assert_eq!(guesses.lock().len(), MOST_ADDRESSES);
    }
}
