//! Where to listen, and to whom.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::cli;
use crate::failure::Failure;

/// A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 16;
const LONGEST_TOKEN: usize = 4096;

/// An address to listen on, and what protects it.
#[derive(Debug, Clone)]
pub struct Listen {
    pub address: SocketAddr,
    pub token: Option<Token>,
    /// Whether metrics need no token.
    pub public_metrics: bool,
    pub tls: Option<TlsFiles>,
    /// Names that this host goes by besides its own.
    pub hosts: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A secret; it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a secret of one line.
    ///
    /// # Errors
    /// When there is none, or one that no header could hold.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bad = |why: &str| Failure::Usage {
            what: format!("the token file {}: {why}", path.display()),
            next: format!(
                "Write a token of {SHORTEST_TOKEN} or more letters and digits into it, for example \
                 with `openssl rand -hex 32`."
            ),
        };
        let text = fs::read(path).map_err(|error| bad(&error.to_string()))?;
        let token = text.trim_ascii().to_vec();
        match token.len() {
            0 => Err(bad("it is empty")),
            length if length < SHORTEST_TOKEN => Err(bad("its token is too short to be a secret")),
            length if length > LONGEST_TOKEN => Err(bad("it is too long to be a token")),
            _ if !token.iter().all(u8::is_ascii_graphic) => {
                Err(bad("a token is one word of plain letters, digits and signs"))
            }
            _ => Ok(Self(token)),
        }
    }
}

impl Listen {
    /// What was typed, as it is meant.
    ///
    /// # Errors
    /// When it would let in everybody without saying so, or what it names cannot be used.
    pub fn new(address: &str, typed: &cli::Protection) -> Result<Self, Failure> {
        let address = parse(address)?;
        let token = typed.token_file.as_deref().map(Token::read).transpose()?;
        let tls = match (&typed.tls_cert, &typed.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
            }
            _ => None,
        };
        if !address.ip().is_loopback() && token.is_none() && !typed.public_metrics {
            return Err(Failure::Usage {
                what: format!("{address} can be reached from other hosts, and nothing protects it"),
                next: "Name a secret with --token-file FILE, say with --public-metrics that \
                       everybody may read the metrics, or listen on 127.0.0.1."
                    .to_owned(),
            });
        }
        let public_metrics = typed.public_metrics;
        Ok(Self { address, token, public_metrics, tls, hosts: typed.allow_host.clone() })
    }
}

/// `127.0.0.1:7071`, `[::1]:7071`, `localhost:7071`, `:7071` for all addresses, `7071` for this
/// host only.
fn parse(typed: &str) -> Result<SocketAddr, Failure> {
    let bad = || Failure::Usage {
        what: format!("`{typed}` is no address to listen on"),
        next: "Name one such as 127.0.0.1:7071, [::1]:7071, 0.0.0.0:7071 or 7071.".to_owned(),
    };
    let with_port = |ip: IpAddr, port: &str| {
        port.parse().map(|port| SocketAddr::new(ip, port)).map_err(|_| bad())
    };
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(address) = typed.parse() {
        return Ok(address);
    }
    match typed.rsplit_once(':') {
        Some(("", port)) => with_port(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
        Some(("localhost", port)) => with_port(loopback, port),
        Some(_) => Err(bad()),
        None => with_port(loopback, typed),
    }
}
