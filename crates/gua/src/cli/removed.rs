//! Options of earlier versions. Each is refused with what to use now.

use std::convert::Infallible;
use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

/// The option of `gua daemon` and `gua db prune` for how long rows were kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RemovedKeepOptions {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "D",
          value_parser = Removed(KEEP_HOURS))]
    keep_spans: Option<Infallible>,
}

/// The options of `gua report` that classified the history again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RemovedThresholds {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "PERCENT",
          value_parser = Removed(THRESHOLD))]
    active_percent: Option<Infallible>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "MB",
          value_parser = Removed(THRESHOLD))]
    held_mb: Option<Infallible>,
}

const KEEP_HOURS: &str = "was replaced: use --keep-hours (hours, sessions, gaps and events), with \
                          --keep-exact and --keep-quarters for finer rows";

const THRESHOLD: &str = "was removed: thresholds belong to the recorder: set them below [thresholds] \
                         in its config; they apply from then on";

/// Refuses any value with what happened to the option.
#[derive(Debug, Clone, Copy)]
struct Removed(&'static str);

impl TypedValueParser for Removed {
    type Value = Infallible;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        _: &OsStr,
    ) -> Result<Infallible, clap::Error> {
        let name = option.and_then(Arg::get_long).unwrap_or_default();
        let sentence = format!("--{name} {}\n", self.0);
        Err(clap::Error::raw(ErrorKind::ValueValidation, sentence).with_cmd(command))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Gua;

    #[test]
    fn removed_option_is_answered_by_its_sentence() {
        let refused = |typed: &[&str]| Gua::try_parse_from(typed).unwrap_err().to_string();
        for typed in [&["gua", "report", "--held-mb"][..], &["gua", "report", "--held-mb", "5"]] {
            let error = refused(typed);
            assert!(
                error.starts_with("error: --held-mb was removed: thresholds belong"),
                "{error}"
            );
        }
        let error = refused(&["gua", "daemon", "--keep-spans", "30d"]);
        assert!(error.starts_with("error: --keep-spans was replaced: use --keep-hours"), "{error}");
    }
}
