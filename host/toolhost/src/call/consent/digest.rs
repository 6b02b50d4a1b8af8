//! Digests of what an approval is for.

use sha2::{Digest as _, Sha256};
use toolhost_contract::text::hex;

/// A SHA-256 of several parts, each after its length, so that no two lists of parts are alike.
#[derive(Default)]
pub(super) struct Digest(Sha256);

impl Digest {
    pub(super) fn with(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
