//! A size of memory: `20GB`, `512MiB`, `20G`.

const EXPECTED: &str = "expected a number and MB, GB (1000s) or MiB, GiB (1024s), such as 20GB";

/// Reads one, in bytes. `G` alone is the GiB of batch systems.
pub(crate) fn size(typed: &str) -> Result<u64, String> {
    let typed = typed.trim();
    // Digits and a point only: no sign, no exponent, neither NaN nor infinity.
    let end = typed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(EXPECTED)?;
    let (number, unit) = typed.split_at(end);
    let number: f64 = number.parse().map_err(|_| EXPECTED)?;
    let bytes = number * unit_bytes(unit.trim()).ok_or(EXPECTED)?;
    // More than any machine has is a slip of the finger.
    if !(1.0..=1e18).contains(&bytes) {
        return Err(format!("expected at least 1 byte and at most 1000000 TB; {EXPECTED}"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "looked at")]
    Ok(bytes as u64)
}

fn unit_bytes(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let power = match unit.chars().next()? {
        'b' if unit == "b" => return Some(1.0),
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return None,
    };
    match unit.get(1..)? {
        "b" => Some(1000_f64.powi(power)),
        "" | "ib" => Some(1024_f64.powi(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_units() {
        let cases = [
            ("20GB", 20_000_000_000),
            ("20gb", 20_000_000_000),
            ("1GiB", 1 << 30),
            ("20G", 20 << 30),
            ("1.5 MiB", 3 << 19),
            ("512k", 512 << 10),
            ("7B", 7),
        ];
        for (typed, bytes) in cases {
            assert_eq!(size(typed), Ok(bytes), "{typed}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let wrong = [
            "",
            "20",
            "GB",
            "-1GB",
            "1e3GB",
            "NaNGB",
            "20XB",
            "20GBs",
            "0GB",
            "9999999TB",
            "1..2G",
        ];
        for typed in wrong {
            assert!(size(typed).is_err(), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_makes_it_fall_over(typed in "\\PC*", like in "[0-9.]{0,9}[a-zA-Z]{0,4}") {
            let _ = (size(&typed), size(&like));
        }
    }
}
