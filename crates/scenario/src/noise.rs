//! Noise that is the same for the same seed, place and time.

/// A value in `-1.0 ..= 1.0` that depends only on its arguments.
#[expect(clippy::cast_precision_loss, reason = "53 bits are plenty for noise")]
pub(crate) fn at(seed: u64, place: u64, slot: i64) -> f64 {
    let mixed = mix(mix(seed ^ mix(place)) ^ slot.cast_unsigned());
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// The finalizer of splitmix64: every input bit moves every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
