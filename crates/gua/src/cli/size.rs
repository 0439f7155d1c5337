//! A number of bytes: `500kB`, `10MB`, `1GiB`.

const EXPECTED: &str =
    "expected a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 10MB or 1.5GiB";

const UNITS: [(&str, f64); 9] = [
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// Reads one. Without a unit nobody can tell what was meant.
pub(super) fn size(typed: &str) -> Result<u64, String> {
    let typed = typed.trim();
    let end = typed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(EXPECTED)?;
    let (number, unit) = typed.split_at(end);
    let number: f64 = number.parse().map_err(|_| EXPECTED.to_owned())?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, bytes) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(EXPECTED)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    Ok((number * bytes).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            ["500kB", "10MB", "1.5GiB", "3 b", "1tib"].map(size),
            [500_000, 10_000_000, 1_610_612_736, 3, 1 << 40].map(Ok)
        );
        for typed in ["", "10", "MB", "-1MB", "1e3MB", "NaNMB", "1.2.3MB", "5 bananas"] {
            assert!(size(typed).is_err(), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_makes_it_fall_over(typed in "\\PC*") {
            let _ = size(&typed);
        }
    }
}
