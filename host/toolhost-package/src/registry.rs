//! A client of OCI registries, in which everything that a registry sends is limited and checked.

mod auth;
mod descriptor;
mod error;
mod exchange;
mod referrers;
mod request;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use toolhost_contract::AddressBlock;
use toolhost_manifest::bundle::package::{PackageReference, is_digest};
use toolhost_sandbox::Sandbox;

pub use self::descriptor::Descriptor;
pub(crate) use self::descriptor::digest_of;
pub use self::error::RegistryError;
use self::exchange::{Exchange, Sent, location};
use self::referrers::OCI_SUBJECT;
use self::request::{Action, ERROR_MAX, named, other_bytes, protocol, value};
use crate::credentials::{Credentials, NoCredentials};

/// Most bytes of a manifest, and of a list of referrers.
pub(crate) const MANIFEST_MAX: u64 = 1 << 20;

/// The media type of manifests.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// How a [`Registry`] reaches registries.
#[derive(Clone)]
pub struct RegistryConfig {
    /// Sends the requests: with its resolver, its root certificates and its limit on connections.
    pub sandbox: Sandbox,
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
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
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
pub struct Registry(Arc<Inner>);

struct Inner {
    exchange: Exchange,
    credentials: Arc<dyn Credentials>,
    /// The headers that registries have accepted, by registry and scope.
    accepted: Mutex<HashMap<(String, String), HeaderValue>>,
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
    #[must_use]
    pub fn new(config: RegistryConfig) -> Self {
        let RegistryConfig {
            sandbox,
            credentials,
            private_networks,
            idle_time,
        } = config;
        Self(Arc::new(Inner {
            exchange: Exchange {
                sandbox,
                private_networks,
                idle_time,
            },
            credentials,
            accepted: Mutex::default(),
        }))
    }

    /// Reads the manifest that a reference names: by its digest, or else by its tag, which is `latest` if there is
    /// none. At most 1 MiB.
    ///
    /// # Errors
    /// [`RegistryError`]. With a digest, the bytes have this digest.
    pub async fn resolve(&self, reference: &PackageReference) -> Result<Manifest, RegistryError> {
        let name = reference.digest().or(reference.tag()).unwrap_or("latest");
        self.manifest(reference, name).await
    }

    /// Reads a manifest of the repository by its tag or digest.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub async fn manifest(
        &self,
        reference: &PackageReference,
        name: &str,
    ) -> Result<Manifest, RegistryError> {
        let what = named(reference, name);
        let mut sent = self.request(
            reference,
            Method::GET,
            &format!("manifests/{name}"),
            MANIFEST_MAX,
        )?;
        let accept = format!("{MANIFEST_TYPE}, {INDEX_TYPE}");
        sent.headers.insert(ACCEPT, value(&accept));
        let response = self
            .authorized(reference, Action::Read, &what, sent)
            .await?;
        let digest = digest_of(&response.body);
        if is_digest(name) && name != digest {
            return Err(other_bytes(reference, what, digest));
        }
        Ok(Manifest {
            bytes: response.body,
            digest,
        })
    }

    /// Reads a blob, which has the size and the digest of its descriptor.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::TooLarge`] before anything is asked for, if it has more than `max` bytes.
    pub async fn blob(
        &self,
        reference: &PackageReference,
        blob: &Descriptor,
        max: u64,
    ) -> Result<Bytes, RegistryError> {
        if !is_digest(&blob.digest) {
            return Err(protocol(
                reference,
                Action::Read,
                "a blob has no SHA-256 digest",
            ));
        }
        let what = named(reference, &blob.digest);
        if blob.size > max {
            return Err(RegistryError::TooLarge {
                registry: reference.registry().to_owned(),
                what,
                max,
            });
        }
        let path = format!("blobs/{}", blob.digest);
        let sent = self.request(reference, Method::GET, &path, blob.size)?;
        let response = self
            .authorized(reference, Action::Read, &what, sent)
            .await?;
        let digest = digest_of(&response.body);
        if digest != blob.digest {
            return Err(other_bytes(reference, what, digest));
        }
        Ok(response.body)
    }

    /// Writes a blob, unless the repository has it.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn push_blob(
        &self,
        reference: &PackageReference,
        media_type: &str,
        bytes: Bytes,
    ) -> Result<Descriptor, RegistryError> {
        let blob = Descriptor::of(media_type, &bytes);
        let what = named(reference, &blob.digest);
        let head = self.request(
            reference,
            Method::HEAD,
            &format!("blobs/{}", blob.digest),
            0,
        )?;
        let is_local = head.is_local;
        match self.authorized(reference, Action::Write, &what, head).await {
            Ok(_) => return Ok(blob),
            Err(RegistryError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let start = self.request(reference, Method::POST, "blobs/uploads/", ERROR_MAX)?;
        let started = self
            .authorized(reference, Action::Write, &what, start)
            .await?;
        let no_place = || {
            protocol(
                reference,
                Action::Write,
                "the answer to an upload has no location",
            )
        };
        let mut url = location(&started).ok_or_else(no_place)?;
        // The credential for the registry goes to no other server.
        if url.origin() != started.url.origin() {
            return Err(protocol(
                reference,
                Action::Write,
                "an upload leads to another server",
            ));
        }
        url.query_pairs_mut().append_pair("digest", &blob.digest);
        let mut put = Sent {
            method: Method::PUT,
            url,
            headers: HeaderMap::new(),
            body: bytes,
            max: ERROR_MAX,
            is_local,
        };
        put.headers
            .insert(CONTENT_TYPE, value("application/octet-stream"));
        self.authorized(reference, Action::Write, &what, put)
            .await?;
        Ok(blob)
    }

    /// Writes a manifest, under a tag or by its digest alone. Returns its digest.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn push_manifest(
        &self,
        reference: &PackageReference,
        bytes: Bytes,
        tag: Option<&str>,
    ) -> Result<String, RegistryError> {
        self.put_manifest(reference, MANIFEST_TYPE, bytes, tag)
            .await
            .map(|(digest, _)| digest)
    }

    /// Writes a manifest. Returns its digest, and whether the registry keeps a list of its referrers.
    async fn put_manifest(
        &self,
        reference: &PackageReference,
        media_type: &str,
        bytes: Bytes,
        tag: Option<&str>,
    ) -> Result<(String, bool), RegistryError> {
        let digest = digest_of(&bytes);
        let name = tag.unwrap_or(&digest);
        let mut put = self.request(
            reference,
            Method::PUT,
            &format!("manifests/{name}"),
            ERROR_MAX,
        )?;
        put.headers.insert(CONTENT_TYPE, value(media_type));
        put.body = bytes;
        let what = named(reference, name);
        let response = self
            .authorized(reference, Action::Write, &what, put)
            .await?;
        Ok((digest, response.headers.contains_key(&OCI_SUBJECT)))
    }
}

#[cfg(test)]
mod tests;
