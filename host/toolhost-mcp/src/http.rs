//! MCP over HTTP: the endpoint `/mcp`, and health.
//!
//! A request passes, in this order: the limits of the connection, `Host` and `Origin`, the bearer token, the
//! instance, the limits of the body and of sessions. Only then MCP reads it.

mod access;
mod authority;
mod body;
mod config;
mod connections;
mod cors;
mod error;
mod message;
mod oauth;
mod response_body;
mod service;
mod sessions;
mod starting;
mod state;
mod streams;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handler::Handler;
use crate::server::McpServer;

pub use config::HttpConfig;
use connections::Acceptor;
pub use error::HttpError;
use oauth::AuthorizationServer;
pub use oauth::{OAuthConfig, OAuthConfigError, OAuthKeys};
use sessions::Sessions;
pub use starting::StartingServer;
use state::HttpState;
use streams::Streams;
pub use token::{BearerToken, ValidTokens};

/// Serves MCP over HTTP.
#[derive(Debug)]
pub struct HttpServer {
    acceptor: Acceptor,
    address: SocketAddr,
    state: Arc<HttpState>,
}

impl HttpServer {
    /// Listens on an address. [`StartingServer`] listens before the server has a bundle.
    ///
    /// # Errors
    /// [`HttpError::Unprotected`] if other machines can reach the address and the configuration has neither
    /// tokens nor OAuth; [`HttpError::OAuth`] if that of OAuth is wrong; [`HttpError::Bind`] if the address
    /// cannot be used.
    pub async fn bind(
        server: &McpServer,
        address: SocketAddr,
        config: HttpConfig,
    ) -> Result<Self, HttpError> {
        Self::start(StartingServer::listen(address, config).await?, server)
    }

    /// Serves an agent's tools where a server listens that starts.
    ///
    /// # Errors
    /// [`HttpError::OAuth`] if the configuration of OAuth is wrong.
    pub fn start(starting: StartingServer, server: &McpServer) -> Result<Self, HttpError> {
        let StartingServer {
            acceptor,
            address,
            mut config,
        } = starting;
        let tokens = std::mem::take(&mut config.tokens);
        let shared = Arc::clone(&server.0);
        let oauth = config.oauth.clone();
        let oauth = oauth.map(|oauth| AuthorizationServer::new(oauth, &shared.served));
        let oauth = oauth.transpose().map_err(HttpError::OAuth)?;
        let sessions = Sessions::new(&config);
        let end = CancellationToken::new();
        let handler = Arc::clone(&shared);
        // Host and Origin are checked before this, with the token.
        let mut rmcp = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(config.body_bytes)
            .with_cancellation_token(end.clone());
        // Streams are not resumed: a retry would only cost a request.
        rmcp.sse_retry = None;
        let mcp = StreamableHttpService::new(
            move || Ok(Handler::of_http(Arc::clone(&handler))),
            Arc::clone(&sessions.manager),
            rmcp,
        );
        let state = Arc::new(HttpState {
            streams: Streams::new(config.max_connections),
            is_open: tokens.is_empty() && oauth.is_none(),
            tokens: ValidTokens::new(tokens),
            config,
            server: shared,
            mcp,
            sessions: Arc::new(sessions),
            oauth,
            responses: TaskTracker::new(),
            end,
        });
        Ok(Self {
            acceptor,
            address,
            state,
        })
    }

    /// The address that the server listens on, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The valid tokens, to be replaced while the server runs.
    pub fn tokens(&self) -> ValidTokens {
        self.state.tokens.clone()
    }

    /// Serves until [`McpServer::drain`], and the calls that ran have ended. Dropping the future stops them.
    pub async fn run(self) {
        connections::serve(self.acceptor, self.state).await;
    }
}
