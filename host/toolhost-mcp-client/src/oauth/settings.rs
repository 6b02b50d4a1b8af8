//! What does not change while a server is used.

use std::sync::Arc;
use std::time::Duration;

use toolhost::{
    ResourceName,
    http::{Egress, HttpClient, HttpGrant},
    mcp::{McpOAuth, McpOAuthGrant},
};

use super::authorizer::McpAuthorization;
use super::check::UrlCheck;
use crate::client::client;

/// How the client is authorized at one server.
pub(crate) struct OAuthSettings {
    pub(crate) server: ResourceName,
    pub(crate) url: Arc<str>,
    pub(crate) egress: Egress,
    pub(crate) grant: Arc<HttpGrant>,
    pub(crate) config: McpOAuth,
    pub(crate) access: McpAuthorization,
    /// Time for one request to an authorization server.
    pub(crate) request_time: Duration,
    /// Time for a person.
    pub(crate) time: Duration,
    /// How often a person may be asked in ten minutes.
    pub(crate) authorizations: u32,
}

impl OAuthSettings {
    /// Returns the client of the server, with its token.
    pub(super) fn client(&self, token: Option<&str>) -> HttpClient {
        client(&self.egress, &self.url, &self.grant, token)
    }

    pub(super) fn check(&self) -> UrlCheck {
        UrlCheck::new(&self.url, &self.grant)
    }

    /// Whether the client's secret is enough for a token.
    pub(super) fn asks_nobody(&self) -> bool {
        self.config.grant == McpOAuthGrant::ClientCredentials
    }

    /// The secret of the policy's client, if this is its identifier.
    pub(super) fn secret_of(&self, client_id: &str) -> Option<&str> {
        let is_own = self.config.client_id.as_deref() == Some(client_id);
        let secret = self.config.client_secret.as_ref().filter(|_| is_own);
        secret.map(|secret| secret.as_str())
    }
}
