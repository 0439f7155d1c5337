//! Certificates and keys.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsFiles;
use crate::failure::Failure;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path}: {why}")]
    File { path: String, why: String },
    #[error("the certificate and the key do not fit: {0}")]
    Unfit(#[from] rustls::Error),
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Usage {
            what: format!("cannot listen with TLS: {error}"),
            next: "--tls-cert and --tls-key name PEM files: the certificate (with those it rests \
                   on) and its key."
                .to_owned(),
        }
    }
}

/// How to speak TLS with these files.
///
/// # Errors
/// When they cannot be read, or do not fit each other.
pub fn tls(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let bad = |path: &Path, why: String| TlsError::File { path: path.display().to_string(), why };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(&files.certificate, error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad(&files.certificate, "there is no certificate in it".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| bad(&files.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
