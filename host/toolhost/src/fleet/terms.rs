//! What a host and a worker must have in common.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolhost_contract::{WORKER_VERSION, text};
use toolhost_manifest::policy::Policy;

use crate::registry::{Runs, ToolRegistry};
use crate::workspace::BundleKey;

/// Returns the SHA-256 of a policy and the tools of a bundle, in hexadecimal: of the policy's text, the release of toolhost,
/// the name under which workspaces are kept, and of each tool its component and all that its catalog says.
pub(crate) fn terms(policy: &Policy, key: &BundleKey, registry: &ToolRegistry) -> Arc<str> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&WORKER_VERSION.to_le_bytes());
    add(&policy.sha256());
    add(key.text().as_bytes());
    let mut tools: Vec<_> = registry.iter().collect();
    tools.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, tool) in tools {
        let Runs::Component(component) = &tool.runs else {
            continue;
        };
        add(name.as_str().as_bytes());
        add(component.facts().sha256.as_bytes());
        // Maps of schemas keep their order, which is that of the manifest.
        add(&serde_json::to_vec(&tool.item).unwrap_or_default());
    }
    text::hex(&hasher.finalize()).into()
}
