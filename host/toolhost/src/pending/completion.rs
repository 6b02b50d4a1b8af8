//! Notifications of pending calls that have ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use tokio::sync::broadcast::{self, error::RecvError};
use toolhost_contract::ToolResult;
use toolhost_store::StoreError;

use super::record::Handle;
use crate::events::broadcast_stream::BroadcastStream;

/// Completions that wait for a slow listener before the oldest are lost.
const LISTENER_QUEUE: usize = 1024;

/// Largest result in a notification, in bytes of JSON: [`LISTENER_QUEUE`] of them may wait.
const RESULT_MAX: usize = 64 * 1024;

/// A pending call that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Completion {
    /// Name of the agent that made the call.
    pub agent_name: String,
    /// Key of the agent's instance.
    pub instance_key: String,
    /// Handle of the call.
    pub handle: String,
    /// Result of the call. A result of more than 64 KiB of JSON is left out: this is then `pending`
    /// with the handle, to be polled.
    pub result: ToolResult,
}

/// Receives the completions of this process as they happen, also as a [`Stream`], which ends when the host
/// is dropped. Dropping it unsubscribes. A component's own pending call ends when it is
/// [polled](crate::Instance::poll): by this host, if the call was submitted, or waited for consent; without polls it has
/// no completion.
///
/// ```
/// # async fn example(host: toolhost::Host) -> Result<(), toolhost::pending::CompletionsError> {
/// use futures_util::StreamExt; // or that of `futures` or `tokio-stream`
/// use toolhost::pending::Completed;
///
/// let handles = host.completions().await?.filter_map(async |completed| match completed {
///     Completed::Call(completion) => Some(completion.handle.clone()),
///     Completed::Lost(_) => None, // poll what is still open
/// });
/// handles.for_each(async |handle| println!("{handle} has ended")).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Completions(BroadcastStream<Arc<Completion>>);

/// What a listener receives.
#[derive(Debug, Clone)]
pub enum Completed {
    /// A call has ended.
    Call(Arc<Completion>),
    /// The listener was too slow: this many completions were dropped here, the oldest first. Their
    /// results can still be polled.
    Lost(u64),
}

impl Completions {
    pub(crate) fn of(listeners: &broadcast::Sender<Arc<Completion>>) -> Self {
        Self(BroadcastStream::new(listeners.subscribe()))
    }

    /// Waits for the next completion; none once the host is dropped. Cancel safe: dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Completed> {
        StreamExt::next(self).await
    }
}

impl Stream for Completions {
    type Item = Completed;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Completed>> {
        self.0.poll_recv(cx).map(|received| match received {
            Ok(completion) => Some(Completed::Call(completion)),
            Err(RecvError::Lagged(count)) => Some(Completed::Lost(count)),
            Err(RecvError::Closed) => None,
        })
    }
}

/// The store of pending calls cannot be opened, so that completions cannot be received.
#[derive(Debug, thiserror::Error)]
#[error("the store of pending calls cannot be opened")]
pub struct CompletionsError {
    pub(crate) source: StoreError,
}

/// Creates the sender of completions.
pub(crate) fn channel() -> broadcast::Sender<Arc<Completion>> {
    broadcast::Sender::new(LISTENER_QUEUE)
}

/// Sends a completion to all listeners.
pub(crate) fn announce(
    listeners: &broadcast::Sender<Arc<Completion>>,
    (agent_name, instance_key): (&str, &str),
    handle: &Handle,
    result: &ToolResult,
) {
    if listeners.receiver_count() == 0 {
        return;
    }
    let handle = handle.as_str();
    let result = if result.to_stored().to_string().len() <= RESULT_MAX {
        result.clone()
    } else {
        let (id, name) = (result.tool_call_id(), result.tool_name());
        ToolResult::pending(id, name, handle.to_owned())
    };
    let completion = Completion {
        agent_name: agent_name.to_owned(),
        instance_key: instance_key.to_owned(),
        handle: handle.to_owned(),
        result,
    };
    // The last listener may have unsubscribed.
    let _is_received = listeners.send(Arc::new(completion)).is_ok();
}
