//! Components that a source of the host's reads.

use std::path::Path;

use toolhost::manifest::{ComponentSource, EntryFuture, ToolResource};
use toolhost::{LoadedBundle, Policy};
use toolhost_manifest::bundle::package::PackageOrigin;
use toolhost_manifest::bundle::{Entry, OpenBundle};
use toolhost_manifest::policy::PackageRules;

use super::*;

const REFERENCE: &str = "oci://ghcr.io/me/echo:1.0@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const POLICY: &str = "
packages:
  signers: {own: {key: 'of no concern here', packages: [ghcr.io/me/*]}}
  unsigned: [quay.io/me/echo]
";

/// Returns the guest `echo` as a package that this signer has signed.
#[derive(Clone)]
struct Signed {
    signer: Option<&'static str>,
    /// The rules by which it has verified the signature.
    rules: Option<PackageRules>,
}

impl ComponentSource for Signed {
    fn verifies(&self, rules: &PackageRules) -> bool {
        self.rules.as_ref() == Some(rules)
    }

    fn read<'a>(&'a self, _: &'a OpenBundle, tool: &'a ToolResource, _: u64) -> EntryFuture<'a> {
        Box::pin(async move {
            Ok(Entry {
                component: toolhost_tests::guest("echo"),
                files: Vec::new(),
                package: Some(PackageOrigin {
                    reference: tool.spec.entry.clone(),
                    digest: String::new(),
                    signers: self
                        .signer
                        .iter()
                        .map(|&signer| signer.to_owned())
                        .collect(),
                }),
            })
        })
    }
}

/// A bundle with one Tool.
fn bundle(entry: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let manifest = format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: echo}}\n\
         spec: {{entry: '{entry}', exports: [{{name: say}}]}}\n"
    );
    fs::write(dir.path().join("goondan.yaml"), manifest).unwrap();
    dir
}

async fn load(
    signer: Option<&'static str>,
    policy: &str,
    entry: &str,
) -> Result<LoadedBundle, String> {
    let dir = bundle(entry);
    let policy = Policy::parse(policy, "policy.yaml").unwrap();
    let rules = policy.packages().cloned();
    let host = Host::builder()
        .sandbox(sandbox())
        .policy(policy)
        .component_source(Signed { signer, rules })
        .build()
        .unwrap();
    loaded_by(&host, dir.path()).await
}

async fn loaded_by(host: &Host, dir: &Path) -> Result<LoadedBundle, String> {
    match host.load(dir).await {
        Ok(loaded) => Ok(loaded),
        Err(LoadError::Invalid { diagnostics, .. }) => Err(diagnostics[0].code.as_str().to_owned()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_source_that_verifies_no_signature_loads_no_package_under_a_policy_that_requires_one() {
    let refused = load(None, POLICY, REFERENCE).await.unwrap_err();
    assert_eq!(refused, "E_CONFIG_SIGNATURE");
    // A policy with the key alone refuses every package.
    let refused = load(None, "packages: {}", REFERENCE).await.unwrap_err();
    assert_eq!(refused, "E_CONFIG_SIGNATURE");
    let other = REFERENCE.replace("ghcr.io/me", "ghcr.io/others");
    let refused = load(None, POLICY, &other).await.unwrap_err();
    assert_eq!(refused, "E_CONFIG_SIGNATURE");
    load(None, POLICY, &REFERENCE.replace("ghcr.io", "quay.io"))
        .await
        .unwrap();
    load(None, "", REFERENCE).await.unwrap();
}

#[tokio::test]
async fn the_lock_has_the_signer_that_the_source_names() {
    let loaded = load(Some("key sha256:ab"), POLICY, REFERENCE)
        .await
        .unwrap();
    let locked = &loaded.lock().tools["echo"];
    assert_eq!(locked.signer.as_deref(), Some("key sha256:ab"));
    assert_eq!(locked.source, REFERENCE);
}

#[tokio::test]
async fn a_host_with_other_rules_loads_no_package_until_its_source_verifies_by_them() {
    let loaded = load(Some("key sha256:ab"), POLICY, REFERENCE)
        .await
        .unwrap();
    let policy = Policy::parse("packages: {}", "policy.yaml").unwrap();
    let rules = policy.packages().cloned();
    let host = loaded.host().with_policy(policy);
    let dir = bundle(REFERENCE);
    let refused = loaded_by(&host, dir.path()).await.unwrap_err();
    assert_eq!(refused, "E_CONFIG_SIGNATURE");
    let signer = Some("key sha256:ab");
    let host = host.with_component_source(Signed { signer, rules });
    loaded_by(&host, dir.path()).await.unwrap();
}
