//! Access tokens of an OAuth authorization server: this server is a resource server (RFC 6750, RFC 9728).
//!
//! A token is a signed JSON Web Token (RFC 9068). It is valid if its signature is one of the issuer's keys,
//! its issuer is the configured one, its audience contains this resource, it has not expired, and it has
//! the required scopes. Its subject is the instance.

mod claims;
mod config;
mod jwk;
mod key_source;
mod token_error;

use std::time::SystemTime;

use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use super::body::{BoxResponse, response};
use crate::served::ServedAgent;
use claims::Expected;
use config::METADATA;
use key_source::KeySource;

pub use config::{OAuthConfig, OAuthConfigError, OAuthKeys};
pub(super) use token_error::TokenError;

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 8 << 10;

/// The authorization server whose tokens are valid.
pub(crate) struct AuthorizationServer {
    config: OAuthConfig,
    keys: KeySource,
    /// Where clients find the metadata.
    metadata_url: String,
}

impl AuthorizationServer {
    pub(super) fn new(config: OAuthConfig, served: &ServedAgent) -> Result<Self, OAuthConfigError> {
        let metadata_url = config.metadata_url()?;
        Ok(Self {
            keys: KeySource::new(&config, served)?,
            metadata_url,
            config,
        })
    }

    /// Returns the metadata of this resource if a path is that of the metadata.
    pub(super) fn metadata(&self, path: &str) -> Option<BoxResponse> {
        let rest = path.strip_prefix(METADATA)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let document = json!({
            "resource": self.config.resource,
            "authorization_servers": [self.config.issuer],
            "scopes_supported": self.config.scopes,
            "bearer_methods_supported": ["header"],
        });
        let mut response = response(StatusCode::OK, &document.to_string());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        Some(response)
    }

    /// Returns the value of `WWW-Authenticate` (RFC 6750 §3, RFC 9728 §5.1).
    pub(super) fn challenge(&self, error: Option<&TokenError>) -> String {
        let mut challenge = format!("Bearer resource_metadata=\"{}\"", self.metadata_url);
        if let Some(code) = error.and_then(TokenError::code) {
            challenge.push_str(&format!(", error=\"{code}\""));
        }
        if !self.config.scopes.is_empty() {
            let scopes = self.config.scopes.join(" ");
            challenge.push_str(&format!(", scope=\"{scopes}\""));
        }
        challenge
    }

    /// Returns the subject of a valid token.
    pub(super) async fn subject_of(&self, token: &str) -> Result<String, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::Malformed);
        }
        let token = claims::parse(token)?;
        let expected = Expected {
            issuer: &self.config.issuer,
            resource: &self.config.resource,
            scopes: &self.config.scopes,
            now: SystemTime::now(),
        };
        // Before the signature: no keys are fetched for a token that cannot be valid.
        let subject = expected.subject_of(&token);
        if !matches!(subject, Ok(_) | Err(TokenError::Scope(_))) {
            return subject;
        }
        let keys = self.keys.find(&token.header).await?;
        let is_signed = keys.iter().any(|key| key.has_signed(&token));
        if is_signed {
            subject
        } else {
            Err(TokenError::Signature)
        }
    }
}
