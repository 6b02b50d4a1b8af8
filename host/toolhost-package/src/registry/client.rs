//! The handle of a client, its settings, and what its requests share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use toolhost_contract::AddressBlock;
use toolhost_egress::Egress;

use super::exchange::Exchange;
use crate::credentials::{Credentials, NoCredentials};

/// Most bytes of a manifest, and of a list of referrers.
pub(crate) const MANIFEST_MAX: u64 = 1 << 20;

/// The media type of manifests.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// How a [`Registry`] reaches registries.
#[derive(Clone)]
pub struct RegistryConfig {
    /// Sends the requests: with its resolver, its root certificates and its limit on connections.
    pub egress: Egress,
    /// Finds credentials. Default: [`NoCredentials`].
    pub credentials: Arc<dyn Credentials>,
    /// Non-public addresses at which registries may be. Default: none but loopback, for registries that are named
    /// by it.
    pub private_networks: Vec<AddressBlock>,
    /// Longest time until the headers of a response, and between two pieces of its body. Default: 30 s.
    pub idle_time: Duration,
}

impl fmt::Debug for RegistryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryConfig")
            .field("credentials", &self.credentials)
            .field("private_networks", &self.private_networks)
            .finish_non_exhaustive()
    }
}

impl RegistryConfig {
    /// Reaches public registries, and those of this machine, without credentials.
    pub fn new(egress: Egress) -> Self {
        Self {
            egress,
            credentials: Arc::new(NoCredentials),
            private_networks: Vec::new(),
            idle_time: Duration::from_secs(30),
        }
    }
}

/// A client of OCI registries. Cheap to clone. Its futures can be dropped at any time.
///
/// Registries are reached by `https`; those of this machine (`localhost`, `127.0.0.1`, `[::1]`) by `http`. A request
/// that takes longer than a minute, and ten seconds for each megabyte, fails.
#[derive(Clone)]
pub struct Registry(pub(super) Arc<RegistryState>);

pub(super) struct RegistryState {
    pub(super) exchange: Exchange,
    pub(super) credentials: Arc<dyn Credentials>,
    /// The headers that registries have accepted, by registry and scope.
    pub(super) accepted: Mutex<HashMap<(String, String), HeaderValue>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

/// A manifest, as the registry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its bytes.
    pub bytes: Bytes,
    /// `sha256:HEX` of the bytes.
    pub digest: String,
}

impl Registry {
    /// Makes a client. Sends nothing.
    pub fn new(config: RegistryConfig) -> Self {
        let RegistryConfig {
            egress,
            credentials,
            private_networks,
            idle_time,
        } = config;
        Self(Arc::new(RegistryState {
            exchange: Exchange {
                egress,
                private_networks,
                idle_time,
            },
            credentials,
            accepted: Mutex::default(),
        }))
    }

    pub(crate) fn egress(&self) -> &Egress {
        &self.0.exchange.egress
    }
}
