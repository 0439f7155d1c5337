//! Whose word counts for an engine: the certificates that the host trusts, and those that we were
//! told of.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::access::Access;
use super::error::EngineError;
use crate::talk::say;

/// The certificates that the host trusts, where Debian, Red Hat and SUSE keep them.
const TRUSTED: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

type Certificates = Vec<Certificate<'static>>;

/// What an engine's certificate is held against.
///
/// # Errors
/// When it cannot be told whom to trust.
pub(super) fn trust(access: &Access) -> Result<TlsConfig, EngineError> {
    let trusted = trusted(access, &TRUSTED.map(Path::new))?;
    let roots = match trusted.is_empty() {
        // A host without any has those that come with us.
        true => RootCerts::WebPki,
        false => RootCerts::Specific(Arc::new(trusted)),
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn trusted(access: &Access, places: &[&Path]) -> Result<Certificates, EngineError> {
    let mut trusted = access.authorities.as_deref().map_or(Ok(Vec::new()), named)?;
    match of_host(places) {
        Ok(hosts) => trusted.extend(hosts),
        // Nobody has to vouch for an engine that is asked in the open.
        Err(_) if access.url.starts_with("http:") => {}
        Err(error) if !trusted.is_empty() => {
            say(format_args!("{error}; only those that were named are trusted"));
        }
        Err(error) => return Err(error),
    }
    Ok(trusted)
}

/// Those of the host; none where it has no such file.
fn of_host(places: &[&Path]) -> Result<Certificates, EngineError> {
    let is_there = |path: &&&Path| !matches!(path.try_exists(), Ok(false));
    let Some(path) = places.iter().find(is_there) else { return Ok(Vec::new()) };
    // One that is damaged does not take the others along.
    let (good, bad): (Vec<_>, Vec<_>) = read(path)?.into_iter().partition(Result::is_ok);
    match (good.is_empty(), bad.into_iter().find_map(Result::err)) {
        (true, Some(error)) => Err(unusable(path, &error.to_string())),
        (true, None) => Err(unusable(path, "there is no certificate in it")),
        (false, _) => Ok(good.into_iter().flatten().collect()),
    }
}

/// Those of a file that somebody named: all of them, or none.
fn named(path: &Path) -> Result<Certificates, EngineError> {
    let read: Result<Certificates, _> = read(path)?.into_iter().collect();
    match read {
        Ok(read) if read.is_empty() => Err(unusable(path, "there is no certificate in it")),
        Ok(read) => Ok(read),
        Err(error) => Err(unusable(path, &error.to_string())),
    }
}

fn read(path: &Path) -> Result<Vec<Result<Certificate<'static>, pem::Error>>, EngineError> {
    let text = fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
    let kept = |it: CertificateDer<'_>| Certificate::from_der(it.as_ref()).to_owned();
    Ok(CertificateDer::pem_slice_iter(&text).map(|read| read.map(kept)).collect())
}

fn unusable(path: &Path, why: &str) -> EngineError {
    EngineError::Authorities { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Credentials;
    use std::path::PathBuf;
    use std::time::Duration;

    const GOOD: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const BAD: &str = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";

    fn count(url: &str, named: Option<PathBuf>, host: &Path) -> Result<usize, String> {
        let access = Access {
            url: url.to_owned(),
            credentials: Credentials::None,
            authorities: named,
            timeout: Duration::from_secs(1),
        };
        let found = trusted(&access, &[Path::new("/nowhere"), host]);
        found.map(|all| all.len()).map_err(|error| error.to_string())
    }

    /// Trap: one damaged certificate of the host's made everybody trusted whom browsers trust.
    #[test]
    fn a_damaged_certificate_leaves_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bundle");
        fs::write(&path, [GOOD, BAD, GOOD].concat()).unwrap();
        assert_eq!(count("https://a", None, &path), Ok(2));
        let strict = count("https://a", Some(path.clone()), Path::new("/nowhere"));
        assert!(strict.unwrap_err().contains("bundle cannot be used: "));
        assert_eq!(count("https://a", None, Path::new("/nowhere")), Ok(0), "a host without any");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (path, own) = (dir.path().join("bundle"), dir.path().join("own"));
        fs::write(&own, GOOD).unwrap();
        for text in ["", "no certificates", BAD] {
            fs::write(&path, text).unwrap();
            let told = count("https://a", None, &path).unwrap_err();
            assert!(told.contains("bundle cannot be used: "), "{told}");
            assert_eq!(count("https://a", Some(own.clone()), &path), Ok(1), "those are enough");
            assert_eq!(count("http://a", None, &path), Ok(0), "nobody is asked");
        }
        let told = count("https://a", None, dir.path()).unwrap_err();
        assert!(told.contains("Is a directory"), "{told}");
    }
}
