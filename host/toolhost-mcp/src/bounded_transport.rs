//! A stream whose client has a bounded number of requests without a response: beyond it, nothing is read
//! until the client has read responses.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
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
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl Unanswered {
    fn insert(&self, id: RequestId) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.insert(id);
    }

    fn remove(&self, id: &RequestId) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.remove(id);
        drop(ids);
        self.answered.notify_one();
    }

    async fn fewer_than(&self, max: usize) {
        loop {
            let count = self
                .ids
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .len();
            if count < max {
                return;
            }
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
        let (sent, unanswered) = (self.inner.send(message), Arc::clone(&self.unanswered));
        async move {
            let sent = sent.await;
            if let Some(id) = id {
                unanswered.remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.unanswered.fewer_than(self.max).await;
        let message = self.inner.receive().await?;
        match &message {
            JsonRpcMessage::Request(request) => self.unanswered.insert(request.id.clone()),
            // A cancelled request gets no response.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
