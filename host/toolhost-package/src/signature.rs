//! Signatures of packages: Sigstore bundles of a statement about the digest of a package's manifest.
//!
//! A bundle is accepted if its envelope is signed by a signer of the policy, its statement says that this is a
//! signature or the record of a build, and a subject of the statement has the digest. Statements of other kinds, such
//! as reports of vulnerabilities, approve of nothing. A signature over the bytes of a manifest, without a statement,
//! is not read.

mod key;
mod provider;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use sigstore_verify::crypto::VerificationKey;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{self, Bundle, DerPublicKey, Sha256Hash, SignatureContent};
use sigstore_verify::{VerificationPolicy, Verifier};
use toolhost_contract::{JsonLimits, text};
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_manifest::policy::{PackageRules, SignerTrust};

pub use self::key::{KeyError, SigningKey};

/// The type of bundles, and of the artifacts that refer to a package and contain one.
pub const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Most bytes of a bundle.
pub const BUNDLE_MAX: u64 = 256 << 10;

/// Longest reason in an error, in characters.
const REASON_MAX: usize = 300;

/// Most reasons in an error.
const REASONS_MAX: usize = 5;

/// What DSSE envelopes of statements have as their type.
const STATEMENT_TYPE: &str = "application/vnd.in-toto+json";

/// What a statement says that approves of a package.
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";
const BUILD: &str = "https://slsa.dev/provenance/v1";

/// The trusted root of policies that have none.
const NO_ROOT: &str = r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    "tlogs": [], "certificateAuthorities": [], "ctlogs": [], "timestampAuthorities": []}"#;

/// Verifies signatures by the rules of a policy.
#[derive(Clone)]
pub struct Signers(Arc<SignerRules>);

struct SignerRules {
    rules: PackageRules,
    verifier: Verifier,
    keys: BTreeMap<String, DerPublicKey>,
}

impl fmt::Debug for Signers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signers").field(&self.0.rules).finish()
    }
}

/// Why the rules of a policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignersError {
    /// A key is not a public key in PEM.
    #[error("the key of the signer {signer} cannot be used: {reason}")]
    Key {
        /// The signer.
        signer: String,
        /// The reason.
        reason: String,
    },
    /// The trusted root is invalid.
    #[error("the trusted root cannot be used: {0}")]
    TrustedRoot(String),
}

impl SignersError {
    /// Returns the next step for the reader.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Key { .. } => {
                "Name a file that begins with -----BEGIN PUBLIC KEY-----, as `toolhost sign --new-key` and `cosign public-key` write it."
            }
            Self::TrustedRoot(_) => {
                "Name a file with one Sigstore trusted root as JSON: such as trusted_root.json, or one line of what `gh attestation trusted-root` prints."
            }
        }
    }
}

/// Why no signature of a package is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The rules name no signer of this package.
    #[error("the policy names no signer of this package")]
    NoSigner,
    /// The package has no signature.
    #[error("it is not signed; the policy requires a signature of {wanted}")]
    Unsigned {
        /// The signers, by name.
        wanted: String,
    },
    /// No signature is that of a signer.
    #[error("no signature of it is accepted: {}", .reasons.join("; "))]
    NotAccepted {
        /// A reason for each signature and signer, at most five.
        reasons: Vec<String>,
    },
}

/// Why a signature of bytes without a statement is refused.
const NO_STATEMENT: &str = "a signature has no statement: sign with cosign 3 or `toolhost sign`";

/// What is read of a statement.
#[derive(Deserialize)]
struct Statement {
    #[serde(rename = "predicateType")]
    predicate_type: String,
}

