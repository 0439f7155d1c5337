//! An engine with the series of many hosts, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Many hosts";

#[derive(Debug, Args)]
pub struct Engine {
    /// Ask this Prometheus, VictoriaMetrics, Mimir or Thanos about all hosts that it knows
    #[arg(help_heading = HEADING, long, value_name = "URL")]
    pub prometheus: Option<String>,
    /// Only series with these labels, such as 'cluster="a"'
    #[arg(help_heading = HEADING, long = "match", value_name = "LABELS", requires = "prometheus")]
    pub matching: Option<String>,
    /// Only hosts whose whole name fits this regular expression
    #[arg(help_heading = HEADING, long, value_name = "RE", requires = "prometheus")]
    pub host: Option<String>,
    /// Who asks, with --prometheus-password-file
    #[arg(help_heading = HEADING, long, value_name = "NAME", requires_all = ["prometheus", "prometheus_password_file"])]
    pub prometheus_user: Option<String>,
    /// The file with their password
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires_all = ["prometheus", "prometheus_user"])]
    pub prometheus_password_file: Option<PathBuf>,
    /// The file with a token to bring instead
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "prometheus", conflicts_with = "prometheus_user")]
    pub prometheus_token_file: Option<PathBuf>,
    /// Certificates to trust besides the host's, as PEM
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "prometheus")]
    pub prometheus_ca: Option<PathBuf>,
    /// How long an answer may take
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "D",
        default_value = "30s",
        value_parser = duration,
        requires = "prometheus"
    )]
    pub prometheus_timeout: Duration,
}
