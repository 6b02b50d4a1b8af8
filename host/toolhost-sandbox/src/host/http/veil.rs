//! Keeps what the host added to a request out of what comes back.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use toolhost_contract::http::{HttpCredential, Origin};

/// Covers each secret that went to an origin in what its server sends, with as many `*`.
///
/// A body comes in pieces: as many bytes as may be a part of a secret are held until the next,
/// whatever they are. Were only those held that look like one, a guest could guess it byte by byte.
pub(crate) struct Veil {
    secrets: Vec<Vec<u8>>,
    held: BytesMut,
    /// Which bytes of `held` are a secret's.
    covered: Vec<bool>,
}

impl Veil {
    pub(crate) fn of(credentials: &[HttpCredential], origin: &Origin) -> Self {
        let sent = credentials.iter().filter(|own| own.goes_to(origin));
        let secrets = sent.flat_map(|own| forms(own.secret())).collect();
        Self {
            secrets,
            held: BytesMut::new(),
            covered: Vec::new(),
        }
    }

    /// The next piece, as far as it can be told.
    pub(crate) fn pass(&mut self, piece: Bytes) -> Bytes {
        let Some(longest) = self.secrets.iter().map(Vec::len).max() else {
            return piece;
        };
        let mut all = std::mem::take(&mut self.held);
        let mut covered = std::mem::take(&mut self.covered);
        all.extend_from_slice(&piece);
        covered.resize(all.len(), false);
        self.find(&all, &mut covered);
        let known = all.len().saturating_sub(longest.saturating_sub(1));
        self.held = all.split_off(known);
        self.covered = covered.split_off(known);
        cover(&mut all, &covered);
        all.freeze()
    }

    /// Marks what of a text is a secret's.
    fn find(&self, text: &[u8], covered: &mut [bool]) {
        for secret in &self.secrets {
            for (at, part) in text.windows(secret.len()).enumerate() {
                if part == secret
                    && let Some(found) = covered.get_mut(at..at + secret.len())
                {
                    found.fill(true);
                }
            }
        }
    }

    /// Whether a name, which is in small letters, has a secret in it.
    fn is_in(&self, name: &str) -> bool {
        let mut secrets = self
            .secrets
            .iter()
            .map(|secret| secret.to_ascii_lowercase());
        secrets.any(|secret| {
            name.as_bytes()
                .windows(secret.len())
                .any(|part| part == secret)
        })
    }

    /// What is held at the end.
    pub(crate) fn rest(&mut self) -> Bytes {
        let mut rest = std::mem::take(&mut self.held);
        cover(&mut rest, &std::mem::take(&mut self.covered));
        rest.freeze()
    }

    /// Covers the secrets in headers. One whose name is of a secret is left out.
    pub(crate) fn headers(&self, headers: &mut HeaderMap) {
        let names = headers.keys().filter(|name| self.is_in(name.as_str()));
        let names: Vec<_> = names.cloned().collect();
        for name in names {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let mut text = BytesMut::from(value.as_bytes());
            let mut covered = vec![false; text.len()];
            self.find(&text, &mut covered);
            cover(&mut text, &covered);
            if text != value.as_bytes()
                && let Ok(text) = HeaderValue::from_maybe_shared(text.freeze())
            {
                *value = text;
            }
        }
    }
}

/// A secret as it is, and as some writers of JSON have it.
fn forms(secret: &str) -> impl Iterator<Item = Vec<u8>> {
    let escaped = secret.contains('/').then(|| secret.replace('/', r"\/"));
    [Some(secret.to_owned()), escaped]
        .into_iter()
        .flatten()
        .map(String::into_bytes)
}

/// Writes `*` over what is covered.
fn cover(text: &mut [u8], covered: &[bool]) {
    for (byte, _) in text
        .iter_mut()
        .zip(covered)
        .filter(|(_, covered)| **covered)
    {
        *byte = b'*';
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn veil(secrets: &[&str]) -> Veil {
        let bound = |secret: &&str| HttpCredential::new("https://a.example", "x", "", secret);
        let credentials: Vec<_> = secrets.iter().map(|own| bound(own).unwrap()).collect();
        Veil::of(&credentials, &Origin::parse("https://a.example").unwrap())
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
    fn how_much_is_held_says_nothing_of_the_secret() {
        for text in ["x sk-1", "x sk-2", "xxxxxx"] {
            let shown = veil(&["sk-12345"]).pass(Bytes::copy_from_slice(text.as_bytes()));
            assert_eq!(shown, "", "{text}");
        }
        let shown = veil(&["sk-12"]).pass(Bytes::from_static(b"0123456789"));
        assert_eq!(shown, "012345");
    }

    #[test]
    fn covers_a_secret_within_another_and_as_json_has_it() {
        let covered = through(&mut veil(&["ab", "abcd", "e/f"]), r"abcd ab e/f e\/f", 3);
        assert_eq!(covered, "**** ** *** ****");
        let credential = HttpCredential::new("https://a.example", "x", "", "sk-12345").unwrap();
        let mut other = Veil::of(&[credential], &Origin::parse("https://b.example").unwrap());
        assert_eq!(through(&mut other, "sk-12345", 2), "sk-12345");
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

    #[test]
    fn a_header_that_is_named_after_a_secret_is_left_out() {
        let mut headers = HeaderMap::new();
        for name in ["x-0a1b2c", "x-other"] {
            headers.insert(name, HeaderValue::from_static("v"));
        }
        veil(&["0A1b2C"]).headers(&mut headers);
        let left: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(left, ["x-other"]);
    }
}
