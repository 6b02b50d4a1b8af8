//! An MCP endpoint.

use std::sync::Arc;

use toolhost::{
    ResourceName, Sandbox,
    http::{Egress, HttpClient, HttpGrant, HttpRule, HttpRuleError},
    mcp::McpOAuth,
};
use toolhost_runtime::debug_fields;

use crate::challenge::Challenge;
use crate::client::client;
use crate::error::McpError;
use crate::limits::McpLimits;
use crate::oauth::{McpAuthorization, OAuth, OAuthSettings};
use crate::unauthorized::Unauthorized;

/// An MCP endpoint, and the client that reaches it and nothing else.
#[derive(Clone)]
pub struct HttpServer {
    pub(crate) url: Arc<str>,
    egress: Egress,
    grant: Arc<HttpGrant>,
    pub(crate) client: HttpClient,
    oauth: Option<(McpOAuth, McpAuthorization)>,
}

// Omits credentials.
debug_fields!(HttpServer, this => url: this.url, oauth: this.oauth);

impl HttpServer {
    /// An endpoint such as `https://mcp.example.com/mcp`. Its requests have the egress rules of guests: only
    /// this URL is allowed, whatever rules `grant` has; its name may resolve to public addresses and to the
    /// `private_networks` of `grant`; the credentials of `grant` are added to requests to the URL's origin
    /// and replaced in responses; redirects are not followed.
    ///
    /// # Errors
    /// [`HttpRuleError`] where no rule can allow the URL: it must have a scheme, a host and a path without
    /// `*`, and neither a query nor a fragment.
    pub fn new(sandbox: &Sandbox, url: &str, grant: HttpGrant) -> Result<Self, HttpRuleError> {
        if url.contains('*') {
            return Err(HttpRuleError::Star);
        }
        let path = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'));
        // A rule without a path allows every path.
        let url = match path {
            Some(_) => url.to_owned(),
            None => format!("{url}/"),
        };
        let rules =
            ["GET", "POST", "DELETE"].map(|method| HttpRule::parse(&format!("{method} {url}")));
        let rules: Result<Vec<HttpRule>, HttpRuleError> = rules.into_iter().collect();
        let grant = Arc::new(HttpGrant {
            allow: rules?.into(),
            ..grant
        });
        Ok(Self {
            client: client(sandbox.egress(), &url, &grant, None),
            url: url.into(),
            egress: sandbox.egress().clone(),
            grant,
            oauth: None,
        })
    }

    /// Authorizes the client with OAuth, when the server requires it.
    ///
    /// Requests for metadata, registration and tokens go to `https` URLs at public addresses, to the
    /// server's own origin, and to addresses in the `private_networks` of the grant. They follow no
    /// redirect to another origin and get no credentials of the grant. The access token is added to
    /// requests to the server's origin alone, and replaced in responses.
    #[must_use]
    pub fn with_oauth(mut self, oauth: McpOAuth, authorization: McpAuthorization) -> Self {
        self.oauth = Some((oauth, authorization));
        self
    }

    /// Asks a person to authorize the host now, whatever credentials there are, and keeps the new ones. `scopes` are asked for besides those of the policy or of the server.
    ///
    /// Call it in a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`McpError::Unauthorized`] with the reason; also without [`HttpServer::with_oauth`], or without an
    /// authorizer.
    pub async fn authorize(
        &self,
        name: &ResourceName,
        limits: &McpLimits,
        scopes: &[String],
    ) -> Result<(), McpError> {
        let refusal = Unauthorized::challenged(Challenge::login(scopes));
        let authorized = match self.oauth(name, limits) {
            Some(oauth) => oauth.authorize(&refusal).await,
            None => Err(refusal.with_reason("OAuth is off")),
        };
        authorized.map_err(|error| McpError::Unauthorized {
            server: name.clone(),
            reason: error.to_string(),
        })
    }

    /// Returns what authorizes the client, if OAuth is on.
    pub(crate) fn oauth(&self, name: &ResourceName, limits: &McpLimits) -> Option<OAuth> {
        let (config, access) = self.oauth.clone()?;
        Some(OAuth::new(OAuthSettings {
            server: name.clone(),
            url: Arc::clone(&self.url),
            egress: self.egress.clone(),
            grant: Arc::clone(&self.grant),
            config,
            access,
            request_time: limits.oauth_request,
            time: limits.authorization,
            authorizations: limits.authorizations,
        }))
    }
}
