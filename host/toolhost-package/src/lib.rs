//! Packages of tools: a component and its manifest in an OCI registry, pulled by digest and kept in a cache,
//! and the signatures that a policy requires of them.
//!
//! [`Registry`] speaks the OCI distribution protocol. It is written here, over the HTTP client of toolhost-egress, because the
//! clients that exist read manifests, tokens and errors of any size, follow redirects by themselves and take proxies
//! from the environment: everything that a registry sends is limited here, and no credential leaves its origin.

mod contents;
mod credentials;
mod registry;
mod signature;
mod source;
mod store;
mod tool_document;

pub use contents::{ContentsError, PackageContents, TOOL_ANNOTATION};
pub use credentials::{Credential, Credentials, DockerConfig, NoCredentials};
pub use registry::{Descriptor, MANIFEST_TYPE, Manifest, Registry, RegistryConfig, RegistryError};
pub use signature::{
    BUNDLE_MAX, BUNDLE_TYPE, KeyError, SignatureError, Signers, SignersError, SigningKey, Verified,
    check_bundle,
};
pub use source::{PackageSource, PullError, Pulled, VENDOR};
pub use store::{PackageStore, StoreError};
pub use tool_document::{ToolDocumentError, tool_document, tool_json};

#[cfg(test)]
use toolhost_features as _;