impl Signers {
    /// Reads the keys and the trusted root of rules.
    ///
    /// # Errors
    /// [`SignersError`] names the signer.
    pub fn new(rules: &PackageRules) -> Result<Self, SignersError> {
        provider::install();
        let invalid = |error: &dyn fmt::Display| {
            SignersError::TrustedRoot(text::shorten(&error.to_string(), REASON_MAX))
        };
        let root = rules.trusted_root.as_deref().unwrap_or(NO_ROOT);
        let root = TrustedRoot::from_json(root).map_err(|error| invalid(&error))?;
        let verifier = Verifier::new(&root).map_err(|error| invalid(&error))?;
        let mut keys = BTreeMap::new();
        for (name, signer) in &rules.signers {
            if let SignerTrust::Key(pem) = &signer.trust {
                keys.insert(name.to_string(), public_key(name.as_str(), pem)?);
            }
        }
        Ok(Self(Arc::new(SignerRules {
            rules: rules.clone(),
            verifier,
            keys,
        })))
    }

    /// Returns whether a package needs no signature.
    pub fn exempts(&self, package: &PackageReference) -> bool {
        self.0.rules.exempts(package)
    }

    /// Returns the rules by which signatures are verified.
    pub fn rules(&self) -> &PackageRules {
        &self.0.rules
    }

    /// Returns the signers of a package that are accepted, and their signatures among these bundles.
    ///
    /// # Errors
    /// [`SignatureError`] if there is none, with at most five reasons.
    pub fn verify(
        &self,
        package: &PackageReference,
        digest: &str,
        bundles: &[String],
    ) -> Result<Verified, SignatureError> {
        let inner = &self.0;
        let signers: Vec<_> = inner.rules.signers_of(package).collect();
        if signers.is_empty() {
            return Err(SignatureError::NoSigner);
        }
        if bundles.is_empty() {
            let names: Vec<&str> = signers.iter().map(|(name, _)| name.as_str()).collect();
            let wanted = text::shorten(&names.join(" or "), REASON_MAX);
            return Err(SignatureError::Unsigned { wanted });
        }
        let mut reasons = Vec::new();
        let mut refuse = |reason: String| {
            let reason = text::shorten(&reason, REASON_MAX);
            if reasons.len() < REASONS_MAX && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        };
        let mut approvals = Vec::new();
        for json in bundles {
            match approval(json) {
                Ok(bundle) => approvals.push((json, bundle)),
                Err(reason) => refuse(reason),
            }
        }
        let (mut accepted, mut by) = (Vec::new(), Vec::new());
        for (name, signer) in &signers {
            for (json, bundle) in &approvals {
                match inner.verify_one(name.as_str(), &signer.trust, digest, bundle) {
                    Ok(signer) => {
                        by.push(signer);
                        accepted.push((*json).clone());
                        break;
                    }
                    Err(reason) => refuse(format!("{name}: {reason}")),
                }
            }
        }
        if by.is_empty() {
            Err(SignatureError::NotAccepted { reasons })
        } else {
            Ok(Verified {
                signers: by,
                bundles: accepted,
            })
        }
    }
}

/// The signatures of a package that are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Who has signed, in the order of their names in the policy: `key sha256:HEX`, the digest of the public key in DER,
    /// or `IDENTITY of ISSUER`. At least one.
    pub signers: Vec<String>,
    /// A Sigstore bundle of each, as JSON.
    pub bundles: Vec<String>,
}

/// Checks that a Sigstore bundle is a signature of a digest, `sha256:HEX`. Does not verify it.
///
/// # Errors
/// [`SignatureError::NotAccepted`] with the reason.
pub fn check_bundle(json: &str, digest: &str) -> Result<(), SignatureError> {
    let checked = approval(json).and_then(|bundle| {
        let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
            return Err(NO_STATEMENT.to_owned());
        };
        check_subject(envelope.payload.as_bytes(), &sha256(digest)?)
    });
    checked.map_err(|reason| SignatureError::NotAccepted {
        reasons: vec![text::shorten(&reason, REASON_MAX)],
    })
}

