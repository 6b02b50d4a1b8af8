//! Bounds what a server may send, beneath the protocol: before any task is started for a message.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolhost::agents::lines::is_logged;
use toolhost::{ResourceName, text};

use crate::error::bounded;
use crate::limits::McpLimits;

/// The time in which [`McpLimits::unsolicited`] messages may arrive.
const WINDOW: Duration = Duration::from_secs(10);

/// Log messages of a server that are all logged. Of later ones [`is_logged`] selects some.
const LOGGED: u64 = 1000;

/// Longest log message, in characters.
const LOG_MESSAGE: usize = 2000;

/// What is known about one connection.
#[derive(Debug)]
pub(crate) struct Watch {
    server: ResourceName,
    unsolicited_max: u32,
    server_requests_max: usize,
    counts: Mutex<Counts>,
    /// Why the connection ended, if the server broke a rule.
    failure: Mutex<Option<Arc<str>>>,
    /// Cancelled with the failure.
    pub(crate) failed: CancellationToken,
    /// The server's list of tools changed.
    pub(crate) list_changed: Notify,
}

#[derive(Debug)]
struct Counts {
    /// Requests that were sent and not answered.
    sent: HashSet<RequestId>,
    /// Requests of the server that were not answered.
    received: HashSet<RequestId>,
    window: Instant,
    in_window: u32,
    logged: u64,
}

impl Watch {
    pub(crate) fn new(server: ResourceName, limits: &McpLimits) -> Self {
        Self {
            server,
            unsolicited_max: limits.unsolicited,
            server_requests_max: limits.server_requests,
            counts: Mutex::new(Counts {
                sent: HashSet::new(),
                received: HashSet::new(),
                window: Instant::now(),
                in_window: 0,
                logged: 0,
            }),
            failure: Mutex::new(None),
            failed: CancellationToken::new(),
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

    /// Whether a request with this id waits for an answer.
    pub(crate) fn is_awaited(&self, id: &RequestId) -> bool {
        lock(&self.counts).sent.contains(&as_sent(id))
    }

    fn sending(&self, message: &ClientJsonRpcMessage) {
        let mut counts = lock(&self.counts);
        match message {
            JsonRpcMessage::Request(request) => {
                counts.sent.insert(request.id.clone());
            }
            JsonRpcMessage::Response(response) => {
                counts.received.remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    counts.received.remove(id);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    counts.sent.remove(id);
                }
            }
        }
    }

    /// Whether a message is passed on. Others are counted here, and answered by nothing.
    fn admits(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Response(response) => self.is_answer(Some(&response.id)),
            JsonRpcMessage::Error(error) => self.is_answer(error.id.as_ref()),
            JsonRpcMessage::Request(request) => {
                self.count_unsolicited();
                let mut counts = lock(&self.counts);
                let is_new = counts.received.insert(request.id.clone());
                let waiting = counts.received.len();
                drop(counts);
                if waiting > self.server_requests_max {
                    self.fail(format_args!(
                        "it sent more than {} requests that wait for an answer",
                        self.server_requests_max
                    ));
                }
                is_new
            }
            JsonRpcMessage::Notification(notification) => {
                self.count_unsolicited();
                self.notified(&notification.notification)
            }
        }
    }

    fn is_answer(&self, id: Option<&RequestId>) -> bool {
        let is_first = id.is_some_and(|id| lock(&self.counts).sent.remove(&as_sent(id)));
        if !is_first {
            self.count_unsolicited();
            tracing::debug!(target: "toolhost::mcp", server = %self.server, "an answer to no request");
        }
        is_first
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other notifications are for capabilities that this client lacks"
    )]
    #[expect(deprecated, reason = "servers of earlier revisions send log messages")]
    fn notified(&self, notification: &ServerNotification) -> bool {
        match notification {
            ServerNotification::ToolListChangedNotification(_) => {
                self.list_changed.notify_one();
                false
            }
            ServerNotification::LoggingMessageNotification(logged) => {
                self.log(&logged.params.level, &logged.params.data);
                false
            }
            ServerNotification::SubscriptionsAcknowledgedNotification(_)
            | ServerNotification::CancelledNotification(_) => true,
            _ => false,
        }
    }

    fn log(&self, level: &dyn std::fmt::Debug, data: &serde_json::Value) {
        let mut counts = lock(&self.counts);
        counts.logged += 1;
        let count = counts.logged;
        drop(counts);
        if is_logged(count, LOGGED) {
            let message = match data.as_str() {
                Some(message) => text::shorten(message, LOG_MESSAGE),
                None => text::shorten(&data.to_string(), LOG_MESSAGE),
            };
            tracing::info!(target: "toolhost::mcp", server = %self.server, count, ?level, "{message}");
        }
    }
}

/// Returns the id with which a request was sent: some servers return the text of a number.
fn as_sent(id: &RequestId) -> RequestId {
    match id {
        RequestId::String(text) => match text.parse() {
            Ok(number) => RequestId::Number(number),
            Err(_) => id.clone(),
        },
        RequestId::Number(_) => id.clone(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A transport whose messages are counted and bounded.
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
        loop {
            let message = tokio::select! {
                biased;
                () = self.watch.failed.cancelled() => return None,
                message = self.inner.receive() => message?,
            };
            if self.watch.admits(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
