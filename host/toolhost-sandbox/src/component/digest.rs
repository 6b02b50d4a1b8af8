//! The digest by which the code of a component is found again.

use toolhost_runtime::ComponentId;

use crate::component::tree_hash::hash;

/// BLAKE3 of a component's bytes. Code is used for a component only if both have the same digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComponentDigest(blake3::Hash);

impl ComponentDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // Bytes in memory can be read.
        Self(hash(bytes, None).unwrap_or_else(|_| blake3::hash(bytes)))
    }

    pub(crate) fn id(self) -> ComponentId {
        self.0.into()
    }

    /// Its 64 hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }
}
