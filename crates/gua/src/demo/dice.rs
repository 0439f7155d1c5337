//! Chance that is the same every time, by the day and by what it decides.

/// Numbers that look like chance.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    /// Those of one day, for one purpose.
    pub fn of(day: i64, purpose: &str) -> Self {
        let byte = |sum: u64, byte: u8| mix(sum ^ u64::from(byte));
        Self(purpose.bytes().fold(mix(day.cast_unsigned()), byte))
    }

    fn next(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    /// A number from the first up to the last, both included.
    pub fn number(&mut self, first: i64, last: i64) -> i64 {
        let count = (last - first).max(0).unsigned_abs() + 1;
        first + i64::try_from(self.next() % count).unwrap_or(0)
    }

    /// Whether something happens that does so once in a while.
    pub fn once_in(&mut self, count: i64) -> bool {
        self.number(1, count) == 1
    }
}

/// The finalizer of splitmix64: every input bit moves every output bit.
const fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
