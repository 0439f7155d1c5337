//! Who may read what is listened with, as it was typed.

use std::path::PathBuf;

use clap::Args;

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Who may read it";

#[derive(Debug, Clone, Args)]
pub struct Protection {
    /// File with the token that requests must send (Authorization: Bearer, or the cookie gua_token);
    /// required if other hosts can reach the address
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Answer /metrics without a token
    #[arg(help_heading = HEADING, long)]
    pub public_metrics: bool,
    /// TLS certificate chain (PEM)
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(help_heading = HEADING, long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Accept requests to this host name, too; may be given several times
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub allow_host: Vec<String>,
}
