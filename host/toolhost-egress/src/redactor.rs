//! Removes the secrets that the host added to a request from the server's response.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;
use toolhost_contract::http::{HttpCredential, Origin};
use zeroize::Zeroizing;

/// Overwrites each secret that was sent to an origin with as many `*`.
///
/// A body arrives in chunks, so as many bytes as could begin a secret are held back until the next
/// chunk, whatever they are: if only bytes that look like a secret were held back, a guest could
/// guess the secret byte by byte.
pub(crate) struct SecretRedactor {
    secrets: Vec<Zeroizing<Vec<u8>>>,
    held_back: BytesMut,
    /// Which bytes of `held_back` belong to a secret.
    is_secret: Vec<bool>,
}

impl SecretRedactor {
    pub(crate) fn new(credentials: &[HttpCredential], origin: &Origin) -> Self {
        let mut secrets = Vec::new();
        for credential in credentials.iter().filter(|it| it.applies_to(origin)) {
            let secret = credential.secret().as_bytes();
            secrets.push(Zeroizing::new(secret.to_vec()));
            if secret.contains(&b'/') {
                // Some JSON writers escape the slash.
                let parts: Vec<_> = secret.split(|b| *b == b'/').collect();
                secrets.push(Zeroizing::new(parts.join(br"\/".as_slice())));
            }
        }
        Self {
            secrets,
            held_back: BytesMut::new(),
            is_secret: Vec::new(),
        }
    }

    /// Redacts the next chunk of a body. Returns the bytes that no later byte can make a secret.
    pub(crate) fn redact(&mut self, chunk: Bytes) -> Bytes {
        let Some(longest) = self.secrets.iter().map(|secret| secret.len()).max() else {
            return chunk;
        };
        let mut text = std::mem::take(&mut self.held_back);
        let mut is_secret = std::mem::take(&mut self.is_secret);
        text.extend_from_slice(&chunk);
        is_secret.resize(text.len(), false);
        self.find(&text, &mut is_secret);
        let done = text.len().saturating_sub(longest.saturating_sub(1));
        self.held_back = text.split_off(done);
        self.is_secret = is_secret.split_off(done);
        overwrite(&mut text, &is_secret);
        text.freeze()
    }

    /// Returns the bytes held back, at the end of a body.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut rest = std::mem::take(&mut self.held_back);
        overwrite(&mut rest, &std::mem::take(&mut self.is_secret));
        rest.freeze()
    }

    /// Redacts the values of headers, and removes headers with a secret in their name.
    pub(crate) fn redact_headers(&self, headers: &mut HeaderMap) {
        // Header names are in lower case.
        let in_name = |secret: &Zeroizing<Vec<u8>>| Zeroizing::new(secret.to_ascii_lowercase());
        for secret in self.secrets.iter().map(in_name) {
            let finder = Finder::new(&*secret);
            let names = headers.keys();
            let found = names.filter(|name| finder.find(name.as_ref()).is_some());
            for name in found.cloned().collect::<Vec<_>>() {
                headers.remove(name);
            }
        }
        for value in headers.values_mut() {
            let mut is_secret = vec![false; value.len()];
            self.find(value.as_bytes(), &mut is_secret);
            if is_secret.contains(&true) {
                let mut text = BytesMut::from(value.as_bytes());
                overwrite(&mut text, &is_secret);
                if let Ok(redacted) = HeaderValue::from_maybe_shared(text.freeze()) {
                    *value = redacted;
                }
            }
        }
    }

    /// Marks the bytes of secrets, which may overlap.
    fn find(&self, text: &[u8], is_secret: &mut [bool]) {
        for secret in &self.secrets {
            let finder = Finder::new(&**secret);
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
                let at = from + at;
                if let Some(found) = is_secret.get_mut(at..at + secret.len()) {
                    found.fill(true);
                }
                from = at + 1;
            }
        }
    }
}

fn overwrite(text: &mut [u8], is_secret: &[bool]) {
    for (byte, is_secret) in text.iter_mut().zip(is_secret) {
        if *is_secret {
            *byte = b'*';
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor(secrets: &[&str]) -> SecretRedactor {
        let credential = |secret: &&str| HttpCredential::new("https://a.example", "x", "", secret);
        let credentials: Vec<_> = secrets.iter().map(|own| credential(own).unwrap()).collect();
        SecretRedactor::new(&credentials, &Origin::parse("https://a.example").unwrap())
    }

    fn redacted(redactor: &mut SecretRedactor, text: &str, chunk: usize) -> String {
        let mut out = Vec::new();
        for chunk in text.as_bytes().chunks(chunk) {
            out.extend_from_slice(&redactor.redact(Bytes::copy_from_slice(chunk)));
        }
        out.extend_from_slice(&redactor.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn redacts_a_secret_in_chunks_of_any_size() {
        let text = "a sk-12345 and sk-sk-12345, but no sk-1234 nor hunter; hunter2";
        let expected = "a ******** and sk-********, but no sk-1234 nor hunter; *******";
        for chunk in 1..=text.len() {
            let mut redactor = redactor(&["sk-12345", "hunter2"]);
            assert_eq!(redacted(&mut redactor, text, chunk), expected, "{chunk}");
        }
        assert_eq!(redacted(&mut redactor(&[]), text, 3), text);
    }

    #[test]
    fn the_length_held_back_does_not_depend_on_the_text() {
        for text in ["x sk-1", "x sk-2", "xxxxxx"] {
            let done = redactor(&["sk-12345"]).redact(Bytes::copy_from_slice(text.as_bytes()));
            assert_eq!(done, "", "{text}");
        }
        let done = redactor(&["sk-12"]).redact(Bytes::from_static(b"0123456789"));
        assert_eq!(done, "012345");
    }

    #[test]
    fn redacts_overlapping_secrets_and_those_escaped_for_json() {
        let out = redacted(
            &mut redactor(&["ab", "abcd", "e/f"]),
            r"abcd ab e/f e\/f",
            3,
        );
        assert_eq!(out, "**** ** *** ****");
        assert_eq!(redacted(&mut redactor(&["aba"]), "abababx", 2), "*****bx");
    }

    #[test]
    fn leaves_the_secrets_of_other_origins() {
        let credential = HttpCredential::new("https://a.example", "x", "", "sk-12345").unwrap();
        let other = Origin::parse("https://b.example").unwrap();
        let mut other = SecretRedactor::new(&[credential], &other);
        assert_eq!(redacted(&mut other, "sk-12345", 2), "sk-12345");
    }

    #[test]
    fn redacts_the_values_of_headers() {
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_static("Bearer sk-12345"));
        headers.insert("x-other", HeaderValue::from_static("sk-1234"));
        redactor(&["sk-12345"]).redact_headers(&mut headers);
        assert_eq!(headers["x-echo"], "Bearer ********");
        assert_eq!(headers["x-other"], "sk-1234");
    }

    proptest! {
        #[test]
        fn changes_nothing_but_secrets(text in "[ab-]{0,60}", chunk in 1usize..9) {
            let out = redacted(&mut redactor(&["ab-a"]), &text, chunk);
            prop_assert_eq!(out.len(), text.len());
            prop_assert!(!out.contains("ab-a"));
            if !text.contains("ab-a") {
                prop_assert_eq!(out, text);
            }
        }
    }

    #[test]
    fn removes_headers_with_a_secret_in_their_name() {
        let mut headers = HeaderMap::new();
        for name in ["x-0a1b2c", "x-other"] {
            headers.insert(name, HeaderValue::from_static("v"));
        }
        redactor(&["0A1b2C"]).redact_headers(&mut headers);
        let left: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(left, ["x-other"]);
    }
}
