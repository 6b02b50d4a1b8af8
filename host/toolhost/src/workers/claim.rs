//! What is written into the claim of a call that may run once only.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use toolhost_contract::JsonLimits;

/// A claim is short.
const CLAIM: JsonLimits = JsonLimits::new(1 << 10, 4, 16);

/// Who holds the claim of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Holder {
    /// The worker of this run has started it.
    Started(String),
    /// A worker has found that the one which had started it is dead.
    Interrupted,
    /// The host does not wait for it any more.
    Withdrawn,
}

impl Holder {
    pub(crate) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Returns the holder. None if it is nothing that this release writes.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        CLAIM.parse_bytes(bytes).ok()
    }
}
