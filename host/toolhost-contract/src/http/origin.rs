//! The origin of a request: normalised scheme, host and port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address::{AddressBlock, non_public_block};

/// Maximum bytes of a host name, and of one label of it.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// The scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    /// Parses `http` or `https`, in any case.
    ///
    /// # Errors
    /// [`OriginError::Scheme`] for any other text.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        match text.to_ascii_lowercase().as_str() {
            "http" => Ok(Self::Http),
            "https" => Ok(Self::Https),
            _ => Err(OriginError::Scheme),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name, in lower case.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl Host {
    /// Parses a host. Rejects names that a resolver may parse as an address.
    ///
    /// # Errors
    /// [`OriginError`] if the text is invalid.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(OriginError::Host)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| OriginError::OddAddress)?;
            return Ok(Self::Address(address.into()));
        }
        if !text.is_ascii() {
            return Err(OriginError::NotAscii);
        }
        if text.ends_with('.') {
            return Err(OriginError::TrailingDot);
        }
        let name = text.to_ascii_lowercase();
        if name.len() > NAME_MAX || !name.split('.').all(is_label) {
            return Err(OriginError::Host);
        }
        if name.rsplit('.').next().is_some_and(is_number) {
            let address: Ipv4Addr = name.parse().map_err(|_| OriginError::OddAddress)?;
            return Ok(Self::Address(address.into()));
        }
        Ok(Self::Name(name))
    }
}

fn is_label(label: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(is_allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Returns whether resolvers parse a name with this last label as an address, such as `127.1`,
/// `0x7f000001` and `2130706433`.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => label.bytes().all(|b| b.is_ascii_digit()),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// Parses `scheme://host[:port]`.
    ///
    /// # Errors
    /// [`OriginError`] if the text is invalid.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let (scheme, authority) = text.split_once("://").ok_or(OriginError::Scheme)?;
        Self::of(Scheme::parse(scheme)?, authority)
    }

    /// Returns the origin of a URL. Its path, query and fragment are not read.
    ///
    /// # Errors
    /// [`OriginError`] if the text before them is invalid.
    pub fn of_url(url: &str) -> Result<Self, OriginError> {
        let authority = url.find("://").map_or(0, |at| at + 3);
        let rest = url.get(authority..).unwrap_or_default();
        let end = authority + rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Self::parse(url.get(..end).unwrap_or_default())
    }

    /// Returns whether requests of the host may be sent here, as far as the text says it: `localhost` and
    /// addresses that are not public must be in one of these blocks. Names are checked again when they are
    /// resolved.
    pub fn reach(&self, networks: &[AddressBlock]) -> Reach {
        let addresses = match &self.host {
            Host::Address(address) => vec![address.to_canonical()],
            Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            Host::Name(_) => vec![],
        };
        let is_listed = |address: &IpAddr| networks.iter().any(|block| block.contains(*address));
        let is_private = |address: &IpAddr| non_public_block(*address).is_some();
        if !addresses.iter().any(is_private) {
            Reach::Public
        } else if addresses.iter().any(is_listed) {
            Reach::Listed
        } else {
            Reach::Private
        }
    }

    /// Parses `host[:port]`.
    ///
    /// # Errors
    /// [`OriginError`] if the text is invalid.
    pub fn of(scheme: Scheme, authority: &str) -> Result<Self, OriginError> {
        let (host, port) = split(scheme, authority)?;
        let host = Host::parse(host)?;
        Ok(Self { scheme, host, port })
    }

    /// Returns the value of the `Host` header: without the port if it is the default of the scheme.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

/// Where a host is, as far as its text says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A name, or a public address.
    Public,
    /// An address that is not public, in a block that the operator has listed.
    Listed,
    /// Another address that is not public.
    Private,
}

/// Splits an authority into host and port. The default port is that of the scheme.
pub(crate) fn split(scheme: Scheme, authority: &str) -> Result<(&str, u16), OriginError> {
    if authority.contains('@') {
        return Err(OriginError::UserInfo);
    }
    let bracket = authority.find(']').unwrap_or_default();
    let colon = authority.get(bracket..).and_then(|rest| rest.find(':'));
    let Some(colon) = colon.map(|at| at + bracket) else {
        return Ok((authority, scheme.default_port()));
    };
    let host = authority.get(..colon).unwrap_or_default();
    let port = authority.get(colon + 1..).unwrap_or_default();
    let is_plain = !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit());
    let port = port.parse().ok().filter(|_| is_plain);
    Ok((host, port.ok_or(OriginError::Port)?))
}

