//! Reads components of packages: from `vendor` beside the bundle, from the cache, or else from the registry.

use std::fmt;
use std::path::Path;

use toolhost_contract::{ToolErrorCode, ToolResource};
use toolhost_manifest::bundle::package::{PackageOrigin, PackageReference, is_package};
use toolhost_manifest::bundle::{Entry, OpenBundle};
use toolhost_manifest::component_source::{ComponentSource, EntryFuture};
use toolhost_manifest::policy::PackageRules;

use crate::contents::{ContentsError, PackageContents};
use crate::registry::{Descriptor, MANIFEST_MAX, Registry, RegistryError};
use crate::signature::{BUNDLE_MAX, BUNDLE_TYPE, SignatureError, Signers, Verified, check_bundle};
use crate::store::{PackageStore, StoreError};

/// The folder of copied packages, in the bundle's directory.
pub const VENDOR: &str = "vendor";

/// Reads the components of entries `oci://…@sha256:…`. What it pulls is kept in the cache; what it reads from the
/// cache or from `vendor` is compared with its digest each time.
#[derive(Clone)]
pub struct PackageSource {
    registry: Registry,
    cache: Option<PackageStore>,
    signers: Option<Signers>,
}

impl fmt::Debug for PackageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageSource")
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// A package whose digests were compared.
#[derive(Debug, Clone)]
pub struct Pulled {
    /// The reference, with its digest.
    pub reference: PackageReference,
    /// The bytes of the manifest.
    pub manifest: Vec<u8>,
    /// The descriptor of the component.
    pub descriptor: Descriptor,
    /// The Tool document as JSON; none if other programs published it.
    pub tool: Option<String>,
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// Who has signed it, of those whom the rules accept; none if no signature was required.
    pub signers: Vec<String>,
    /// The signatures that are kept with it: Sigstore bundles as JSON.
    pub signatures: Vec<String>,
}

/// Why a package could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PullError {
    /// The exchange with the registry failed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The artifact is not a package.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A directory of packages cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No signature is accepted.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// No signature that is kept is accepted, and the registry could not be asked for others.
    #[error("{rejection}; the registry could not be asked for other signatures: {registry}")]
    SignatureElsewhere {
        /// Why none that is kept is accepted.
        rejection: SignatureError,
        /// Why the registry has not answered.
        #[source]
        registry: RegistryError,
    },
    /// The reference has no digest.
    #[error("the reference has no digest")]
    NoDigest,
    /// The host had no thread.
    #[error("the files of packages cannot be read: {0}")]
    Host(String),
}

impl PullError {
    /// Returns the next step for the reader.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Registry(error) => error.help(),
            Self::Contents(_) => {
                "Name a package with one component, as `toolhost publish` and `wkg` write it."
            }
            Self::Store(StoreError::Changed { .. }) => {
                "Remove the file; it is pulled again. Find out who changed it."
            }
            Self::Store(_) => "Check the directory and its permissions.",
            Self::Signature(SignatureError::NoSigner) => {
                "Name the package in `packages` of a signer of the policy: HOST/REPOSITORY, or HOST/PATH/* for all beneath it."
            }
            Self::Signature(_) | Self::SignatureElsewhere { .. } => {
                "Ask who publishes it to sign it, or add the signer to packages.signers of the policy if you trust it."
            }
            Self::NoDigest => "Add the package with `toolhost add`, which writes the digest.",
            Self::Host(_) => "Try again.",
        }
    }
}

impl PackageSource {
    /// Pulls from registries, and keeps packages in `cache`.
    pub fn new(registry: Registry, cache: Option<PackageStore>) -> Self {
        Self {
            registry,
            cache,
            signers: None,
        }
    }

    /// Reads only packages that these signers have signed. Signatures are verified each time that a package is read,
    /// also from the cache.
    #[must_use]
    pub fn require(mut self, signers: Signers) -> Self {
        self.signers = Some(signers);
        self
    }

    /// Returns the client of registries.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns a reference with the digest that its registry has for its tag, `latest` if it has none. A digest that it
    /// has already is replaced.
    ///
    /// # Errors
    /// [`PullError`]; also if the artifact is not a package.
    pub async fn resolve(
        &self,
        reference: &PackageReference,
    ) -> Result<PackageReference, PullError> {
        let reference = reference.clone().without_digest().or_tag("latest");
        let pulled = self.registry.resolve(&reference).await?;
        PackageContents::read(&pulled.bytes)?;
        let resolved = reference.with_digest(&pulled.digest);
        resolved.ok_or(PullError::NoDigest)
    }

