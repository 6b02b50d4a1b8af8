//! What the host adds to a request and the guest never sees.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::headers::is_the_hosts;
use super::origin::{Origin, OriginError};

/// Longest prefix and secret together, in bytes.
const SECRET_MAX: usize = 8 << 10;

/// A header that the host sets on requests to one origin, in place of any of that name of the
/// guest's.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpCredential {
    origin: Origin,
    header: HeaderName,
    value: HeaderValue,
    secret: String,
}

/// Shows where it goes, and not what it is.
impl fmt::Debug for HttpCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.header, self.origin)
    }
}

/// Why something is no credential. No message quotes the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HttpCredentialError {
    /// The origin.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The name of the header.
    #[error("it is not the name of a header")]
    Header,
    /// A header that belongs to the connection.
    #[error("this header belongs to the connection, which the host makes")]
    Forbidden,
    /// The secret, or what stands before it.
    #[error("a header's value holds visible ASCII characters and blanks, at most 8 KiB")]
    Value,
}

impl HttpCredential {
    /// Binds a secret to an origin, such as `https://api.example.com`: the header is the prefix and
    /// the secret, as in `authorization: Bearer sk-12345`.
    ///
    /// # Errors
    /// [`HttpCredentialError`] says what cannot be sent.
    pub fn new(
        origin: &str,
        header: &str,
        prefix: &str,
        secret: &str,
    ) -> Result<Self, HttpCredentialError> {
        let origin = Origin::parse(origin)?;
        let header = header.to_ascii_lowercase();
        let header = HeaderName::from_bytes(header.as_bytes());
        let header = header.map_err(|_| HttpCredentialError::Header)?;
        if is_the_hosts(&header) || header == header::CONTENT_LENGTH {
            return Err(HttpCredentialError::Forbidden);
        }
        let text = format!("{prefix}{secret}");
        let plain = text.bytes().all(|b| matches!(b, b' '..=b'~'));
        let fits = !secret.is_empty() && text.len() <= SECRET_MAX;
        let value = HeaderValue::from_str(&text).ok();
        let mut value = value
            .filter(|_| plain && fits)
            .ok_or(HttpCredentialError::Value)?;
        value.set_sensitive(true);
        Ok(Self {
            origin,
            header,
            value,
            secret: secret.to_owned(),
        })
    }

    /// What no guest may read.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Whether it is added to requests to an origin.
    pub fn goes_to(&self, origin: &Origin) -> bool {
        self.origin == *origin
    }

    /// Sets the headers of what is bound to an origin.
    pub fn add(all: &[Self], origin: &Origin, headers: &mut HeaderMap) {
        let mut bound = all.iter().filter(|own| own.goes_to(origin)).peekable();
        if bound.peek().is_some() {
            // What comes back must be readable to the veil, and whole.
            let plain = HeaderValue::from_static("identity");
            headers.insert(header::ACCEPT_ENCODING, plain);
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
        }
        for own in bound {
            headers.insert(own.header.clone(), own.value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_to_its_origin_alone_in_place_of_what_the_guest_says() {
        let credential = |origin: &str| {
            HttpCredential::new(origin, "Authorization", "Bearer ", "sk-12345").unwrap()
        };
        let added = |bound: &str, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("authorization", HeaderValue::from_static("the guest's"));
            let to = Origin::parse(to).unwrap();
            HttpCredential::add(&[credential(bound)], &to, &mut headers);
            headers["authorization"].to_str().unwrap().to_owned()
        };
        assert_eq!(
            added("https://a.example", "https://A.example:443"),
            "Bearer sk-12345"
        );
        assert_eq!(
            added("http://a.example", "http://a.example"),
            "Bearer sk-12345"
        );
        for other in [
            "http://a.example",
            "https://a.example:8443",
            "https://b.example",
            "https://x.a.example",
        ] {
            assert_eq!(added("https://a.example", other), "the guest's", "{other}");
        }
        let shown = format!("{:?}", credential("https://a.example"));
        assert_eq!(shown, "authorization to https://a.example");
    }

    #[test]
    fn says_what_cannot_be_sent() {
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
    }
}
