//! Maps by the numbers that the database gives out. They are small and our own, so nobody can
//! choose them to collide, and a hash that is safe from that would be a good part of a report.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers of ours, or by something made of them.
pub type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// Mixes numbers so that neighbours are far apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mixed(u64);

/// Odd, and without a pattern in its bits: the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(FACTOR);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        // A map looks at both ends of it.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_back() {
        let map: ByNumber<(i64, i64), i64> =
            (0..1000).flat_map(|a| (-2..2).map(move |b| ((a, b), a * 10 + b))).collect();
        assert_eq!(map.len(), 4000);
        assert!(map.iter().all(|((a, b), value)| *value == a * 10 + b));
    }
}