    /// Reads a package of at most `max_bytes`: from `vendor` in this directory, from the cache, or else from its
    /// registry. If signatures are required, its signature as well.
    ///
    /// # Errors
    /// [`PullError`].
    pub async fn pull(
        &self,
        reference: &PackageReference,
        bundle_dir: Option<&Path>,
        max_bytes: u64,
    ) -> Result<Pulled, PullError> {
        let stores = self.stores(bundle_dir);
        let mut pulled = self.unverified(reference, &stores, max_bytes).await?;
        if let Some(signers) = self.signers.as_ref().filter(|it| !it.exempts(reference)) {
            let signed = self.signer(signers, reference, &stores).await?;
            pulled.signers = signed.signers;
            pulled.signatures = signed.bundles;
        }
        Ok(pulled)
    }

    /// Reads the signatures of a package: those of its registry, or else those that are kept.
    ///
    /// # Errors
    /// [`PullError`] if the registry does not answer and none is kept.
    pub async fn signatures(
        &self,
        reference: &PackageReference,
        bundle_dir: Option<&Path>,
    ) -> Result<Vec<String>, PullError> {
        let digest = reference.digest().ok_or(PullError::NoDigest)?;
        let failed = match self.signatures_of_registry(reference, digest).await {
            Ok(bundles) => return Ok(bundles),
            Err(error) => error,
        };
        for store in self.stores(bundle_dir) {
            let signatures = store.signatures(digest)?;
            if !signatures.is_empty() {
                return Ok(signatures);
            }
        }
        Err(PullError::Registry(failed))
    }

    fn stores(&self, bundle_dir: Option<&Path>) -> Vec<PackageStore> {
        let vendor = bundle_dir.map(|dir| PackageStore::new(dir.join(VENDOR)));
        vendor.into_iter().chain(self.cache.clone()).collect()
    }

    /// Returns the accepted signatures of a package: those that are kept, or else those of the registry, which are kept
    /// from then on.
    async fn signer(
        &self,
        signers: &Signers,
        reference: &PackageReference,
        stores: &[PackageStore],
    ) -> Result<Verified, PullError> {
        let digest = reference.digest().ok_or(PullError::NoDigest)?.to_owned();
        let verify = |bundles: Vec<String>| {
            let (signers, reference) = (signers.clone(), reference.clone());
            let digest = digest.clone();
            let verify = move || signers.verify(&reference, &digest, &bundles);
            async {
                let verified = self.registry.egress().threads().compute(verify).await;
                verified.map_err(|error| PullError::Host(error.to_string()))
            }
        };
        let mut local = Vec::new();
        for store in stores {
            // Signatures that cannot be read are fetched from the registry.
            local.extend(store.signatures(&digest).unwrap_or_default());
        }
        let rejection = match verify(local).await? {
            Ok(signed) => return Ok(signed),
            Err(error @ SignatureError::NoSigner) => return Err(error.into()),
            Err(error) => error,
        };
        let bundles = match self.signatures_of_registry(reference, &digest).await {
            Ok(bundles) => bundles,
            Err(registry) => {
                return Err(PullError::SignatureElsewhere {
                    rejection,
                    registry,
                });
            }
        };
        if bundles.is_empty() {
            return Err(rejection.into());
        }
        let signed = verify(bundles.clone()).await??;
        // Whoever has signed: the next policy may name another signer.
        let of_package = bundles
            .into_iter()
            .filter(|bundle| check_bundle(bundle, &digest).is_ok());
        let of_package: Vec<String> = of_package.collect();
        if let Some(cache) = &self.cache
            && let Err(error) = cache.keep_signatures(&digest, &of_package)
        {
            tracing::warn!(%error, "a signature is not kept in the cache");
        }
        Ok(signed)
    }

    async fn signatures_of_registry(
        &self,
        reference: &PackageReference,
        digest: &str,
    ) -> Result<Vec<String>, RegistryError> {
        let registry = &self.registry;
        let attached = registry.attached(reference, digest, BUNDLE_TYPE, BUNDLE_MAX);
        let attached = attached.await?;
        let bundles = attached.iter().filter_map(|bytes| {
            let json = str::from_utf8(bytes).ok()?;
            // Line breaks are between the tokens of JSON.
            Some(json.replace(['\n', '\r'], " "))
        });
        Ok(bundles.collect())
    }

