//! The handle of a server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolhost::{Agent, extension::ExtensionApi, lock::Words};
use toolhost_runtime::debug_fields;

use crate::catalog::Catalog;
use crate::config::McpServerConfig;
use crate::error::{McpError, McpFinding};
use crate::state::{Outage, ServerContext, ServerState};
use crate::supervisor::{Report, supervise};

/// A server whose tools agents have. It is started again when it fails.
///
/// While it is not available, its tools stay in the catalogs, so that a model's plan stays valid, and calls
/// end with the code `MCP_UNAVAILABLE`, a reason, and when to try again. When the server has started again,
/// its new list of tools replaces the old one from the next step on.
///
/// All agents and instances share the server, and so whatever state it has.
///
/// Dropping the handle kills the server's process group at once and removes its tools from the agents;
/// [`McpServer::close`] lets the process end by itself first.
pub struct McpServer {
    shared: Arc<ServerContext>,
    /// The server's extension of each agent.
    extensions: Vec<ExtensionApi>,
    report: Arc<Mutex<Report>>,
    closing: CancellationToken,
    /// The supervisor, and with it the process.
    task: Option<AbortOnDropHandle<()>>,
}

debug_fields!(McpServer, this => config: this.shared.config, status: this.status());

/// Whether a server takes calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpStatus {
    /// It is being started.
    Starting,
    /// It takes calls.
    Ready {
        /// The number of its tools that agents have.
        tools: usize,
    },
    /// It requires an authorization that the host does not have. It is tried again later: another process
    /// may have authorized the host meanwhile.
    Unauthorized {
        /// Why, and what failed.
        reason: String,
    },
    /// It failed, and is started again later.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// Stops a server, whoever has its handle.
pub(crate) struct ServerStop {
    extensions: Vec<ExtensionApi>,
    closing: CancellationToken,
}

impl ServerStop {
    /// Removes the tools, and begins to end the server.
    pub(crate) fn stop(&self) {
        for extension in &self.extensions {
            extension.remove();
        }
        self.closing.cancel();
    }
}

impl McpServer {
    /// Starts a server or connects to it, and registers its tools with these agents. Returns when the first
    /// attempt has ended: [`McpServer::status`] has its outcome. A server that is not available is started
    /// again in the background.
    ///
    /// Call it in a tokio runtime with I/O and time, which must live as long as the handle.
    ///
    /// # Errors
    /// [`McpError`] where an agent already has an extension `mcp:NAME`, or there is no runtime.
    pub async fn start(
        config: McpServerConfig,
        agents: impl IntoIterator<Item = Agent>,
    ) -> Result<Self, McpError> {
        let server = config.name.clone();
        let runtime = Handle::try_current().map_err(|_| McpError::NoRuntime {
            server: server.clone(),
        })?;
        let extension = format!("mcp:{server}");
        let mut this = Self {
            shared: Arc::new(ServerContext::new(config)),
            extensions: Vec::new(),
            report: Arc::default(),
            closing: CancellationToken::new(),
            task: None,
        };
        for agent in agents {
            let extended = agent.extend(&extension, |api| Ok(api.clone()));
            // From here on, dropping `this` removes the extension.
            this.extensions
                .push(extended.map_err(|source| McpError::Extension {
                    server: server.clone(),
                    source,
                })?);
        }
        let mut states = this.shared.state.subscribe();
        let supervisor = supervise(
            Arc::clone(&this.shared),
            Catalog::new(this.extensions.clone()),
            Arc::clone(&this.report),
            this.closing.clone(),
        );
        this.task = Some(AbortOnDropHandle::new(runtime.spawn(supervisor)));
        // The sender lives as long as `this`.
        let _ = states
            .wait_for(|state| !matches!(state, ServerState::Connecting))
            .await;
        Ok(this)
    }

    /// Whether the server takes calls now.
    pub fn status(&self) -> McpStatus {
        match &*self.shared.state.borrow() {
            ServerState::Connecting => McpStatus::Starting,
            ServerState::Ready(_) => McpStatus::Ready {
                tools: self.lock().words.len(),
            },
            ServerState::Down { reason, .. } => match reason {
                Outage::Unavailable(reason) => McpStatus::Unavailable {
                    reason: reason.to_string(),
                },
                Outage::Unauthorized(reason) => McpStatus::Unauthorized {
                    reason: reason.to_string(),
                },
            },
            ServerState::Closed => McpStatus::Unavailable {
                reason: "it was closed".to_owned(),
            },
        }
    }

    /// The tools that the last list left out, at most 100, each with the reason: an illegal name, a name
    /// that is taken, parameters that are not a usable JSON Schema, a difference from the lock.
    pub fn findings(&self) -> Vec<McpFinding> {
        self.lock().findings.clone()
    }

    /// The descriptions and schemas of the tools that agents have, by tool name; for a lock.
    pub fn words(&self) -> BTreeMap<String, Words> {
        self.lock().words.clone()
    }

    /// The settings of the server.
    pub fn config(&self) -> &McpServerConfig {
        &self.shared.config
    }

    /// Removes the tools, ends the session, closes the process's standard input, waits for its end, and
    /// kills its group if it does not end within [`shutdown`](crate::McpLimits::shutdown).
    pub async fn close(mut self) {
        self.stopper().stop();
        if let Some(task) = self.task.take() {
            // It ends within the limits of the shutdown.
            let _ = task.await;
        }
    }

    pub(crate) fn stopper(&self) -> ServerStop {
        ServerStop {
            extensions: self.extensions.clone(),
            closing: self.closing.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        // The task of the supervisor is aborted next.
        self.stopper().stop();
    }
}