/// A text that is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OriginError {
    /// The scheme is neither `http` nor `https`.
    #[error("it must begin with http:// or https://")]
    Scheme,
    /// A user name or password precedes the host.
    #[error("it has a user name or password; put secrets into `http.credentials`")]
    UserInfo,
    /// The host is neither a name nor an address.
    #[error(
        "its host is neither an IP address nor a name of letters, digits, '-' and '_' between dots"
    )]
    Host,
    /// The host is not ASCII.
    #[error("its host is not ASCII; write it in punycode, which begins with xn--")]
    NotAscii,
    /// The host ends with a dot.
    #[error("its host ends with a dot; remove the dot")]
    TrailingDot,
    /// The host is an address in a non-standard notation.
    #[error(
        "its host is an IP address in an unusual notation; write it as 192.0.2.1 or [2001:db8::1]"
    )]
    OddAddress,
    /// The port is not a number from 1 to 65535.
    #[error("its port is not a number from 1 to 65535")]
    Port,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_an_origin_to_its_normal_form_or_refuses_it() {
        let check = |text: &str, expected: Result<&str, OriginError>| {
            let origin = Origin::parse(text).map(|origin| origin.to_string());
            assert_eq!(origin, expected.map(str::to_owned), "{text}");
        };
        check("https://example.com", Ok("https://example.com"));
        check("HTTPS://EXAMPLE.com:443", Ok("https://example.com"));
        check("http://example.com:443", Ok("http://example.com:443"));
        check("http://example.com:80", Ok("http://example.com"));
        check("http://a_b.example", Ok("http://a_b.example"));
        check(
            "https://xn--bcher-kva.example",
            Ok("https://xn--bcher-kva.example"),
        );
        check("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080"));
        check("http://[::1]:8080", Ok("http://[::1]:8080"));
        check("http://[0:0:0:0:0:0:0:1]", Ok("http://[::1]"));
        check("http://[2001:DB8::1]", Ok("http://[2001:db8::1]"));
        check("http://0x7g.example", Ok("http://0x7g.example"));

        for (bad, why) in [
            ("example.com", OriginError::Scheme),
            ("ftp://example.com", OriginError::Scheme),
            ("https:/example.com", OriginError::Scheme),
            ("http://user@example.com", OriginError::UserInfo),
            ("http://a:b@example.com", OriginError::UserInfo),
            ("http://example.com@127.0.0.1", OriginError::UserInfo),
            ("http://", OriginError::Host),
            ("http://.", OriginError::TrailingDot),
            ("http://a..b", OriginError::Host),
            ("http://-a.example", OriginError::Host),
            ("http://a-.example", OriginError::Host),
            ("http://exa mple.com", OriginError::Host),
            ("http://ex%61mple.com", OriginError::Host),
            ("http://example.com\0", OriginError::Host),
            ("http://example.com/", OriginError::Host),
            ("http://example.com#", OriginError::Host),
            ("http://example.com\\", OriginError::Host),
            ("http://bücher.example", OriginError::NotAscii),
            ("http://example.com.", OriginError::TrailingDot),
            ("http://127.0.0.1.", OriginError::TrailingDot),
            ("http://0177.0.0.1", OriginError::OddAddress),
            ("http://127.1", OriginError::OddAddress),
            ("http://2130706433", OriginError::OddAddress),
            ("http://0x7f000001", OriginError::OddAddress),
            ("http://0x7f.0.0.0x1", OriginError::OddAddress),
            ("http://0X7F000001", OriginError::OddAddress),
            ("http://example.0x", OriginError::OddAddress),
            ("http://127.0.0.256", OriginError::OddAddress),
            ("http://1.2.3.4.5", OriginError::OddAddress),
            ("http://example.1", OriginError::OddAddress),
            ("http://[127.0.0.1]", OriginError::OddAddress),
            ("http://[fe80::1%25eth0]", OriginError::OddAddress),
            ("http://[::1", OriginError::Port),
            ("http://[::1]x", OriginError::Host),
            ("http://::1", OriginError::Port),
            ("http://example.com:", OriginError::Port),
            ("http://example.com:0", OriginError::Port),
            ("http://example.com:080", OriginError::Port),
            ("http://example.com:+80", OriginError::Port),
            ("http://example.com:65536", OriginError::Port),
            ("http://example.com:80:80", OriginError::Port),
        ] {
            check(bad, Err(why));
        }
    }

    #[test]
    fn a_host_has_at_most_253_characters_and_each_label_63() {
        let label = "x".repeat(LABEL_MAX);
        let (longest, longer) = ("y".repeat(61), "y".repeat(62));
        let three = format!("{label}.{label}.{label}");
        for (host, is_valid) in [
            (label.clone(), true),
            (format!("{label}x"), false),
            (format!("{three}.{longest}"), true),
            (format!("{three}.{longer}"), false),
        ] {
            assert_eq!(Host::parse(&host).is_ok(), is_valid, "{host}");
        }
    }

    #[test]
    fn an_address_that_is_not_public_is_private_unless_it_is_listed() {
        let networks = [AddressBlock::parse("10.0.0.0/8").unwrap()];
        for (url, expected) in [
            ("https://auth.example/token?x", Reach::Public),
            ("https://93.184.216.34#x", Reach::Public),
            ("http://10.0.0.1:81/", Reach::Listed),
            ("https://10.0.0.1", Reach::Listed),
            ("https://notlocalhost/", Reach::Public),
            ("https://localhost/", Reach::Private),
            ("https://a.localhost:1/", Reach::Private),
            ("https://[::1]/", Reach::Private),
            ("https://[::ffff:127.0.0.1]/", Reach::Private),
            ("https://192.168.0.1/", Reach::Private),
            ("https://169.254.169.254/latest", Reach::Private),
        ] {
            let origin = Origin::of_url(url).unwrap();
            assert_eq!(origin.reach(&networks), expected, "{url}");
        }
        for (block, expected) in [("127.0.0.1", Reach::Listed), ("::2", Reach::Private)] {
            let block = AddressBlock::parse(block).unwrap();
            let origin = Origin::of_url("http://localhost:81").unwrap();
            assert_eq!(origin.reach(&[block]), expected);
        }
        for none in [
            "",
            "//a/",
            "file:///etc",
            "https://a@b/",
            "https://2130706433/",
        ] {
            assert!(Origin::of_url(none).is_err(), "{none}");
        }
    }
}
