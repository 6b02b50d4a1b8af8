//! Encrypts single values of rows, so that each opens only in its own place.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::error::OAuthError;
use crate::secret::Secret;

/// First byte of each encrypted value, and part of what is authenticated.
const VERSION: u8 = 1;

/// Bytes of a nonce.
const NONCE: usize = 24;

/// What the authenticated data begin with, so that no other use of the key opens a value.
const DOMAIN: &[u8] = b"toolhost oauth";

/// The place of a value. A value that is moved to another place does not open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuePlace<'a> {
    pub(crate) table: &'static str,
    /// The row's primary key.
    pub(crate) row: &'a [&'a str],
    pub(crate) column: &'static str,
}

impl ValuePlace<'_> {
    /// The data that are authenticated with a value: each part with its length before it, so that no two
    /// places have the same.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = DOMAIN.to_vec();
        bytes.push(VERSION);
        for part in [self.table, self.column].iter().chain(self.row) {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes
    }
}

/// XChaCha20-Poly1305 with a random nonce for each value.
pub(crate) struct Cipher(XChaCha20Poly1305);

impl Cipher {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&Key::from(*key)))
    }

    /// Returns a value encrypted for a place: version, nonce, ciphertext, tag.
    pub(crate) fn seal(
        &self,
        place: ValuePlace<'_>,
        value: &Secret,
    ) -> Result<Vec<u8>, OAuthError> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| OAuthError::Random)?;
        let payload = Payload {
            msg: value.expose().as_bytes(),
            aad: &place.bytes(),
        };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        // Fails for values of 256 GiB alone.
        let sealed = sealed.map_err(|_| OAuthError::Random)?;
        Ok([&[VERSION], nonce.as_slice(), &sealed].concat())
    }

    /// Returns the value. None: it was not encrypted with this key for this place.
    pub(crate) fn open(&self, place: ValuePlace<'_>, sealed: &[u8]) -> Option<Secret> {
        let (version, rest) = sealed.split_first()?;
        let (nonce, msg) = rest.split_first_chunk::<NONCE>()?;
        if *version != VERSION {
            return None;
        }
        let payload = Payload {
            msg,
            aad: &place.bytes(),
        };
        let plaintext = self.0.decrypt(&XNonce::from(*nonce), payload).ok()?;
        let plaintext = Zeroizing::new(plaintext);
        std::str::from_utf8(&plaintext).ok().map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ValuePlace<'static> = ValuePlace {
        table: "grants",
        row: &["app", "subject"],
        column: "access",
    };

    // requirements-v1 §12.6.3 (2)
    #[test]
    fn a_value_opens_in_its_own_place_with_its_own_key_and_nowhere_else() {
        let cipher = Cipher::new(&[7; 32]);
        let sealed = cipher.seal(HERE, &Secret::new("token-1")).unwrap();
        assert_eq!(cipher.open(HERE, &sealed).unwrap().expose(), "token-1");
        let row = |row| ValuePlace { row, ..HERE };
        let elsewhere = [
            ValuePlace {
                table: "sessions",
                ..HERE
            },
            ValuePlace {
                column: "refresh",
                ..HERE
            },
            row(&["app", "other"]),
            row(&["apps", "ubject"]),
            row(&["app", "subject", ""]),
            row(&["app"]),
        ];
        for place in elsewhere {
            assert!(cipher.open(place, &sealed).is_none(), "{place:?}");
        }
        assert!(Cipher::new(&[8; 32]).open(HERE, &sealed).is_none());
        for byte in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[byte] ^= 1;
            assert!(cipher.open(HERE, &bent).is_none(), "byte {byte}");
            assert!(cipher.open(HERE, &sealed[..byte]).is_none());
        }
    }

    #[test]
    fn two_values_have_two_nonces_and_no_plain_bytes() {
        let cipher = Cipher::new(&[7; 32]);
        let seal = || cipher.seal(HERE, &Secret::new("token-1")).unwrap();
        let (one, other) = (seal(), seal());
        assert_ne!(one[1..=NONCE], other[1..=NONCE]);
        assert!(!one.windows(5).any(|window| window == b"token"));
    }
}