impl SignerRules {
    fn verify_one(
        &self,
        name: &str,
        trust: &SignerTrust,
        digest: &str,
        bundle: &Bundle,
    ) -> Result<String, String> {
        let digest = sha256(digest)?;
        match trust {
            SignerTrust::Key(_) => {
                let key = self.keys.get(name).ok_or("it has no key")?;
                verify_key(key, &digest, bundle)?;
                Ok(format!("key {}", fingerprint(key)))
            }
            SignerTrust::Identity { identity, issuer } => {
                let policy = VerificationPolicy::new(identity.as_str(), issuer.as_str());
                let verification = self.verifier.verify(digest, bundle, &policy);
                let verification = verification.map_err(|error| error.to_string())?;
                let is_complete = verification.certificate_verified()
                    && verification.tlog_verified()
                    && verification.identity_policy_checked();
                if is_complete {
                    Ok(trust.to_string())
                } else {
                    Err(
                        "its certificate, its log entry or its identity was not verified"
                            .to_owned(),
                    )
                }
            }
            other => Err(format!("{other} cannot be verified")),
        }
    }
}

/// Verifies the signature of a key, of an envelope whose statement has the digest as a subject.
///
/// A key needs no entry of a log, so what else the bundle has is not read.
fn verify_key(key: &DerPublicKey, digest: &Sha256Hash, bundle: &Bundle) -> Result<(), String> {
    provider::install();
    let material = &bundle.verification_material.content;
    let (VerificationMaterialContent::PublicKey(_), SignatureContent::DsseEnvelope(envelope)) =
        (material, &bundle.content)
    else {
        return Err("it is the signature of an identity".to_owned());
    };
    if envelope.payload_type != STATEMENT_TYPE {
        let payload_type = text::shorten(&envelope.payload_type, REASON_MAX / 3);
        return Err(format!(
            "its payload is not a statement, but '{payload_type}'"
        ));
    }
    let result = VerificationKey::from_spki(key)
        .and_then(|key| key.verify(envelope.pae(), &envelope.signature.sig));
    result.map_err(|_| "the signature is not of this key".to_owned())?;
    check_subject(envelope.payload.as_bytes(), digest)
}

/// Checks that a statement is about a digest.
fn check_subject(statement: &[u8], digest: &Sha256Hash) -> Result<(), String> {
    let statement: types::Statement = JsonLimits::ANSWER
        .parse_bytes(statement)
        .map_err(|error| format!("its statement {error}"))?;
    if statement.matches_sha256(digest) {
        Ok(())
    } else {
        Err("its statement is about another digest".to_owned())
    }
}

/// Parses `sha256:HEX`.
fn sha256(digest: &str) -> Result<Sha256Hash, String> {
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    Sha256Hash::from_hex(hex).map_err(|error| error.to_string())
}

/// Reads a bundle whose statement approves of a package.
fn approval(json: &str) -> Result<Bundle, String> {
    let bundle = Bundle::from_json(json);
    let bundle =
        bundle.map_err(|error| format!("a signature is not a valid Sigstore bundle: {error}"))?;
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
        return Err(NO_STATEMENT.to_owned());
    };
    let statement: Statement = JsonLimits::ANSWER
        .parse_bytes(envelope.payload.as_bytes())
        .map_err(|error| format!("the statement of a signature {error}"))?;
    match statement.predicate_type.as_str() {
        SIGNATURE | BUILD => Ok(bundle),
        other => Err(format!(
            "'{}' is neither a signature nor the record of a build",
            text::shorten(other, REASON_MAX / 3)
        )),
    }
}

fn public_key(signer: &str, pem: &str) -> Result<DerPublicKey, SignersError> {
    let failed = |error: &dyn fmt::Display| SignersError::Key {
        signer: signer.to_owned(),
        reason: text::shorten(&error.to_string(), REASON_MAX),
    };
    if !pem.contains("-----BEGIN") {
        return Err(failed(
            &"it is not a key in PEM; for a file, write {fromFile: PATH}",
        ));
    }
    let key = DerPublicKey::from_pem(pem.trim()).map_err(|error| failed(&error))?;
    let usable = VerificationKey::from_spki(&key);
    usable.map_err(|error| failed(&error))?;
    Ok(key)
}

/// Returns the digest of a public key in DER: `sha256:HEX`.
fn fingerprint(key: &DerPublicKey) -> String {
    let digest = Sha256::digest(key.as_bytes());
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&digest))
}
