//! Who may come in.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, StatusCode, header};

use crate::config::{Listen, Token};

/// No request of ours has a body worth speaking of.
const MOST_BODY_BYTES: u64 = 64 << 10;

/// The cookie that a browser keeps its token in.
const COOKIE: &str = "gua_token";

/// Decides on requests by their headers.
#[derive(Debug, Clone)]
pub struct Door {
    address: SocketAddr,
    hosts: Vec<String>,
    token: Option<Token>,
    public_metrics: bool,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub why: &'static str,
}

impl Door {
    /// For this host, which goes by `hostname` besides the names that are allowed.
    #[must_use]
    pub fn new(listen: &Listen, hostname: Option<String>) -> Self {
        let mut hosts: Vec<_> = listen.hosts.iter().map(|host| host.to_lowercase()).collect();
        if let Some(name) = hostname.map(|name| name.to_lowercase()) {
            // Its neighbours leave its domain out. Which one a short name has is not known here.
            hosts.extend(name.split_once('.').map(|(short, _)| short.to_owned()));
            hosts.push(name);
        }
        Self {
            address: listen.address,
            hosts,
            token: listen.token.clone(),
            public_metrics: listen.public_metrics,
        }
    }

    pub(super) fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let refuse = |status, why| Err(Refusal { status, why });
        if *method != Method::GET && *method != Method::HEAD {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "nothing here can be changed");
        }
        if body_bytes(headers) > MOST_BODY_BYTES {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "a question needs no body");
        }
        let is_public = self.public_metrics && path == "/metrics";
        match &self.token {
            // Who has the token is meant, whatever name led here: no other page can have it.
            Some(token) if has_token(headers, token) => Ok(()),
            Some(_) if !is_public => {
                refuse(StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer …`")
            }
            _ if self.is_asked_by_name(headers) => Ok(()),
            _ => refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "this host does not go by that name; `--allow-host NAME` lets it",
            ),
        }
    }

    fn is_asked_by_name(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.is_us(host))
    }

    /// A name that leads here from elsewhere may be made to lead here by anybody, and a page of
    /// theirs would then read ours. Addresses cannot.
    fn is_us(&self, host: &str) -> bool {
        let name = without_port(host).to_lowercase();
        if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
            return !self.address.ip().is_loopback() || address.is_loopback();
        }
        let is_local = self.address.ip().is_loopback() || self.address.ip().is_unspecified();
        (is_local && name == "localhost") || self.hosts.contains(&name)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// A length that is not a number is told to be longer than any.
fn body_bytes(headers: &HeaderMap) -> u64 {
    headers.get(header::CONTENT_LENGTH).map_or(0, |length| {
        length.to_str().ok().and_then(|length| length.parse().ok()).unwrap_or(u64::MAX)
    })
}

fn has_token(headers: &HeaderMap, token: &Token) -> bool {
    let text = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).filter_map(bearer);
    let cookies = text(header::COOKIE).flat_map(|value| value.split(';'));
    let cookie = cookies.filter_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    bearer.chain(cookie).any(|given| is_same(given.trim().as_bytes(), token.bytes()))
}

/// The scheme may be written in any case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Takes as long for a token that is wrong at its end as for one that is wrong at once.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let differs = (0..expected.len()).fold(given.len() ^ expected.len(), |differs, place| {
        let given = given.get(place).copied().unwrap_or(0);
        black_box(differs | usize::from(given ^ expected.get(place).copied().unwrap_or(0)))
    });
    differs == 0
}
