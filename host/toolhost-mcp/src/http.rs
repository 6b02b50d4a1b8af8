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
mod message;
mod oauth;
mod response_body;
mod service;
mod sessions;
mod state;
mod streams;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handler::Handler;
use crate::server::McpServer;

pub use config::HttpConfig;
use oauth::AuthorizationServer;
pub use oauth::{OAuthConfig, OAuthConfigError, OAuthKeys};
use sessions::Sessions;
use state::State;
use streams::Streams;
pub use token::BearerToken;

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The configuration of OAuth cannot be used.
    #[error("the configuration of OAuth cannot be used")]
    OAuth(#[source] OAuthConfigError),
    /// Without a token, only loopback addresses are served.
    #[error("{address} can be reached from other machines, and no token is configured")]
    Unprotected {
        /// The address.
        address: SocketAddr,
    },
}

/// Serves MCP over HTTP.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<State>,
}

impl HttpServer {
    /// Listens on an address.
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
        let is_open = config.tokens.is_empty() && config.oauth.is_none();
        if !address.ip().is_loopback() && is_open {
            return Err(HttpError::Unprotected { address });
        }
        let shared = Arc::clone(&server.0);
        let oauth = config.oauth.clone();
        let oauth = oauth.map(|oauth| AuthorizationServer::new(oauth, &shared.served));
        let oauth = oauth.transpose().map_err(HttpError::OAuth)?;
        let bind = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
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
        let state = Arc::new(State {
            streams: Streams::new(config.max_connections),
            config,
            server: shared,
            mcp,
            sessions: Arc::new(sessions),
            oauth,
            responses: TaskTracker::new(),
            end,
        });
        Ok(Self {
            listener,
            address,
            state,
        })
    }

    /// The address that the server listens on, with its port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until [`McpServer::drain`], and the calls that ran have ended. Dropping the future stops them.
    pub async fn run(self) {
        connections::serve(self.listener, self.state).await;
    }
}
