//! A stream whose client has a bounded number of requests without a response: beyond it, nothing is read
//! until the client has read responses.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// Bounds the requests of a transport that have no response.
pub(crate) struct BoundedTransport<T> {
    inner: T,
    unanswered: Arc<Unanswered>,
    max: usize,
}

/// The requests that have no response yet.
#[derive(Default)]
struct Unanswered {
    requests: Mutex<Requests>,
    answered: Notify,
}

#[derive(Default)]
struct Requests {
    running: HashSet<RequestId>,
    /// Responses that the client has not read.
    written: usize,
}

impl Unanswered {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns false if a request of this id runs.
    fn begin(&self, id: RequestId) -> bool {
        self.requests().running.insert(id)
    }

    fn cancel(&self, id: &RequestId) {
        self.requests().running.remove(id);
        self.answered.notify_one();
    }

    fn begin_response(&self, id: &RequestId) {
        let mut requests = self.requests();
        requests.running.remove(id);
        requests.written += 1;
    }

    fn end_response(&self) {
        self.requests().written -= 1;
        self.answered.notify_one();
    }

    fn count(&self) -> usize {
        let requests = self.requests();
        requests.running.len() + requests.written
    }

    async fn fewer_than(&self, max: usize) {
        while self.count() >= max {
            self.answered.notified().await;
        }
    }
}

impl<T> BoundedTransport<T> {
    pub(crate) fn new(inner: T, max: usize) -> Self {
        Self {
            inner,
            unanswered: Arc::default(),
            max: max.max(1),
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for BoundedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = &id {
            self.unanswered.begin_response(id);
        }
        let (sent, unanswered) = (self.inner.send(message), Arc::clone(&self.unanswered));
        async move {
            let sent = sent.await;
            if id.is_some() {
                unanswered.end_response();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.unanswered.fewer_than(self.max).await;
            let message = self.inner.receive().await?;
            match &message {
                // The SDK would lose one of the responses.
                JsonRpcMessage::Request(request)
                    if !is_listening(request) && !self.unanswered.begin(request.id.clone()) =>
                {
                    continue;
                }
                // A cancelled request that runs gets no response.
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.unanswered.cancel(id);
                    }
                }
                JsonRpcMessage::Request(_)
                | JsonRpcMessage::Response(_)
                | JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

/// Returns whether a request lasts until its client cancels it.
fn is_listening(request: &JsonRpcRequest<ClientRequest>) -> bool {
    matches!(
        request.request,
        ClientRequest::SubscriptionsListenRequest(_)
    )
}
