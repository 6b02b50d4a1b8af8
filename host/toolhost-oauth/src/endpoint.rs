//! URLs of authorization servers, and which of them may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oauth2::url::{Host, Url};
use toolhost_contract::AddressBlock;
use toolhost_contract::http::non_public_block;

/// What a URL is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The host sends requests to it.
    Request,
    /// A person's browser opens it.
    Browser,
}

/// A URL that is `https`, or `http` on loopback, without a user or a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
}

impl Endpoint {
    pub(crate) fn parse(text: &str, purpose: Use) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("'{text}': {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user: remove what precedes '@'".to_owned());
        }
        if url.fragment().is_some() {
            return Err(format!("'{text}' has a '#'"));
        }
        let found = Self { url };
        match (found.url.scheme(), found.host_addresses().as_deref()) {
            (_, None) => Err(format!("'{text}' has no host")),
            ("https", _) => Ok(found),
            ("http", Some([first, ..])) if first.is_loopback() => Ok(found),
            _ if purpose == Use::Browser => {
                Err(format!("'{text}' is not https, nor http on loopback"))
            }
            _ => Err(format!("'{text}' is not https")),
        }
    }

    /// The addresses that the host is, whatever a resolver returns. Empty for a name. None without a host.
    fn host_addresses(&self) -> Option<Vec<IpAddr>> {
        Some(match self.url.host()? {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.to_canonical()],
            Host::Domain(name) if name == "localhost" || name.ends_with(".localhost") => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            Host::Domain(_) => vec![],
        })
    }

    /// Checks that requests may be sent: the address is public, or in one of these blocks. Names are checked
    /// again when they are resolved.
    pub(crate) fn check_reachable(&self, networks: &[AddressBlock]) -> Result<(), String> {
        let addresses = self.host_addresses().unwrap_or_default();
        let is_listed = |address: &IpAddr| networks.iter().any(|block| block.contains(*address));
        let is_private = |address: &&IpAddr| non_public_block(**address).is_some();
        match addresses.iter().find(is_private) {
            Some(_) if !addresses.iter().any(is_listed) => Err(format!(
                "{} is not a public address: list it in `privateNetworks`",
                self.origin()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The origin, as rules of egress are written.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_on_a_private_address_must_be_listed() {
        let check = |networks: &[&str], url: &str| {
            let parse = |text: &&str| AddressBlock::parse(text).unwrap();
            let networks: Vec<_> = networks.iter().map(parse).collect();
            let endpoint = Endpoint::parse(url, Use::Request);
            endpoint.and_then(|endpoint| endpoint.check_reachable(&networks))
        };
        assert!(check(&[], "https://auth.example/token?x").is_ok());
        for url in [
            "http://127.0.0.1:1/",
            "https://localhost/",
            "https://a.localhost:1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://2130706433/",
            "https://169.254.169.254/latest",
            "https://10.0.0.1/",
        ] {
            assert!(check(&[], url).is_err(), "{url}");
        }
        assert!(check(&["127.0.0.0/8"], "http://127.0.0.1:1/").is_ok());
        assert!(check(&["127.0.0.0/8"], "https://10.0.0.1/").is_err());
        assert!(check(&["10.0.0.0/8"], "http://10.0.0.1/").is_err(), "http");
    }
}
