//! The server: one handler for each connection, and what connections share.

use std::pin::pin;
use std::sync::Arc;

use rmcp::service::{QuitReason, ServerInitializeError, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use toolhost_runtime::debug_fields;

use crate::config::McpConfig;
use crate::handler::Handler;
use crate::served::ServedAgent;
use crate::shared::ServedState;
use crate::stream_transport::StreamTransport;
use crate::stream_writer::StreamWriter;

/// Responses that wait for the client of a stream to read, beside those of calls that run. Further requests
/// are not read meanwhile.
const UNREAD_MAX: usize = 256;

/// Serves an agent's tools to MCP clients. Cheap to clone: clones share the limits.
#[derive(Clone)]
pub struct McpServer(pub(crate) Arc<ServedState>);

debug_fields!(McpServer, this => config: this.0.config);

/// Why serving a stream ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol prescribes.
    #[error("the client did not initialize the connection: {0}")]
    Initialize(String),
    /// The task of the connection failed.
    #[error("the connection ended unexpectedly: {0}")]
    Ended(String),
}

impl McpServer {
    /// Creates a server of an agent's tools.
    pub fn new(served: ServedAgent, config: McpConfig) -> Self {
        Self(Arc::new(ServedState::new(served, config)))
    }

    /// Accepts no further calls. Calls that run finish, or end at their deadline; then
    /// [`McpServer::serve`] and [`HttpServer::run`](crate::HttpServer::run) return.
    pub fn drain(&self) {
        self.0.drain.cancel();
    }

    /// Serves one client on a stream: one JSON-RPC message per line. Every request gets the instance `key`.
    ///
    /// Returns when the client closes its side, or after [`McpServer::drain`]. Dropping the future ends the
    /// connection, and so does a client that does not read. Calls that still run are stopped.
    ///
    /// # Errors
    /// [`ServeError`] if the client does not speak MCP.
    pub async fn serve(
        &self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        key: impl Into<Arc<str>>,
    ) -> Result<(), ServeError> {
        let config = &self.0.config;
        let end = CancellationToken::new();
        let _ends = end.clone().drop_guard();
        let write = StreamWriter::new(write, config.write_timeout, end.clone());
        let (shared, key) = (Arc::clone(&self.0), key.into());
        let unanswered = config.max_instance_calls.saturating_add(UNREAD_MAX);
        let transport = StreamTransport::new(
            read,
            write,
            Arc::clone(&shared),
            Arc::clone(&key),
            unanswered,
        );
        let handler = Handler::of_stream(shared, key);
        let start = tokio::select! {
            start = handler.serve_with_ct(transport, end.clone()) => start,
            () = self.0.drained() => return Ok(()),
        };
        let serving = match start {
            Ok(serving) => serving,
            // The client connected and left.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Initialize(reason(&error))),
        };
        let mut waiting = pin!(serving.waiting());
        let result = tokio::select! {
            result = &mut waiting => result,
            () = self.0.drained() => {
                // Responses that are on their way are written before the connection ends.
                end.cancel();
                waiting.await
            }
        };
        match result {
            Ok(QuitReason::JoinError(error)) | Err(error) => {
                Err(ServeError::Ended(error.to_string()))
            }
            Ok(_) => Ok(()),
        }
    }
}

/// Returns why a connection was not initialized, without what the client sent.
fn reason(error: &ServerInitializeError) -> String {
    match error {
        ServerInitializeError::ExpectedInitializeRequest(_) => {
            "its first message is not a request of a version that the server speaks".to_owned()
        }
        ServerInitializeError::InitializeFailed(error) => error.message.to_string(),
        ServerInitializeError::TransportError { context, .. } => {
            format!("the connection failed: {context}")
        }
        // The SDK's enum may grow.
        ServerInitializeError::ConnectionClosed(_)
        | ServerInitializeError::UnexpectedInitializeResponse(_)
        | ServerInitializeError::Cancelled
        | _ => "the initialization was interrupted".to_owned(),
    }
}
