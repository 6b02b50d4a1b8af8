//! Keys that sign packages.

use std::fmt;

use data_encoding::BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;
use sigstore_verify::types::{DerPublicKey, dsse};
use zeroize::Zeroizing;

use super::{BUNDLE_TYPE, SIGNATURE, STATEMENT_TYPE, approval, fingerprint, sha256, verify_key};

/// What comes before the point of a public key of P-256, and before a public key of Ed25519, in DER (RFC 5480, 8410).
const P256_PREFIX: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
const ED25519_PREFIX: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// A private key: ECDSA with P-256, or Ed25519.
pub struct SigningKey {
    pair: Pair,
    public: DerPublicKey,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Omits the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// Why a private key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not PEM.
    #[error("it is not a private key in PEM")]
    Pem,
    /// The key is encrypted.
    #[error("it is encrypted: '{0}'")]
    Encrypted(String),
    /// The PEM contains something else.
    #[error("it is a '{0}', not a 'PRIVATE KEY'")]
    Other(String),
    /// The key is neither of P-256 nor of Ed25519.
    #[error("it is neither a key of P-256 nor of Ed25519, in PKCS #8 with its public key")]
    Kind,
    /// The machine has no random numbers.
    #[error("the machine has no random numbers")]
    Random,
}

impl SigningKey {
    /// Reads a private key: PKCS #8 in PEM, not encrypted.
    ///
    /// # Errors
    /// [`KeyError`] has no part of the key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let pem = pem::parse(text.trim()).map_err(|_| KeyError::Pem)?;
        let tag = pem.tag();
        if tag.contains("ENCRYPTED") {
            return Err(KeyError::Encrypted(tag.to_owned()));
        }
        if tag != "PRIVATE KEY" {
            return Err(KeyError::Other(tag.to_owned()));
        }
        let der = Zeroizing::new(pem.into_contents());
        Self::from_pkcs8(&der)
    }

    /// Makes a key of P-256. Returns it with its PEM.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn generate() -> Result<(Self, Zeroizing<String>), KeyError> {
        let der =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        let der = der.map_err(|_| KeyError::Random)?;
        let pem = pem::Pem::new("PRIVATE KEY", der.as_ref());
        let text = Zeroizing::new(pem::encode(&pem));
        drop(Zeroizing::new(pem.into_contents()));
        Ok((Self::from_pkcs8(der.as_ref())?, text))
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let (pair, prefix) = match (
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &random),
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(der),
        ) {
            (Ok(pair), _) => (Pair::P256(pair), P256_PREFIX),
            (_, Ok(pair)) => (Pair::Ed25519(pair), ED25519_PREFIX),
            (Err(_), Err(_)) => return Err(KeyError::Kind),
        };
        let point = match &pair {
            Pair::P256(pair) => pair.public_key().as_ref(),
            Pair::Ed25519(pair) => pair.public_key().as_ref(),
        };
        let public = DerPublicKey::new([prefix, point].concat());
        Ok(Self { pair, public })
    }

    /// Returns the public key in PEM, as policies have it.
    pub fn public_pem(&self) -> String {
        self.public.to_pem()
    }

    /// Returns the digest of the public key in DER: `sha256:HEX`.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.public)
    }

    /// Returns whether one of these Sigstore bundles is a signature of a digest, `sha256:HEX`, with this key.
    pub fn has_signed(&self, digest: &str, bundles: &[String]) -> bool {
        let Ok(digest) = sha256(digest) else {
            return false;
        };
        let is_own = |json: &String| {
            approval(json).is_ok_and(|bundle| verify_key(&self.public, &digest, &bundle).is_ok())
        };
        bundles.iter().any(is_own)
    }

    /// Signs the digest of a package's manifest, `sha256:HEX`. Returns a Sigstore bundle as JSON in one line.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn sign(&self, digest: &str) -> Result<String, KeyError> {
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": hex}}],
            "predicateType": SIGNATURE,
            "predicate": {},
        });
        let payload = statement.to_string();
        let signed = dsse::pae(STATEMENT_TYPE, payload.as_bytes());
        let signature = match &self.pair {
            Pair::P256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), &signed);
                signature.map_err(|_| KeyError::Random)?.as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(&signed).as_ref().to_vec(),
        };
        let bundle = json!({
            "mediaType": BUNDLE_TYPE,
            "verificationMaterial": {
                "publicKey": {"hint": self.fingerprint()},
                "tlogEntries": [],
            },
            "dsseEnvelope": {
                "payloadType": STATEMENT_TYPE,
                "payload": BASE64.encode(payload.as_bytes()),
                "signatures": [{"sig": BASE64.encode(&signature)}],
            },
        });
        Ok(bundle.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_used_is_refused_without_a_part_of_it() {
        let (_, text) = SigningKey::generate().unwrap();
        SigningKey::from_pem(&text).unwrap();
        let encrypted = text.replace("PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY");
        let rsa = text.replace("PRIVATE KEY", "RSA PRIVATE KEY");
        let body: String = text.lines().skip(1).take(1).collect();
        for (text, expected) in [
            ("", KeyError::Pem),
            ("not PEM", KeyError::Pem),
            (
                &*encrypted,
                KeyError::Encrypted("ENCRYPTED SIGSTORE PRIVATE KEY".to_owned()),
            ),
            (&*rsa, KeyError::Other("RSA PRIVATE KEY".to_owned())),
            (
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
                KeyError::Kind,
            ),
        ] {
            let error = SigningKey::from_pem(text).unwrap_err();
            assert_eq!(error, expected);
            assert!(!error.to_string().contains(&body), "{error}");
        }
    }
}
