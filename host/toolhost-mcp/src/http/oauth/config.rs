//! Configuration of the authorization server whose tokens are valid.

use http::Uri;

/// What the path of the metadata begins with (RFC 9728 §3.1).
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The OAuth authorization server whose access tokens are valid. The subject of a token is its instance.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// URL of this server's endpoint as clients see it, such as `https://tools.example.com/mcp`: the
    /// audience that a token must have.
    pub resource: String,
    /// The issuer of the tokens, such as `https://id.example.com`, as it is in their claim `iss`.
    pub issuer: String,
    /// The keys that sign the tokens.
    pub keys: OAuthKeys,
    /// Scopes that a token must have. Default: none.
    pub scopes: Vec<String>,
}

/// Where the public keys of an authorization server are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OAuthKeys {
    /// At the `jwks_uri` of the issuer's metadata (RFC 8414, or OpenID Connect Discovery).
    Discovered,
    /// At this URL, as a JSON Web Key Set (RFC 7517).
    Url(String),
    /// The text of a JSON Web Key Set. It is never fetched again.
    Set(String),
}

/// Why an [`OAuthConfig`] cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthConfigError {
    /// A URL is not absolute, or has a query or a fragment, or uses `http` for another host than loopback.
    #[error("'{url}' is not an https URL without query and fragment")]
    Url {
        /// The URL.
        url: String,
    },
    /// The set has no key that can verify a signature.
    #[error("the key set has no public key for RS256, PS256, ES256 or EdDSA")]
    Keys,
    /// A scope has characters that no scope may have.
    #[error("'{scope}' is not a scope")]
    Scope {
        /// The scope.
        scope: String,
    },
}

impl OAuthConfig {
    /// Tokens of an issuer for this resource, with the keys that the issuer's metadata names.
    pub fn new(resource: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            issuer: issuer.into(),
            keys: OAuthKeys::Discovered,
            scopes: Vec::new(),
        }
    }

    /// Returns the URL of the metadata (RFC 9728 §3.1): the well-known path comes before the resource's.
    pub(super) fn metadata_url(&self) -> Result<String, OAuthConfigError> {
        let resource = checked(&self.resource)?;
        checked(&self.issuer)?;
        // RFC 6749 §3.3.
        let is_scope_byte = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        let is_scope = |scope: &String| !scope.is_empty() && scope.bytes().all(is_scope_byte);
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            let scope = scope.clone();
            return Err(OAuthConfigError::Scope { scope });
        }
        let (scheme, authority) = (resource.scheme_str(), resource.authority());
        let (scheme, authority) = scheme.zip(authority).unzip();
        let (scheme, authority) = (
            scheme.unwrap_or_default(),
            authority.map_or("", |name| name.as_str()),
        );
        let path = resource.path().trim_end_matches('/');
        Ok(format!("{scheme}://{authority}{}{path}", METADATA))
    }
}

/// Parses a URL of https, or of http and a loopback host, without a query.
pub(super) fn checked(url: &str) -> Result<Uri, OAuthConfigError> {
    let parsed = checked_with_query(url)?;
    match parsed.query() {
        None => Ok(parsed),
        Some(_) => Err(OAuthConfigError::Url {
            url: url.to_owned(),
        }),
    }
}

/// Parses a URL of https, or of http and a loopback host. It may have a query.
pub(super) fn checked_with_query(url: &str) -> Result<Uri, OAuthConfigError> {
    let wrong = || OAuthConfigError::Url {
        url: url.to_owned(),
    };
    let parsed: Uri = url.parse().map_err(|_| wrong())?;
    let host = parsed.host().unwrap_or_default();
    let is_loopback = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let is_protected = match parsed.scheme_str() {
        Some("https") => true,
        Some("http") => is_loopback,
        _ => false,
    };
    let is_plain = !url.contains(['#', '"', '\\', '@']);
    if host.is_empty() || !is_protected || !is_plain {
        return Err(wrong());
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_is_at_the_well_known_path_of_the_resource() {
        let url =
            |resource: &str| OAuthConfig::new(resource, "https://id.example.com").metadata_url();
        assert_eq!(
            url("https://tools.example.com/mcp").unwrap(),
            "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
        );
        assert_eq!(
            url("http://127.0.0.1:80/").unwrap(),
            "http://127.0.0.1:80/.well-known/oauth-protected-resource"
        );
        for wrong in [
            "http://tools.example.com/mcp",
            "/mcp",
            "https://x/?q",
            "https://x/#f",
            "ftp://x/",
            "",
        ] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scope_cannot_end_the_header_that_names_it() {
        let mut config = OAuthConfig::new("https://x/mcp", "https://y");
        config.scopes = vec!["a\"b".to_owned()];
        assert!(matches!(
            config.metadata_url(),
            Err(OAuthConfigError::Scope { .. })
        ));
    }
}
