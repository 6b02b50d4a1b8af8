//! Who authorizes the host, and where the credentials are kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolhost::{BoxFuture, ResourceName, oauth::OAuth};

/// Who authorizes the host at servers, and where the credentials are kept. Default: nobody, and in memory.
///
/// Only servers whose policy has `oauth` use it.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct McpAuthorization {
    /// Asks a person. Without one, a server that needs a new authorization is not available until another
    /// process, such as `toolhost mcp login`, has stored credentials.
    pub authorizer: Option<Arc<dyn McpAuthorizer>>,
    /// Keeps credentials between processes, encrypted. Default: the grants of the host that starts the
    /// servers. Without them, credentials end with the server's handle.
    pub grants: Option<OAuth>,
}

impl fmt::Debug for McpAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpAuthorization")
            .field("authorizer", &self.authorizer.is_some())
            .field("grants", &self.grants.is_some())
            .finish()
    }
}

impl McpAuthorization {
    /// Nobody is asked, and credentials are kept in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks a person through this authorizer.
    #[must_use]
    pub fn authorizer(mut self, authorizer: impl McpAuthorizer) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// Keeps credentials among these grants.
    #[must_use]
    pub fn grants(mut self, grants: OAuth) -> Self {
        self.grants = Some(grants);
        self
    }
}

/// Asks a person to authorize the host at a server.
pub trait McpAuthorizer: Send + Sync + 'static {
    /// The URI to which the authorization server sends the person's browser, such as
    /// `http://127.0.0.1:8021/callback`. It must be one that nobody else can receive.
    fn redirect_uri(&self) -> String;

    /// Opens [`McpAuthorizationRequest::url`] in the person's browser, and returns the whole URL that the
    /// browser was sent to: the redirect URI with `code` and `state`, or with `error`. The state is
    /// checked by the caller.
    ///
    /// The future is dropped when the time for the authorization is over.
    ///
    /// # Errors
    /// The reason why nobody answered, as a fragment of a sentence.
    fn authorize(&self, request: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>>;
}

/// What a person is asked to authorize.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpAuthorizationRequest {
    /// Name of the server.
    pub server: ResourceName,
    /// The URL of the authorization server's page: `https`, or an address of this machine or of the
    /// policy's private networks. It names the scopes.
    pub url: String,
    /// The time in which the answer must arrive.
    pub within: Duration,
}
