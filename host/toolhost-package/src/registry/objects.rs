//! Manifests and blobs of a repository.

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use toolhost_manifest::bundle::package::{PackageReference, is_digest};

use super::client::{INDEX_TYPE, MANIFEST_MAX, MANIFEST_TYPE, Manifest, Registry};
use super::descriptor::{Descriptor, digest_of};
use super::error::RegistryError;
use super::exchange::{HttpRequest, location};
use super::request::{Action, ERROR_MAX, named, other_bytes, protocol, value};

/// The header with which a registry confirms that it lists a referrer.
const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

impl Registry {
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
        let mut request = self.request(
            reference,
            Method::GET,
            &format!("manifests/{name}"),
            MANIFEST_MAX,
        )?;
        let accept = format!("{MANIFEST_TYPE}, {INDEX_TYPE}");
        request.headers.insert(ACCEPT, value(&accept));
        let response = self
            .authorized(reference, Action::Read, &what, request)
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
        let request = self.request(reference, Method::GET, &path, blob.size)?;
        let response = self
            .authorized(reference, Action::Read, &what, request)
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
        let upload = self
            .authorized(reference, Action::Write, &what, start)
            .await?;
        let no_place = || {
            protocol(
                reference,
                Action::Write,
                "the answer to an upload has no location",
            )
        };
        let mut url = location(&upload).ok_or_else(no_place)?;
        // The credential for the registry goes to no other server.
        if url.origin() != upload.url.origin() {
            return Err(protocol(
                reference,
                Action::Write,
                "an upload leads to another server",
            ));
        }
        url.query_pairs_mut().append_pair("digest", &blob.digest);
        let mut put = HttpRequest {
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
    pub(super) async fn put_manifest(
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
