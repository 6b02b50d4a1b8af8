//! Keeps what the host added to a request out of what comes back.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};

use super::HttpGrant;

/// Covers each secret of a grant in what a server sends, with as many `*`.
///
/// A body comes in pieces: what may be the beginning of a secret is held until the next tells.
pub(crate) struct Veil {
    grant: Arc<HttpGrant>,
    held: BytesMut,
}

impl Veil {
    pub(crate) fn of(grant: Arc<HttpGrant>) -> Self {
        Self {
            grant,
            held: BytesMut::new(),
        }
    }

    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        self.grant.credentials.iter().map(|own| own.secret())
    }

    /// The next piece, as far as it can be told.
    pub(crate) fn pass(&mut self, piece: Bytes) -> Bytes {
        if self.grant.credentials.is_empty() {
            return piece;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(&piece);
        for secret in self.secrets() {
            cover(&mut all, secret);
        }
        let begun = self.secrets().map(|secret| begins(secret, &all)).max();
        let known = all.len() - begun.unwrap_or(0);
        self.held = all.split_off(known);
        all.freeze()
    }

    /// What is held at the end: it was no secret.
    pub(crate) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    /// Covers the secrets in headers.
    pub(crate) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut covered = BytesMut::from(value.as_bytes());
            for secret in self.secrets() {
                cover(&mut covered, secret);
            }
            if covered != value.as_bytes()
                && let Ok(covered) = HeaderValue::from_maybe_shared(covered.freeze())
            {
                *value = covered;
            }
        }
    }
}

/// Writes `*` over each place of a secret.
fn cover(text: &mut [u8], secret: &[u8]) {
    let mut from = 0;
    while let Some(rest) = text.get_mut(from..) {
        let Some(at) = rest.windows(secret.len()).position(|part| part == secret) else {
            return;
        };
        if let Some(found) = rest.get_mut(at..at + secret.len()) {
            found.fill(b'*');
        }
        from += at + secret.len();
    }
}

/// How many bytes at the end of a text may be the beginning of a secret.
fn begins(secret: &[u8], text: &[u8]) -> usize {
    let longest = secret.len().saturating_sub(1).min(text.len());
    let is_end = |length: &usize| {
        secret
            .get(..*length)
            .is_some_and(|part| text.ends_with(part))
    };
    (1..=longest).rev().find(is_end).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::HttpCredential;
    use super::*;

    fn veil(secrets: &[&str]) -> Veil {
        let bound = |secret: &&str| HttpCredential::new("https://a.example", "x", "", secret);
        Veil::of(Arc::new(HttpGrant {
            credentials: secrets.iter().map(bound).collect::<Result<_, _>>().unwrap(),
            ..HttpGrant::default()
        }))
    }

    fn through(veil: &mut Veil, text: &str, piece: usize) -> String {
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            out.extend_from_slice(&veil.pass(Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&veil.rest());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn covers_a_secret_in_whatever_pieces_it_comes() {
        let text = "a sk-12345 and sk-sk-12345, but no sk-1234 nor hunter; hunter2";
        let covered = "a ******** and sk-********, but no sk-1234 nor hunter; *******";
        for piece in 1..=text.len() {
            let mut veil = veil(&["sk-12345", "hunter2"]);
            assert_eq!(through(&mut veil, text, piece), covered, "{piece}");
        }
        assert_eq!(through(&mut veil(&[]), text, 3), text);
    }

    #[test]
    fn covers_it_in_headers() {
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_static("Bearer sk-12345"));
        headers.insert("x-other", HeaderValue::from_static("sk-1234"));
        veil(&["sk-12345"]).headers(&mut headers);
        assert_eq!(headers["x-echo"], "Bearer ********");
        assert_eq!(headers["x-other"], "sk-1234");
    }

    proptest! {
        #[test]
        fn nothing_else_changes(text in "[ab-]{0,60}", piece in 1usize..9) {
            let out = through(&mut veil(&["ab-a"]), &text, piece);
            prop_assert_eq!(out.len(), text.len());
            prop_assert!(!out.contains("ab-a"));
            if !text.contains("ab-a") {
                prop_assert_eq!(out, text);
            }
        }
    }
}
