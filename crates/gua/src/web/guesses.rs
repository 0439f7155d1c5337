//! How many different wrong tokens came from where.
//!
//! Each address has its own count: who guesses keeps nobody else waiting. The same one again is
//! no guess: a program that was not told of a new token asks on and on with its old one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many are heard in a minute.
const MOST_WRONG: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);
/// So many addresses are remembered; when there are more, one that was there for longest is not.
const MOST_ADDRESSES: usize = 4_096;

/// Since when, and the digests of what was tried: no secret that was mistyped is kept.
#[derive(Debug)]
struct Tried {
    since: Instant,
    digests: Vec<u64>,
}

/// What comes of a wrong token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    Heard,
    /// After so many others.
    OneTooMany,
}

#[derive(Debug, Default)]
pub(super) struct Guesses {
    digest: RandomState,
    tried: Mutex<HashMap<IpAddr, Tried>>,
}

impl Guesses {
    /// Counts a wrong token.
    pub fn wrong(&self, from: IpAddr, token: &str) -> Guess {
        let (from, digest) = (network(from), self.digest.hash_one(token));
        let mut all = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(&from) {
            make_room(&mut all);
        }
        let new = || Tried { since: Instant::now(), digests: Vec::new() };
        let tried = all.entry(from).or_insert_with(new);
        if tried.since.elapsed() >= MINUTE {
            *tried = new();
        }
        if tried.digests.contains(&digest) {
            return Guess::Heard;
        }
        if tried.digests.len() >= MOST_WRONG {
            return Guess::OneTooMany;
        }
        tried.digests.push(digest);
        Guess::Heard
    }
}

/// What one subscriber has of IPv6 is counted as one: all of it is theirs to ask from.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

fn make_room(all: &mut HashMap<IpAddr, Tried>) {
    if all.len() < MOST_ADDRESSES {
        return;
    }
    all.retain(|_, tried| tried.since.elapsed() < MINUTE);
    let oldest = all.iter().min_by_key(|(_, tried)| tried.since).map(|(from, _)| *from);
    if all.len() >= MOST_ADDRESSES
        && let Some(oldest) = oldest
    {
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn exhausted(from: &str) -> Guesses {
        let guesses = Guesses::default();
        for number in 0..MOST_WRONG {
            assert_eq!(wrong(&guesses, from, &number.to_string()), Guess::Heard);
        }
        guesses
    }

    fn wrong(guesses: &Guesses, from: &str, token: &str) -> Guess {
        guesses.wrong(from.parse().unwrap(), token)
    }

    #[test]
    fn who_guesses_shuts_out_nobody_else() {
        let guesses = exhausted("10.0.0.1");
        assert_eq!(wrong(&guesses, "10.0.0.1", "x"), Guess::OneTooMany);
        assert_eq!(wrong(&guesses, "10.0.0.2", "x"), Guess::Heard);
    }

    #[test]
    fn the_same_again_is_no_guess() {
        let guesses = Guesses::default();
        for _ in 0..MOST_WRONG * 2 {
            assert_eq!(wrong(&guesses, "10.0.0.1", "old"), Guess::Heard);
        }
        assert_eq!(wrong(&guesses, "10.0.0.1", "new"), Guess::Heard);
        let guesses = exhausted("10.0.0.1");
        assert_eq!(wrong(&guesses, "10.0.0.1", "0"), Guess::Heard);
    }

    #[test]
    fn addresses_are_counted_by_whose_they_are() {
        let guesses = exhausted("2001:db8:0:1::1");
        assert_eq!(wrong(&guesses, "2001:db8:0:1:ffff::2", "x"), Guess::OneTooMany);
        assert_eq!(wrong(&guesses, "2001:db8:0:2::1", "x"), Guess::Heard);
        // As they are seen by who listens on all addresses of both kinds.
        let guesses = exhausted("::ffff:10.0.0.1");
        assert_eq!(wrong(&guesses, "10.0.0.1", "x"), Guess::OneTooMany);
        assert_eq!(wrong(&guesses, "::ffff:10.0.0.2", "x"), Guess::Heard);
    }

    #[test]
    fn many_addresses_take_no_more_room() {
        let guesses = Guesses::default();
        for number in 0..MOST_ADDRESSES + 100 {
            guesses.wrong(Ipv4Addr::from_bits(u32::try_from(number).unwrap()).into(), "x");
        }
        assert_eq!(guesses.tried.lock().unwrap().len(), MOST_ADDRESSES);
    }
}
