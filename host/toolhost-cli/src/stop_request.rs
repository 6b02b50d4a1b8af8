//! Asks a command that serves clients to end.

use std::sync::Arc;

use tokio::sync::watch;

/// The first signal, to a command that ends its work before it stops. All clones are one request.
#[derive(Debug, Clone)]
pub(crate) struct StopRequest(Arc<watch::Sender<bool>>);

impl StopRequest {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn send(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it is sent.
    pub(crate) async fn received(&self) {
        let mut sent = self.0.subscribe();
        // It cannot fail: the sender is a field of `self`.
        let _ = sent.wait_for(|is_sent| *is_sent).await;
    }
}
