//! Rules of `http.allow`.

use std::fmt;
use std::net::IpAddr;

use super::address::embeds_ipv4;
use super::origin::{Host, Origin, OriginError, Scheme, split};

/// `[METHOD ]scheme://host[:port][/path*]`.
///
/// - Without a method, the rule allows every method except `CONNECT` and `TRACE`, which no rule allows.
/// - `*.example.com` matches every name below `example.com`, but not `example.com` itself.
/// - Without a path, the rule allows every path. `/v1/users` matches only this path, and `/v1/*` all
///   paths that begin with `/v1/`. Queries are ignored.
///
/// Escapes are resolved before paths are compared. A rule with a path does not match ambiguous paths:
/// those with `.`, `..`, or an escaped `/`, `\` or `%`.
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
    /// Names that end with `.example.com`.
    EndsWith(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPattern {
    Any,
    Exactly(String),
    BeginsWith(String),
}

/// A text that is not a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpRuleError {
    /// The method is invalid or never allowed.
    #[error(
        "its method is not a word in capitals such as GET; CONNECT and TRACE cannot be allowed"
    )]
    Method,
    /// The scheme, the host or the port is invalid.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// A `*` is neither the first label of the host nor the end of the path.
    #[error("'*' is allowed only before the host, as in *.example.com, and at the end of the path")]
    Star,
    /// The rule has a query or a fragment.
    #[error("it has a query or a fragment; end the rule with the path")]
    Query,
    /// The path is ambiguous.
    #[error(
        "its path is ambiguous; remove '.', '..', '\\', and the escapes of '/', '\\', ';', '%' and control characters, and escape the UTF-8 of other characters"
    )]
    Path,
    /// The host is an address of more than one machine, or it embeds an IPv4 address.
    #[error(
        "its host is not the address of one machine; write an address such as 127.0.0.1 or [::1]"
    )]
    Address,
}

impl HttpRule {
    /// Returns whether the rule allows only the methods `GET` or `HEAD`.
    pub fn allows_only_reads(&self) -> bool {
        matches!(self.method.as_deref(), Some("GET" | "HEAD"))
    }

    /// Returns the host if the rule allows one method, of one host, at one path.
    pub fn exact_host(&self) -> Option<&Host> {
        let (Some(_), HostPattern::Exactly(host), PathPattern::Exactly(_)) =
            (&self.method, &self.host, &self.path)
        else {
            return None;
        };
        Some(host)
    }

    /// Parses a rule.
    ///
    /// # Errors
    /// [`HttpRuleError`] if the text is invalid.
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

    /// Returns whether the rule allows a request. `path` is the path of the request, with escapes.
    pub fn allows(&self, method: &str, origin: &Origin, path: &str) -> bool {
        let own_method = self.method.as_deref();
        own_method.is_none_or(|rule_method| rule_method == method)
            && self.is_at(origin)
            && self.path.matches(path)
    }

    /// Returns whether a server may take a request for one of the rule: an ambiguous path, and one with `;` or an empty
    /// segment, may be each path of its host.
    pub fn may_mean(&self, method: &str, origin: &Origin, path: &str) -> bool {
        let own_method = self.method.as_deref();
        own_method.is_none_or(|rule_method| rule_method.eq_ignore_ascii_case(method))
            && self.is_at(origin)
            && self.path.may_match(path)
    }

    fn is_at(&self, origin: &Origin) -> bool {
        self.scheme == origin.scheme && self.port == origin.port && self.host.matches(&origin.host)
    }
}

/// Maximum bytes of a method.
pub const METHOD_MAX: usize = 32;

/// Returns whether a rule may have this method.
fn is_method(method: &str) -> bool {
    let is_capital = |b: u8| b.is_ascii_uppercase() || b == b'-';
    !method.is_empty() && method.bytes().all(is_capital) && is_allowed_method(method)
}

/// Returns whether a rule can allow a method. `CONNECT` opens a tunnel, and `TRACE` echoes credentials.
pub fn is_allowed_method(method: &str) -> bool {
    let forbidden = ["CONNECT", "TRACE"];
    method.len() <= METHOD_MAX
        && !forbidden
            .iter()
            .any(|forbidden_method| forbidden_method.eq_ignore_ascii_case(method))
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
            (Host::Address(address), false) if !is_one_machine(address) => {
                Err(HttpRuleError::Address)
            }
            (host, false) => Ok(Self::Exactly(host)),
        }
    }

    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(own), host) => own == host,
            (Self::EndsWith(ending), Host::Name(name)) => {
                name.len() > ending.len() && name.ends_with(ending)
            }
            (Self::EndsWith(_), Host::Address(_)) => false,
        }
    }
}

/// Returns whether an address is that of one machine and embeds no other address.
fn is_one_machine(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || broadcast || embeds_ipv4(address))
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
        let path = normalize_path(path).ok_or(HttpRuleError::Path)?;
        Ok(if begins {
            Self::BeginsWith(path)
        } else {
            Self::Exactly(path)
        })
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(own) => normalize_path(path).is_some_and(|path| path == *own),
            Self::BeginsWith(own) => normalize_path(path).is_some_and(|path| path.starts_with(own)),
        }
    }

    fn may_match(&self, path: &str) -> bool {
        let is_plain = !path.contains(';') && !path.contains("//");
        let is_clear = is_plain && normalize_path(path).is_some();
        // Many servers ignore a slash at the end.
        !is_clear || self.matches(path) || self.matches(path.trim_end_matches('/'))
    }
}

/// Returns a path with normalised escapes, or `None` if the path is ambiguous.
pub fn normalize_path(path: &str) -> Option<String> {
    let mut normal = String::with_capacity(path.len());
    let mut unescaped = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
                let escaped = (high << 4) + low;
                if matches!(escaped, b'/' | b'\\' | b'%' | b';' | 0..=0x1f | 0x7f) {
                    return None;
                }
                unescaped.push(escaped);
                if escaped.is_ascii_alphanumeric() || b"-._~".contains(&escaped) {
                    normal.push(char::from(escaped));
                } else {
                    normal.push_str(&format!("%{escaped:02X}"));
                }
            }
            b'\\' => return None,
            0x21..=0x7e => {
                unescaped.push(byte);
                normal.push(char::from(byte));
            }
            _ => return None,
        }
    }
    // Some servers decode invalid UTF-8 to `/` or `.`.
    std::str::from_utf8(&unescaped).ok()?;
    // Some servers parse the text after `;` as a parameter of the segment.
    let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    (normal.starts_with('/') && !normal.split('/').any(is_dots)).then_some(normal)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16)?.try_into().ok()
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
