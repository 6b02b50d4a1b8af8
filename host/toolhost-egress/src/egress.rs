//! The way out of this process: what all requests share, and what sends them.

use std::sync::Arc;
use std::time::Instant;

use toolhost_contract::Limits;
use toolhost_contract::http::{HttpGrant, Origin};
use toolhost_runtime::{ComponentId, Quota, Threads};

use crate::client::HttpClient;
use crate::config::{CertificateError, HttpConfig};
use crate::meter::HttpMeter;
use crate::network::Network;
use crate::origin_client::OriginClient;
use crate::sender::HttpSender;

/// Sends HTTP requests, with one resolver, one set of root certificates and one limit on connections. Cheap to clone.
/// Its thread starts with the first request.
#[derive(Clone)]
pub struct Egress {
    network: Arc<Network>,
    threads: Threads,
}

impl Egress {
    /// Each connection is one of `open_files`. `share` is how many times the free lookups of names one sender may
    /// hold, as in [`Quota::new`].
    ///
    /// # Errors
    /// [`CertificateError`] where a root certificate is invalid.
    pub fn new(
        config: &HttpConfig,
        open_files: Arc<Quota>,
        share: u32,
        threads: Threads,
    ) -> Result<Self, CertificateError> {
        let network = Arc::new(Network::new(config, open_files, share)?);
        Ok(Self { network, threads })
    }

    /// The threads whose clock ends requests that take too long.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Returns a client for one server. `owner` names who sends its requests: the open connections of an owner count
    /// as those of one component.
    pub fn to(&self, owner: &str, origin: Origin) -> OriginClient {
        let (network, owner) = (Arc::clone(&self.network), ComponentId::of(owner.as_bytes()));
        OriginClient::new(network, self.threads.clone(), owner, origin)
    }

    /// Returns a client for the servers that a grant allows. `owner` is as in [`to`](Self::to). Of the limits, those of
    /// HTTP apply, to each request alone.
    pub fn client(&self, owner: &str, grant: Arc<HttpGrant>, limits: Limits) -> HttpClient {
        let owner = ComponentId::of(owner.as_bytes());
        HttpClient::new(owner, grant, limits, Arc::clone(&self.network))
    }

    /// Returns what sends the requests of one call, until its deadline. Without a grant it denies all.
    pub fn sender(
        &self,
        grant: Option<Arc<HttpGrant>>,
        meter: Arc<HttpMeter>,
        deadline: Option<Instant>,
    ) -> HttpSender {
        HttpSender::new(grant, Arc::clone(&self.network), meter, deadline)
    }
}
