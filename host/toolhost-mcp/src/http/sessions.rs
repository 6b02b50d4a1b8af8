//! The sessions of clients that send `initialize`: their number, their instances, their requests.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::{MissedTickBehavior, interval};

use super::body::{Refusal, refusal, retry_after};
use super::config::HttpConfig;

/// Header of a session.
const SESSION: &str = "mcp-session-id";

/// Bounds of the time between two looks for sessions that are idle.
const IDLE_CHECK_MIN: Duration = Duration::from_millis(10);
const IDLE_CHECK_MAX: Duration = Duration::from_secs(15);

/// The sessions that are open.
pub(crate) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    by_id: Mutex<HashMap<Arc<str>, Session>>,
    /// Requests that may open a session.
    opening: AtomicUsize,
    max: usize,
    max_of_instance: usize,
    /// Time after which a session without requests ends.
    idle: Duration,
}

/// What a session began with, and what runs in it.
struct Session {
    /// It serves requests of this instance only. None if the session was
    /// opened, and its id not sent.
    key: Option<Arc<str>>,
    /// Requests and streams that have not ended.
    uses: usize,
    /// Ids of requests without a complete response.
    requests: HashSet<RequestId>,
    used: Instant,
}

impl Session {
    fn new(key: Option<&Arc<str>>) -> Self {
        Self {
            key: key.cloned(),
            uses: 0,
            requests: HashSet::new(),
            used: Instant::now(),
        }
    }

    fn is_idle(&self, most: Duration) -> bool {
        self.uses == 0 && self.used.elapsed() >= most
    }
}

/// A request that may open a session, until this is dropped.
pub(super) struct Opening(Arc<Sessions>);

/// A request or a stream of a session, until this is dropped.
pub(super) struct SessionUse {
    pub(super) sessions: Arc<Sessions>,
    pub(super) session: Arc<str>,
}

/// A request of a session, whose id is in use until this is dropped.
pub(super) struct SessionRequest {
    pub(super) of: SessionUse,
    pub(super) id: RequestId,
}

impl Sessions {
    pub(super) fn new(config: &HttpConfig) -> Self {
        let mut manager = LocalSessionManager::default();
        let of_sdk = &mut manager.session_config;
        // The SDK would also end a session whose call sends no messages.
        of_sdk.keep_alive = None;
        // Streams are not resumed: a response that is dropped cancels its request.
        of_sdk.sse_retry = None;
        of_sdk.completed_cache_ttl = Duration::ZERO;
        Self {
            manager: Arc::new(manager),
            by_id: Mutex::default(),
            opening: AtomicUsize::new(0),
            max: config.max_sessions,
            max_of_instance: config.max_instance_sessions,
            idle: config.session_idle,
        }
    }

    /// Ends sessions that are idle, for ever.
    pub(super) async fn end_idle(&self) {
        let mut ticks = interval((self.idle / 4).clamp(IDLE_CHECK_MIN, IDLE_CHECK_MAX));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let idle = self.idle().await;
            let closed = idle
                .iter()
                .map(|session| self.manager.close_session(session));
            // Some may have ended by themselves.
            drop(join_all(closed).await);
        }
    }

    /// Returns the sessions that are idle. They serve no further requests.
    async fn idle(&self) -> Vec<Arc<str>> {
        let open = self.manager.sessions.read().await;
        let mut sessions = self.by_id();
        sessions.retain(|session, _| open.contains_key(session));
        for session in open.keys() {
            let session = sessions.entry(Arc::clone(session));
            session.or_insert_with(|| Session::new(None));
        }
        let idle = sessions.extract_if(|_, session| session.is_idle(self.idle));
        idle.map(|(session, _)| session).collect()
    }

    /// Returns the number of open sessions.
    pub(super) async fn count(&self) -> usize {
        self.manager.sessions.read().await.len()
    }

    /// Begins to use the session that a request names.
    ///
    /// # Errors
    /// The status 404 if it is the session of another instance.
    pub(super) async fn begin_use(
        self: &Arc<Self>,
        headers: &HeaderMap,
        key: &str,
    ) -> Result<Option<SessionUse>, Refusal> {
        let Some(session) = headers.get(SESSION) else {
            return Ok(None);
        };
        let session = session.to_str().unwrap_or_default();
        let open = self.manager.sessions.read().await;
        let mut sessions = self.by_id();
        let entry = sessions.get_mut(session);
        match entry.filter(|session| session.key.as_deref() == Some(key)) {
            Some(session) => session.uses += 1,
            // An unknown session gets the answer of the protocol, as one that has ended.
            None if !open.contains_key(session) => return Ok(None),
            None => {
                return Err(refusal(StatusCode::NOT_FOUND, "the session does not exist"));
            }
        }
        Ok(Some(SessionUse {
            sessions: Arc::clone(self),
            session: session.into(),
        }))
    }

    /// Counts a request that opens a session, until its session is open.
    ///
    /// # Errors
    /// The status 503 if as many are open as may be, or as many of the instance.
    pub(super) async fn begin_opening(self: &Arc<Self>, key: &str) -> Result<Opening, Refusal> {
        let others = self.opening.fetch_add(1, SeqCst);
        let opening = Opening(Arc::clone(self));
        let count = self.count().await;
        let is_own = |session: &&Session| session.key.as_deref() == Some(key);
        let of_instance = self.by_id().values().filter(is_own).count();
        if count + others < self.max && of_instance + others < self.max_of_instance {
            return Ok(opening);
        }
        let text = "too many sessions are open";
        Err(retry_after(
            refusal(StatusCode::SERVICE_UNAVAILABLE, text),
            10,
        ))
    }

    /// Adds the session that a response names, and forgets those that have ended.
    pub(super) async fn add(&self, response: &HeaderMap, key: &Arc<str>) {
        let Some(Ok(session)) = response.get(SESSION).map(|session| session.to_str()) else {
            return;
        };
        let open = self.manager.sessions.read().await;
        let mut sessions = self.by_id();
        sessions.retain(|session, _| open.contains_key(session));
        sessions.insert(session.into(), Session::new(Some(key)));
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<Arc<str>, Session>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.opening.fetch_sub(1, SeqCst);
    }
}

impl SessionUse {
    /// Begins a request of the session.
    ///
    /// # Errors
    /// The status 409 if a request of the same id has no complete response yet: the two responses could not
    /// be distinguished.
    pub(super) fn begin_request(self, id: RequestId) -> Result<SessionRequest, Refusal> {
        if let Some(session) = self.sessions.by_id().get_mut(&self.session)
            && !session.requests.insert(id.clone())
        {
            let text = "a request with this id runs in the session";
            return Err(refusal(StatusCode::CONFLICT, text));
        }
        Ok(SessionRequest { of: self, id })
    }
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.by_id().get_mut(&self.session) {
            session.uses = session.uses.saturating_sub(1);
            session.used = Instant::now();
        }
    }
}

impl Drop for SessionRequest {
    fn drop(&mut self) {
        if let Some(session) = self.of.sessions.by_id().get_mut(&self.of.session) {
            session.requests.remove(&self.id);
        }
    }
}
