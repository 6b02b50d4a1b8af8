//! What the HTTP connections share.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolhost_runtime::debug_fields;

use super::config::HttpConfig;
use super::oauth::AuthorizationServer;
use super::sessions::Sessions;
use super::streams::Streams;
use super::token::ValidTokens;
use crate::handler::Handler;
use crate::shared::ServedState;

/// What all connections share.
pub(crate) struct HttpState {
    /// Without the tokens, which may be replaced.
    pub(crate) config: HttpConfig,
    pub(crate) tokens: ValidTokens,
    /// Whether every request is served: the server began without tokens and OAuth.
    pub(crate) is_open: bool,
    pub(crate) server: Arc<ServedState>,
    pub(crate) mcp: StreamableHttpService<Handler, LocalSessionManager>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) streams: Streams,
    pub(crate) oauth: Option<AuthorizationServer>,
    /// The responses that draining waits for.
    pub(crate) responses: TaskTracker,
    /// Ends the streams that are open.
    pub(crate) end: CancellationToken,
}

debug_fields!(HttpState, this => config: this.config);
