//! What the HTTP connections share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio_util::sync::CancellationToken;

use super::config::HttpConfig;
use crate::handler::Handler;
use crate::shared::Shared;

/// What all connections share.
pub(crate) struct State {
    pub(crate) config: HttpConfig,
    pub(crate) server: Arc<Shared>,
    pub(crate) mcp: StreamableHttpService<Handler, LocalSessionManager>,
    pub(crate) sessions: Arc<LocalSessionManager>,
    /// The instance key that each session began with.
    pub(crate) session_keys: SessionKeys,
    /// Ends the streams that are open.
    pub(crate) end: CancellationToken,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The instance key that each session began with. A session serves requests of this key only.
#[derive(Default)]
pub(crate) struct SessionKeys(Mutex<HashMap<Arc<str>, Arc<str>>>);

impl SessionKeys {
    /// Adds a session, and forgets those that have ended.
    pub(super) fn insert(&self, session: &str, key: &Arc<str>, is_open: impl Fn(&str) -> bool) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|session, _| is_open(session));
        keys.insert(session.into(), Arc::clone(key));
    }

    pub(super) fn is(&self, session: &str, key: &Arc<str>) -> bool {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(session) == Some(key)
    }
}
