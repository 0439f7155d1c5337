//! Who may read what is listened with, as it was typed.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who may read it")]
pub struct Protection {
    /// The file with the secret that requests must bring (Authorization: Bearer, or the cookie
    /// gua_token); needed when other hosts can reach the address
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let everybody who reaches the address read /metrics without a token
    #[arg(long)]
    pub public_metrics: bool,
    /// The certificate, with those that it rests on, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Another name that requests may use for this host; may be given several times
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
}
