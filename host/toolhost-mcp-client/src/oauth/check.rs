//! Which URLs of authorization servers may be used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use toolhost::http::{AddressBlock, HttpGrant, HttpHost, HttpOrigin, HttpScheme, non_public_block};

use crate::client::origin_of;

/// Checks URLs that a server names. Names are also checked when they are resolved.
#[derive(Debug, Clone)]
pub(super) struct UrlCheck {
    /// The origin of the server, which the policy names.
    server: Option<HttpOrigin>,
    networks: Vec<AddressBlock>,
}

impl UrlCheck {
    pub(super) fn new(server_url: &str, grant: &HttpGrant) -> Self {
        Self {
            server: origin_of(server_url).ok(),
            networks: grant.private_networks.clone(),
        }
    }

    /// Returns the origin of a URL that may be used: `https` and not an address of a private network, or the
    /// server's own origin, or an address that the policy's `privateNetworks` have.
    ///
    /// # Errors
    /// Why it may not be used.
    pub(super) fn check(&self, url: &str) -> Result<HttpOrigin, String> {
        let origin = origin_of(url)?;
        if self.server.as_ref() == Some(&origin) {
            return Ok(origin);
        }
        let addresses = match &origin.host {
            HttpHost::Address(address) => vec![*address],
            HttpHost::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            HttpHost::Name(_) => vec![],
        };
        let is_private = |address: &IpAddr| non_public_block(*address).is_some();
        match addresses.iter().find(|address| is_private(address)) {
            Some(_) if addresses.iter().any(|address| self.is_listed(*address)) => Ok(origin),
            Some(_) => Err(format!("{origin} is not a public address")),
            None if origin.scheme == HttpScheme::Https => Ok(origin),
            None => Err(format!("{origin} is not https")),
        }
    }

    fn is_listed(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|block| block.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_https_and_public_unless_the_policy_has_it() {
        let check = |networks: &[&str], url: &str| {
            let parse = |text: &&str| AddressBlock::parse(text).unwrap();
            let grant = HttpGrant {
                private_networks: networks.iter().map(parse).collect(),
                ..HttpGrant::default()
            };
            UrlCheck::new("http://10.0.0.1:81/mcp", &grant).check(url)
        };
        for url in [
            "https://auth.example/token?x",
            "https://93.184.216.34/",
            "http://10.0.0.1:81/token",
        ] {
            assert!(check(&[], url).is_ok(), "{url}");
        }
        for url in [
            "http://auth.example/token",
            "https://10.0.0.2/",
            "http://10.0.0.1:82/",
            "https://10.0.0.1:81/",
            "https://localhost/",
            "https://a.localhost:1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://2130706433/",
            "https://127.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://user@auth.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "//auth.example/",
            "",
        ] {
            assert!(check(&[], url).is_err(), "{url}");
        }
        assert!(check(&["127.0.0.0/8"], "http://localhost:3000/authorize").is_ok());
        assert!(check(&["127.0.0.0/8"], "http://127.0.0.1:3000/").is_ok());
        assert!(check(&["127.0.0.0/8"], "http://10.0.0.2/").is_err());
    }
}
