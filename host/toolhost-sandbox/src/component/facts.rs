//! What a component is.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_contract::text;

use crate::component::inspect::ComponentInfo;

/// What a component is, for people to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComponentFacts {
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the component, in hexadecimal.
    pub sha256: String,
    /// Interfaces it imports, with versions.
    pub imports: Vec<String>,
    /// Interfaces it exports, with versions.
    pub exports: Vec<String>,
}

impl ComponentFacts {
    pub(crate) fn new(bytes: &[u8], info: ComponentInfo) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: sha256(bytes),
            imports: info.imports,
            exports: info.exports,
        }
    }
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    text::hex(&Sha256::digest(bytes))
}
