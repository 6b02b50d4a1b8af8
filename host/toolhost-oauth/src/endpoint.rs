//! URLs of authorization servers, and which of them may be reached.

use oauth2::url::{Host, Url};
use toolhost_contract::http::{Origin, OriginError};

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
        let endpoint = Self { url };
        match endpoint.url.scheme() {
            _ if !endpoint.url.has_host() => Err(format!("'{text}' has no host")),
            "https" => Ok(endpoint),
            "http" if endpoint.is_loopback() => Ok(endpoint),
            _ if purpose == Use::Browser => {
                Err(format!("'{text}' is not https, nor http on loopback"))
            }
            _ => Err(format!("'{text}' is not https")),
        }
    }

    fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            None => false,
        }
    }

    pub(crate) fn origin(&self) -> Result<Origin, OriginError> {
        Origin::of_url(self.url.as_str())
    }
}

#[cfg(test)]
mod tests {
    use toolhost_contract::AddressBlock;
    use toolhost_contract::http::Reach;

    use super::*;

    #[test]
    fn an_endpoint_on_a_private_address_must_be_listed() {
        let check = |networks: &[&str], url: &str| {
            let parse = |text: &&str| AddressBlock::parse(text).unwrap();
            let networks: Vec<_> = networks.iter().map(parse).collect();
            let endpoint = Endpoint::parse(url, Use::Request).ok();
            let origin = endpoint.map(|endpoint| endpoint.origin().unwrap());
            origin.filter(|origin| origin.reach(&networks) != Reach::Private)
        };
        assert!(check(&[], "https://auth.example/token?x").is_some());
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
            assert!(check(&[], url).is_none(), "{url}");
        }
        assert!(check(&["127.0.0.0/8"], "http://127.0.0.1:1/").is_some());
        assert!(check(&["127.0.0.0/8"], "https://10.0.0.1/").is_none());
        assert!(check(&["10.0.0.0/8"], "http://10.0.0.1/").is_none(), "http");
    }
}
