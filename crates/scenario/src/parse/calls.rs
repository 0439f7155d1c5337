//! The functions that a scenario names, held against those that there are.

use toml::Spanned;
use wildmatch::WildMatch;

use crate::parse::{Refused, Wrong, typed};

/// The patterns of a scenario's text, in `call` and in `lacks`, that match none of these
/// functions and so mean nothing. A text that is wrong otherwise has none:
/// [`from_str`](crate::parse::from_str) says so.
#[must_use]
pub fn unknown_calls(file: &str, text: &str, functions: &[&str]) -> Vec<Refused> {
    let Ok(typed) = typed(text) else {
        return Vec::new();
    };
    let calls = typed.fault.iter().map(|fault| &fault.get_ref().call);
    let patterns = typed.driver.lacks.iter().chain(calls);
    let unknown = patterns.filter(|pattern| !matches_any(pattern.get_ref(), functions));
    unknown.map(|pattern| no_function(pattern).refused(file, text)).collect()
}

fn matches_any(pattern: &str, functions: &[&str]) -> bool {
    let pattern = WildMatch::new(pattern);
    functions.iter().any(|function| pattern.matches(function))
}

fn no_function(pattern: &Spanned<String>) -> Wrong {
    let reason = format!("`{}` matches no NVML function", pattern.get_ref());
    Wrong { span: pattern.span(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_mean_nothing_are_told_with_their_lines() {
        let text = "[driver]\nlacks = [\n\"*_v9\", \"*Init\"]\n\
                    [[fault]]\ncall = \"nvmlInitt\"\nhang = true\n\
                    [[fault]]\ncall = \"nvml?nit\"\nhang = true\n";
        let told = unknown_calls("a.toml", text, &["nvmlInit", "nvmlShutdown"]);
        assert_eq!(
            told.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "a.toml:3: `*_v9` matches no NVML function",
                "a.toml:5: `nvmlInitt` matches no NVML function"
            ]
        );
        assert_eq!(unknown_calls("a.toml", "seed =", &[]), []);
    }
}
