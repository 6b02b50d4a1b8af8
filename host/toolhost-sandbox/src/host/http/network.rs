//! The network state that all calls of a sandbox share: a runtime, the resolver and TLS settings.

use std::fmt::{Debug, Display};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Builder, Handle, Runtime};
use toolhost_runtime::Quota;

use crate::SandboxStartError;

/// Maximum threads that resolve names: the system's resolver blocks.
const LOOKUPS_MAX: usize = 64;

/// The addresses of a host, once they are resolved.
pub type HttpResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves the names of hosts, once for each request. The sandbox checks the addresses that it returns
/// and connects to no other.
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
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
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

impl HttpConfig {
    /// Trusts the certificates of a PEM file, besides those that are trusted already. Returns how many it has.
    ///
    /// # Errors
    /// [`SandboxStartError::Certificate`] where the text has no certificate, or one is malformed.
    pub fn trust_pem(&mut self, pem: &[u8]) -> Result<usize, SandboxStartError> {
        let mut trusted = RootCertStore::empty();
        let mut found = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let malformed = |why: &dyn Display| SandboxStartError::Certificate(why.to_string());
            let certificate = certificate.map_err(|why| malformed(&why))?;
            let added = trusted.add(certificate.clone());
            added.map_err(|why| malformed(&why))?;
            found.push(certificate.to_vec());
        }
        if found.is_empty() {
            let none = "it has no `-----BEGIN CERTIFICATE-----`";
            return Err(SandboxStartError::Certificate(none.to_owned()));
        }
        let count = found.len();
        self.roots.extend(found);
        Ok(count)
    }
}

/// The network of one sandbox. Its thread starts with the first request.
pub(crate) struct Network {
    pub(crate) resolver: Arc<dyn HttpResolver>,
    /// Bounds concurrent lookups, including those whose request has timed out.
    pub(crate) lookups: Arc<Quota>,
    /// Trusted besides Mozilla's.
    roots: RootCertStore,
    tls: OnceLock<Option<Arc<ClientConfig>>>,
    runtime: OnceLock<Option<Runtime>>,
}

/// Ends the runtime without waiting, as a sandbox may be dropped in async code.
impl Drop for Network {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Network {
    pub(crate) fn new(config: &HttpConfig, share: u32) -> Result<Self, SandboxStartError> {
        let mut roots = RootCertStore::empty();
        for der in &config.roots {
            let added = roots.add(CertificateDer::from(der.clone()));
            added.map_err(|why| SandboxStartError::Certificate(why.to_string()))?;
        }
        Ok(Self {
            resolver: Arc::clone(&config.resolver),
            lookups: Arc::new(Quota::new(LOOKUPS_MAX as u64, share)),
            roots,
            tls: OnceLock::new(),
            runtime: OnceLock::new(),
        })
    }

    /// Returns the runtime of connections. None if the system could not start its thread.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        let start = || {
            let started = Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(LOOKUPS_MAX)
                .thread_name("toolhost-http")
                .enable_all()
                .build();
            started.ok()
        };
        let runtime = self.runtime.get_or_init(start).as_ref();
        runtime.map(|runtime| runtime.handle().clone())
    }

    /// Returns the TLS settings. No session is resumed, as tools would share it.
    pub(crate) fn tls(&self) -> Option<Arc<ClientConfig>> {
        let make = || {
            let mut store = self.roots.clone();
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .ok()?;
            let mut config = config.with_root_certificates(store).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            config.resumption = Resumption::disabled();
            Some(Arc::new(config))
        };
        self.tls.get_or_init(make).clone()
    }
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
        assert!(Network::new(&config, 3).is_ok());
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
