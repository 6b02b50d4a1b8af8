//! A client of OCI registries, in which everything that a registry sends is limited and checked.

mod auth;
mod descriptor;
mod error;
mod exchange;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use toolhost_contract::{AddressBlock, text};
use toolhost_manifest::bundle::package::{PackageReference, is_digest};
use toolhost_sandbox::Sandbox;
use url::Url;

use self::auth::{Challenge, TOKEN_MAX, Token};
pub use self::descriptor::Descriptor;
pub(crate) use self::descriptor::digest_of;
pub use self::error::RegistryError;
use self::exchange::{Exchange, NoResponse, Response, Sent, is_loopback, location};
use crate::credentials::{Credential, Credentials, NoCredentials};

/// Most bytes of a manifest, and of a list of referrers.
pub(crate) const MANIFEST_MAX: u64 = 1 << 20;

/// Most bytes of an answer that says why a request is refused.
const ERROR_MAX: u64 = 64 << 10;

/// Longest reason of a registry in an error, in characters.
const REASON_SHOWN: usize = 300;

/// Most referrers of a manifest that are looked at, and most that are read.
const REFERRERS_MAX: usize = 100;
const ATTACHED_MAX: usize = 20;

/// The media type of manifests.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The type and the bytes of a config that says nothing.
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const EMPTY: &[u8] = b"{}";

/// Docker Hub answers at another host than the one in references.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

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

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
}

impl Action {
    fn scope(self, repository: &str) -> String {
        let actions = match self {
            Self::Read => "pull",
            Self::Write => "pull,push",
        };
        format!("repository:{repository}:{actions}")
    }

    fn on(self, repository: &str) -> String {
        let verb = match self {
            Self::Read => "read",
            Self::Write => "write",
        };
        format!("{verb} {repository}")
    }
}

/// A list of manifests.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// What is read of the manifest of an artifact.
#[derive(Deserialize)]
struct Artifact {
    layers: Vec<Descriptor>,
}

impl Artifact {
    fn only(mut self) -> Option<Descriptor> {
        let only = self.layers.pop();
        only.filter(|_| self.layers.is_empty())
    }
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
        let what = named(reference, &blob.digest);
        if blob.size > max {
            return Err(RegistryError::TooLarge {
                registry: reference.registry().to_owned(),
                what,
                max,
            });
        }
        if !is_digest(&blob.digest) {
            return Err(protocol(
                reference,
                Action::Read,
                "a blob has no SHA-256 digest",
            ));
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

    /// Lists what refers to a manifest and has this type: from the registry's list, or where it has none from the tag
    /// that clients write in its place. At most 100.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn referrers(
        &self,
        reference: &PackageReference,
        digest: &str,
        artifact_type: &str,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let what = format!("referrers of {}", named(reference, digest));
        let mut sent = self.request(
            reference,
            Method::GET,
            &format!("referrers/{digest}"),
            MANIFEST_MAX,
        )?;
        sent.url
            .query_pairs_mut()
            .append_pair("artifactType", artifact_type);
        sent.headers.insert(ACCEPT, value(INDEX_TYPE));
        let index = match self.authorized(reference, Action::Read, &what, sent).await {
            Ok(response) => self.index(reference, &response.body)?,
            Err(RegistryError::NotFound { .. } | RegistryError::Protocol { .. }) => {
                self.fallback(reference, digest).await?
            }
            Err(error) => return Err(error),
        };
        let of_type = |found: &Descriptor| found.artifact_type.as_deref() == Some(artifact_type);
        let found = index.manifests.into_iter().filter(of_type);
        Ok(found.take(REFERRERS_MAX).collect())
    }

