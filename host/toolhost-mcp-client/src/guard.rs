//! Counts what a server sends, beneath the protocol: before any task is started for a message.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use toolhost::{ResourceName, text};
use toolhost_runtime::lines::is_logged;
use toolhost_runtime::lock;

use crate::answer::{CallSlot, ListSlot};
use crate::error::bounded;
use crate::limits::McpLimits;

/// The time in which [`McpLimits::unsolicited`] messages may arrive.
const WINDOW: Duration = Duration::from_secs(10);

/// Log messages of a server that are all logged. [`is_logged`] selects some of the later ones.
const LOGGED: u64 = 1000;

/// Longest log message, in characters.
const LOG_MESSAGE: usize = 2000;

/// Longest level of a log message, in characters.
const LOG_LEVEL: usize = 20;

/// Bodies and events beyond [`SMALL_BYTES`] that one server sends at once. Others wait.
const LARGE_AT_ONCE: usize = 4;

/// Bytes of a body or an event that does not wait.
pub(crate) const SMALL_BYTES: usize = 1 << 20;

/// What is known about one connection.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) server: ResourceName,
    pub(crate) message_bytes: u64,
    pub(crate) message_values: u64,
    unsolicited_max: u32,
    server_requests_max: usize,
    counts: Mutex<Counts>,
    /// Bodies and events that are large, while they arrive.
    pub(crate) large: Arc<Semaphore>,
    /// Why the connection ended, if the server broke a rule.
    failure: Mutex<Option<Arc<str>>>,
    /// Cancelled with the failure.
    pub(crate) failed: CancellationToken,
    /// Cancelled with the first answer.
    pub(crate) has_answered: CancellationToken,
    /// The server's list of tools changed.
    pub(crate) list_changed: Notify,
}

#[derive(Debug)]
struct Counts {
    /// Requests that were sent and not answered.
    requests: HashMap<RequestId, SentRequest>,
    /// Requests of the server that were not answered.
    server_requests: HashSet<RequestId>,
    window: Instant,
    in_window: u32,
    logged: u64,
}

/// A request that was sent.
#[derive(Debug, Clone)]
pub(crate) enum SentRequest {
    Discover,
    Initialize,
    List(ListSlot),
    Call(CallSlot),
    Other,
}

impl SentRequest {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "this client sends a few of the requests of the protocol"
    )]
    fn of(request: &ClientRequest) -> Self {
        match request {
            ClientRequest::DiscoverRequest(_) => Self::Discover,
            ClientRequest::InitializeRequest(_) => Self::Initialize,
            ClientRequest::ListToolsRequest(list) => {
                Self::List(list.extensions.get().cloned().unwrap_or_default())
            }
            ClientRequest::CallToolRequest(call) => {
                Self::Call(call.extensions.get().cloned().unwrap_or_default())
            }
            _ => Self::Other,
        }
    }
}

impl Watch {
    pub(crate) fn new(server: ResourceName, limits: &McpLimits) -> Self {
        Self {
            server,
            message_bytes: limits.message_bytes as u64,
            message_values: limits.message_values,
            unsolicited_max: limits.unsolicited,
            server_requests_max: limits.server_requests,
            counts: Mutex::new(Counts {
                requests: HashMap::new(),
                server_requests: HashSet::new(),
                window: Instant::now(),
                in_window: 0,
                logged: 0,
            }),
            large: Arc::new(Semaphore::new(LARGE_AT_ONCE)),
            failure: Mutex::new(None),
            failed: CancellationToken::new(),
            has_answered: CancellationToken::new(),
            list_changed: Notify::new(),
        }
    }

    /// Ends the connection. The first reason counts.
    pub(crate) fn fail(&self, reason: impl std::fmt::Display) {
        let mut failure = lock(&self.failure);
        failure.get_or_insert_with(|| bounded(reason).into());
        drop(failure);
        self.failed.cancel();
    }

    /// Why the connection ended, if it is known.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        lock(&self.failure).clone()
    }

    /// Counts a message that answers no request.
    pub(crate) fn count_unsolicited(&self) {
        let mut counts = lock(&self.counts);
        if counts.window.elapsed() > WINDOW {
            (counts.window, counts.in_window) = (Instant::now(), 0);
        }
        counts.in_window = counts.in_window.saturating_add(1);
        let is_flooded = counts.in_window > self.unsolicited_max;
        drop(counts);
        if is_flooded {
            let (most, seconds) = (self.unsolicited_max, WINDOW.as_secs());
            self.fail(format_args!(
                "it sent more than {most} messages in {seconds} s that answer no request"
            ));
        }
    }

    /// Takes the request that an answer with this id ends.
    pub(crate) fn take(&self, id: &RequestId) -> Option<(RequestId, SentRequest)> {
        lock(&self.counts).requests.remove_entry(id)
    }

    /// Takes the request that waits for an answer, if it is only one.
    pub(crate) fn take_only(&self) -> Option<(RequestId, SentRequest)> {
        let mut counts = lock(&self.counts);
        let mut waiting = counts.requests.keys();
        let only = waiting.next().cloned().filter(|_| waiting.next().is_none());
        counts.requests.remove_entry(&only?)
    }

    /// Whether a request with this id waits for an answer.
    pub(crate) fn is_awaited(&self, id: &RequestId) -> bool {
        lock(&self.counts).requests.contains_key(id)
    }

    /// Remembers a message that is sent. One that is sent again is the same.
    pub(crate) fn sending(&self, message: &ClientJsonRpcMessage) {
        let mut counts = lock(&self.counts);
        match message {
            JsonRpcMessage::Request(request) => {
                let entry = counts.requests.entry(request.id.clone());
                entry.or_insert_with(|| SentRequest::of(&request.request));
            }
            JsonRpcMessage::Response(response) => {
                counts.server_requests.remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    counts.server_requests.remove(id);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    counts.requests.remove(id);
                }
            }
        }
    }

    /// Counts a request of the server. Returns whether it is the first with its id.
    pub(crate) fn is_new_request(&self, id: &RequestId) -> bool {
        let mut counts = lock(&self.counts);
        let is_new = counts.server_requests.insert(id.clone());
        let waiting = counts.server_requests.len();
        drop(counts);
        if waiting > self.server_requests_max {
            self.fail(format_args!(
                "it sent more than {} requests that wait for an answer",
                self.server_requests_max
            ));
        }
        is_new
    }

    pub(crate) fn log_message(&self, level: &str, message: &str) {
        let mut counts = lock(&self.counts);
        counts.logged += 1;
        let count = counts.logged;
        drop(counts);
        if is_logged(count, LOGGED) {
            let (level, message) = (
                text::shorten(level, LOG_LEVEL),
                text::shorten(message, LOG_MESSAGE),
            );
            tracing::info!(target: "toolhost::mcp", server = %self.server, count, level, "{message}");
        }
    }
}

/// A transport whose requests are remembered, and which ends with the connection.
pub(crate) struct Guarded<T> {
    pub(crate) inner: T,
    pub(crate) watch: Arc<Watch>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.watch.sending(&message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = tokio::select! {
            biased;
            () = self.watch.failed.cancelled() => None,
            message = self.inner.receive() => message,
        };
        // The SDK itself ends requests whose stream has ended.
        if let Some(JsonRpcMessage::Error(error)) = &message
            && let Some(id) = &error.id
        {
            self.watch.take(id);
        }
        message
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
