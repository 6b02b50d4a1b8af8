//! Sends an event for each grant of an OAuthApp that is stored.

use std::sync::Arc;

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
        let none: Arc<str> = Arc::from("");
        self.emit(RuntimeEvent {
            kind: EventKind::AuthGranted,
            timestamp: Timestamp((self.config().clock)()),
            agent_name: Arc::clone(&none),
            instance_key: Arc::clone(&none),
            turn_id: none,
            step_id: None,
            tool_call_id: None,
            tool_name: None,
            trace: TraceContext::root(None),
            status: None,
            duration_ms: None,
            error: None,
            usage: None,
            handle: None,
            auth: Some(Box::new(granted.into())),
        });
    }
}
