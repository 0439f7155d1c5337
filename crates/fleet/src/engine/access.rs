//! Address and credentials of an engine.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::EngineError;

/// Everything that is needed to reach an engine.
#[derive(Debug, Clone)]
pub struct Access {
    /// With its path, without a slash at the end.
    pub url: String,
    pub credentials: Credentials,
    /// Certificates to trust besides those of the host.
    pub ca_file: Option<PathBuf>,
    pub timeout: Duration,
}

/// Credentials. Secrets are read when they are used, as they change.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    #[default]
    None,
    Basic {
        user: String,
        password_file: PathBuf,
    },
    Bearer {
        token_file: PathBuf,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Basic { .. } => "Basic(…)",
            Self::Bearer { .. } => "Bearer(…)",
        })
    }
}

impl Access {
    /// Checks the address.
    ///
    /// # Errors
    /// When it is not an HTTP address, or has secrets in it.
    pub fn new(url: &str) -> Result<Self, EngineError> {
        let bad = |why: &str| EngineError::BadUrl { url: mask_secrets(url), why: why.to_owned() };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let rest = rest.ok_or_else(|| bad("it does not begin with http:// or https://"))?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err(bad("secrets in an address are seen by others"));
        }
        if host.is_empty() || rest.contains(['?', '#', ' ']) {
            return Err(bad("expected a host and a path"));
        }
        url.parse::<ureq::http::Uri>().map_err(|error| bad(&error.to_string()))?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            credentials: Credentials::None,
            ca_file: None,
            timeout: Duration::from_secs(30),
        })
    }
}

/// Returns an address without what may be a secret in it: a user, and what follows the path.
pub(super) fn mask_secrets(url: &str) -> String {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let masked = match url[host..].rfind('@') {
        Some(secret) => format!("{}…{}", &url[..host], &url[host + secret..]),
        None => url.to_owned(),
    };
    match masked.find(['?', '#']) {
        Some(query) => format!("{}…", &masked[..=query]),
        None => masked,
    }
}

impl Credentials {
    /// Returns the credentials of a user with a password file, or of a token file.
    ///
    /// # Errors
    /// When only half of them are given, or both.
    pub fn new(
        user: Option<&str>,
        password_file: Option<&Path>,
        token_file: Option<&Path>,
    ) -> Result<Self, EngineError> {
        let unclear = |why| Err(EngineError::BadCredentials { why });
        match (user, password_file, token_file) {
            (None, None, None) => Ok(Self::None),
            (None, None, Some(file)) => Ok(Self::Bearer { token_file: file.to_owned() }),
            (Some(user), Some(file), None) => {
                Ok(Self::Basic { user: user.to_owned(), password_file: file.to_owned() })
            }
            (Some(_), None, None) => unclear("a user without a password file"),
            (None, Some(_), None) => unclear("a password file without a user"),
            (_, _, Some(_)) => unclear("a token file besides a user or a password file"),
        }
    }

    /// Returns the value of the Authorization header.
    pub(super) fn header(&self) -> Result<Option<String>, EngineError> {
        match self {
            Self::None => Ok(None),
            Self::Bearer { token_file } => Ok(Some(format!("Bearer {}", read_secret(token_file)?))),
            Self::Basic { user, password_file } => {
                let text = format!("{user}:{}", read_secret(password_file)?);
                Ok(Some(format!("Basic {}", base64(text.as_bytes()))))
            }
        }
    }
}

fn read_secret(path: &Path) -> Result<String, EngineError> {
    let bad = |why: String| EngineError::Secret { path: path.to_owned(), why };
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let secret = text.trim();
    if secret.is_empty() || secret.contains(|c: char| c.is_control()) {
        return Err(bad("expected one line".to_owned()));
    }
    Ok(secret.to_owned())
}

/// Returns bytes as RFC 4648 encodes them. A crate for these lines would be longer than they are.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            match place <= chunk.len() {
                true => text.push(char::from(DIGITS[digit as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let encoded =
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|it| base64(it.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn only_http_addresses_without_secrets_are_accepted() {
        for good in ["http://a", "https://a:9090/", "http://[::1]:9090/vm/select/0/prometheus"] {
            assert!(Access::new(good).is_ok(), "{good}");
        }
        for bad in ["a:9090", "ftp://a", "http://", "http://u:p@a", "http://a/?x=1", "http://a b"] {
            assert!(Access::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn possible_secrets_are_masked() {
        for (url, masked) in [
            ("http://a:9090/x", "http://a:9090/x"),
            ("http://me:hunter2@a/x", "http://…@a/x"),
            ("http://me:hun?ter2@a/x", "http://…@a/x"),
            ("http://a/?authKey=hunter2", "http://a/?…"),
            ("http://a/?authKey=hunter@2", "http://…@2"),
            ("a#hunter2", "a#…"),
        ] {
            assert_eq!(mask_secrets(url), masked);
        }
    }

    #[test]
    fn half_credentials_are_refused() {
        let (user, file) = (Some("gua"), Some(Path::new("/f")));
        assert!(Credentials::new(user, file, None).is_ok());
        assert!(Credentials::new(None, None, file).is_ok());
        for (user, password, token) in
            [(user, None, None), (None, file, None), (user, file, file), (user, None, file)]
        {
            assert!(Credentials::new(user, password, token).is_err());
        }
    }
}
