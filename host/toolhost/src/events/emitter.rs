//! Sends the events of one agent instance to its log and to the bus.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use toolhost_contract::Timestamp;

use super::bounded::bounded_id;
use super::bus::EventBus;
use super::event::{EventKind, RuntimeEvent};
use super::log::InstanceLog;
use super::trace::TraceContext;

/// Sends the events of one instance. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Emitter(Arc<EmitterInner>);

struct EmitterInner {
    bus: EventBus,
    agent_name: Arc<str>,
    instance_key: Arc<str>,
    log: Option<InstanceLog>,
}

impl std::fmt::Debug for Emitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter")
            .field("agent_name", &self.0.agent_name)
            .field("instance_key", &self.0.instance_key)
            .finish_non_exhaustive()
    }
}

impl EventBus {
    /// Creates the emitter of an instance. `directory` receives its log: the instance's own directory,
    /// parent of its workspace.
    pub(crate) fn emitter(
        &self,
        agent_name: &str,
        instance_key: &str,
        directory: Option<&Path>,
    ) -> Emitter {
        Emitter(Arc::new(EmitterInner {
            bus: self.clone(),
            agent_name: bounded_id(agent_name),
            instance_key: bounded_id(instance_key),
            log: directory.map(|directory| self.log_in(directory)),
        }))
    }
}

impl Emitter {
    /// Returns whether there is a log or a subscriber.
    pub(super) fn is_watched(&self) -> bool {
        self.0.log.is_some() || self.0.bus.is_watched()
    }

    /// Returns the `traceparent` of the current span if a layer exports it.
    pub(super) fn current_traceparent(&self) -> Option<String> {
        (self.0.bus.config().current_traceparent)()
    }

    /// Returns an event of this instance. [`Self::emit`] sets its time.
    pub(super) fn event(
        &self,
        kind: EventKind,
        turn_id: &str,
        trace: TraceContext,
    ) -> RuntimeEvent {
        RuntimeEvent {
            kind,
            timestamp: Timestamp(UNIX_EPOCH),
            agent_name: Arc::clone(&self.0.agent_name),
            instance_key: Arc::clone(&self.0.instance_key),
            turn_id: bounded_id(turn_id),
            step_id: None,
            tool_call_id: None,
            tool_name: None,
            trace,
            status: None,
            duration_ms: None,
            error: None,
            usage: None,
            handle: None,
        }
    }

    /// Sends a copy of an event with the current time, if there is a log or a subscriber.
    pub(super) fn emit(&self, event: &RuntimeEvent) {
        if !self.is_watched() {
            return;
        }
        let event = Arc::new(RuntimeEvent {
            timestamp: Timestamp((self.0.bus.config().clock)()),
            ..event.clone()
        });
        if let Some(log) = &self.0.log {
            log.write(&event);
        }
        self.0.bus.emit(event);
    }
}
