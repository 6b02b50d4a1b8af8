//! What refers to a manifest, such as its signatures: the list of the registry, or the tag that clients write where it
//! keeps none.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::ACCEPT;
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost_contract::{JsonLimits, text};
use toolhost_manifest::bundle::package::{PackageReference, is_digest};

use super::client::{INDEX_TYPE, MANIFEST_MAX, MANIFEST_TYPE, Registry};
use super::descriptor::Descriptor;
use super::error::RegistryError;
use super::request::{Action, REASON_LENGTH, named, protocol, unreachable, value};

/// Most referrers of a manifest that are read.
const REFERRERS_MAX: usize = 100;

/// Longest time for reading all of them.
const ATTACHED_TIME: Duration = Duration::from_secs(120);

/// How often the list of referrers is written again where another client has replaced it.
const LIST_TRIES: usize = 3;

/// The type and the bytes of an empty config.
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const EMPTY: &[u8] = b"{}";

/// A list of manifests.
#[derive(Debug, Default, Deserialize)]
struct Index {
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
        let mut request = self.request(
            reference,
            Method::GET,
            &format!("referrers/{digest}"),
            MANIFEST_MAX,
        )?;
        request
            .url
            .query_pairs_mut()
            .append_pair("artifactType", artifact_type);
        request.headers.insert(ACCEPT, value(INDEX_TYPE));
        let index = match self
            .authorized(reference, Action::Read, &what, request)
            .await
        {
            Ok(response) => self.index(reference, &response.body)?,
            Err(RegistryError::NotFound { .. } | RegistryError::Protocol { .. }) => {
                self.fallback(reference, digest).await?
            }
            Err(error) => return Err(error),
        };
        let of_type =
            |descriptor: &Descriptor| descriptor.artifact_type.as_deref() == Some(artifact_type);
        let descriptors = index.manifests.into_iter().filter(of_type);
        Ok(descriptors.take(REFERRERS_MAX).collect())
    }

    /// Reads the artifacts of one blob that refer to a manifest and have this type: at most 100, each of at most `max`
    /// bytes, within two minutes. Leaves out what is missing, too large, changed, or not such an artifact.
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
        let threads = self.egress().threads();
        let read = self.read_attached(reference, digest, artifact_type, max);
        let read = threads.within(ATTACHED_TIME, read).await;
        read.unwrap_or_else(|| {
            let seconds = ATTACHED_TIME.as_secs();
            let reason = format!("its referrers were not read within {seconds} s");
            Err(unreachable(reference, reason))
        })
    }

    async fn read_attached(
        &self,
        reference: &PackageReference,
        digest: &str,
        artifact_type: &str,
        max: u64,
    ) -> Result<Vec<Bytes>, RegistryError> {
        let mut attached = Vec::new();
        for found in self.referrers(reference, digest, artifact_type).await? {
            match self.attachment(reference, &found, artifact_type, max).await {
                Ok(blob) => attached.extend(blob),
                // One bad referrer does not hide the others.
                Err(
                    RegistryError::NotFound { .. }
                    | RegistryError::TooLarge { .. }
                    | RegistryError::Digest { .. }
                    | RegistryError::Protocol { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(attached)
    }

    /// Reads the blob of an artifact; none if it is not one blob of this type and size.
    async fn attachment(
        &self,
        reference: &PackageReference,
        artifact: &Descriptor,
        artifact_type: &str,
        max: u64,
    ) -> Result<Option<Bytes>, RegistryError> {
        if !is_digest(&artifact.digest) {
            return Ok(None);
        }
        let manifest = self.manifest(reference, &artifact.digest).await?;
        let artifact = JsonLimits::ANSWER.parse_bytes::<Artifact>(&manifest.bytes);
        let Some(layer) = artifact.ok().and_then(|artifact| artifact.only()) else {
            return Ok(None);
        };
        if layer.media_type == artifact_type && layer.size <= max {
            self.blob(reference, &layer, max).await.map(Some)
        } else {
            Ok(None)
        }
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
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": artifact_type,
            "config": config,
            "layers": [layer],
            "subject": subject,
        });
        let manifest = Bytes::from(manifest.to_string());
        let mut referrer = Descriptor::of(MANIFEST_TYPE, &manifest);
        referrer.artifact_type = Some(artifact_type.to_owned());
        let (digest, is_listed) = self
            .put_manifest(reference, MANIFEST_TYPE, manifest, None)
            .await?;
        if !is_listed {
            self.add_to_list(reference, &subject.digest, referrer)
                .await?;
        }
        Ok(digest)
    }

    /// Adds an artifact to the tag that lists referrers. Keeps what other clients have written there, and writes it
    /// again if another client has replaced it meanwhile.
    async fn add_to_list(
        &self,
        reference: &PackageReference,
        subject: &str,
        referrer: Descriptor,
    ) -> Result<(), RegistryError> {
        let tag = fallback_tag(subject);
        for _ in 0..LIST_TRIES {
            let mut index = match self.manifest(reference, &tag).await {
                Ok(manifest) => JsonLimits::ANSWER
                    .parse_bytes(&manifest.bytes)
                    .unwrap_or_default(),
                Err(RegistryError::NotFound { .. }) => json!({
                    "schemaVersion": 2,
                    "mediaType": INDEX_TYPE,
                    "manifests": [],
                }),
                Err(error) => return Err(error),
            };
            let media_type = index.get("mediaType").and_then(Value::as_str);
            let is_index = media_type.is_none_or(|name| name == INDEX_TYPE);
            let list = index.get_mut("manifests").and_then(Value::as_array_mut);
            let Some(list) = list.filter(|_| is_index) else {
                let reason = format!("the tag {tag} is not a list of referrers");
                return Err(protocol(reference, Action::Write, &reason));
            };
            let is_own = |entry: &Value| {
                entry.get("digest").and_then(Value::as_str) == Some(referrer.digest.as_str())
            };
            if list.iter().any(is_own) {
                return Ok(());
            }
            list.push(json!(referrer));
            let bytes = Bytes::from(index.to_string());
            self.put_manifest(reference, INDEX_TYPE, bytes, Some(&tag))
                .await?;
        }
        let reason = "other clients replace its list of referrers all the time";
        Err(protocol(reference, Action::Write, reason))
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
        let index = JsonLimits::ANSWER.parse_bytes(bytes);
        index.map_err(|error| {
            let error = text::shorten(&error.to_string(), REASON_LENGTH);
            let reason = format!("the list of referrers {error}");
            protocol(reference, Action::Read, &reason)
        })
    }
}

/// The tag under which clients list referrers where a registry does not.
pub(super) fn fallback_tag(digest: &str) -> String {
    digest.replace(':', "-")
}
