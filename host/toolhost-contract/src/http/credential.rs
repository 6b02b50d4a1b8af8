//! Headers with secrets that the host adds to requests, which guests cannot read, and headers that only
//! the host may set.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use zeroize::Zeroizing;

use super::origin::{Origin, OriginError};

/// Maximum bytes of prefix and secret together.
const VALUE_MAX: usize = 8 << 10;

/// A header that the host sets on requests to one origin. It replaces the guest's headers of that
/// name. The secret is wiped from memory when the last clone is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpCredential {
    origin: Origin,
    /// The name of the header, as it was given.
    name: Box<str>,
    header: HeaderName,
    /// The prefix and the secret.
    value: HeaderValue,
    prefix_bytes: usize,
}

/// `HEADER to ORIGIN`, without the secret.
impl fmt::Display for HttpCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.header, self.origin)
    }
}

/// Omits the secret.
impl fmt::Debug for HttpCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An invalid credential. The messages never contain the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HttpCredentialError {
    /// The origin is invalid.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The name of the header is invalid.
    #[error("it is not a valid header name")]
    Header,
    /// The host sets this header itself.
    #[error("the host sets this header itself; use another one")]
    Forbidden,
    /// The prefix or the secret is invalid.
    #[error("a header value must have 1 to 8192 bytes of visible ASCII characters and spaces")]
    Value,
}

impl HttpCredential {
    /// Binds a secret to an origin such as `https://api.example.com`. The value of the header is the
    /// prefix and the secret, as in `authorization: Bearer sk-12345`.
    ///
    /// # Errors
    /// [`HttpCredentialError`] if the origin, the header or its value is invalid.
    pub fn new(
        origin: &str,
        header: &str,
        prefix: &str,
        secret: &str,
    ) -> Result<Self, HttpCredentialError> {
        let origin = Origin::parse(origin)?;
        let name = header.into();
        let header = HeaderName::from_bytes(header.as_bytes());
        let header = header.map_err(|_| HttpCredentialError::Header)?;
        if is_reserved_header(&header) || *folded(&header) == *header::CONTENT_LENGTH.as_str() {
            return Err(HttpCredentialError::Forbidden);
        }
        let value = Zeroizing::new([prefix.as_bytes(), secret.as_bytes()].concat());
        let is_plain = value.iter().all(|b| matches!(b, b' '..=b'~'));
        if secret.is_empty() || value.len() > VALUE_MAX || !is_plain {
            return Err(HttpCredentialError::Value);
        }
        let value = HeaderValue::from_maybe_shared(Bytes::from_owner(value));
        let mut value = value.map_err(|_| HttpCredentialError::Value)?;
        value.set_sensitive(true);
        Ok(Self {
            origin,
            name,
            header,
            value,
            prefix_bytes: prefix.len(),
        })
    }

    /// Returns the name of the header, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the secret without the prefix.
    pub fn secret(&self) -> &str {
        // The value is visible ASCII.
        let value = self.value.to_str().unwrap_or_default();
        value.get(self.prefix_bytes..).unwrap_or_default()
    }

    /// Returns whether the credential is added to requests to an origin.
    pub fn applies_to(&self, origin: &Origin) -> bool {
        self.origin == *origin
    }

    /// Sets the headers of the credentials that apply to an origin.
    pub fn apply_all(credentials: &[Self], origin: &Origin, headers: &mut HeaderMap) {
        let mut applicable = credentials
            .iter()
            .filter(|one| one.applies_to(origin))
            .peekable();
        if applicable.peek().is_some() {
            // Redaction needs complete, uncompressed responses.
            let identity = HeaderValue::from_static("identity");
            headers.insert(header::ACCEPT_ENCODING, identity);
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
        }
        for credential in applicable {
            remove_names_read_as(&credential.header, headers);
            headers.insert(credential.header.clone(), credential.value.clone());
        }
    }
}

/// Headers of the connection and of the body's framing, and `host`.
const CONNECTION_HEADERS: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers with which some servers override the method or path that the rules have checked.
const OVERRIDE_HEADERS: [&str; 5] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// Returns whether guests and credentials must not set this header.
///
/// A name counts as reserved if it differs only in characters other than letters and digits: servers that pass
/// headers as variables, as CGI does, read `x_http_method_override` as `x-http-method-override`.
pub fn is_reserved_header(name: &HeaderName) -> bool {
    let folded = folded(name);
    folded.starts_with("proxy-")
        || CONNECTION_HEADERS.iter().any(|header| *header == *folded)
        || OVERRIDE_HEADERS.contains(&&*folded)
}

/// Removes the headers whose names some servers read as `name`.
fn remove_names_read_as(name: &HeaderName, headers: &mut HeaderMap) {
    let is_same = |header: &&HeaderName| folded(header) == folded(name);
    let same: Vec<HeaderName> = headers.keys().filter(is_same).cloned().collect();
    for name in same {
        headers.remove(name);
    }
}

