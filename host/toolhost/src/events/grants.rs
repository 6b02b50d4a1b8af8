//! Sends an event for each grant of an OAuthApp that is stored.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use toolhost_contract::Timestamp;

use super::bus::EventBus;
use super::event::{EventKind, RuntimeEvent};
use super::trace::TraceContext;
use crate::oauth::Granted;

impl EventBus {
    /// Sends an event for each grant. Ends with the grants, or with the bus, which it does not keep alive.
    pub(crate) fn forward_grants(
        &self,
        mut granted: Receiver<Granted>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let bus = self.downgrade();
        async move {
            loop {
                match granted.recv().await {
                    Ok(granted) => {
                        let Some(bus) = bus.upgrade() else { return };
                        bus.emit_grant(granted);
                    }
                    Err(RecvError::Lagged(count)) => {
                        tracing::warn!(count, "events of grants were lost");
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        }
    }

    fn emit_grant(&self, granted: Granted) {
        if !self.is_watched() {
            return;
        }
        self.emit(RuntimeEvent {
            timestamp: Timestamp((self.config().clock)()),
            auth: Some(Box::new(granted)),
            ..RuntimeEvent::new(EventKind::AuthGranted, TraceContext::root(None))
        });
    }
}
