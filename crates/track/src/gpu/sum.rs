//! A sum that is known when all of its parts are.

use std::iter::Sum;

use probe::Reading;

/// All of them together, or why the first unknown one is unknown.
pub(super) fn sum<T: Sum>(parts: impl Iterator<Item = Reading<T>>) -> Reading<T> {
    let known: Result<T, _> = parts
        .map(|part| match part {
            Reading::Known(value) => Ok(value),
            Reading::Unknown(why) => Err(why),
        })
        .sum();
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
        let lost = [Reading::Known(1), Reading::Unknown(Why::Lost), Reading::Unknown(Why::Gone)];
        assert_eq!(sum(lost.into_iter()), Reading::Unknown(Why::Lost));
    }
}
