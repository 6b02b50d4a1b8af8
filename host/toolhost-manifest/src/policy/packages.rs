//! Reads the key `packages`: whose signatures packages of registries must have.

use std::collections::BTreeMap;
use std::fmt;

use toolhost_contract::{AddressBlock, ResourceName};

use super::http::read_networks;
use super::named::named;
use super::variable::{SecretSource, Secrets};
use crate::bundle::package::{PackageReference, is_package};
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::Value;

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
    #[must_use]
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
            Some(above) => name
                .strip_prefix(above)
                .is_some_and(|beneath| beneath.starts_with('/')),
            None => name == *pattern,
        })
}

pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<PackageRules> {
    let known = ["signers", "unsigned", "trustedRoot", "privateNetworks"];
    let fields = at.known_fields(&known, findings)?;
    let trusted_root = fields.optional("trustedRoot", findings, |at, findings| {
        read_text(at, secrets, findings)
    });
    let signers = named(&fields, "signers", findings, |fields, _, findings| {
        read_signer(fields, secrets, findings)
    });
    let unsigned = fields.optional("unsigned", findings, read_patterns);
    let rules = PackageRules {
        signers: signers
            .into_iter()
            .filter_map(|(name, signer)| Some((name, signer?)))
            .collect(),
        unsigned: unsigned?.unwrap_or_default(),
        trusted_root: trusted_root?,
        private_networks: read_networks(&fields, findings),
    };
    let mut signers = rules.signers.values();
    let has_identity = signers.any(|signer| matches!(signer.trust, SignerTrust::Identity { .. }));
    if has_identity && rules.trusted_root.is_none() {
        let message = "a signer with 'identity' needs 'trustedRoot': {fromFile: trusted_root.json}";
        return at.refused(message, findings);
    }
    Some(rules)
}

fn read_signer(
    fields: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<PackageSigner> {
    fields.refuse_unknown(&["key", "identity", "issuer", "packages"], findings);
    let key = fields.optional("key", findings, |at, findings| {
        read_text(at, secrets, findings)
    })?;
    let words = |at: &Cursor<'_>, findings: &mut Findings| {
        let text = at.text(findings)?;
        if text.trim().is_empty() {
            at.refused("it must not be empty", findings)
        } else {
            Some(text.to_owned())
        }
    };
    let identity = fields.optional("identity", findings, words)?;
    let issuer = fields.optional("issuer", findings, words)?;
    let packages = fields.optional("packages", findings, |at, findings| {
        let patterns = read_patterns(at, findings)?;
        if patterns.is_empty() { at.refused(
            "an empty list accepts the signer for no package: remove the signer, or the list to accept it for all",
            findings,
        ) } else { Some(patterns) }
    })?;
    let trust = match (key, identity, issuer) {
        (Some(key), None, None) => SignerTrust::Key(key),
        (None, Some(identity), Some(issuer)) => SignerTrust::Identity { identity, issuer },
        _ => {
            let message = "a signer has either 'key', or 'identity' and 'issuer'";
            return fields.at.refused(message, findings);
        }
    };
    Some(PackageSigner { trust, packages })
}

/// Reads a text, or `{fromFile: PATH}`.
fn read_text(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<String> {
    let Value::Map(_) = &at.node.value else {
        return at.text(findings).map(str::to_owned);
    };
    let fields = at.known_fields(&["fromFile"], findings)?;
    let Some(file) = fields.get("fromFile") else {
        return at.refused("it is a text, or {fromFile: PATH}", findings);
    };
    match secrets(SecretSource::File(file.text(findings)?)) {
        Ok(text) => Some(text),
        Err(reason) => {
            let message = format!("the file could not be read: {}", short(&reason));
            file.refused(message, findings)
        }
    }
}

fn read_patterns(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let items = at.items(findings)?;
    if items.len() > PATTERNS_MAX {
        let message = format!("at most {PATTERNS_MAX} are allowed, not {}", items.len());
        return at.refused(message, findings);
    }
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
                item.refused(message, findings)
            }
        }
    };
    items.into_iter().map(pattern).collect()
}
