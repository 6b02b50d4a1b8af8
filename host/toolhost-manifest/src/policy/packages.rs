//! Reads the key `packages`: whose signatures packages of registries must have.

use std::collections::BTreeMap;
use std::fmt;

use toolhost_contract::{AddressBlock, ResourceName};

use super::http::read_networks;
use super::named::named;
use super::variable::{SecretSource, Secrets};
use crate::bundle::package::{PackageReference, is_package};
use crate::reader::{Cursor, Fields, Findings, all};
use crate::yaml::Value;
use toolhost_contract::text::short;

/// Most patterns in a list.
const PATTERNS_MAX: usize = 100;

/// Whose signatures packages of registries must have, and where registries may be. A package of which the rules name
/// no signer is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageRules {
    /// The signers, by name. Default: none, so that only packages of `unsigned` are loaded.
    pub signers: BTreeMap<ResourceName, PackageSigner>,
    /// Patterns of packages that need no signature. Default: none.
    pub unsigned: Vec<String>,
    /// The certificate authorities, transparency logs and timestamp authorities of signers with an identity: the text
    /// of a Sigstore trusted root. Always present with such a signer.
    pub trusted_root: Option<String>,
    /// Non-public addresses at which registries may be. Default: none, and loopback where a registry is named by it.
    pub private_networks: Vec<AddressBlock>,
}

/// Somebody whose signature is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSigner {
    /// What the signature is verified with.
    pub trust: SignerTrust,
    /// Patterns of the packages for which it is accepted: `HOST/REPOSITORY`, or all beneath `HOST/PATH/*`. Default:
    /// none, which stands for all packages.
    pub packages: Option<Vec<String>>,
}

/// What a signature is verified with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignerTrust {
    /// A public key in PEM.
    Key(String),
    /// The identity in a certificate, and who has checked it; both are compared exactly.
    Identity {
        /// A mail address, or the URI of a workflow.
        identity: String,
        /// The URL of the OpenID Connect issuer.
        issuer: String,
    },
}

impl fmt::Display for SignerTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => f.write_str("a key"),
            Self::Identity { identity, issuer } => write!(f, "{identity} of {issuer}"),
        }
    }
}

impl PackageRules {
    /// Returns whether a package needs no signature.
    pub fn exempts(&self, package: &PackageReference) -> bool {
        is_in(&self.unsigned, package)
    }

    /// Returns the signers whose signature of a package is accepted.
    pub fn signers_of<'a>(
        &'a self,
        package: &'a PackageReference,
    ) -> impl Iterator<Item = (&'a ResourceName, &'a PackageSigner)> + 'a {
        let accepted = |signer: &PackageSigner| {
            let patterns = signer.packages.as_ref();
            patterns.is_none_or(|patterns| is_in(patterns, package))
        };
        self.signers
            .iter()
            .filter(move |(_, signer)| accepted(signer))
    }
}

/// Whether one of the patterns names a package.
fn is_in(patterns: &[String], package: &PackageReference) -> bool {
    let name = format!("{}/{}", package.registry(), package.repository());
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix("/*") {
            Some(parent) => name
                .strip_prefix(parent)
                .is_some_and(|beneath| beneath.starts_with('/')),
            None => name == *pattern,
        })
}

pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<PackageRules> {
    let rules = at.mapping(findings, |fields| {
        let signers = fields.read("signers", |at, findings| {
            named(at, findings, |fields, _| read_signer(fields, secrets))
        });
        all!(PackageRules {
            signers: Some(signers.unwrap_or_default()),
            unsigned: fields.or_default("unsigned", read_patterns),
            trusted_root: fields.optional("trustedRoot", |at, findings| {
                read_text(at, secrets, findings)
            }),
            private_networks: Some(read_networks(fields)),
        })
    })?;
    let mut signers = rules.signers.values();
    let has_identity = signers.any(|signer| matches!(signer.trust, SignerTrust::Identity { .. }));
    if has_identity && rules.trusted_root.is_none() {
        let message = "a signer with 'identity' needs 'trustedRoot': {fromFile: trusted_root.json}";
        return at.refuse(message, findings);
    }
    Some(rules)
}

fn read_signer(fields: &mut Fields<'_, '_>, secrets: Secrets<'_>) -> Option<PackageSigner> {
    let key = fields.optional("key", |at, findings| read_text(at, secrets, findings));
    let identity = fields.optional("identity", read_words);
    let issuer = fields.optional("issuer", read_words);
    let packages = fields.optional("packages", |at, findings| {
        let patterns = read_patterns(at, findings)?;
        if patterns.is_empty() {
            let message = "an empty list accepts the signer for no package: remove the signer, or the list to accept it for all";
            return at.refuse(message, findings);
        }
        Some(patterns)
    });
    let trust = match (key?, identity?, issuer?) {
        (Some(key), None, None) => SignerTrust::Key(key),
        (None, Some(identity), Some(issuer)) => SignerTrust::Identity { identity, issuer },
        _ => return fields.refuse("a signer has either 'key', or 'identity' and 'issuer'"),
    };
    let packages = packages?;
    Some(PackageSigner { trust, packages })
}

fn read_words(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let text = at.string(findings)?;
    if text.trim().is_empty() {
        return at.refuse("it must not be empty", findings);
    }
    Some(text)
}

/// Reads a text, or `{fromFile: PATH}`.
fn read_text(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<String> {
    let Value::Map(_) = &at.node.value else {
        return at.string(findings);
    };
    let Some(file) = at.mapping(findings, |fields| fields.get("fromFile")) else {
        return at.refuse("it is a text, or {fromFile: PATH}", findings);
    };
    match secrets(SecretSource::File(file.text(findings)?)) {
        Ok(text) => Some(text),
        Err(reason) => {
            let message = format!("the file could not be read: {}", short(&reason));
            file.refuse(message, findings)
        }
    }
}

fn read_patterns(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let items = at.items_up_to(PATTERNS_MAX, findings)?;
    let pattern = |item: Cursor<'_>| {
        let text = item.text(findings)?;
        let name = text.strip_suffix("/*");
        let is_whole_host = name.is_some_and(|name| !name.contains('/'));
        // A host alone has no repository to check.
        let checked = if is_whole_host {
            format!("{}/any", name.unwrap_or_default())
        } else {
            name.unwrap_or(text).to_owned()
        };
        match PackageReference::parse(&checked) {
            Ok(package)
                if package.tag().is_none() && package.digest().is_none() && !is_package(text) =>
            {
                Some(text.to_owned())
            }
            Ok(_) | Err(_) => {
                let message = format!(
                    "'{}' is not HOST/REPOSITORY or HOST/PATH/*, such as ghcr.io/acme/*",
                    short(text)
                );
                item.refuse(message, findings)
            }
        }
    };
    items.into_iter().map(pattern).collect()
}
