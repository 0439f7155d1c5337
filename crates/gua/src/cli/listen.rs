//! Who may read what is listened with, as it was typed.

use std::path::PathBuf;

use clap::Args;

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Who may read it";

#[derive(Debug, Clone, Args)]
pub struct Protection {
    /// The file with the secret that requests must bring (Authorization: Bearer, or the cookie
    /// gua_token); needed when other hosts can reach the address
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let everybody who reaches the address read /metrics without a token
    #[arg(help_heading = HEADING, long)]
    pub public_metrics: bool,
    /// The certificate, with those that it rests on, as PEM
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Another name that requests may use for this host; may be given several times
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub allow_host: Vec<String>,
}