/// Returns a name with `-` in place of each character other than a letter or digit.
fn folded(name: &HeaderName) -> Cow<'_, str> {
    let is_plain = |c: char| c == '-' || c.is_ascii_alphanumeric();
    if name.as_str().contains(|c| !is_plain(c)) {
        Cow::Owned(name.as_str().replace(|c| !is_plain(c), "-"))
    } else {
        Cow::Borrowed(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_guests_header_for_its_origin_alone() {
        let credential = |origin: &str| {
            HttpCredential::new(origin, "Authorization", "Bearer ", "sk-12345").unwrap()
        };
        let header = |bound: &str, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("authorization", HeaderValue::from_static("the guest's"));
            let to = Origin::parse(to).unwrap();
            HttpCredential::apply_all(&[credential(bound)], &to, &mut headers);
            headers["authorization"].to_str().unwrap().to_owned()
        };
        assert_eq!(
            header("https://a.example", "https://A.example:443"),
            "Bearer sk-12345"
        );
        assert_eq!(
            header("http://a.example", "http://a.example"),
            "Bearer sk-12345"
        );
        for other in [
            "http://a.example",
            "https://a.example:8443",
            "https://b.example",
            "https://x.a.example",
        ] {
            assert_eq!(header("https://a.example", other), "the guest's", "{other}");
        }
        let mut headers = HeaderMap::new();
        let key = HttpCredential::new("https://a.example", "x-api-key", "", "sk-12345").unwrap();
        for name in ["x_api_key", "x-api_key", "x-api-keys"] {
            headers.insert(name, HeaderValue::from_static("the guest's"));
        }
        let to = Origin::parse("https://a.example").unwrap();
        HttpCredential::apply_all(&[key], &to, &mut headers);
        let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(!names.contains(&"x_api_key") && !names.contains(&"x-api_key"));
        let debug = format!("{:?}", credential("https://a.example"));
        assert_eq!(debug, "authorization to https://a.example");
    }

    #[test]
    fn a_credential_has_its_name_as_given_and_its_secret_without_the_prefix() {
        let it = HttpCredential::new("https://a.example", "X-Api-Key", "Key ", "sk-12345").unwrap();
        assert_eq!((it.name(), it.secret()), ("X-Api-Key", "sk-12345"));
    }

    #[test]
    fn a_response_to_a_request_with_a_credential_is_whole_and_not_compressed() {
        let key = HttpCredential::new("https://a.example", "x-api-key", "", "sk-12345").unwrap();
        let sent = |to: &str| {
            let mut headers = HeaderMap::new();
            for name in ["accept-encoding", "range", "if-range"] {
                headers.insert(name, HeaderValue::from_static("the guest's"));
            }
            let to = Origin::parse(to).unwrap();
            HttpCredential::apply_all(std::slice::from_ref(&key), &to, &mut headers);
            ["accept-encoding", "range", "if-range", "x-api-key"].map(|name| {
                let value = headers.get(name).map(|value| value.to_str().unwrap());
                value.map(str::to_owned)
            })
        };
        let values = |values: [&str; 4]| {
            values.map(|value| Some(value.to_owned()).filter(|value| !value.is_empty()))
        };
        let expected = values(["identity", "", "", "sk-12345"]);
        assert_eq!(sent("https://a.example"), expected);
        let unchanged = ["the guest's", "the guest's", "the guest's", ""];
        assert_eq!(sent("https://b.example"), values(unchanged));
    }

    #[test]
    fn a_header_that_servers_read_as_a_reserved_one_is_reserved() {
        let is_reserved = |name: &'static str| is_reserved_header(&HeaderName::from_static(name));
        for name in [
            "x-http-method-override",
            "x_http_method_override",
            "x_http-method.override",
            "x_original_url",
            "transfer_encoding",
            "proxy_authorization",
            "host",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in [
            "x_api_key",
            "x-method",
            "accept",
            "authorization",
            "x_proxy_a",
        ] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn each_character_of_a_name_but_letters_and_digits_is_read_as_a_dash() {
        for (name, expected) in [("x-a1", "x-a1"), ("x_a.1", "x-a-1"), ("_", "-"), ("-", "-")] {
            assert_eq!(folded(&HeaderName::from_static(name)), expected);
        }
    }

    #[test]
    fn refuses_an_invalid_origin_header_or_value() {
        use HttpCredentialError::{Forbidden, Header, Origin, Value};
        let check = |origin, header, prefix, secret, why| {
            assert_eq!(
                HttpCredential::new(origin, header, prefix, secret),
                Err(why)
            );
        };
        let origin = "https://a.example";
        check(
            "https://*.a.example",
            "x",
            "",
            "s",
            Origin(OriginError::Host),
        );
        check(
            "https://a.example/",
            "x",
            "",
            "s",
            Origin(OriginError::Host),
        );
        check(origin, "two words", "", "s", Header);
        check(origin, "", "", "s", Header);
        check(origin, "Host", "", "s", Forbidden);
        check(origin, "proxy-authorization", "", "s", Forbidden);
        check(origin, "content-length", "", "s", Forbidden);
        check(origin, "x", "", "", Value);
        check(origin, "x", "", "line\nbreak", Value);
        check(origin, "x", "\r", "s", Value);
        check(origin, "x", "", "ü", Value);
        let longest = "s".repeat(VALUE_MAX - 1);
        assert!(HttpCredential::new(origin, "x", "p", &longest).is_ok());
        check(origin, "x", "pp", &longest, Value);
    }
}
