//! Floats as Python writes them, so that files and reports are the same to the byte.

/// The shortest text that reads back as the same float: `0.1`, `1062.0`, `1e-05`, `1e+16`.
#[must_use]
pub fn repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e').map(|(digits, power)| (digits, power.parse::<i32>())) {
        Some((digits, Ok(power))) if !(-4..16).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.unsigned_abs())
        }
        _ => plain(value),
    }
}

fn plain(value: f64) -> String {
    let text = value.to_string();
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_whole { text + ".0" } else { text }
}

/// The same with at most so many decimals.
#[must_use]
pub fn rounded(value: f64, decimals: usize) -> String {
    // What was written with fixed decimals always reads back.
    format!("{value:.decimals$}").parse().map_or_else(|_| repr(value), repr)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python 3.12 printed them.
    #[test]
    fn floats_are_written_as_python_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1062.0, "1062.0"),
            (63.08823, "63.08823"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-5, "1.5e-05"),
            (2.5467446773821515e-07, "2.5467446773821515e-07"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.25e16, "1.25e+16"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-12.5, "-12.5"),
            (1_700_000_000.25, "1700000000.25"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(repr(value), text);
        }
    }

    /// Ties go to the even digit, and only where the float lies exactly between.
    #[test]
    fn at_most_three_decimals_stay() {
        let cases = [
            (0.0, "0.0"),
            (63.0882304, "63.088"),
            (1062.0, "1062.0"),
            (2.3, "2.3"),
            (0.0625, "0.062"),
            (0.1875, "0.188"),
            (0.0005, "0.001"),
            (0.00049, "0.0"),
            (1.0005, "1.0"),
            (-0.0001, "-0.0"),
            (123_456_789.000_5, "123456789.0"),
            (1e16, "1e+16"),
        ];
        for (value, text) in cases {
            assert_eq!(rounded(value, 3), text, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back_as_the_same(bits: u64) {
            let value = f64::from_bits(bits);
            proptest::prop_assume!(value.is_finite());
            let text = repr(value);
            proptest::prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
            proptest::prop_assert!(text.contains(['.', 'e']), "{}", text);
        }
    }
}
