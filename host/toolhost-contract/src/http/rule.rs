//! What a tool may request: one line of a policy's `http.allow`.

use std::fmt;
use std::net::IpAddr;

use super::address;
use super::origin::{Host, Origin, OriginError, Scheme, split};

/// `[METHOD ]scheme://host[:port][/path*]`.
///
/// - Without a method it is every method but `CONNECT` and `TRACE`, which none is.
/// - `*.example.com` is every name below `example.com`, and not `example.com` itself.
/// - Without a path it is every path; `/v1/users` is that path alone, `/v1/*` each that begins with
///   `/v1/`. A query is not looked at.
///
/// Paths are compared with their escapes resolved. One that a server might read as another, for it
/// holds `.`, `..`, an escaped `/`, `\` or `%`, is no path of any rule that names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    method: Option<String>,
    scheme: Scheme,
    host: HostPattern,
    port: u16,
    path: PathPattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exactly(Host),
    /// `.example.com`.
    EndsWith(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPattern {
    Any,
    Exactly(String),
    BeginsWith(String),
}

/// Why a text is no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HttpRuleError {
    /// The method is none that a rule may have.
    #[error(
        "its method is not a word in capitals such as GET; CONNECT and TRACE cannot be allowed"
    )]
    Method,
    /// Scheme, host or port.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// A `*` that is neither `*.` before the host nor the last of the path.
    #[error("a '*' stands only before the host, as in *.example.com, or at the end of the path")]
    Star,
    /// A query or a fragment.
    #[error("it has a query or a fragment; a rule ends with the path")]
    Query,
    /// A path that servers might read as another.
    #[error(
        "its path is not plain: leave out '.', '..', '\\', and the escapes of '/', '\\', ';', '%' and control characters; write what is not ASCII as the escapes of its UTF-8"
    )]
    Path,
    /// An address to which nothing connects, or that stands for another.
    #[error("its host is no address of one machine; name that address, such as 127.0.0.1 or [::1]")]
    Address,
}

impl HttpRule {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`HttpRuleError`] says what it is not.
    pub fn parse(text: &str) -> Result<Self, HttpRuleError> {
        let (method, url) = match text.split_once(' ') {
            Some((method, url)) => (Some(method), url),
            None => (None, text),
        };
        if method.is_some_and(|method| !is_method(method)) {
            return Err(HttpRuleError::Method);
        }
        let (scheme, rest) = url.split_once("://").ok_or(OriginError::Scheme)?;
        let scheme = Scheme::parse(scheme)?;
        if rest.contains(['?', '#']) {
            return Err(HttpRuleError::Query);
        }
        let slash = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(slash).unwrap_or((rest, ""));
        let (host, port) = split(scheme, authority)?;
        Ok(Self {
            method: method.map(str::to_owned),
            scheme,
            host: HostPattern::parse(host)?,
            port,
            path: PathPattern::parse(path)?,
        })
    }

    /// Whether it allows a request: its method, its origin, and its path as it is sent.
    pub fn allows(&self, method: &str, origin: &Origin, path: &str) -> bool {
        let of_method = self.method.as_deref().is_none_or(|own| own == method);
        of_method
            && self.scheme == origin.scheme
            && self.port == origin.port
            && self.host.is(&origin.host)
            && self.path.is(path)
    }
}

/// Longest method that is sent, in bytes.
pub const METHOD_MAX: usize = 32;

/// Whether a rule may name a method.
fn is_method(method: &str) -> bool {
    let capitals = |b: u8| b.is_ascii_uppercase() || b == b'-';
    !method.is_empty() && method.bytes().all(capitals) && is_served(method)
}

/// Whether a method is ever sent: a tunnel and an echo of one's own headers are not.
pub fn is_served(method: &str) -> bool {
    let refused = ["CONNECT", "TRACE"];
    method.len() <= METHOD_MAX && !refused.iter().any(|own| own.eq_ignore_ascii_case(method))
}

impl HostPattern {
    fn parse(text: &str) -> Result<Self, HttpRuleError> {
        let (below, host) = match text.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, text),
        };
        if host.contains('*') {
            return Err(HttpRuleError::Star);
        }
        match (Host::parse(host)?, below) {
            (Host::Name(name), true) => Ok(Self::EndsWith(format!(".{name}"))),
            (Host::Address(_), true) => Err(HttpRuleError::Star),
            (Host::Address(address), false) if !is_a_machine(address) => {
                Err(HttpRuleError::Address)
            }
            (host, false) => Ok(Self::Exactly(host)),
        }
    }

    fn is(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(own), host) => own == host,
            (Self::EndsWith(ending), Host::Name(name)) => {
                name.len() > ending.len() && name.ends_with(ending)
            }
            (Self::EndsWith(_), Host::Address(_)) => false,
        }
    }
}

/// Whether an address is that of one machine, and in no other's clothes.
fn is_a_machine(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(address.is_unspecified()
        || address.is_multicast()
        || broadcast
        || address::holds_another(address))
}

impl PathPattern {
    fn parse(text: &str) -> Result<Self, HttpRuleError> {
        let (begins, path) = match text.strip_suffix('*') {
            Some(path) => (true, path),
            None => (false, text),
        };
        if path.contains('*') || (begins && path.is_empty()) {
            return Err(HttpRuleError::Star);
        }
        if path.is_empty() {
            return Ok(Self::Any);
        }
        let path = plain(path).ok_or(HttpRuleError::Path)?;
        Ok(if begins {
            Self::BeginsWith(path)
        } else {
            Self::Exactly(path)
        })
    }

    fn is(&self, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(own) => plain(path).is_some_and(|path| path == *own),
            Self::BeginsWith(own) => plain(path).is_some_and(|path| path.starts_with(own)),
        }
    }
}

/// The path with its escapes in one form; none where a server might read another path in it.
pub fn plain(path: &str) -> Option<String> {
    let mut plain = String::with_capacity(path.len());
    let mut meant = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
                let escaped = high << 4 | low;
                if matches!(escaped, b'/' | b'\\' | b'%' | b';' | 0..=0x1f | 0x7f) {
                    return None;
                }
                meant.push(escaped);
                if escaped.is_ascii_alphanumeric() || b"-._~".contains(&escaped) {
                    plain.push(char::from(escaped));
                } else {
                    plain.push_str(&format!("%{escaped:02X}"));
                }
            }
            b'\\' => return None,
            0x21..=0x7e => {
                meant.push(byte);
                plain.push(char::from(byte));
            }
            _ => return None,
        }
    }
    // Some servers read a `/` or a `.` in what is no UTF-8.
    std::str::from_utf8(&meant).ok()?;
    // What follows a `;` is a parameter of its segment to some servers.
    let name = |segment: &str| segment.split(';').next().map(str::to_owned);
    let dots = |segment: &str| matches!(name(segment).as_deref(), Some("." | ".."));
    (plain.starts_with('/') && !plain.split('/').any(dots)).then_some(plain)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{method} ")?;
        }
        let host = match &self.host {
            HostPattern::Exactly(host) => host.clone(),
            HostPattern::EndsWith(ending) => Host::Name(format!("*{ending}")),
        };
        let (scheme, port) = (self.scheme, self.port);
        write!(f, "{}", Origin { scheme, host, port })?;
        match &self.path {
            PathPattern::Any => Ok(()),
            PathPattern::Exactly(path) => f.write_str(path),
            PathPattern::BeginsWith(path) => write!(f, "{path}*"),
        }
    }
}

#[cfg(test)]
mod tests;
