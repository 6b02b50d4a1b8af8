//! What a host and a worker must have in common.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolhost_contract::{WORKER_VERSION, text};
use toolhost_manifest::bundle::OpenBundle;
use toolhost_manifest::policy::Policy;

use crate::workspace::BundleKey;

/// Returns the SHA-256 of a policy and a bundle, in hexadecimal: of the policy's text, the release of toolhost, the name
/// under which workspaces are kept, the manifests, and the components. `components` has the digest of each Tool's.
pub(crate) fn terms(
    policy: &Policy,
    key: &BundleKey,
    open: &OpenBundle,
    components: &[[u8; 32]],
) -> Arc<str> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&WORKER_VERSION.to_le_bytes());
    add(&policy.sha256());
    add(key.text().as_bytes());
    for source in open.sources() {
        add(source.text().as_bytes());
    }
    components.iter().for_each(|digest| add(digest));
    text::hex(&hasher.finalize()).into()
}
