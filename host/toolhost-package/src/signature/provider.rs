//! The cryptography of Sigstore's crates, with ring.

use ring::digest;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
    try_default_provider,
};
use sigstore_verify::types::HashAlgorithm;

/// Makes ring the cryptography of Sigstore's crates in this process, unless they have one already.
pub(super) fn install() {
    if try_default_provider().is_none() {
        // Another thread may be first.
        let _ = install_default_provider(&Ring);
    }
}

#[derive(Debug)]
struct Ring;

struct Hash(digest::Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm_of = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            other => return Err(Error::UnsupportedAlgorithm(format!("{other:?}"))),
        };
        Ok(Box::new(Hash(digest::Context::new(algorithm_of))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        public_key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let algorithm: &dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            SigningScheme::RsaPssSha256 => &RSA_PSS_2048_8192_SHA256,
            SigningScheme::RsaPssSha384 => &RSA_PSS_2048_8192_SHA384,
            SigningScheme::RsaPssSha512 => &RSA_PSS_2048_8192_SHA512,
            SigningScheme::RsaPkcs1Sha256 => &RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            SigningScheme::MlDsa44 | SigningScheme::MlDsa65 | SigningScheme::MlDsa87 | _ => {
                return Err(Error::UnsupportedAlgorithm(scheme.name().to_owned()));
            }
        };
        let verified = UnparsedPublicKey::new(algorithm, public_key).verify(data, signature);
        verified.map_err(|_| Error::Verification(format!("{}: it does not match", scheme.name())))
    }

    /// Not called: only signatures without a statement are verified by digest.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        _public_key: &[u8],
        _digest: &[u8],
        _signature: &[u8],
    ) -> Result<()> {
        let message = format!("{} of a digest", scheme.name());
        Err(Error::UnsupportedAlgorithm(message))
    }
}