    /// Reads the artifacts of one blob that refer to a manifest and have this type: at most 20, each of at most `max`
    /// bytes. Leaves out what is not such an artifact.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn attached(
        &self,
        reference: &PackageReference,
        digest: &str,
        artifact_type: &str,
        max: u64,
    ) -> Result<Vec<Bytes>, RegistryError> {
        let referrers = self.referrers(reference, digest, artifact_type).await?;
        let mut attached = Vec::new();
        for found in referrers.iter().take(ATTACHED_MAX) {
            if !is_digest(&found.digest) {
                continue;
            }
            let manifest = match self.manifest(reference, &found.digest).await {
                Ok(manifest) => manifest,
                Err(RegistryError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let artifact = serde_json::from_slice::<Artifact>(&manifest.bytes);
            let Some(layer) = artifact.ok().and_then(|artifact| artifact.only()) else {
                continue;
            };
            if layer.media_type == artifact_type && layer.size <= max {
                attached.push(self.blob(reference, &layer, max).await?);
            }
        }
        Ok(attached)
    }

    /// Writes an artifact of one blob that refers to a manifest. Where the registry keeps no list of referrers, adds
    /// it to the tag that clients read in its place. Returns the digest of the artifact.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn attach(
        &self,
        reference: &PackageReference,
        subject: &Descriptor,
        artifact_type: &str,
        bytes: Bytes,
    ) -> Result<String, RegistryError> {
        let config = self
            .push_blob(reference, EMPTY_TYPE, Bytes::from_static(EMPTY))
            .await?;
        let layer = self.push_blob(reference, artifact_type, bytes).await?;
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": artifact_type,
            "config": config,
            "layers": [layer],
            "subject": subject,
        });
        let manifest = Bytes::from(manifest.to_string());
        let mut own = Descriptor::of(MANIFEST_TYPE, &manifest);
        own.artifact_type = Some(artifact_type.to_owned());
        let (digest, is_listed) = self
            .put_manifest(reference, MANIFEST_TYPE, manifest, None)
            .await?;
        if !is_listed {
            let mut index = self.fallback(reference, &subject.digest).await?;
            if !index
                .manifests
                .iter()
                .any(|found| found.digest == own.digest)
            {
                index.manifests.push(own);
            }
            (index.schema_version, index.media_type) = (2, Some(INDEX_TYPE.to_owned()));
            let bytes = serde_json::to_vec(&index).unwrap_or_default();
            let tag = fallback_tag(&subject.digest);
            self.put_manifest(reference, INDEX_TYPE, Bytes::from(bytes), Some(&tag))
                .await?;
        }
        Ok(digest)
    }

    /// Reads the list of referrers that clients keep under a tag. Empty where there is none.
    async fn fallback(
        &self,
        reference: &PackageReference,
        digest: &str,
    ) -> Result<Index, RegistryError> {
        match self.manifest(reference, &fallback_tag(digest)).await {
            Ok(manifest) => self.index(reference, &manifest.bytes),
            Err(RegistryError::NotFound { .. }) => Ok(Index::default()),
            Err(error) => Err(error),
        }
    }

    fn index(&self, reference: &PackageReference, bytes: &[u8]) -> Result<Index, RegistryError> {
        let index = serde_json::from_slice(bytes);
        index.map_err(|error| {
            protocol(
                reference,
                Action::Read,
                &format!("the list of referrers: {error}"),
            )
        })
    }

    /// Makes a request to the repository of a reference.
    fn request(
        &self,
        reference: &PackageReference,
        method: Method,
        path: &str,
        max: u64,
    ) -> Result<Sent, RegistryError> {
        let host = match reference.registry() {
            hub if hub == DOCKER_HUB.0 => DOCKER_HUB.1,
            other => other,
        };
        let parse = |scheme: &str| {
            Url::parse(&format!(
                "{scheme}://{host}/v2/{}/{path}",
                reference.repository()
            ))
        };
        let unreachable = |error: url::ParseError| unreachable(reference, error.to_string());
        let mut url = parse("https").map_err(unreachable)?;
        let is_local = is_loopback(&url);
        if is_local {
            url = parse("http").map_err(unreachable)?;
        }
        Ok(Sent {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max,
            is_local,
        })
    }

    /// Sends a request with the credential that the registry asks for, and returns a successful response.
    async fn authorized(
        &self,
        reference: &PackageReference,
        action: Action,
        what: &str,
        mut sent: Sent,
    ) -> Result<Response, RegistryError> {
        let scope = action.scope(reference.repository());
        let key = (reference.registry().to_owned(), scope.clone());
        let known = self.accepted().get(&key).cloned();
        let mut had_credentials = known.is_some();
        if let Some(header) = known {
            sent.headers.insert(AUTHORIZATION, header);
        }
        let mut response = self.exchanged(reference, what, sent.clone()).await?;
        if response.status == StatusCode::UNAUTHORIZED
            && let Some(challenge) = Challenge::of(&response.headers)
        {
            self.accepted().remove(&key);
            let (header, has) = self.answer(reference, &challenge, &scope).await?;
            had_credentials = has;
            if let Some(header) = header {
                sent.headers.insert(AUTHORIZATION, header.clone());
                response = self.exchanged(reference, what, sent).await?;
                if response.status != StatusCode::UNAUTHORIZED {
                    self.accepted().insert(key, header);
                }
            }
        }
        if response.status.is_success() {
            return Ok(response);
        }
        let registry = reference.registry().to_owned();
        Err(match response.status {
            StatusCode::NOT_FOUND => RegistryError::NotFound {
                registry,
                what: what.to_owned(),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RegistryError::Refused {
                registry,
                action: action.on(reference.repository()),
                had_credentials,
                reason: reason(&response),
            },
            _ => protocol(reference, action, &reason(&response)),
        })
    }

    async fn exchanged(
        &self,
        reference: &PackageReference,
        what: &str,
        sent: Sent,
    ) -> Result<Response, RegistryError> {
        // An error may be longer than what is asked for.
        let max = sent.max;
        let sent = Sent {
            max: max.max(ERROR_MAX),
            ..sent
        };
        let registry = || reference.registry().to_owned();
        let too_large = || RegistryError::TooLarge {
            registry: registry(),
            what: what.to_owned(),
            max,
        };
        match self.0.exchange.send(sent).await {
            Ok(response) if response.status.is_success() && response.body.len() as u64 > max => {
                Err(too_large())
            }
            Ok(response) => Ok(response),
            Err(NoResponse::TooLarge) => Err(too_large()),
            Err(NoResponse::Failed(reason)) => Err(unreachable(reference, reason)),
        }
    }

    /// Returns the header that answers a challenge, and whether it is one of a credential.
    async fn answer(
        &self,
        reference: &PackageReference,
        challenge: &Challenge,
        scope: &str,
    ) -> Result<(Option<HeaderValue>, bool), RegistryError> {
        let credential = self.credential(reference).await?;
        let basic = match &credential {
            Some(Credential::Password { user, password }) => auth::basic(user, password),
            Some(Credential::IdentityToken(_)) | None => None,
        };
        let has = credential.is_some();
        let Challenge::Bearer {
            realm,
            service,
            scope: asked,
        } = challenge
        else {
            return Ok((basic, has));
        };
        // The registry may ask for a scope of its own, but for no other repository.
        let own = format!("repository:{}:", reference.repository());
        let scope = asked
            .as_deref()
            .filter(|asked| asked.starts_with(&own) && !asked.contains(' '))
            .unwrap_or(scope);
        let service = service.as_deref();
        let mut sent = Sent {
            method: Method::GET,
            url: Challenge::token_url(realm, service, scope),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max: TOKEN_MAX,
            is_local: self.request(reference, Method::GET, "", 0)?.is_local,
        };
        if let Some(basic) = basic {
            sent.headers.insert(AUTHORIZATION, basic);
        }
        if let Some(body) =
            credential.and_then(|credential| Challenge::exchange_body(&credential, service, scope))
        {
            (sent.method, sent.url, sent.body) = (Method::POST, realm.clone(), Bytes::from(body));
            sent.headers
                .insert(CONTENT_TYPE, value("application/x-www-form-urlencoded"));
        }
        let response = self.exchanged(reference, "the token", sent).await?;
        if !response.status.is_success() {
            return Err(RegistryError::Refused {
                registry: reference.registry().to_owned(),
                action: format!("give a token for {}", reference.repository()),
                had_credentials: has,
                reason: reason(&response),
            });
        }
        let token = serde_json::from_slice::<Token>(&response.body)
            .ok()
            .and_then(Token::header);
        let no_token = || protocol(reference, Action::Read, "the token server sent no token");
        Ok((Some(token.ok_or_else(no_token)?), has))
    }

    async fn credential(
        &self,
        reference: &PackageReference,
    ) -> Result<Option<Credential>, RegistryError> {
        let (credentials, registry) = (
            Arc::clone(&self.0.credentials),
            reference.registry().to_owned(),
        );
        let found = self
            .0
            .exchange
            .sandbox
            .compute(move || credentials.find(&registry))
            .await;
        let found = found.unwrap_or_else(|error| Err(error.to_string()));
        found.map_err(|reason| RegistryError::Credentials {
            registry: reference.registry().to_owned(),
            reason,
        })
    }

    fn accepted(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), HeaderValue>> {
        self.0
            .accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tag under which clients list referrers where a registry does not.
fn fallback_tag(digest: &str) -> String {
    digest.replace(':', "-")
}

/// Such as `me/text:1.0` or `me/text@sha256:…`.
fn named(reference: &PackageReference, name: &str) -> String {
    let separator = if is_digest(name) { '@' } else { ':' };
    format!("{}{separator}{name}", reference.repository())
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

fn unreachable(reference: &PackageReference, reason: String) -> RegistryError {
    RegistryError::Unreachable {
        registry: reference.registry().to_owned(),
        reason,
    }
}

fn protocol(reference: &PackageReference, action: Action, reason: &str) -> RegistryError {
    RegistryError::Protocol {
        registry: reference.registry().to_owned(),
        action: action.on(reference.repository()),
        reason: reason.to_owned(),
    }
}

fn other_bytes(reference: &PackageReference, what: String, found: String) -> RegistryError {
    RegistryError::Digest {
        registry: reference.registry().to_owned(),
        what,
        found,
    }
}

/// Returns the messages of an error of OCI, or else the status.
fn reason(response: &Response) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<OciError>,
    }
    #[derive(Deserialize)]
    struct OciError {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let status = format!("status {}", response.status);
    let Ok(Errors { errors }) = serde_json::from_slice(&response.body) else {
        return status;
    };
    let one = |error: &OciError| {
        format!("{} {}", error.code, error.message)
            .trim()
            .to_owned()
    };
    let all: Vec<String> = errors
        .iter()
        .map(one)
        .filter(|text| !text.is_empty())
        .collect();
    match all.is_empty() {
        true => status,
        false => text::shorten(&all.join("; "), REASON_SHOWN),
    }
}

#[cfg(test)]
mod tests;
