//! The network state that all calls of a sandbox share: a runtime, the resolver and TLS settings.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::SandboxStartError;
use crate::accounting::quota::Quota;

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
