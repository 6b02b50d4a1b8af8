//! What the calls of a server's tools and its supervisor share.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rmcp::{Peer, RoleClient};
use tokio::sync::{Notify, Semaphore, watch};
use toolhost::HandlerError;

use crate::config::{McpServerConfig, McpTransport};
use crate::error::unavailable;
use crate::guard::Watch;
use crate::oauth::OAuth;
use crate::startup::Startups;
use crate::unauthorized::Unauthorized;

/// Whether calls can be sent.
#[derive(Debug, Clone)]
pub(crate) enum ServerState {
    /// The server is being started.
    Connecting,
    /// The server takes calls.
    Ready(Ready),
    /// The server failed.
    Down {
        reason: Outage,
        /// When it is started again. None: with the next call.
        retry_at: Option<Instant>,
    },
    /// The server was closed.
    Closed,
}

/// Why a server takes no calls.
#[derive(Debug, Clone)]
pub(crate) enum Outage {
    Unavailable(Arc<str>),
    Unauthorized(Arc<Unauthorized>),
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => f.write_str(reason),
            Self::Unauthorized(reason) => reason.fmt(f),
        }
    }
}

impl From<String> for Outage {
    fn from(reason: String) -> Self {
        Self::Unavailable(reason.into())
    }
}

impl From<Unauthorized> for Outage {
    fn from(reason: Unauthorized) -> Self {
        Self::Unauthorized(reason.into())
    }
}

/// A connection that takes calls.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) watch: Arc<Watch>,
}

pub(crate) struct ServerContext {
    pub(crate) config: McpServerConfig,
    pub(crate) state: watch::Sender<ServerState>,
    /// Bounds the calls that run at once.
    pub(crate) calls: Semaphore,
    /// A call waits for a server that is started only on demand.
    pub(crate) wanted: Notify,
    /// How the server is started.
    pub(crate) startups: Startups,
    /// Authorizes the client. None: OAuth is off.
    pub(crate) oauth: Option<Arc<OAuth>>,
}

impl ServerContext {
    pub(crate) fn new(config: McpServerConfig) -> Self {
        Self {
            oauth: match &config.transport {
                McpTransport::Http(http) => http.oauth(&config.name, &config.limits).map(Arc::new),
                McpTransport::Stdio(_) => None,
            },
            state: watch::Sender::new(ServerState::Connecting),
            calls: Semaphore::new(config.limits.calls.max(1)),
            wanted: Notify::new(),
            startups: Startups::of(&config),
            config,
        }
    }

    /// Returns the connection, once an attempt to connect has ended.
    ///
    /// # Errors
    /// `MCP_UNAVAILABLE` or `MCP_UNAUTHORIZED` if there is none.
    pub(crate) async fn ready(&self) -> Result<Ready, HandlerError> {
        let server = &self.config.name;
        let mut states = self.state.subscribe();
        let mut has_asked = false;
        loop {
            let state = states.borrow_and_update().clone();
            match state {
                ServerState::Ready(ready) => return Ok(ready),
                ServerState::Connecting => {}
                ServerState::Down { retry_at: None, .. } if !has_asked => {
                    has_asked = true;
                    self.wanted.notify_one();
                }
                ServerState::Down {
                    reason: Outage::Unauthorized(reason),
                    ..
                } => return Err(reason.of_call(server)),
                ServerState::Down {
                    reason: Outage::Unavailable(reason),
                    retry_at,
                } => {
                    let error = unavailable(server, &reason);
                    let now = Instant::now();
                    let wait = retry_at.map(|at| at.saturating_duration_since(now));
                    let wait = wait.map_or(0, |wait| wait.as_secs() + 1);
                    let next =
                        format!("It is started again within {wait} s. Call the tool again then.");
                    return Err(error.with_suggestion(next));
                }
                ServerState::Closed => return Err(unavailable(server, "it was closed")),
            }
            if states.changed().await.is_err() {
                return Err(unavailable(server, "it was closed"));
            }
        }
    }
}
