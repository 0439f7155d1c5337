//! Where an engine is, and how it lets us in.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::EngineError;

/// Everything that is needed to reach it.
#[derive(Debug, Clone)]
pub struct Access {
    /// With its path, without a slash at the end.
    pub url: String,
    pub credentials: Credentials,
    /// Certificates to trust besides those of the host.
    pub authorities: Option<PathBuf>,
    pub timeout: Duration,
}

/// How we say who we are. Secrets are read when they are used: they change.
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
    /// When it is none that can be asked.
    pub fn new(url: &str) -> Result<Self, EngineError> {
        let bad = |why: &str| EngineError::BadUrl { url: masked(url), why: why.to_owned() };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let rest = rest.ok_or_else(|| bad("it does not begin with http:// or https://"))?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err(bad("secrets do not belong into an address, where others see them"));
        }
        if host.is_empty() || rest.contains(['?', '#', ' ']) {
            return Err(bad("it is not an address and a path"));
        }
        url.parse::<ureq::http::Uri>().map_err(|error| bad(&error.to_string()))?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            credentials: Credentials::None,
            authorities: None,
            timeout: Duration::from_secs(30),
        })
    }
}

/// An address without what may be a secret in it: who asks, and what stands behind the path.
pub(super) fn masked(url: &str) -> String {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let masked = match url[host..].rfind('@') {
        Some(secret) => format!("{}…{}", &url[..host], &url[host + secret..]),
        None => url.to_owned(),
    };
    match masked.find(['?', '#']) {
        Some(more) => format!("{}…", &masked[..=more]),
        None => masked,
    }
}

impl Credentials {
    /// By what was said: a user and the file with their password, or that with a token.
    ///
    /// # Errors
    /// When only half of it was said, or both: nobody is let in by accident.
    pub fn of(
        user: Option<&str>,
        password: Option<&Path>,
        token: Option<&Path>,
    ) -> Result<Self, EngineError> {
        let unclear = |why| Err(EngineError::Unclear { why });
        match (user, password, token) {
            (None, None, None) => Ok(Self::None),
            (None, None, Some(file)) => Ok(Self::Bearer { token_file: file.to_owned() }),
            (Some(user), Some(file), None) => {
                Ok(Self::Basic { user: user.to_owned(), password_file: file.to_owned() })
            }
            (Some(_), None, None) => unclear("there is a user and no file with their password"),
            (None, Some(_), None) => unclear("there is a password and no user"),
            (_, _, Some(_)) => unclear("there is a token besides a user or a password"),
        }
    }

    /// The header that says it.
    pub(super) fn header(&self) -> Result<Option<String>, EngineError> {
        match self {
            Self::None => Ok(None),
            Self::Bearer { token_file } => Ok(Some(format!("Bearer {}", secret(token_file)?))),
            Self::Basic { user, password_file } => {
                let words = format!("{user}:{}", secret(password_file)?);
                Ok(Some(format!("Basic {}", base64(words.as_bytes()))))
            }
        }
    }
}

fn secret(path: &Path) -> Result<String, EngineError> {
    let bad = |why: String| EngineError::Secret { path: path.to_owned(), why };
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let secret = text.trim();
    if secret.is_empty() || secret.contains(|c: char| c.is_control()) {
        return Err(bad("it is not one line with a secret".to_owned()));
    }
    Ok(secret.to_owned())
}

/// As RFC 4648 has it. A crate for these lines would be longer than they are.
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
        let told =
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|it| base64(it.as_bytes()));
        assert_eq!(told, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn an_address_is_one_that_can_be_asked() {
        for good in ["http://a", "https://a:9090/", "http://[::1]:9090/vm/select/0/prometheus"] {
            assert!(Access::new(good).is_ok(), "{good}");
        }
        for bad in ["a:9090", "ftp://a", "http://", "http://u:p@a", "http://a/?x=1", "http://a b"] {
            assert!(Access::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_masked() {
        for (url, shown) in [
            ("http://a:9090/x", "http://a:9090/x"),
            ("http://me:hunter2@a/x", "http://…@a/x"),
            ("http://me:hun?ter2@a/x", "http://…@a/x"),
            ("http://a/?authKey=hunter2", "http://a/?…"),
            ("http://a/?authKey=hunter@2", "http://…@2"),
            ("a#hunter2", "a#…"),
        ] {
            assert_eq!(masked(url), shown);
        }
    }
}
