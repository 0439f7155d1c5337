//! Certificates that an engine is checked against: those of the host, and those of a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::access::Access;
use super::error::EngineError;

/// Certificates that the host trusts, on Debian, Red Hat and SUSE.
const HOST_FILES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

type Certificates = Vec<Certificate<'static>>;

/// Returns the TLS settings for an engine, and why the certificates of the host are not among them.
pub(super) fn tls_config(access: &Access) -> Result<(TlsConfig, Option<EngineError>), EngineError> {
    let (trusted, problem) = trusted(access, &HOST_FILES.map(Path::new))?;
    let roots = match trusted.is_empty() {
        // On a host without any, those that the client brings.
        true => RootCerts::WebPki,
        false => RootCerts::Specific(Arc::new(trusted)),
    };
    Ok((TlsConfig::builder().root_certs(roots).build(), problem))
}

fn trusted(
    access: &Access,
    host_files: &[&Path],
) -> Result<(Certificates, Option<EngineError>), EngineError> {
    let mut trusted = access.ca_file.as_deref().map_or(Ok(Vec::new()), read_all)?;
    match read_host(host_files) {
        Ok(host) => trusted.extend(host),
        // Without TLS, none are needed.
        Err(_) if access.url.starts_with("http:") => {}
        Err(error) if !trusted.is_empty() => return Ok((trusted, Some(error))),
        Err(error) => return Err(error),
    }
    Ok((trusted, None))
}

/// Reads the certificates of the host; none if it has no such file. A damaged one leaves the others.
fn read_host(files: &[&Path]) -> Result<Certificates, EngineError> {
    let exists = |path: &&&Path| !matches!(path.try_exists(), Ok(false));
    let Some(path) = files.iter().find(exists) else { return Ok(Vec::new()) };
    let (good, bad): (Vec<_>, Vec<_>) = read(path)?.into_iter().partition(Result::is_ok);
    match (good.is_empty(), bad.into_iter().find_map(Result::err)) {
        (true, Some(error)) => Err(unusable(path, &error.to_string())),
        (true, None) => Err(unusable(path, "it has no certificate")),
        (false, _) => Ok(good.into_iter().flatten().collect()),
    }
}

/// Reads all certificates of a file.
fn read_all(path: &Path) -> Result<Certificates, EngineError> {
    let read: Result<Certificates, _> = read(path)?.into_iter().collect();
    match read {
        Ok(read) if read.is_empty() => Err(unusable(path, "it has no certificate")),
        Ok(read) => Ok(read),
        Err(error) => Err(unusable(path, &error.to_string())),
    }
}

fn read(path: &Path) -> Result<Vec<Result<Certificate<'static>, pem::Error>>, EngineError> {
    let text = fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
    let owned = |it: CertificateDer<'_>| Certificate::from_der(it.as_ref()).to_owned();
    Ok(CertificateDer::pem_slice_iter(&text).map(|read| read.map(owned)).collect())
}

fn unusable(path: &Path, why: &str) -> EngineError {
    EngineError::Certificates { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const GOOD: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const BAD: &str = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";

    fn count(url: &str, ca_file: Option<PathBuf>, host: &Path) -> Result<usize, String> {
        let access = Access { ca_file, ..Access::new(url).unwrap() };
        let found = trusted(&access, &[Path::new("/nowhere"), host]);
        found.map(|(all, _)| all.len()).map_err(|error| error.to_string())
    }

    /// Trap: one damaged certificate of the host made all others count for nothing.
    #[test]
    fn damaged_certificate_leaves_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bundle");
        fs::write(&path, [GOOD, BAD, GOOD].concat()).unwrap();
        assert_eq!(count("https://a", None, &path), Ok(2));
        let strict = count("https://a", Some(path.clone()), Path::new("/nowhere"));
        assert!(strict.unwrap_err().contains("cannot use the certificates in "));
        assert_eq!(count("https://a", None, Path::new("/nowhere")), Ok(0), "a host without any");
    }

    #[test]
    fn unusable_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (path, own) = (dir.path().join("bundle"), dir.path().join("own"));
        fs::write(&own, GOOD).unwrap();
        for text in ["", "no certificates", BAD] {
            fs::write(&path, text).unwrap();
            let error = count("https://a", None, &path).unwrap_err();
            assert!(error.contains("bundle: "), "{error}");
            assert_eq!(count("https://a", Some(own.clone()), &path), Ok(1), "those suffice");
            assert_eq!(count("http://a", None, &path), Ok(0), "none are needed");
        }
    }
}
