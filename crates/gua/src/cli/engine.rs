//! An engine with the series of many hosts, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;

#[derive(Debug, Args)]
#[command(next_help_heading = "Many hosts")]
pub struct Engine {
    /// Ask this Prometheus, VictoriaMetrics, Mimir or Thanos about all hosts that it knows
    #[arg(long, value_name = "URL")]
    pub prometheus: Option<String>,
    /// Only series with these labels, such as 'cluster="a"'
    #[arg(long = "match", value_name = "LABELS", requires = "prometheus")]
    pub matching: Option<String>,
    /// Only hosts whose whole name fits this regular expression
    #[arg(long, value_name = "RE", requires = "prometheus")]
    pub host: Option<String>,
    /// Who asks, with --prometheus-password-file
    #[arg(long, value_name = "NAME", requires_all = ["prometheus", "prometheus_password_file"])]
    pub prometheus_user: Option<String>,
    /// The file with their password
    #[arg(long, value_name = "FILE", requires_all = ["prometheus", "prometheus_user"])]
    pub prometheus_password_file: Option<PathBuf>,
    /// The file with a token to bring instead
    #[arg(long, value_name = "FILE", requires = "prometheus", conflicts_with = "prometheus_user")]
    pub prometheus_token_file: Option<PathBuf>,
    /// Certificates to trust besides the host's, as PEM
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub prometheus_ca: Option<PathBuf>,
    /// How long an answer may take
    #[arg(
        long,
        value_name = "D",
        default_value = "30s",
        value_parser = duration,
        requires = "prometheus"
    )]
    pub prometheus_timeout: Duration,
}