    async fn unverified(
        &self,
        reference: &PackageReference,
        stores: &[PackageStore],
        max_bytes: u64,
    ) -> Result<Pulled, PullError> {
        let digest = reference.digest().ok_or(PullError::NoDigest)?.to_owned();
        for store in stores {
            let (store, digest, reference) = (store.clone(), digest.clone(), reference.clone());
            let read = move || read_from(&store, &digest, reference, max_bytes);
            let read = self.registry.egress().threads().compute(read).await;
            match read.map_err(|error| PullError::Host(error.to_string()))? {
                Ok(None) => {}
                Ok(Some(package)) => return Ok(package),
                Err(error) => return Err(error),
            }
        }
        let pulled = self.registry.resolve(reference).await?;
        let (descriptor, tool) = PackageContents::read(&pulled.bytes)?;
        let component = self
            .registry
            .blob(reference, &descriptor, max_bytes)
            .await?;
        let package = Pulled {
            reference: reference.clone(),
            manifest: pulled.bytes.to_vec(),
            descriptor,
            tool,
            component: component.to_vec(),
            signers: Vec::new(),
            signatures: Vec::new(),
        };
        if let Some(cache) = self.cache.clone() {
            let copy = package.clone();
            let keep = move || copy.keep(&cache);
            let copy = self.registry.egress().threads().compute(keep).await;
            if let Err(error) = copy.map_err(|error| PullError::Host(error.to_string()))? {
                tracing::warn!(%error, "a package is not kept in the cache");
            }
        }
        Ok(package)
    }

    async fn entry(
        &self,
        bundle: &OpenBundle,
        tool: &ToolResource,
        max_bytes: u64,
    ) -> Result<Entry, PullError> {
        let reference = PackageReference::parse(&tool.spec.entry);
        // Checked when the manifest was read.
        let reference = reference.map_err(|_| PullError::NoDigest)?;
        let pulled = self.pull(&reference, Some(bundle.dir()), max_bytes).await?;
        Ok(Entry {
            component: pulled.component,
            files: Vec::new(),
            package: Some(PackageOrigin {
                reference: reference.to_string(),
                digest: reference.digest().unwrap_or_default().to_owned(),
                signers: pulled.signers,
            }),
        })
    }
}

impl Pulled {
    /// Keeps the package in a store.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep(&self, store: &PackageStore) -> Result<(), StoreError> {
        // The manifest last: what has a manifest is complete.
        store.keep(&self.component)?;
        let digest = store.keep(&self.manifest)?;
        if self.signatures.is_empty() {
            Ok(())
        } else {
            store.keep_signatures(&digest, &self.signatures)
        }
    }
}

fn read_from(
    store: &PackageStore,
    digest: &str,
    reference: PackageReference,
    max_bytes: u64,
) -> Result<Option<Pulled>, PullError> {
    let Some(manifest) = store.read(digest, MANIFEST_MAX)? else {
        return Ok(None);
    };
    let (descriptor, tool) = PackageContents::read(&manifest)?;
    let Some(component) = store.read(&descriptor.digest, max_bytes)? else {
        return Ok(None);
    };
    Ok(Some(Pulled {
        reference,
        manifest,
        descriptor,
        tool,
        component,
        signers: Vec::new(),
        signatures: Vec::new(),
    }))
}

impl ComponentSource for PackageSource {
    fn reads(&self, tool: &ToolResource) -> bool {
        is_package(&tool.spec.entry)
    }

    fn verifies(&self, rules: &PackageRules) -> bool {
        let signers = self.signers.as_ref();
        signers.is_some_and(|signers| signers.rules() == rules)
    }

    fn read<'a>(
        &'a self,
        bundle: &'a OpenBundle,
        tool: &'a ToolResource,
        max_bytes: u64,
    ) -> EntryFuture<'a> {
        Box::pin(async move {
            if !self.reads(tool) {
                return bundle.read_entry(tool, max_bytes);
            }
            let result = self.entry(bundle, tool, max_bytes).await;
            result.map_err(|error| {
                let code = match &error {
                    PullError::Registry(RegistryError::TooLarge { .. })
                    | PullError::Store(StoreError::TooLarge { .. }) => {
                        ToolErrorCode::ComponentLimit
                    }
                    PullError::Signature(_) | PullError::SignatureElsewhere { .. } => {
                        ToolErrorCode::ConfigSignature
                    }
                    PullError::Registry(_)
                    | PullError::Contents(_)
                    | PullError::Store(_)
                    | PullError::NoDigest
                    | PullError::Host(_) => ToolErrorCode::ConfigEntry,
                };
                let problem = match &error {
                    PullError::Signature(_) | PullError::SignatureElsewhere { .. } => {
                        format!(": {error}")
                    }
                    PullError::Store(StoreError::Io { source, .. }) => {
                        format!(" cannot be pulled: {error}: {source}")
                    }
                    PullError::Registry(_)
                    | PullError::Contents(_)
                    | PullError::Store(_)
                    | PullError::NoDigest
                    | PullError::Host(_) => format!(" cannot be pulled: {error}"),
                };
                bundle.entry_error(tool, code, &problem, error.help())
            })
        })
    }
}
