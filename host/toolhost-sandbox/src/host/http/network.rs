//! What all calls share of the network: a thread that drives connections, names, certificates.

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

/// Threads that may look up names at once: the system's resolver blocks.
const LOOKING_UP: usize = 64;

/// What a look-up comes to.
pub type HttpResolved<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks up names of hosts, once for each request: what it answers is checked, and then connected to.
pub trait HttpResolver: Debug + Send + Sync {
    /// The addresses of a host.
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolved<'a>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl HttpResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolved<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// How guests' requests find their servers. Proxies of the environment are never used.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Looks up names. Default: the system's resolver.
    pub resolver: Arc<dyn HttpResolver>,
    /// Certificates, in DER, that are trusted besides those of Mozilla's list. Default: none.
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

/// The network of one sandbox. Nothing of it starts before the first request that is allowed.
pub(crate) struct Network {
    pub(crate) resolver: Arc<dyn HttpResolver>,
    /// Names that are looked up, also those that nobody waits for any longer.
    pub(crate) lookups: Arc<Quota>,
    roots: Vec<CertificateDer<'static>>,
    tls: OnceLock<Option<Arc<ClientConfig>>>,
    runtime: OnceLock<Option<Running>>,
}

/// Ends without waiting: a sandbox may be dropped in async code.
struct Running(Option<Runtime>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Network {
    pub(crate) fn new(config: &HttpConfig, share: u32) -> Result<Self, SandboxStartError> {
        let mut store = RootCertStore::empty();
        let roots = config.roots.iter();
        let roots: Vec<_> = roots.map(|der| CertificateDer::from(der.clone())).collect();
        for root in &roots {
            let added = store.add(root.clone());
            added.map_err(|why| SandboxStartError::Certificate(why.to_string()))?;
        }
        Ok(Self {
            resolver: Arc::clone(&config.resolver),
            lookups: Arc::new(Quota::new(LOOKING_UP as u64, share)),
            roots,
            tls: OnceLock::new(),
            runtime: OnceLock::new(),
        })
    }

    /// Where connections are driven; none where the system has no thread for it.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        let start = || {
            let started = Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(LOOKING_UP)
                .thread_name("toolhost-http")
                .enable_all()
                .build();
            started.ok().map(|runtime| Running(Some(runtime)))
        };
        let running = self.runtime.get_or_init(start).as_ref()?;
        running.0.as_ref().map(|runtime| runtime.handle().clone())
    }

    /// How servers are known. No session is resumed: one tool's is not another's.
    pub(crate) fn tls(&self) -> Option<Arc<ClientConfig>> {
        let make = || {
            let mut store = RootCertStore::empty();
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            store.add_parsable_certificates(self.roots.iter().cloned());
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
