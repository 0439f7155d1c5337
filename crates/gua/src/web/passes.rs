//! What a browser keeps in place of the token: until when it is let in, sealed with a key that
//! this start of the program has made up.
//!
//! Cookies know no ports, so whoever listens on another port of this host is sent it too. They
//! learn no token by it, and what they learn ends with the day on it or with this program.

use std::io;

use jiff::{SignedDuration, Timestamp};
use ring::hmac::{self, HMAC_SHA256, Key};
use ring::rand::SystemRandom;

/// How long a browser may stay signed in.
pub(super) const LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Makes passes, and knows its own.
#[derive(Debug)]
pub(super) struct Passes(Key);

impl Passes {
    /// With a key that nobody else has.
    ///
    /// # Errors
    /// When the system gives nothing random.
    pub fn new() -> io::Result<Self> {
        let random = || io::Error::other("the system gives no random numbers for a key");
        Key::generate(HMAC_SHA256, &SystemRandom::new()).map(Self).map_err(|_| random())
    }

    /// One from now on.
    pub fn give(&self, now: Timestamp) -> String {
        let until = (now.as_second() + LASTS.as_secs()).to_string();
        let seal = hmac::sign(&self.0, until.as_bytes());
        format!("{until}.{}", hex(seal.as_ref()))
    }

    /// Whether it is one of ours, and not over. The seal is compared in constant time.
    pub fn is_good(&self, pass: &str, now: Timestamp) -> bool {
        let Some((until, seal)) = pass.split_once('.') else { return false };
        let is_ours =
            unhex(seal).is_some_and(|seal| hmac::verify(&self.0, until.as_bytes(), &seal).is_ok());
        is_ours && until.parse().is_ok_and(|until: i64| now.as_second() < until)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_good_until_its_day_and_at_its_own_door() {
        let (ours, others) = (Passes::new().unwrap(), Passes::new().unwrap());
        let now: Timestamp = "2026-11-15T20:00:00Z".parse().unwrap();
        let pass = ours.give(now);
        let second = SignedDuration::from_secs(1);
        assert!(ours.is_good(&pass, now) && ours.is_good(&pass, now + LASTS - second));
        assert!(!ours.is_good(&pass, now + LASTS), "it is over");
        assert!(!others.is_good(&pass, now), "another start of the program");
        let (until, seal) = pass.split_once('.').unwrap();
        let later = format!("{}.{seal}", until.parse::<i64>().unwrap() + 1);
        let cut = pass.get(..pass.len() - 2).unwrap();
        for wrong in [&later, cut, until, seal, "", ".", "x.é"] {
            assert!(!ours.is_good(wrong, now), "{wrong}");
        }
    }
}
