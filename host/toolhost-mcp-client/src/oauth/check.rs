//! Which URLs of authorization servers may be used.

use toolhost::http::{AddressBlock, HttpGrant, HttpOrigin, HttpReach, HttpScheme};

/// Checks URLs that a server names. Names are also checked when they are resolved.
#[derive(Debug, Clone)]
pub(super) struct UrlCheck {
    /// The origin of the server, which the policy names.
    server: Option<HttpOrigin>,
    pub(super) networks: Vec<AddressBlock>,
}

impl UrlCheck {
    pub(super) fn new(server_url: &str, grant: &HttpGrant) -> Self {
        Self {
            server: HttpOrigin::of_url(server_url).ok(),
            networks: grant.private_networks.clone(),
        }
    }

    /// Returns the origin of a URL that may be used: `https` and not an address of a private network, or the
    /// server's own origin, or an address that the policy's `privateNetworks` have.
    ///
    /// # Errors
    /// Why it may not be used.
    pub(super) fn origin_of(&self, url: &str) -> Result<HttpOrigin, String> {
        let origin = HttpOrigin::of_url(url).map_err(|error| error.to_string())?;
        match (origin.reach(&self.networks), origin.scheme) {
            _ if self.is_server(&origin) => Ok(origin),
            (HttpReach::Listed, _) | (HttpReach::Public, HttpScheme::Https) => Ok(origin),
            (HttpReach::Private, _) => Err(format!("{origin} is not a public address")),
            (HttpReach::Public, HttpScheme::Http) => Err(format!("{origin} is not https")),
        }
    }

    pub(super) fn is_server(&self, origin: &HttpOrigin) -> bool {
        self.server.as_ref() == Some(origin)
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
            UrlCheck::new("http://10.0.0.1:81/mcp", &grant).origin_of(url)
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
