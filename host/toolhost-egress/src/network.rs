//! What all requests share: a thread, the resolver, TLS settings and the limit on connections.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Builder, Handle, Runtime};
use toolhost_runtime::Quota;

use crate::config::{CertificateError, HttpConfig, HttpResolver, root_store};

/// Maximum threads that resolve names: the system's resolver blocks.
const LOOKUPS_MAX: usize = 64;

/// What all requests share. Its thread starts with the first request.
pub(crate) struct Network {
    pub(crate) resolver: Arc<dyn HttpResolver>,
    /// Bounds concurrent lookups, including those whose request has timed out.
    pub(crate) lookups: Arc<Quota>,
    /// Each connection is one of them.
    pub(crate) open_files: Arc<Quota>,
    /// Trusted besides Mozilla's.
    roots: RootCertStore,
    tls: OnceLock<Option<Arc<ClientConfig>>>,
    runtime: OnceLock<Option<Runtime>>,
}

/// Ends the runtime without waiting, as it may be dropped in async code.
impl Drop for Network {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Network {
    pub(crate) fn new(
        config: &HttpConfig,
        open_files: Arc<Quota>,
        share: u32,
    ) -> Result<Self, CertificateError> {
        Ok(Self {
            resolver: Arc::clone(&config.resolver),
            lookups: Arc::new(Quota::new(LOOKUPS_MAX as u64, share)),
            open_files,
            roots: root_store(&config.roots)?,
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
