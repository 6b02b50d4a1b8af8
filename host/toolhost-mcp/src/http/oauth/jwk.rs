//! The public keys of an authorization server (RFC 7517, RFC 7518).

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use super::claims::{Header, JSON, UnverifiedToken};

/// Keys of a set that are used. Further ones are ignored.
const KEYS_MAX: usize = 64;

/// A public key that verifies signatures of one algorithm.
#[derive(Debug, Clone)]
pub(super) struct Key {
    id: Option<String>,
    /// The algorithm that the set limits the key to.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as a set contains it.
#[derive(Debug, Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// Reads the keys of a set that verify signatures. Keys of other kinds are left out.
pub(super) fn keys_of(set: &[u8]) -> Vec<Key> {
    let Ok(set) = JSON.parse_bytes::<Set>(set) else {
        return Vec::new();
    };
    let keys = set.keys.into_iter().filter_map(|key| {
        let key: Jwk = serde_json::from_value(key).ok()?;
        Key::of(key)
    });
    keys.take(KEYS_MAX).collect()
}

impl Key {
    fn of(key: Jwk) -> Option<Self> {
        if key.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let decoded = |text: Option<String>| BASE64URL_NOPAD.decode(text?.as_bytes()).ok();
        let material = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => Material::Rsa {
                n: decoded(key.n)?,
                e: decoded(key.e)?,
            },
            ("EC", Some("P-256")) => {
                // An uncompressed point.
                let mut point = vec![4];
                point.extend(decoded(key.x)?);
                point.extend(decoded(key.y)?);
                Material::P256(point)
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(decoded(key.x)?),
            _ => return None,
        };
        Some(Self {
            id: key.kid,
            algorithm: key.alg,
            material,
        })
    }

    /// Returns whether a token of this header may be signed with the key.
    pub(super) fn fits(&self, header: &Header) -> bool {
        let is_named = match (&header.kid, &self.id) {
            (Some(named), Some(key_id)) => named == key_id,
            // Without a name on both sides, each key is tried.
            (None, _) | (_, None) => true,
        };
        let is_of_set = self.algorithm.as_ref().is_none_or(|alg| *alg == header.alg);
        let is_of_kind = match self.material {
            Material::Rsa { .. } => matches!(header.alg.as_str(), "RS256" | "PS256"),
            Material::P256(_) => header.alg == "ES256",
            Material::Ed25519(_) => matches!(header.alg.as_str(), "EdDSA" | "Ed25519"),
        };
        is_named && is_of_set && is_of_kind
    }

    /// Returns whether the key has made the signature of a token that it [fits](Self::fits).
    pub(super) fn has_signed(&self, token: &UnverifiedToken<'_>) -> bool {
        let (message, signature) = (token.message.as_bytes(), token.signature.as_slice());
        let verified = match &self.material {
            Material::Rsa { n, e } => {
                let parameters = match token.header.alg.as_str() {
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature)
            }
            Material::P256(point) => verify(&ECDSA_P256_SHA256_FIXED, point, message, signature),
            Material::Ed25519(key) => verify(&ED25519, key, message, signature),
        };
        verified.is_ok()
    }
}

fn verify(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), ring::error::Unspecified> {
    UnparsedPublicKey::new(algorithm, key).verify(message, signature)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::claims::parse;
    use super::*;

    const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    /// The examples of RFC 7515 A.2 and A.3 and of RFC 8037 A.4.
    fn examples() -> [(Value, String); 3] {
        let rsa = json!({
            "kty": "RSA", "e": "AQAB",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        });
        let rsa_made = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        let p256 = json!({
            "kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        });
        let p256_made = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let ed25519 = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let ed25519_made = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        [
            (rsa, format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{rsa_made}")),
            (p256, format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{p256_made}")),
            (
                ed25519,
                format!("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.{ed25519_made}"),
            ),
        ]
    }

    #[test]
    fn the_examples_of_the_standards_are_signed_by_their_keys_only() {
        for (key, token) in &examples() {
            let signed = parse(token).unwrap();
            for (other, _) in &examples() {
                let set = json!({"keys": [other]}).to_string();
                let [other_key] = keys_of(set.as_bytes()).try_into().unwrap();
                let is_own = key == other;
                assert_eq!(other_key.fits(&signed.header), is_own, "{token} {other}");
                assert_eq!(other_key.has_signed(&signed), is_own, "{token} {other}");
            }
            let altered = token.replacen('.', ".A", 1);
            let set = json!({"keys": [key]}).to_string();
            let [key] = keys_of(set.as_bytes()).try_into().unwrap();
            if let Ok(altered) = parse(&altered) {
                assert!(!key.has_signed(&altered));
            }
        }
    }

    #[test]
    fn keys_that_verify_no_signature_are_left_out() {
        let [(rsa, _), ..] = examples();
        let mut encryption = rsa.clone();
        encryption["use"] = json!("enc");
        let secret = json!({"kty": "oct", "k": "AAAA", "alg": "HS256"});
        let set = json!({"keys": [encryption, secret, 7, {"kty": "RSA"}, rsa]});
        assert_eq!(keys_of(set.to_string().as_bytes()).len(), 1);
        assert!(keys_of(b"[]").is_empty());
        assert!(keys_of(b"").is_empty());
    }

    #[test]
    fn a_key_is_used_as_its_set_says_only() {
        let [(mut rsa, token), ..] = examples();
        rsa["alg"] = json!("PS256");
        rsa["kid"] = json!("a");
        let set = json!({"keys": [rsa]}).to_string();
        let [key] = keys_of(set.as_bytes()).try_into().unwrap();
        assert!(!key.fits(&parse(&token).unwrap().header));
    }
}
