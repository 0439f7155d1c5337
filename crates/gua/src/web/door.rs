//! Who may come in.

use std::hint::black_box;
use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, StatusCode, header};
use jiff::Timestamp;

use super::passes::{LASTS, Passes};
use crate::config::{Listen, Token};

/// No request of ours has a body worth speaking of.
const MOST_BODY_BYTES: u64 = 64 << 10;

/// The cookie that a program may bring its token in.
const TOKEN: &str = "gua_token";
/// The cookies that a browser keeps its pass in. The second name is one that a browser takes from
/// this host itself only, and over TLS.
const PASS: &str = "gua_pass";
const PASS_WITH_TLS: &str = "__Host-gua_pass";

/// Decides on requests by their headers.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    hosts: Vec<String>,
    token: Option<Token>,
    public_metrics: bool,
    /// Whether what is said here is encrypted.
    is_secure: bool,
    passes: Passes,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub why: &'static str,
}

impl Door {
    /// For this host, which goes by `hostname` besides the names that are allowed.
    ///
    /// # Errors
    /// When no key for passes can be made.
    pub fn new(listen: &Listen, hostname: Option<String>) -> io::Result<Self> {
        let mut hosts: Vec<_> = listen.hosts.iter().map(|host| host.to_lowercase()).collect();
        if let Some(name) = hostname.map(|name| name.to_lowercase()) {
            // Its neighbours leave its domain out. Which one a short name has is not known here.
            hosts.extend(name.split_once('.').map(|(short, _)| short.to_owned()));
            hosts.push(name);
        }
        Ok(Self {
            address: listen.address,
            hosts,
            token: listen.token.clone(),
            public_metrics: listen.public_metrics,
            is_secure: listen.tls.is_some(),
            passes: Passes::new()?,
        })
    }

    pub(super) fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let refuse = |status, why| Err(Refusal { status, why });
        let signs_in = path == SIGN_IN;
        let may =
            [Method::GET, Method::HEAD].contains(method) || (*method == Method::POST && signs_in);
        if !may {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "nothing here can be changed");
        }
        if body_bytes(headers) > MOST_BODY_BYTES {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "a question needs no body");
        }
        if *method == Method::POST && is_sent_by_others(headers) {
            return refuse(StatusCode::FORBIDDEN, "a token is sent from the page here only");
        }
        let is_public = self.public_metrics && path == "/metrics";
        let tells_nothing = signs_in || path.starts_with("/assets/");
        match &self.token {
            Some(_) if tells_nothing => Ok(()),
            // Who has the token is meant, whatever name led here: no other page can have it.
            Some(token) if self.is_let_in(headers, token, now) => Ok(()),
            Some(_) if !is_public => {
                refuse(StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer …`")
            }
            _ if !self.is_asked_by_name(headers) => refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "this host does not go by that name; `--allow-host NAME` lets it",
            ),
            None if !is_public && !self.address.ip().is_loopback() => refuse(
                StatusCode::FORBIDDEN,
                "only /metrics is public here; --token-file lets people in",
            ),
            _ => Ok(()),
        }
    }

    /// Returns true if a request has the token, or a pass that is still valid.
    fn is_let_in(&self, headers: &HeaderMap, token: &Token, now: Timestamp) -> bool {
        let pass = if self.is_secure { PASS_WITH_TLS } else { PASS };
        cookies(headers, pass).any(|pass| self.passes.is_good(pass, now))
            || tokens(headers).any(|given| is_same(given.as_bytes(), token.bytes()))
    }

    /// Whether there is anything to sign in to.
    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns true if this is the token; where none is set, nothing is.
    pub(super) fn is_token(&self, given: &str) -> bool {
        self.token.as_ref().is_some_and(|token| is_same(given.as_bytes(), token.bytes()))
    }

    /// What a browser is to keep from now on.
    pub(super) fn cookie(&self, now: Timestamp) -> String {
        let (name, secure) = if self.is_secure { (PASS_WITH_TLS, "; Secure") } else { (PASS, "") };
        let (pass, lasts) = (self.passes.give(now), LASTS.as_secs());
        // Whoever follows a link from elsewhere is still signed in, and nothing here can be changed.
        format!("{name}={pass}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}")
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

/// The only path to which something can be sent.
pub(super) const SIGN_IN: &str = "/sign-in";

/// Every token that a request brings.
fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = texts(headers, header::AUTHORIZATION).filter_map(bearer);
    bearer.chain(cookies(headers, TOKEN)).map(str::trim).filter(|given| !given.is_empty())
}

/// What the cookies of a name hold.
fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let all = texts(headers, header::COOKIE).flat_map(|value| value.split(';'));
    all.filter_map(move |one| one.trim().strip_prefix(name)?.strip_prefix('='))
}

fn texts(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

/// Whether a browser says that a page of somebody else's sends this.
fn is_sent_by_others(headers: &HeaderMap) -> bool {
    let mut sites = texts(headers, header::HeaderName::from_static("sec-fetch-site"));
    sites.any(|site| matches!(site, "cross-site" | "same-site"))
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::TlsFiles;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn door(has_tls: bool) -> Door {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "0123456789abcdef").unwrap();
        let files = || TlsFiles { certificate: "cert".into(), key: "key".into() };
        let listen = Listen {
            address: (HERE, 7071).into(),
            token: Some(Token::read(&file).unwrap()),
            public_metrics: false,
            tls: has_tls.then(files),
            hosts: Vec::new(),
        };
        Door::new(&listen, None).unwrap()
    }

    /// What is answered to who brings a cookie.
    fn asked_with(door: &Door, cookie: &str, now: Timestamp) -> Option<StatusCode> {
        let headers = [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
        door.check(&Method::GET, "/", &headers, now).err().map(|refusal| refusal.status)
    }

    #[test]
    fn a_pass_opens_its_own_door_until_it_is_over() {
        let now: Timestamp = "2026-11-15T20:00:00Z".parse().unwrap();
        for (has_tls, name) in [(false, "gua_pass="), (true, "__Host-gua_pass=")] {
            let door = door(has_tls);
            let cookie = door.cookie(now);
            assert!(cookie.starts_with(name), "{cookie}");
            assert_eq!(cookie.ends_with("; Secure"), has_tls, "{cookie}");
            let (pass, _) = cookie.split_once(';').unwrap();
            assert_eq!(asked_with(&door, &format!("a=b; {pass}"), now), None);
            let refused = Some(StatusCode::UNAUTHORIZED);
            assert_eq!(asked_with(&door, pass, now + LASTS), refused);
            assert_eq!(asked_with(&self::door(has_tls), pass, now), refused, "another start");
            assert_eq!(asked_with(&door, &format!("x{pass}"), now), refused);
        }
        // Anybody on this host could have set it without TLS.
        let with_tls = door(true);
        let cookie = with_tls.cookie(now);
        let pass = cookie.strip_prefix("__Host-").and_then(|it| it.split(';').next()).unwrap();
        assert!(asked_with(&with_tls, pass, now).is_some());
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let door = door(false);
        assert!(door.is_token("0123456789abcdef"));
        for wrong in
            ["", "0123456789abcde", "0123456789abcdef0", "x123456789abcdef", "0123456789abcdeF"]
        {
            assert!(!door.is_token(wrong), "{wrong}");
        }
    }
}
