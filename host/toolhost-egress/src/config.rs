//! How servers are found and trusted.

use std::fmt::{Debug, Display};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The addresses of a host, once they are resolved.
pub type HttpResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves the names of hosts, once for each request. The addresses that it returns are checked, and no other is
/// connected to.
pub trait HttpResolver: Debug + Send + Sync {
    /// Resolves a name.
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolveFuture<'a>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl HttpResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolveFuture<'a> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// How requests of guests find and trust their servers. Proxy variables of the environment are
/// ignored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Resolves names. Default: [`SystemResolver`].
    pub resolver: Arc<dyn HttpResolver>,
    /// Root certificates in DER, trusted besides Mozilla's. Default: none.
    pub roots: Vec<Vec<u8>>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            roots: Vec::new(),
        }
    }
}

/// A root certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("a root certificate cannot be used: {reason}")]
pub struct CertificateError {
    /// What is wrong with it.
    pub reason: String,
}

impl CertificateError {
    fn new(reason: &dyn Display) -> Self {
        Self {
            reason: reason.to_string(),
        }
    }
}

impl HttpConfig {
    /// Trusts the certificates of a PEM file, besides those that are trusted already. Returns how many it has.
    ///
    /// # Errors
    /// [`CertificateError`] where the text has no certificate, or one is malformed.
    pub fn trust_pem(&mut self, pem: &[u8]) -> Result<usize, CertificateError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem)
            .map(|certificate| certificate.map(|der| der.to_vec()))
            .collect();
        let certificates = certificates.map_err(|why| CertificateError::new(&why))?;
        if certificates.is_empty() {
            let none = "it has no `-----BEGIN CERTIFICATE-----`";
            return Err(CertificateError::new(&none));
        }
        root_store(&certificates)?;
        let count = certificates.len();
        self.roots.extend(certificates);
        Ok(count)
    }
}

/// Returns certificates in DER as TLS needs them.
pub(crate) fn root_store(certificates: &[Vec<u8>]) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    for der in certificates {
        let added = roots.add(CertificateDer::from(der.as_slice()));
        added.map_err(|why| CertificateError::new(&why))?;
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate that signs itself.
    const PEM: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBcjCCARmgAwIBAgIUPDEQHxulMy7D5jIS/9vZvQlMuJAwCgYIKoZIzj0EAwIw\n\
DzENMAsGA1UEAwwEdGVzdDAeFw0yNjExMjMyMTA3MDNaFw0zNjExMjAyMTA3MDNa\n\
MA8xDTALBgNVBAMMBHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATBosGm\n\
SSkxBWAAgldddGNJu7bgk8RPXi4wRXn1TNZDeuacGQsqiuR+JbR2wswpBoqXJKJm\n\
kELyQLmXiCEKAHomo1MwUTAdBgNVHQ4EFgQUpfD74YVvElFCBkg7fPk2SZwMJRsw\n\
HwYDVR0jBBgwFoAUpfD74YVvElFCBkg7fPk2SZwMJRswDwYDVR0TAQH/BAUwAwEB\n\
/zAKBggqhkjOPQQDAgNHADBEAiBs+Iwgneu+V4Vt6xVT70mZJSm+VzUCMiESI0fr\n\
7+jykgIgdnUK8JT7tbSMjrRJ2elzjDYzjcBzGQSpBE9OUPjTfFI=\n\
-----END CERTIFICATE-----\n\
";

    #[test]
    fn certificates_in_pem_are_trusted_besides_those_before() {
        let mut config = HttpConfig::default();
        assert_eq!(config.trust_pem(PEM.as_bytes()).unwrap(), 1);
        let two = format!("# a company\n{PEM}\n{PEM}");
        assert_eq!(config.trust_pem(two.as_bytes()).unwrap(), 2);
        assert_eq!(config.roots.len(), 3);
        assert!(root_store(&config.roots).is_ok());
        assert!(root_store(&[b"-----BEGIN".to_vec()]).is_err());
        for (pem, says) in [
            ("", "it has no `-----BEGIN CERTIFICATE-----`"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "a root certificate cannot be used",
            ),
        ] {
            let error = config.trust_pem(pem.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(config.roots.len(), 3);
    }
}
