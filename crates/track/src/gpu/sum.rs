//! A sum that is known when all of its parts are.

use std::ops::Add;

use probe::Reading;

/// All of them together, or why the first unknown one is unknown. None are zero, which the
/// standard library's sum of no fractions is not quite.
pub(super) fn sum<T: Default + Add<Output = T>>(
    mut parts: impl Iterator<Item = Reading<T>>,
) -> Reading<T> {
    let known = parts.try_fold(T::default(), |sum, part| match part {
        Reading::Known(value) => Ok(sum + value),
        Reading::Unknown(why) => Err(why),
    });
    Reading::from(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Why;

    #[test]
    fn one_unknown_part_makes_it_unknown() {
        let known = [Reading::Known(1), Reading::Known(2)];
        assert_eq!(sum(known.into_iter()), Reading::Known(3));
        assert_eq!(sum([].into_iter()), Reading::Known(0));
        let nothing: Reading<f64> = sum([].into_iter());
        assert!(nothing.is_known_and(f64::is_sign_positive));
        let lost = [Reading::Known(1), Reading::Unknown(Why::Lost), Reading::Unknown(Why::Gone)];
        assert_eq!(sum(lost.into_iter()), Reading::Unknown(Why::Lost));
    }
}
