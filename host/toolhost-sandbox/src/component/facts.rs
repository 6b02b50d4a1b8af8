//! What a component is.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
